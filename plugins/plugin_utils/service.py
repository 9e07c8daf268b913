# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The planned service: what one process on one host is, in the words of the plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

Word: TypeAlias = "str | Mapping[str, str]"  # text, or {"secret": name}


@dataclass(frozen=True)
class Service:
    """One process on one host.

    argv: `[python, "-m", module, …]`, secrets by name; env: what launch.sh exports; unset, source: what it unsets and
    sources; url: where this process answers HTTP; ports: name -> port that it listens on; port_ranges: name -> first
    and last port, inclusive; npus: first and last NPU, inclusive, None for a process without; guard: where its guard
    answers and whom it watches (see guards.py), None for a service without; cxx_abi: what ATB is told, None where
    the service's python decides.
    """

    host: str
    unit: str
    role: str
    instance: int
    rank: int
    nnodes: int
    module: str
    argv: tuple[Word, ...]
    env: Mapping[str, Any]
    unset: tuple[str, ...]
    source: tuple[str, ...]
    url: str
    ports: Mapping[str, int]
    port_ranges: Mapping[str, list[int]]
    npus: tuple[int, int] | None
    guard: Mapping[str, Any] | None = None
    cxx_abi: str | None = None

    @property
    def key(self) -> tuple[str, str]:
        """Unique in a plan: units have one name per host."""
        return self.host, self.unit

    def as_dict(self) -> dict[str, Any]:
        return {
            "host": self.host,
            "unit": self.unit,
            "role": self.role,
            "instance": self.instance,
            "rank": self.rank,
            "nnodes": self.nnodes,
            "module": self.module,
            "argv": list(self.argv),
            "env": dict(self.env),
            "unset": list(self.unset),
            "source": list(self.source),
            "url": self.url,
            "ports": dict(self.ports),
            "port_ranges": dict(self.port_ranges),
            "npus": None if self.npus is None else list(self.npus),
            "guard": None if self.guard is None else dict(self.guard),
            **({} if self.cxx_abi is None else {"cxx_abi": self.cxx_abi}),
        }

    @classmethod
    def from_dict(cls, service: Mapping[str, Any]) -> Service:
        """A service out of plan.json."""
        known = {field.name: service[field.name] for field in fields(cls) if field.name in service}
        lists = {name: tuple(value) for name, value in known.items() if isinstance(value, list)}
        return cls(**{**known, **lists})


SECRET_API_KEY: Mapping[str, str] = {"secret": "api_key"}
