# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan service as a systemd unit. Understood by systemd 249 and later (openEuler 22.03, Ubuntu 22.04, Debian 12)."""

from __future__ import annotations

import hashlib
import itertools
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.module_utils import kept_out
from ansible_collections.ascend.sglang.plugins.module_utils.layout import ENVIRONMENT_MARK, UNIT_SECTION, Layout
from ansible_collections.ascend.sglang.plugins.module_utils.plan_service import PlanService

NPU_GROUP = "HwHiAiUser"
"""Owns the NPU device files (0660); a user who is not root reaches the devices only as its member."""

SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/Ascend/driver/tools"
"""PATH of a service: systemd's default, and hccn_tool's directory."""

SEALED = (
    "PrivateDevices=yes",
    "ProtectClock=yes",
    "ProtectControlGroups=yes",
    "ProtectKernelLogs=yes",
    "ProtectKernelModules=yes",
    "ProtectKernelTunables=yes",
    "RestrictAddressFamilies=AF_INET AF_INET6 AF_NETLINK AF_UNIX",
    "RestrictNamespaces=yes",
    "RestrictRealtime=yes",
    "LockPersonality=yes",
    "SystemCallArchitectures=native",
)
"""What costs a process nothing that wants nothing but to talk to others."""

# Lines that only the manager reads: a change of them needs no restart of what is running.
_MANAGER_KEYS = (
    *("Type", "ExecStartPre", "Restart", "RestartSec", "RestartPreventExitStatus", "SuccessExitStatus"),
    *("KillMode", "TimeoutStartSec", "TimeoutStopSec", "SyslogIdentifier"),
)

# systemd before 254 has no growing RestartSec. Each attempt loads a model for minutes, so waiting counts from the
# third start on: 5 s, 10 s ... 160 s. A start by hand or by a deployment counts from the beginning again.
_BACK_OFF = (
    "+/bin/bash -c 'n=$$(systemctl show --value --property=NRestarts %n);"
    " [ $${n:-0} -lt 2 ] || sleep $$((n < 7 ? 5 << (n - 2) : 160))'"
)


@dataclass(frozen=True)
class UnitOptions:
    """What the host and the user decide about a unit.

    user: the account that runs the service; None: root, or for a router a dynamic user that exists only while it
    runs. stop_timeout: seconds from SIGTERM to SIGKILL. npu_group: whether the host has the group of the NPU devices.
    """

    user: str | None = None
    stop_timeout: int = 120
    npu_group: bool = False


@dataclass(frozen=True)
class Unit:
    """The text of a unit file and the digest that a process started by it carries in its environment."""

    text: str
    digest: str


def needs_npu(service: PlanService) -> bool:
    """Routers and a store of its own do not touch the devices."""
    return service.role not in ("router", "store")


def is_dynamic(service: PlanService, options: UnitOptions) -> bool:
    """Whether systemd makes up a user for this service."""
    return service.role == "router" and options.user is None


def is_root(service: PlanService, options: UnitOptions) -> bool:
    """Engines run as root by default: exported weights may be readable by root only, and the pages do."""
    return options.user == "root" or (options.user is None and not is_dynamic(service, options))


def render(service: PlanService, options: UnitOptions, launch: str, secrets_mark: str = "") -> Unit:
    """The unit of a service.

    :param launch: the text of its launch.sh.
    :param secrets_mark: see secrets_file.mark; empty when it has no secrets.
    """
    # Paths as the host sees them, whatever directory a test writes below.
    layout = Layout()
    lines = _service_lines(service, options, layout)
    digest = hashlib.sha256("\n".join([launch, secrets_mark, *_started_with(lines)]).encode()).hexdigest()
    ports = [f"{name}:{port}" for name, port in service.ports]
    text = "\n".join(
        [
            "# Ansible managed (ascend.sglang): the next deployment writes it again.",
            "[Unit]",
            f"Description=SGLang {service.title}",
            "After=network-online.target remote-fs.target",
            "Wants=network-online.target",
            "# It never stops trying by itself: a peer, a link or a mount may come late.",
            "StartLimitIntervalSec=0",
            "",
            "[Service]",
            *lines,
            "# The configuration that a running process was started with: /proc/PID/environ tells.",
            f"Environment={ENVIRONMENT_MARK}={digest}",
            "",
            "[Install]",
            "WantedBy=multi-user.target",
            "",
            f"[{UNIT_SECTION}]",
            f"Role={service.role}",
            f"Instance={service.instance}",
            f"Rank={service.rank}",
            f"Nodes={service.nnodes}",
            f"Url={service.url or ''}",
            f"Ports={' '.join(ports)}",
            "",
        ]
    )
    return Unit(text, digest)


def facts(text: str) -> dict[str, str] | None:
    """Our own section of a unit file, keys in lower case; None when the file is not ours.

    Added are ``launch``, the digest that processes started by this unit carry, and ``stop_timeout`` in seconds.
    """
    found = _own_section(text)
    if "role" not in found:
        return None
    for key, start in (("launch", f"Environment={ENVIRONMENT_MARK}="), ("stop_timeout", "TimeoutStopSec=")):
        values = [line[len(start) :].strip() for line in text.splitlines() if line.startswith(start)]
        found[key] = values[-1] if values else ""
    return found


def guarded(text: str) -> str | None:
    """The unit that the guard of this unit file guards; None when it is no guard of ours."""
    return _own_section(text).get("guards")


def launch_digest(text: str) -> str | None:
    """The digest that processes started by this unit file carry."""
    start = f"Environment={ENVIRONMENT_MARK}="
    return next((line[len(start) :].strip() for line in text.splitlines() if line.startswith(start)), None)


