# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The network interfaces of a host with their addresses."""

from __future__ import annotations

import array
import fcntl
import ipaddress
import json
import os
import socket
import struct
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils.commands import Run, run

_ASK_SECONDS = 5.0
_SIOCGIFCONF = 0x8912
_IFF_UP = 0x1
_IFF_LOOPBACK = 0x8


def interfaces(ask: Run = run) -> dict[str, dict[str, Any]]:
    """By name: ``addresses`` (canonical, without prefix length), ``up``, ``loopback``, ``mtu``.

    up means that it is switched on and has its carrier. Asks iproute2; where that is missing, the kernel.
    """
    answer = ask(["ip", "-j", "address"], _ASK_SECONDS)
    if answer.rc == 0:
        try:
            return from_ip(answer.out)
        except (ValueError, KeyError, TypeError):
            # An iproute2 that prints something else than JSON (before 4.13, or busybox).
            return from_kernel()
    return from_kernel()


def from_ip(text: str) -> dict[str, dict[str, Any]]:
    """What ``ip -j address`` prints."""
    found = {}
    for link in json.loads(text):
        if "ifname" not in link:
            continue
        flags = link["flags"]
        addresses = [str(ipaddress.ip_address(one["local"])) for one in link.get("addr_info", []) if "local" in one]
        found[link["ifname"]] = {
            "addresses": list(dict.fromkeys(addresses)),
            "up": "UP" in flags and "NO-CARRIER" not in flags,
            "loopback": "LOOPBACK" in flags,
            "mtu": link.get("mtu"),
        }
    return found


def from_kernel(sysfs: str = "/sys/class/net", inet6: str = "/proc/net/if_inet6") -> dict[str, dict[str, Any]]:
    """The same from /sys, /proc and an ioctl."""
    found: dict[str, dict[str, Any]] = {}
    for name in sorted(os.listdir(sysfs)):
        flags = int(_read(f"{sysfs}/{name}/flags") or "0", 16)
        found[name] = {
            "addresses": [],
            "up": bool(flags & _IFF_UP) and _read(f"{sysfs}/{name}/carrier") == "1",
            "loopback": bool(flags & _IFF_LOOPBACK),
            "mtu": int(_read(f"{sysfs}/{name}/mtu") or "0") or None,
        }
    for name, address in [*_ipv4(), *_ipv6(inet6)]:
        if name in found and address not in found[name]["addresses"]:
            found[name]["addresses"].append(address)
    return found


def _read(path: str) -> str:
    try:
        with open(path, encoding="ascii") as stream:
            return stream.read().strip()
    except OSError:  # the carrier of an interface that is off cannot be read
        return ""


def _ipv4() -> list[tuple[str, str]]:
    """Pairs of interface and IPv4 address: SIOCGIFCONF, all of them, with alias names (eth0:1) cut."""
    size = struct.calcsize("16sH2x4s16x")
    room = array.array("B", bytes(size * 512))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("iP", len(room), room.buffer_info()[0])
        used = struct.unpack("iP", fcntl.ioctl(any_socket.fileno(), _SIOCGIFCONF, request))[0]
    pairs = []
    for offset in range(0, used, size):
        name, _family, address = struct.unpack_from("16sH2x4s16x", room, offset)
        pairs.append((name.split(b"\0")[0].decode().split(":")[0], socket.inet_ntoa(address)))
    return pairs


def _ipv6(path: str) -> list[tuple[str, str]]:
    pairs = []
    for line in _read(path).splitlines():
        fields = line.split()
        pairs.append((fields[-1], str(ipaddress.ip_address(bytes.fromhex(fields[0])))))
    return pairs
