# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A profile: one recipe as data. This pass turns its parsed YAML into typed values or says what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, error
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import Plain

try:
    import jsonschema

    JSONSCHEMA_ERROR: str | None = None
except ImportError as missing:  # pragma: no cover - depends on the installation
    JSONSCHEMA_ERROR = str(missing)

# What a page leaves to the node that it runs on. Everything else in a profile is data.
PLACEHOLDERS: Mapping[str, str] = MappingProxyType(
    {
        "model_path": "directory of the weights",
        "draft_model_path": "directory of the draft model's weights",
        "data_address": "this node's data address",
        "head_address": "data address of the instance's rank 0",
        "store_address": "data address of the node that serves the store",
        "network_interface": "interface that owns this node's data address",
        "node_rank": "this node's rank in its instance",
        "prefill_urls": "the router's prefill workers, each with its bootstrap port",
        "decode_urls": "the router's decode workers",
        "worker_urls": "the router's mixed workers",
    }
)
PLACEHOLDER = re.compile(r"<([a-z_]+)>")
# Those that stand for a list, so that they are a whole value or nothing.
WHOLE_VALUES = frozenset({"prefill_urls", "decode_urls", "worker_urls"})
_PATHS = frozenset({"model_path", "draft_model_path"})
_NODE = _PATHS | {"data_address", "head_address", "network_interface", "node_rank"}
# Where which placeholder means something.
_MEANINGFUL: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "prefill": _NODE | {"store_address"},
        "decode": _NODE | {"store_address"},
        "mixed": _NODE,
        "router": _PATHS | {"data_address", "network_interface", *WHOLE_VALUES},
        "benchmark": _PATHS,
    }
)
# What a reader would take for a placeholder, whatever it is called.
_LOOKS_LIKE_ONE = re.compile(r"<([A-Za-z][\w .-]*)>")

_WORDS = {"type": "array", "items": {"type": "string"}}
_ENV = {"type": "object", "additionalProperties": {"type": "string"}}
_ROLE_BODY: dict[str, Any] = {
    "unset": _WORDS,
    "source": _WORDS,
    "env": _ENV,
    "args": {
        "type": "object",
        "propertyNames": {"pattern": "^[a-z0-9][a-z0-9-]*$"},
        "additionalProperties": {"not": {"type": "null"}},
    },
    "page": {
        "type": "object",
        "additionalProperties": {
            "type": "object",
            "properties": {"flag": {"type": "string"}, "words": _WORDS, "per_rank": {"type": "integer"}},
            "additionalProperties": False,
            "minProperties": 1,
        },
    },
}
_SERVER: dict[str, Any] = {
    "type": "object",
    "properties": {
        **_ROLE_BODY,
        "module": {"type": "string"},
        "instances": {"type": "integer", "minimum": 1},
        "nodes": {"type": "integer", "minimum": 1},
        "per_instance": {"type": "object", "additionalProperties": {"type": "integer"}},
    },
    "required": ["instances", "nodes", "args"],
    "additionalProperties": False,
}
_ROUTER: dict[str, Any] = {
    "type": "object",
    "properties": {**_ROLE_BODY, "module": {"type": "string"}},
    "required": ["args"],
    "additionalProperties": False,
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]*$"},
        "title": {"type": "string"},
        "engine": {"type": "string"},
        "router_engine": {"type": "string"},
        "facts": {"type": "object", "additionalProperties": {"type": "string"}},
        "published": {"type": "object", "additionalProperties": {"type": "number"}},
        "host": {
            "type": "object",
            "properties": {
                "governor": {"type": ["string", "null"]},
                "sysctl": {"type": "object", "additionalProperties": {"type": ["integer", "string"]}},
            },
            "additionalProperties": False,
        },
        "roles": {
            "type": "object",
            "properties": {"prefill": _SERVER, "decode": _SERVER, "mixed": _SERVER, "router": _ROUTER},
            "additionalProperties": False,
            "oneOf": [{"required": ["prefill", "decode", "router"]}, {"required": ["mixed"]}],
        },
        "benchmark": {
            "type": ["object", "null"],
            "properties": {
                "module": {"type": "string"},
                "unset": _WORDS,
                "source": _WORDS,
                "env": _ENV,
                "args": {"type": "object"},
            },
            "required": ["args"],
            "additionalProperties": False,
        },
    },
    "required": ["name", "engine", "roles"],
    "additionalProperties": False,
}

_SERVER_MODULE = "sglang.launch_server"
_ROUTER_MODULE = "sglang_router.launch_router"
_BENCHMARK_MODULE = "sglang.bench_serving"
DEFAULT_ROUTER_ENGINE = "0.3.2"


@dataclass(frozen=True)
class PageSpelling:
    """How the page writes a flag otherwise than the profile: another name, other words, or a number that its shell
    raises by `per_rank` with every rank."""

    flag: str | None = None
    words: tuple[str, ...] | None = None
    per_rank: int = 0


@dataclass(frozen=True)
class RoleProfile:
    """What one role starts. `args` and `env` are in the page's order and may hold placeholders.

    per_instance: flag or variable -> by how much its number (or the number that its text ends in) grows from one
    instance to the next.
    """

    role: str
    module: str
    instances: int = 1
    nodes: int = 1
    unset: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    args: Mapping[str, Plain] = field(default_factory=dict)
    page: Mapping[str, PageSpelling] = field(default_factory=dict)
    per_instance: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Benchmark:
    """The page's benchmark command."""

    module: str
    env: Mapping[str, str]
    args: Mapping[str, Plain]
    unset: tuple[str, ...] = ()


