# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine's own state, so that a run can prove that it left the machine as it found it."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess

from lab import cgroups, host
from lab.settings import CACHE, NETWORKS, ROOT

# Counters and clocks that move by themselves.
VOLATILE = re.compile(
    r"^(fs/(dentry-state|file-nr|inode-nr|inode-state|aio-nr|quota/.*)|kernel/(ns_last_pid|random/.*|pty/nr|tainted|"
    r"perf_event_max_sample_rate|keys/.*|sched_domain/.*)|net/netfilter/nf_conntrack_(count|buckets)|vm/stat_refresh|"
    r"net/ipv4/(tcp_fastopen_key|tcp_ehash_entries)|fs/epoll/.*|sunrpc/.*|"
    r"net/ipv[46]/conf/(?!all|default).*|net/ipv[46]/neigh/(?!default).*)$"
)
# What a running Ansible keeps in ~/.ansible/tmp: ansible-local-PID and eight characters of tempfile's own, which may be
# digits, and, of a task on this machine itself, ansible-tmp-TIME-PID-NUMBER.
IN_USE = re.compile(r"^(ansible-local-(?P<local>\d+)[a-z0-9_]{8}|ansible-tmp-[\d.]+-(?P<task>\d+)-\d+)$")
SYSFS = ("devices/system/cpu/cpu*/cpufreq/scaling_governor", "kernel/mm/transparent_hugepage/*")
SECTIONS = ("interfaces", "routes", "mounts", "sysctl", "sysfs", "cgroups", "namespaces", "firewall", "files", "hosts")


def snapshot() -> dict[str, dict[str, str]]:
    """Everything that a run could leave behind, as plain text by name."""
    return {
        "interfaces": _interfaces(),
        "routes": _lines("".join(_output("ip", family, "route", "show", "table", "all") for family in ("-4", "-6"))),
        "mounts": _mounts(),
        "sysctl": _sysctl(),
        "sysfs": {str(path): _read(path) for glob in SYSFS for path in pathlib.Path("/sys").glob(glob)},
        "cgroups": {str(root): "exists" for root in _cgroup_parents()},
        "namespaces": _lines(_output("ip", "netns", "list")) | _exists(pathlib.Path("/run/netns")),
        "firewall": {"nft": _output("nft", "list", "ruleset")},
        "files": _files(),
        "hosts": dict.fromkeys(host.names(), "exists"),
    }


def compare(before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]) -> list[str]:
    """One line for each difference."""
    found = []
    for section in SECTIONS:
        old, new = before.get(section, {}), after.get(section, {})
        found += [f"{section}: {name} is gone (was {old[name]!r})" for name in old.keys() - new.keys()]
        found += [f"{section}: {name} is new ({new[name]!r})" for name in new.keys() - old.keys()]
        found += [
            f"{section}: {name} was {old[name]!r}, is {new[name]!r}"
            for name in old.keys() & new.keys()
            if old[name] != new[name]
        ]
    return sorted(found)


def is_cleared_leftover(difference: str) -> bool:
    """Whether a line of `compare` says only that the test hosts' own things of an earlier, broken-off run are gone."""
    section, _colon, rest = difference.partition(": ")
    name, gone, _was = rest.partition(" is gone (was ")
    if not gone:
        return False
    ours = (str(ROOT), *(network.bridge for network in NETWORKS), f"/{cgroups.PARENT}")
    cable = re.search(rf"\basl[{''.join(network.key for network in NETWORKS)}]\d+\b", name)
    return section == "hosts" or cable is not None or any(part in name for part in ours)


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""


def _lines(text: str) -> dict[str, str]:
    return {re.sub(r" (linkdown|expires \S+)", "", line).strip(): "exists" for line in text.splitlines()}


def _below(top: pathlib.Path) -> list[pathlib.Path]:
    """All below a directory; what goes while it is looked at is passed over, which rglob does not do."""
    return [pathlib.Path(folder, name) for folder, folders, files in os.walk(top) for name in (*folders, *files)]


def _exists(path: pathlib.Path) -> dict[str, str]:
    return {str(path): "exists"} if path.exists() else {}


def _read(path: pathlib.Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError as error:
        return f"({error.strerror})"


def _interfaces() -> dict[str, str]:
    text = _output("ip", "-json", "address", "show")
    links = json.loads(text or "[]")
    return {
        link["ifname"]: f"{link.get('operstate')} mtu {link.get('mtu')} {[a.get('local') for a in link['addr_info']]}"
        for link in links
    }


def _mounts() -> dict[str, str]:
    rows = (line.split() for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines())
    return {f"{row[4]} ({' '.join(row[row.index('-') + 1 : row.index('-') + 3])})": "mounted" for row in rows}


def _sysctl() -> dict[str, str]:
    top = pathlib.Path("/proc/sys")
    values = {}
    for path in _below(top):
        name = str(path.relative_to(top))
        if path.is_file() and not VOLATILE.match(name) and path.stat().st_mode & 0o444:
            values[name] = _read(path)
    return values


def _cgroup_parents() -> list[pathlib.Path]:
    tops = (root / cgroups.PARENT for root in cgroups.hierarchies())
    return [pathlib.Path(folder) for top in tops for folder, _folders, _files in os.walk(top)]


def _of_running_ansible(path: pathlib.Path) -> bool:
    """Whether it is in use by an Ansible that runs beside, or ended just now, and clears up itself; what a dead one has
    left counts.
    """
    for part in (path, *path.parents):
        if match := IN_USE.match(part.name):
            return pathlib.Path("/proc", match["local"] or match["task"]).exists() or not part.exists()
    return False


def _files() -> dict[str, str]:
    """What runs of ssh and Ansible like to leave, and all of the hosts' own folder except the cache."""
    home = pathlib.Path.home()
    watched = [home / ".ssh", home / ".ansible", pathlib.Path("/etc/systemd/nspawn"), pathlib.Path("/var/lib/machines")]
    # Any Ansible makes these two, and an empty one says nothing.
    made_by_any = {home / ".ansible", home / ".ansible/tmp"}
    found = {}
    for top in watched:
        for path in (*top.parent.glob(top.name), *_below(top)):
            if path not in made_by_any and not _of_running_ansible(path):
                found[str(path)] = _read(path) if path.name == "known_hosts" else "exists"
    for path in ROOT.glob("*"):
        if path != CACHE:
            found[str(path)] = "exists"
    return found
