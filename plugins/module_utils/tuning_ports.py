# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sets of TCP ports as net.ipv4.ip_local_reserved_ports writes them: ``5000,8000-8001``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

HIGHEST_PORT = 65535


def _is_port(word: Any) -> bool:
    text = str(word).strip()
    return not isinstance(word, bool) and text.isascii() and text.isdigit() and 1 <= int(text) <= HIGHEST_PORT


def _range(entry: Any) -> range:
    if isinstance(entry, (list, tuple)):
        words = list(entry)
    else:
        first, dash, last = str(entry).partition("-")
        words = [first, last] if dash else [entry]
    if len(words) not in (1, 2) or not all(map(_is_port, words)):
        raise ValueError(f"{entry!r} is neither a port (1 to {HIGHEST_PORT}) nor a range of ports, like 60000-60015")
    first, last = int(words[0]), int(words[-1])
    if first > last:
        raise ValueError(f"the range of ports {entry!r} ends before it begins")
    return range(first, last + 1)


def ports_of(entries: Iterable[Any]) -> frozenset[int]:
    """The ports of a list of numbers (8000), texts ("8000", "60000-60015") and pairs ([60000, 60015], both inclusive).

    :raises ValueError: an entry that is none of them.
    """
    return frozenset(port for entry in entries for port in _range(entry))


def parse(text: str) -> frozenset[int]:
    """The ports of the kernel's text, which may be empty. A word that is no port or range raises ValueError."""
    return ports_of(word for word in text.replace(",", " ").split() if word)


def format_ports(ports: Iterable[int]) -> str:
    """The kernel's own spelling: ascending, neighbours joined into a range."""
    runs: list[list[int]] = []
    for port in sorted(set(ports)):
        if runs and port == runs[-1][1] + 1:
            runs[-1][1] = port
        else:
            runs.append([port, port])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def merge(current: frozenset[int], ours_before: frozenset[int], wanted: frozenset[int]) -> tuple[str, str]:
    """(what the kernel gets, what of it is ours): somebody else's reserved ports stay reserved.

    :param current: what is reserved now.
    :param ours_before: what an earlier run added to it.
    :param wanted: what this run wants reserved.
    """
    others = current - ours_before
    return format_ports(others | wanted), format_ports(wanted - others)
