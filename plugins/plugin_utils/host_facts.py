# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What only a host knows, as far as the compiler uses it. Offline there are no host facts and defaults are assumed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, error


@dataclass(frozen=True)
class Interface:
    """One network interface with its addresses, canonical and without prefix length."""

    name: str
    addresses: tuple[str, ...]
    up: bool

    def __str__(self) -> str:
        state = "" if self.up else ", down"
        return f"{self.name} ({', '.join(self.addresses) or 'no address'}{state})"


@dataclass(frozen=True)
class HostFacts:
    """Facts of one host.

    resolved: addresses that the host's own resolver gives for its data address where that is a name;
    sources: path of a set_env.sh on the page -> the path found on this host. What hosts lack is the preflight's.
    """

    interfaces: Mapping[str, Interface]
    resolved: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)

    def owners(self, address: str) -> tuple[Interface, ...]:
        """The interfaces that have this address."""
        return tuple(one for one in self.interfaces.values() if address in one.addresses)

    def listing(self) -> str:
        return ", ".join(str(one) for one in self.interfaces.values()) or "no interface"


def from_module(facts: Mapping[str, Any], sources: Iterable[str]) -> HostFacts:
    """The facts as the module ascend.sglang.host_facts returns them. `sources`: set_env.sh paths on the page."""
    cann = facts.get("cann") or {}
    return HostFacts(
        interfaces={
            name: Interface(name, tuple(str(text) for text in one["addresses"]), bool(one["up"]))
            for name, one in facts["interfaces"].items()
        },
        resolved=tuple(str(text) for texts in facts.get("resolved", {}).values() for text in texts),
        sources=_local_sources(cann, sources),
    )


def unreachable(host: str, message: str, *, failed: bool = False) -> Finding:
    """A host that Ansible could not ask. failed: it was reached, and then something else was in the way."""
    how = "it could not be asked" if failed else "it does not answer"
    what = f"{how}, so nothing was changed on any host ({' '.join(message.split()).rstrip('.')})"
    do = "Mend what Ansible names (Python, become, a password)" if failed else "Mend the connection"
    return error("unreachable", f"host {host}", what, f"{do}, or take the host out of the inventory")


def _local_sources(cann: Mapping[str, Any], sources: Iterable[str]) -> dict[str, str]:
    """The page's scripts, each at the place where this host has it. ATB's lies below an `nnal` directory."""
    found = {}
    for path in sources:
        part = cann.get("atb" if "/nnal/" in path or "/atb/" in path else "toolkit")
        if part:
            found[path] = str(part["path"])
    return found