@dataclass(frozen=True)
class Profile:
    """One recipe. `roles` holds prefill, decode and router, or mixed (and never both)."""

    name: str
    title: str
    engine: str
    router_engine: str
    facts: Mapping[str, str]
    published: Mapping[str, float]
    governor: str | None
    sysctl: Mapping[str, Plain]
    roles: Mapping[str, RoleProfile]
    benchmark: Benchmark | None

    @property
    def disaggregated(self) -> bool:
        return "prefill" in self.roles


# An Atlas 800I A3 card carries two NPUs, an A2's one; "32P" on the pages counts cards.
_NPUS_PER_CARD = {"A2": 1, "A3": 2}


def npus_per_card(facts: Mapping[str, str]) -> int:
    """By the hardware in a page's table; the A3's where it names none, which the pages are about then."""
    return _NPUS_PER_CARD.get(facts.get("Hardware", "").rpartition(" ")[2].upper(), _NPUS_PER_CARD["A3"])


def load(data: Plain, where: str) -> Profile:
    """The profile in the parsed YAML of the file `where`. Raises CompileError naming every place that does not fit."""
    raw: Any = data
    _validate(raw, where)
    host = raw.get("host") or {}
    return Profile(
        name=raw["name"],
        title=raw.get("title", raw["name"]),
        engine=raw["engine"],
        router_engine=raw.get("router_engine", DEFAULT_ROUTER_ENGINE),
        facts=raw.get("facts", {}),
        published=raw.get("published", {}),
        governor=host.get("governor"),
        sysctl=host.get("sysctl", {}),
        roles={role: _role(role, body) for role, body in raw["roles"].items()},
        benchmark=_benchmark(raw.get("benchmark")),
    )


def _role(role: str, body: Mapping[str, Any]) -> RoleProfile:
    return RoleProfile(
        role=role,
        module=body.get("module", _ROUTER_MODULE if role == "router" else _SERVER_MODULE),
        instances=body.get("instances", 1),
        nodes=body.get("nodes", 1),
        unset=tuple(body.get("unset", ())),
        source=tuple(body.get("source", ())),
        env=body.get("env", {}),
        args=body["args"],
        page={
            name: PageSpelling(
                spelling.get("flag"),
                tuple(spelling["words"]) if "words" in spelling else None,
                spelling.get("per_rank", 0),
            )
            for name, spelling in body.get("page", {}).items()
        },
        # The pages' arithmetic: every prefill instance has a bootstrap port of its own.
        per_instance={"disaggregation-bootstrap-port": 1, **body.get("per_instance", {})},
    )


def _benchmark(body: Mapping[str, Any] | None) -> Benchmark | None:
    if body is None:
        return None
    return Benchmark(
        body.get("module", _BENCHMARK_MODULE), body.get("env", {}), body["args"], tuple(body.get("unset", ()))
    )


def _validate(data: Any, where: str) -> None:
    if JSONSCHEMA_ERROR is not None:
        raise CompileError(
            [
                error(
                    "library",
                    "the controller",
                    f"the Python library jsonschema is missing ({JSONSCHEMA_ERROR})",
                    "Install it for the Python that runs Ansible: pip install jsonschema",
                )
            ]
        )
    where = f"profile {where}"
    problems = sorted(
        jsonschema.Draft202012Validator(SCHEMA).iter_errors(data), key=lambda one: list(map(str, one.path))
    )
    found = [error("profile", f"{where}, {_path(one.absolute_path)}", _words(one), _SEE) for one in problems]
    if not found:
        found = [error("profile", f"{where}, {place}", what, _SEE) for place, what in _placeholder_problems(data)]
    if found:
        raise CompileError(found)


_SEE = "See docs/profiles.md"


def _words(problem: Any) -> str:
    """What the schema has to say. Its own words repeat the whole value, which may be a whole profile."""
    if problem.validator == "oneOf":
        given = ", ".join(problem.instance) or "none"
        return f"a profile has the roles prefill, decode and router, or the role mixed, and this one has {given}"
    if problem.validator == "not":
        return "its value is missing"
    message = str(problem.message)
    return message if len(message) <= 200 else f"{message[:100]} ... {message[-90:]}"


def _path(parts: Sequence[object]) -> str:
    return ".".join(str(part) for part in parts) or "top level"


def _placeholder_problems(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(place, what) of every placeholder that is none, or that means nothing where it stands."""
    roles, benchmark = data["roles"], data.get("benchmark")
    for place, part in (*((("roles", role), roles[role]) for role in roles), (("benchmark",), benchmark)):
        for name, value in (part or {}).items():
            filled = name in ("env", "args")
            for path, text in _texts(value, (*place, name)):
                yield from ((path, what) for what in _text_problems(text, place[-1], filled=filled))


def _texts(value: Plain, place: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, (*place, key))
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, place)
    elif isinstance(value, str):
        yield _path(place), value


def _text_problems(text: str, part: str, *, filled: bool) -> Iterator[str]:
    for name in _LOOKS_LIKE_ONE.findall(text):
        if name not in PLACEHOLDERS:
            known = ", ".join(f"<{one}>" for one in PLACEHOLDERS)
            yield f"<{name}> is no placeholder; there are {known}"
        elif not filled or name not in _MEANINGFUL[part]:
            yield f"<{name}> ({PLACEHOLDERS[name]}) means nothing here"
        elif name in WHOLE_VALUES and text != f"<{name}>":
            yield f"<{name}> must be the whole value"
