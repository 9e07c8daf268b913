# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who listens on which TCP port of this host: read from /proc, without a tool that may be missing."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.module_utils import systemd

_LISTEN = "0A"
_CONFIDENTIAL = re.compile(r"(?i)(key|token|secret|passw)[^=]*(=|$)")


@dataclass(frozen=True)
class Listener:
    """One listening socket. pid is None where its owner cannot be told (the kernel itself, or another user's)."""

    address: str
    port: int
    pid: int | None = None
    command: str = ""
    unit: str | None = None

    def __str__(self) -> str:
        if self.pid is None:
            return f"an unknown process on {self.address}"
        unit = f", unit {self.unit}" if self.unit else ""
        return f"process {self.pid} ({self.command}{unit})"


def listening(ports: Iterable[int] | None = None, proc: str = "/proc") -> list[Listener]:
    """Listening TCP sockets, IPv4 and IPv6, with their owners, sorted.

    :param ports: only these ports; None for all.
    """
    wanted = None if ports is None else set(ports)
    sockets = [entry for entry in _sockets(proc) if wanted is None or entry[1] in wanted]
    owners = _owners({inode for _address, _port, inode in sockets}, proc)
    found = set()
    for address, port, inode in sockets:
        pid = owners.get(inode)
        if pid is None:
            found.add(Listener(address, port))
        else:
            found.add(Listener(address, port, pid, _command(pid, proc), systemd.unit_of(pid, proc)))
    return sorted(found, key=lambda one: (one.port, one.address, one.pid or 0))


def _sockets(proc: str) -> list[tuple[str, int, str]]:
    found = []
    for table in ("tcp", "tcp6"):
        try:
            with open(f"{proc}/net/{table}", encoding="ascii", errors="replace") as stream:
                lines = stream.readlines()[1:]
        except OSError:  # a kernel without IPv6 has no tcp6
            continue
        for line in lines:
            fields = line.split()
            if len(fields) > 9 and fields[3] == _LISTEN:
                address, port = fields[1].split(":")
                found.append((_address(address), int(port, 16), fields[9]))
    return found


def _address(text: str) -> str:
    """The kernel prints 32-bit words as the processor has them; all our processors are little-endian."""
    packed = b"".join(bytes.fromhex(text[i : i + 8])[::-1] for i in range(0, len(text), 8))
    address = ipaddress.ip_address(packed)
    # A socket of both families that is bound to an IPv4 address has that one's port.
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def _owners(inodes: set[str], proc: str) -> dict[str, int]:
    """Inode of a socket -> the lowest pid that holds it. Looks no further once all are found."""
    links = {f"socket:[{inode}]": inode for inode in inodes}
    owners: dict[str, int] = {}
    for pid in sorted(int(name) for name in os.listdir(proc) if name.isdigit()):
        if len(owners) == len(inodes):
            break
        directory = f"{proc}/{pid}/fd"
        try:
            descriptors = os.listdir(directory)
        except OSError:
            continue
        for descriptor in descriptors:
            try:
                inode = links.get(os.readlink(f"{directory}/{descriptor}"))
            except OSError:
                continue
            if inode is not None:
                owners.setdefault(inode, pid)
    return owners


def _command(pid: int, proc: str) -> str:
    """The command line, shortened and without what looks like a secret: it is for people."""
    try:
        with open(f"{proc}/{pid}/cmdline", "rb") as stream:
            words = [word for word in stream.read().decode("utf-8", "replace").split("\0") if word]
    except OSError:
        return "?"
    for number, word in enumerate(words[1:], start=1):
        option = _CONFIDENTIAL.search(word) if word.startswith("-") else None
        if option and option.group(2) == "=":
            words[number] = word[: option.end()] + "***"
        elif option and number + 1 < len(words):
            words[number + 1] = "***"
    text = " ".join(words)
    return text if len(text) <= 80 else text[:77] + "..."