def _started_with(lines: Sequence[str]) -> list[str]:
    return [line for line in lines if line and line[0] != "#" and line.partition("=")[0] not in _MANAGER_KEYS]


def process_settings(text: str) -> list[str]:
    """The lines of a unit file that a process is started with, without the mark that tells which they were."""
    lines = iter(text.splitlines())
    if "[Service]" not in lines:
        return []
    section = itertools.takewhile(lambda line: not line.startswith("["), lines)
    return [line for line in _started_with(list(section)) if not line.startswith(f"Environment={ENVIRONMENT_MARK}=")]


def _own_section(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    section = ""
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
        elif section == UNIT_SECTION and "=" in line:
            key, _equals, value = line.partition("=")
            found[key.lower()] = value
    return found


def changes(old: str, new: str) -> str:
    """The settings that differ between two texts of a unit, for people."""

    def settings(text: str) -> list[str]:
        lines = [line for line in text.splitlines() if "=" in line and not line.startswith("#")]
        return [line for line in lines if not line.startswith(f"Environment={ENVIRONMENT_MARK}=")]

    before, after = settings(old), settings(new)
    differing = [line for line in before if line not in after] + [line for line in after if line not in before]
    return ", ".join(dict.fromkeys(line.partition("=")[0] for line in differing))


def _service_lines(service: PlanService, options: UnitOptions, layout: Layout) -> list[str]:
    unit = service.unit
    return [
        "Type=exec",
        f"ExecStart=/bin/bash {layout.launch(unit)}",
        f"ExecStartPre={_BACK_OFF}",
        *_identity(service, options, layout),
        *_environment(service, layout),
        "# Loading takes tens of minutes. A stop drains, and is bounded: a drain can hang for ever.",
        "TimeoutStartSec=infinity",
        f"TimeoutStopSec={options.stop_timeout}",
        "# SIGTERM for the engine, SIGKILL in the end for whatever is left in its control group.",
        "KillMode=mixed",
        "# This engine ends a good stop by killing itself; it dies the same way when a peer is lost, hence always.",
        "SuccessExitStatus=137 SIGKILL",
        "Restart=always",
        "RestartSec=5",
        "# A wrong option (2) or a wrong environment (78) is the same the next time.",
        "RestartPreventExitStatus=2 78",
        "# Pinned memory for transfers, a connection per request, a thread per core and more.",
        "LimitMEMLOCK=infinity",
        "LimitNOFILE=1048576",
        "TasksMax=infinity",
        f"SyslogIdentifier={unit}",
        *_hardening(service, options),
    ]


def _identity(service: PlanService, options: UnitOptions, layout: Layout) -> list[str]:
    unit = service.unit
    lines = []
    if is_dynamic(service, options):
        lines.append("DynamicUser=yes")
    elif not is_root(service, options):
        lines.append(f"User={options.user}")
        if options.npu_group and needs_npu(service):
            lines.append(f"SupplementaryGroups={NPU_GROUP}")
    if service.secrets and not is_root(service, options):
        lines.append(f"LoadCredential=secrets.env:{layout.secrets(unit)}")
    return [
        *lines,
        f"StateDirectory=ascend-sglang/{unit}",
        f"CacheDirectory=ascend-sglang/{unit}",
        f"LogsDirectory=ascend-sglang/{unit}",
        f"WorkingDirectory={layout.home(unit)}",
    ]


def _environment(service: PlanService, layout: Layout) -> list[str]:
    home, cache = layout.home(service.unit), layout.cache(service.unit)
    # An engine in a virtual environment also looks there for its tools (ninja, bishengir).
    own = [posixpath.dirname(service.python)] if service.python.startswith("/") else []
    path = ":".join(dict.fromkeys([*own, *SEARCH_PATH.split(":")]))
    values = {
        "PATH": path,
        "HOME": home,
        "XDG_CACHE_HOME": cache,
        "TRITON_CACHE_DIR": f"{cache}/triton",
        "TORCHINDUCTOR_CACHE_DIR": f"{cache}/torchinductor",
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        # Routers and schedulers give themselves a title; without this, setproctitle writes it over their environment,
        # which tells the configuration that they were started with.
        "SPT_NOENV": "1",
    }
    if needs_npu(service):
        values["ASCEND_PROCESS_LOG_PATH"] = layout.logs(service.unit)
    lines = ["Environment=" + _quoted(f"{name}={value}") for name, value in values.items()]
    return [*lines, "UnsetEnvironment=" + " ".join(kept_out.OF_UNITS)]


def _quoted(assignment: str) -> str:
    """As systemd reads an assignment: %% for a per cent sign, quotes where there are blanks."""
    escaped = assignment.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")
    return f'"{escaped}"' if escaped != assignment or " " in assignment else assignment


def _hardening(service: PlanService, options: UnitOptions) -> list[str]:
    """What costs an engine nothing: devices, /dev/shm, IPC and the network stay the host's own."""
    lines = ["NoNewPrivileges=yes", "ProtectSystem=full", "PrivateTmp=yes", "RestrictSUIDSGID=yes"]
    low_ports = any(port < 1024 for _name, port in service.ports)
    if low_ports and not is_root(service, options):
        lines.append("AmbientCapabilities=CAP_NET_BIND_SERVICE")
    if is_dynamic(service, options):
        lines.remove("ProtectSystem=full")  # DynamicUser= means strict
        lines += ["CapabilityBoundingSet=" + ("CAP_NET_BIND_SERVICE" if low_ports else ""), *SEALED]
    return lines
