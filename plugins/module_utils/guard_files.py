# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard of a service as files: its configuration, its code and its unit."""

from __future__ import annotations

import hashlib
import json
from types import ModuleType
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils import unit_file
from ansible_collections.ascend.sglang.plugins.module_utils.guard_plan import GuardPlan, Watched
from ansible_collections.ascend.sglang.plugins.module_utils.layout import (
    ENVIRONMENT_MARK,
    UNIT_SECTION,
    Layout,
    guard_of,
)


def source(module: ModuleType) -> str:
    """The text of a module of ours, wherever Ansible has put it (a zip file, on a host). OSError where it is not."""
    loader: Any = module.__spec__.loader if module.__spec__ else None
    text = loader.get_source(module.__name__) if loader else None
    if not text:
        raise OSError(f"the source of {module.__name__} cannot be read; is this collection installed as a whole?")
    # Ansible's own loader, on the controller, has bytes.
    return text.decode() if isinstance(text, bytes) else str(text)


def code() -> dict[str, str]:
    """File name -> text of the guard's package."""
    # Most who look at a host write no guard, and these take a while to load.
    from ansible_collections.ascend.sglang.plugins.module_utils import guard
    from ansible_collections.ascend.sglang.plugins.module_utils.guard import (
        answers,
        main,
        memory_file,
        own_unit,
        peers,
        rules,
    )

    modules = (answers, main, memory_file, own_unit, peers, rules)
    names = {module.__name__.rpartition(".")[2]: module for module in modules}
    return {"__init__.py": source(guard), **{f"{name}.py": source(module) for name, module in names.items()}}


def config(unit: str, plan: GuardPlan) -> str:
    """The text of guard.json, as guard.main reads it."""

    def watched(one: Watched) -> dict[str, Any]:
        return {"host": one.name, "url": one.url, "ports": list(one.ports)}

    values = {
        "unit": unit,
        "url": plan.url,
        "gone_seconds": plan.gone_seconds,
        "follows": {"what": plan.what, **watched(plan.follows)} if plan.follows else None,
        "ranks": [{"rank": rank, **watched(one)} for rank, one in plan.ranks],
        "memory": f"{Layout().guard_memory(unit)}/memory.json",
    }
    return json.dumps(values, indent=1) + "\n"


def unit_text(unit: str, title: str, python: str, guard_config: str, guard_code: dict[str, str]) -> str:
    """The guard's unit.

    :param python: the interpreter that runs it: the one that Ansible uses on the host, which is there for certain.
    """
    layout = Layout()
    digest = hashlib.sha256("\n".join([python, guard_config, *sorted(guard_code.values())]).encode()).hexdigest()
    lines = [
        "# Ansible managed (ascend.sglang): the next deployment writes it again.",
        "[Unit]",
        f"Description=Guard of {unit}: {title}",
        "After=network-online.target",
        "Wants=network-online.target",
        "# It sees its service come up, and sees it go before it goes itself.",
        f"Before={unit}.service",
        "StartLimitIntervalSec=0",
        "",
        "[Service]",
        "Type=exec",
        f"ExecStart={python} -s -m guard.main {layout.guard_config(unit)}",
        f"Environment=PYTHONPATH={layout.directory(unit)}",
        "Environment=PYTHONDONTWRITEBYTECODE=1",
        "Environment=LANG=C.UTF-8",
        "# What it remembers outlives it, until the next boot.",
        f"RuntimeDirectory=ascend-sglang/{guard_of(unit)}",
        "RuntimeDirectoryPreserve=yes",
        "Restart=always",
        "RestartSec=2",
        "TimeoutStopSec=5",
        f"SyslogIdentifier={guard_of(unit)}",
        "# Root, because it restarts a unit, and nothing more.",
        "CapabilityBoundingSet=" + ("CAP_NET_BIND_SERVICE" if _low_port(guard_config) else ""),
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "ProtectHome=yes",
        "PrivateTmp=yes",
        *unit_file.SEALED,
        f"Environment={ENVIRONMENT_MARK}={digest}",
        "",
        "[Install]",
        "WantedBy=multi-user.target",
        "",
        f"[{UNIT_SECTION}]",
        f"Guards={unit}",
        "",
    ]
    return "\n".join(lines)


def _low_port(guard_config: str) -> bool:
    return int(json.loads(guard_config)["url"].rpartition(":")[2]) < 1024
