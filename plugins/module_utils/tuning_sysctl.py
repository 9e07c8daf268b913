# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""sysctl names, sysctl.d files and the order in which they are applied at boot (sysctl.d(5))."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

# In the order of precedence: of two files with one name only the first is read.
DIRECTORIES = ("/etc/sysctl.d", "/run/sysctl.d", "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d", "/lib/sysctl.d")

# The scheduler's values that Linux 5.13 moved from /proc/sys/kernel to debugfs, relative to /sys/kernel/debug.
MOVED_TO_DEBUGFS = {
    "kernel.sched_migration_cost_ns": "sched/migration_cost_ns",
    "kernel.sched_latency_ns": "sched/latency_ns",
    "kernel.sched_min_granularity_ns": "sched/min_granularity_ns",
    "kernel.sched_wakeup_granularity_ns": "sched/wakeup_granularity_ns",
    "kernel.sched_nr_migrate": "sched/nr_migrate",
    "kernel.sched_tunable_scaling": "sched/tunable_scaling",
    "kernel.numa_balancing_scan_delay_ms": "sched/numa_balancing/scan_delay_ms",
    "kernel.numa_balancing_scan_period_min_ms": "sched/numa_balancing/scan_period_min_ms",
    "kernel.numa_balancing_scan_period_max_ms": "sched/numa_balancing/scan_period_max_ms",
    "kernel.numa_balancing_scan_size_mb": "sched/numa_balancing/scan_size_mb",
}

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_:./@-]*")


class Line(NamedTuple):
    """One assignment in a sysctl.d file."""

    file: str
    name: str  # with dots
    value: str


def canonical(name: str) -> str:
    """The name with dots. A name may be written with slashes; what its first separator is decides (sysctl.d(5)).

    >>> canonical("net/ipv4/conf/eth0.100/rp_filter")
    'net.ipv4.conf.eth0/100.rp_filter'
    """
    separator = re.search(r"[./]", name)
    if separator and separator.group() == "/":
        return name.translate(str.maketrans("./", "/."))
    return name


def relative_path(name: str) -> str:
    """Where the value is, relative to /proc/sys.

    :raises ValueError: a name that cannot be that of one sysctl.
    """
    path = canonical(name).translate(str.maketrans("./", "/."))
    if not _NAME.fullmatch(name) or "/" not in path or ".." in path.split("/") or "" in path.split("/"):
        raise ValueError(f"{name!r} is not the name of a sysctl, like vm.swappiness")
    return path


def value_of(name: str, value: Any) -> str:
    """The value as text, words separated by one blank.

    :raises ValueError: a value that is no number and no text, is empty or has several lines.
    """
    if isinstance(value, bool):
        return str(int(value))
    text = str(value).strip()
    if not isinstance(value, (int, str)) or not text or "\n" in text:
        raise ValueError(f"the value of {name} is {value!r}; it must be a number, or a text of one line")
    return normal(text)


def normal(value: str) -> str:
    """A value for comparison: its first line, words separated by one blank."""
    lines = value.strip().splitlines()
    return " ".join(lines[0].split()) if lines else ""


def parse(file: str, text: str) -> list[Line]:
    """The assignments in a file. Comments, patterns, and lines that are none of ours to understand are passed over."""
    lines = []
    for line in text.splitlines():
        name, found, value = line.strip().lstrip("-").partition("=")
        name = name.strip()
        if found and name[:1] not in ("#", ";") and _NAME.fullmatch(name):
            lines.append(Line(file, canonical(name), normal(value)))
    return lines


def in_order(files: Iterable[str], directories: Sequence[str] = DIRECTORIES) -> list[str]:
    """The files that are read, in that order: by name whatever the directory, one for each name.

    :param directories: those that the files are in, the one that counts most first.
    """
    by_name: dict[str, str] = {}
    ranks = {directory: rank for rank, directory in enumerate(directories)}
    for file in sorted(files, key=lambda path: ranks[posixpath.dirname(path)]):
        by_name.setdefault(posixpath.basename(file), file)
    return [by_name[name] for name in sorted(by_name, key=lambda name: name.encode("utf-8", "surrogateescape"))]


def winners(files: Iterable[tuple[str, str]]) -> dict[str, Line]:
    """name -> the assignment that holds after boot; ``files`` are (path, text) in the order in which they are read."""
    return {line.name: line for path, text in files for line in parse(path, text)}
