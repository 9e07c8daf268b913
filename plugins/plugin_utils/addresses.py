# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses: IPv4, IPv6 and host names. The one module that imports netaddr."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, error

try:
    import netaddr

    NETADDR_ERROR: str | None = None
except ImportError as missing:  # pragma: no cover - depends on the installation
    NETADDR_ERROR = str(missing)

_LABEL = re.compile(r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)\Z")
# The names of the loopback address in the hosts files of Debian, Ubuntu and openEuler.
_LOCAL_NAMES = ("localhost", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback")


class AddressError(ValueError):
    """The text is no address that a service could use; the message says why."""


@dataclass(frozen=True)
class Address:
    """`text` is canonical: 192.0.2.1, 2001:db8::1 (no brackets), node1.example.org."""

    kind: Literal["ipv4", "ipv6", "name"]
    text: str

    @property
    def in_url(self) -> str:
        """As a URL or an `address:port` pair spells it: IPv6 in brackets."""
        return f"[{self.text}]" if self.kind == "ipv6" else self.text

    def with_port(self, port: int) -> str:
        return f"{self.in_url}:{port}"

    def url(self, port: int, scheme: str = "http") -> str:
        return f"{scheme}://{self.with_port(port)}"


def require_library() -> None:
    """Raise CompileError, once and in words, where netaddr is not installed. Everything else here needs it."""
    if NETADDR_ERROR is not None:
        what = f"the Python library netaddr is missing ({NETADDR_ERROR})"
        raise CompileError(
            [
                error(
                    "library",
                    "the controller",
                    what,
                    "Install it for the Python that runs Ansible: pip install netaddr",
                )
            ]
        )


def parse(text: str) -> Address:
    """An address or host name, canonical. Raises AddressError when it is neither."""
    if "<" in text or ">" in text:
        raise AddressError(f"{text!r} is a placeholder that nobody replaced")
    if not text or any(ch.isspace() or not ch.isprintable() for ch in text):
        raise AddressError(f"{text!r} is no address")
    if "/" in text:
        raise AddressError(f"{text!r} is a network or URL; give the host's own address alone")
    if text.startswith("[") or text.endswith("]"):
        raise AddressError(f"{text!r} has brackets; write the IPv6 address without them")
    if "%" in text:
        raise AddressError(f"{text!r} has a zone; other hosts cannot use a link-local address")
    if netaddr.valid_ipv4(text, flags=netaddr.INET_PTON):
        return Address("ipv4", str(netaddr.IPAddress(text, 4)))
    if netaddr.valid_ipv6(text):
        return Address("ipv6", str(netaddr.IPAddress(text, 6)))
    return Address("name", _host_name(text))


def _host_name(text: str) -> str:
    if ":" in text:
        raise AddressError(f"{text!r} is no IPv6 address, and a host name has no colon (ports are set apart)")
    labels = text.split(".")
    # The resolver reads 0x7f.1 as an IPv4 address as well.
    if re.fullmatch(r"\d+|0[xX][0-9a-fA-F]*", labels[-1]):
        raise AddressError(f"{text!r} is no IPv4 address, and no host name ends in a number")
    if len(text) > 253 or not all(_LABEL.match(label) for label in labels):
        raise AddressError(f"{text!r} is neither an address nor a host name")
    return text.lower()


def _is_local_name(name: str) -> bool:
    return name.split(".")[0] in _LOCAL_NAMES


def is_ip(text: str) -> bool:
    """True for an IPv4 or IPv6 address, false for a name or nonsense."""
    try:
        return parse(text).kind != "name"
    except AddressError:
        return False


def unusable(address: Address) -> str | None:
    """Why other hosts could not reach a service at this address, or None when they could."""
    if address.kind == "name":
        return "is a loopback name: other hosts cannot reach it" if _is_local_name(address.text) else None
    value = netaddr.IPAddress(address.text)
    if address.kind == "ipv6" and value.is_ipv4_mapped():
        return "is an IPv4 address in IPv6 spelling; write the IPv4 address"
    if value.is_loopback():
        return "is a loopback address: other hosts cannot reach it"
    if int(value) == 0:
        return "is a wildcard: it names no host"
    if address.kind == "ipv4" and value.words[0] == 0:
        return "is in 0.0.0.0/8: it names no host"
    if value.is_multicast() or str(value) == "255.255.255.255":
        return "is a multicast or broadcast address: it names no host"
    if value.is_link_local():
        return "is a link-local address: it means something else on every host"
    return None


def is_loopback(text: str) -> bool:
    """True for 127.0.0.0/8, ::1 and localhost."""
    try:
        address = parse(text)
    except AddressError:
        return False
    if address.kind == "name":
        return _is_local_name(address.text)
    return bool(netaddr.IPAddress(address.text).is_loopback())


def is_wildcard(text: str) -> bool:
    """True for 0.0.0.0 and ::."""
    try:
        address = parse(text)
    except AddressError:
        return False
    return address.kind != "name" and int(netaddr.IPAddress(address.text)) == 0
