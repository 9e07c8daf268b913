# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One service of a plan, as roles and modules receive it: checked once, here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from ansible_collections.ascend.sglang.plugins.module_utils import guard_plan

ROLES = ("prefill", "decode", "mixed", "router", "store")

_UNIT = re.compile(r"sglang-[a-z0-9][a-z0-9-]*\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_URL = "http://192.0.2.21:8001"
_SECRET = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*\Z")


class PlanServiceError(ValueError):
    """A service that cannot be what a plan holds. The message says which, where and why."""


@dataclass(frozen=True)
class Secret:
    """A word of argv that is only named: its value never leaves the host's secrets.env."""

    name: str


Word = Union[str, Secret]


@dataclass(frozen=True)
class PlanService:
    """One process on one host. Environment, ports and port ranges are sorted by name: equal services are equal."""

    host: str
    unit: str
    role: str
    instance: int
    rank: int
    nnodes: int
    argv: tuple[Word, ...]
    env: tuple[tuple[str, str], ...]
    unset: tuple[str, ...]
    source: tuple[str, ...]
    url: str | None
    ports: tuple[tuple[str, int], ...]
    port_ranges: tuple[tuple[str, int, int], ...]
    guard: guard_plan.GuardPlan | None = None
    cxx_abi: str | None = None

    @property
    def python(self) -> str:
        return str(self.argv[0])

    @property
    def module(self) -> str:
        return str(self.argv[2])

    @property
    def arguments(self) -> tuple[Word, ...]:
        return self.argv[3:]

    @property
    def secrets(self) -> tuple[str, ...]:
        """Names of the secrets that argv needs, each once, in order."""
        return tuple(dict.fromkeys(word.name for word in self.argv if isinstance(word, Secret)))

    @property
    def title(self) -> str:
        """What this process is, for headers and descriptions."""
        node = f", node rank {self.rank} of {self.nnodes}" if self.nnodes > 1 else ""
        return f"{self.role} instance {self.instance}{node}"


@dataclass(frozen=True)
class Watched:
    """As much of a service as it takes to see whether it is ready."""

    unit: str
    role: str
    url: str | None
    guard: str | None = None
    """Where its guard answers."""


def parse_watched(services: Sequence[Any]) -> tuple[Watched, ...]:
    """The services of a plan, or mappings with unit, role and url alone."""
    watched = []
    for service in services:
        reader = _reader(service)
        guard = service.get("guard")
        answers = str(guard["url"]) if isinstance(guard, Mapping) and guard.get("url") else None
        watched.append(Watched(reader.unit, reader.role(), reader.url(), answers))
    return tuple(watched)


def parse_all(services: Sequence[Any]) -> tuple[PlanService, ...]:
    """Check a list of plan services; two of one host may not share a unit."""
    parsed = tuple(parse(service) for service in services)
    seen: set[tuple[str, str]] = set()
    for service in parsed:
        key = (service.host, service.unit)
        if key in seen:
            raise PlanServiceError(f"{service.unit} is in the list of services twice for host {service.host}")
        seen.add(key)
    return parsed


def parse(service: Any) -> PlanService:
    """Turn one plan service (a mapping, as in plan.json) into a PlanService."""
    reader = _reader(service)
    return PlanService(
        host=reader.text("host"),
        unit=reader.unit,
        role=reader.role(),
        instance=reader.number("instance"),
        rank=reader.number("rank"),
        nnodes=reader.number("nnodes", default=1),
        argv=reader.argv(),
        env=reader.env(),
        unset=tuple(reader.variables("unset")),
        source=tuple(reader.paths("source")),
        url=reader.url(),
        ports=reader.ports(),
        port_ranges=reader.port_ranges(),
        guard=reader.guard(),
        cxx_abi=reader.cxx_abi(),
    )


def _reader(service: Any) -> _Reader:
    if not isinstance(service, Mapping):
        raise PlanServiceError(f"a service of a plan is a mapping, not {service!r}")
    unit = service.get("unit")
    if not isinstance(unit, str) or not _UNIT.match(unit):
        raise PlanServiceError(f"unit: {unit!r} is not a unit name of this collection (sglang-decode, sglang-decode-1)")
    return _Reader(service, unit)


class _Reader:
    """Takes the parts of one service out of its mapping, or says what is wrong with them."""

    def __init__(self, service: Mapping[str, Any], unit: str) -> None:
        self._service = service
        self.unit = unit

    def role(self) -> str:
        role = self.text("role")
        if role not in ROLES:
            self.refuse("role", role, "one of " + ", ".join(ROLES))
        return role

    def refuse(self, key: str, value: Any, wanted: str) -> None:
        raise PlanServiceError(f"{self.unit}: {key} is {value!r}, but must be {wanted}")

    def text(self, key: str) -> str:
        value = self._service.get(key)
        if not isinstance(value, str) or not value or not value.isprintable():
            self.refuse(key, value, "a text on one line")
        return str(value)

    def number(self, key: str, default: int | None = None) -> int:
        value = self._service.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            self.refuse(key, value, "a whole number from 0")
        return int(value)

    def _list(self, key: str) -> list[Any]:
        value = self._service.get(key)
        if value is None:
            return []
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
            self.refuse(key, value, "a list")
        return list(value)

    def argv(self) -> tuple[Word, ...]:
        words: list[Word] = []
        for item in self._list("argv"):
            if isinstance(item, Mapping) and set(item) == {"secret"} and _SECRET.match(str(item["secret"])):
                words.append(Secret(str(item["secret"])))
            elif isinstance(item, str) and "\0" not in item:
                words.append(str(item))
            else:
                self.refuse("argv", item, 'a text without NUL, or {"secret": NAME}')
        if len(words) < 3 or words[1] != "-m" or not all(isinstance(word, str) and word for word in words[:3]):
            self.refuse("argv", words, "[python, -m, module, ...]")
        return tuple(words)

    def env(self) -> tuple[tuple[str, str], ...]:
        value = self._service.get("env") or {}
        if not isinstance(value, Mapping):
            self.refuse("env", value, "a mapping")
        for name, text in value.items():
            if not _VARIABLE.match(str(name)):
                self.refuse("env", name, "names of environment variables")
            if not isinstance(text, str) or "\0" in text:
                self.refuse("env." + str(name), text, "a text without NUL")
        return tuple(sorted((str(name), str(text)) for name, text in value.items()))

    def variables(self, key: str) -> list[str]:
        for name in self._list(key):
            if not isinstance(name, str) or not _VARIABLE.match(name):
                self.refuse(key, name, "names of environment variables")
        return [str(name) for name in self._list(key)]

    def paths(self, key: str) -> list[str]:
        for path in self._list(key):
            if not isinstance(path, str) or not path.startswith("/") or not path.isprintable():
                self.refuse(key, path, "absolute paths")
        return [str(path) for path in self._list(key)]

    def url(self) -> str | None:
        value = self._service.get("url")
        if value is None:
            return None
        store = self._service.get("role") == "store"
        scheme, example = ("tcp", "tcp://192.0.2.31:24670") if store else ("https?", _URL)
        if not isinstance(value, str) or not re.match(scheme + r"://[^\s/]+\Z", value):
            self.refuse("url", value, f"a URL such as {example}, or null")
        return str(value)

    def _port(self, key: str, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 65536:
            self.refuse(key, value, "a port number from 1 to 65535")
        return int(value)

    def ports(self) -> tuple[tuple[str, int], ...]:
        value = self._service.get("ports") or {}
        if not isinstance(value, Mapping):
            self.refuse("ports", value, "a mapping of names to port numbers")
        return tuple((str(name), self._port(f"ports.{name}", port)) for name, port in sorted(value.items()))

    def port_ranges(self) -> tuple[tuple[str, int, int], ...]:
        value = self._service.get("port_ranges") or {}
        if not isinstance(value, Mapping):
            self.refuse("port_ranges", value, "a mapping of names to [first, last]")
        ranges = []
        for name, pair in sorted(value.items()):
            key = f"port_ranges.{name}"
            if isinstance(pair, (str, bytes)) or not isinstance(pair, Sequence) or len(pair) != 2 or pair[0] > pair[1]:
                self.refuse(key, pair, "[first, last]")
            ranges.append((str(name), self._port(key, pair[0]), self._port(key, pair[1])))
        return tuple(ranges)

    def cxx_abi(self) -> str | None:
        value = self._service.get("cxx_abi")
        if value not in (None, "0", "1"):
            self.refuse("cxx_abi", value, '"0", "1" or null')
        return None if value is None else str(value)

    def guard(self) -> guard_plan.GuardPlan | None:
        try:
            return guard_plan.parse(self._service.get("guard"))
        except guard_plan.GuardPlanError as error:
            raise PlanServiceError(f"{self.unit}: {error}") from error
