# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The host's interfaces and addresses, and whether those that the environment names are right.

Gloo takes one exact name, HCCL prefixes (`=eth0` is exact, `^lo` excludes, commas separate). Both must exist and own
the address that the service uses.
"""

from __future__ import annotations

import array
import fcntl
import os
import re
import socket
import struct
import subprocess
from pathlib import Path

from sglang.stand_in import texts
from sglang.stand_in.settings import WILDCARD, is_loopback

SIOCGIFCONF = 0x8912


class InterfaceError(Exception):
    """An interface that the environment names is of no use; the text is the real library's."""


def addresses():
    """{interface: {address, ...}} of this host."""
    try:
        done = subprocess.run(["ip", "-o", "addr", "show"], capture_output=True, text=True, check=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return _from_kernel()
    found = {name: set() for name in names()}
    for line in done.stdout.splitlines():
        match = re.match(r"\d+:\s+([^\s@:]+)\S*\s+inet6?\s+([0-9a-fA-F.:]+)", line)
        if match:
            found.setdefault(match[1], set()).add(match[2])
    return found


def names():
    """The names of this host's interfaces."""
    try:
        return sorted(name for name in os.listdir("/sys/class/net") if Path("/sys/class/net", name).is_dir())
    except OSError:
        return [name for _unused, name in socket.if_nameindex()]


def _from_kernel():
    found = {name: set() for name in names()}
    size = 64 * 128
    buffer = array.array("B", b"\0" * size)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        request = struct.pack("iL", size, buffer.buffer_info()[0])
        length = struct.unpack("iL", fcntl.ioctl(probe.fileno(), SIOCGIFCONF, request))[0]
    data = buffer.tobytes()
    for start in range(0, length, 40):
        name = data[start : start + 16].split(b"\0", 1)[0].decode().split(":")[0]
        found.setdefault(name, set()).add(socket.inet_ntoa(data[start + 20 : start + 24]))
    try:
        lines = Path("/proc/net/if_inet6").read_text(encoding="ascii").splitlines()
    except OSError:
        lines = []
    for line in lines:
        words = line.split()
        found.setdefault(words[5], set()).add(socket.inet_ntop(socket.AF_INET6, bytes.fromhex(words[0])))
    return found


def carries(settings, address, found=None):
    """Whether the interfaces that the environment names own the address that KV peers are told; so where none is named.

    The hand-over of a host whose peers are told an address on another network comes to nothing, without a word.
    """
    gloo, hccl = settings.env.get("GLOO_SOCKET_IFNAME"), settings.env.get("HCCL_SOCKET_IFNAME")
    if not (gloo or hccl) or is_loopback(address):
        return True
    found = addresses() if found is None else found
    chosen = [gloo] if gloo else hccl_names(hccl, found)
    return any(address in found.get(name, ()) for name in chosen)


def check(settings, found=None):
    """Raise InterfaceError where GLOO_SOCKET_IFNAME or HCCL_SOCKET_IFNAME cannot be right on this host."""
    gloo = settings.env.get("GLOO_SOCKET_IFNAME")
    hccl = settings.env.get("HCCL_SOCKET_IFNAME")
    if not gloo and not hccl:
        return
    found = addresses() if found is None else found
    wanted = own_addresses(settings)
    if gloo:
        if not found.get(gloo):
            raise InterfaceError(
                "RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/device.cc:84] ifa != nullptr. "
                f"Unable to find address for: {gloo}"
            )
        _owns(wanted, found[gloo], f"RuntimeError: Gloo connectFullMesh failed. Unable to find address for: {gloo}")
    if hccl and settings.is_npu and settings.world > 1:
        chosen = hccl_names(hccl, found)
        seen = set().union(*(found[name] for name in chosen)) if chosen else set()
        text = f"{texts.HCCL_FAILED}EI0001: HCCL_SOCKET_IFNAME is invalid: {hccl} matches no host NIC"
        if not seen:
            raise InterfaceError(text)
        _owns(wanted, seen, text)


def hccl_names(value, found):
    """The interfaces that a value of HCCL_SOCKET_IFNAME selects."""
    exclude = value.startswith("^")
    value = value.lstrip("^")
    exact = value.startswith("=")
    words = [word for word in value.lstrip("=").split(",") if word]
    hits = [name for name in found if any(name == word if exact else name.startswith(word) for word in words)]
    return [name for name in found if name not in hits and name != "lo"] if exclude else hits


def own_addresses(settings):
    """The addresses that this process says are its own, loopback and wildcards left out."""
    told = [
        settings.host,
        settings.env.get("SGLANG_HOST_IP"),
        settings.env.get("HOST_IP") if not settings.env.get("SGLANG_HOST_IP") else None,
    ]
    if settings.rank == 0 and settings.nnodes > 1:
        told.append(settings.dist_init[0])
    return [address for address in told if address and address not in WILDCARD and not is_loopback(address)]


def _owns(wanted, seen, text):
    for address in wanted:
        if not resolved(address) & seen:
            raise InterfaceError(f"{text} ({address} is not an address of it)")


def resolved(host):
    """The addresses of a host name, or the address itself."""
    try:
        return {entry[4][0].split("%")[0] for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError:
        return {host}
