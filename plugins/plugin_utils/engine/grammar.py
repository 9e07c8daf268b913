# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One SGLang or router version's command grammar, as a value.

An engine file (``engines/<program>-<version>.json``) is read elsewhere; here its parsed JSON becomes an `Engine`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.rules import (
    MovedDefault,
    Removal,
    Rule,
    load_default,
    load_removal,
    load_rule,
)

# Actions of argparse, and SGLang's own, after which no value follows.
_BARE_ACTIONS = frozenset({"StoreTrue", "StoreFalse", "StoreConst", "Deprecated", "DeprecatedStoreTrue"})
# Types whose words are JSON texts. Other JSON flags are plain strings to argparse: an engine file names them.
_JSON_TYPES = frozenset({"loads", "json_list_type", "parse_cuda_graph_config_arg"})

_PROGRAM_LABELS = {
    "sglang.launch_server": "SGLang",
    "sglang_router.launch_router": "sglang-router",
    "sglang.bench_serving": "bench_serving of SGLang",
}


class EngineError(ValueError):
    """An engine file does not say what an engine file must say."""


@dataclass(frozen=True)
class Flag:
    """One option of the parser.

    names: its spellings without dashes in front, as the parser has them. nargs: as in argparse; 0 for a bare flag.
    json: None, or what JSON its word must be: ``any``, ``object``, or ``text`` where a file's name will do too.
    known_values: values known to be accepted although argparse does not check them; empty where that is not known.
    preferred: the spelling that the program itself uses for the value, where that is not the parser's first one.
    """

    names: tuple[str, ...]
    dest: str
    action: str = "Store"
    type: str | None = None
    nargs: int | str | None = None
    choices: tuple[Any, ...] | None = None
    default: Any = None
    required: bool = False
    deprecated: bool = False
    new_flag: str | None = None
    json: str | None = None
    known_values: tuple[str, ...] = ()
    preferred: str | None = None

    @property
    def name(self) -> str:
        """The one spelling to use."""
        return self.preferred or self.names[0]

    @property
    def option(self) -> str:
        """The spelling to use, with its dashes."""
        return f"--{self.name}"

    @property
    def bare(self) -> bool:
        """Takes no value."""
        return self.action in _BARE_ACTIONS or self.optional or self.nargs == 0

    @property
    def optional(self) -> bool:
        """Has a ``--no-`` form."""
        return self.action == "BooleanOptional"

    @property
    def repeatable(self) -> bool:
        """May be given several times, each time adding one."""
        return self.action in {"Append", "Extend"}

    @property
    def off_names(self) -> tuple[str, ...]:
        """The ``--no-`` spellings, without dashes in front."""
        if not self.optional:
            return ()
        return tuple(name for name in self.names if name.startswith("no-") and name[3:] in self.names)


@dataclass(frozen=True)
class Engine:
    """A program's command grammar in one version, and what else is known about that version.

    env: reader -> the environment variables that it reads; the reader None holds those for which no reader was found.
    rules, removals, defaults: how spellings changed between versions (see `rules`).
    """

    program: str
    version: str
    flags: tuple[Flag, ...] = field(repr=False)
    env: Mapping[str | None, frozenset[str]] = field(repr=False)
    rules: tuple[Rule, ...] = field(default=(), repr=False)
    removals: tuple[Removal, ...] = field(default=(), repr=False)
    defaults: tuple[MovedDefault, ...] = field(default=(), repr=False)

    @property
    def label(self) -> str:
        """The version as people name it: ``SGLang 0.5.23``."""
        return f"{_PROGRAM_LABELS.get(self.program, self.program)} {self.version}"

    @cached_property
    def by_name(self) -> Mapping[str, Flag]:
        """Every spelling, without dashes in front -> its flag."""
        return {name: flag for flag in self.flags for name in flag.names}

    @cached_property
    def own_env(self) -> frozenset[str]:
        """The environment variables that the program itself reads."""
        return self.env.get(self.program.partition(".")[0], frozenset())

    @cached_property
    def known_env(self) -> frozenset[str]:
        """Every environment variable that something is known to read."""
        return frozenset(name for reader, names in self.env.items() if reader is not None for name in names)

    def flag(self, name: str) -> Flag | None:
        """The flag with this exact spelling (without dashes in front), or None."""
        return self.by_name.get(name)


def load_engine(mapping: Mapping[str, Any]) -> Engine:
    """Build an engine from an engine file's parsed JSON; raises `EngineError` in words."""
    if not isinstance(mapping, Mapping):
        raise EngineError(f"an engine file must hold one JSON object, not {type(mapping).__name__}")
    program = _text(mapping, "program", "the file")
    version = _text(mapping, "version", program)
    what = f"the engine file for {program} {version}"
    try:
        return Engine(
            program=program,
            version=version,
            flags=tuple(_flags(mapping, what)),
            env=_env(mapping.get("env", {}), what),
            rules=tuple(load_rule(each) for each in _list(mapping, "renames", what)),
            removals=tuple(load_removal(each) for each in _list(mapping, "removed", what)),
            defaults=tuple(load_default(each) for each in _list(mapping, "defaults", what)),
        )
    except EngineError:
        raise
    except (ValueError, TypeError, KeyError) as error:
        raise EngineError(f"{what}: {error}") from error


def _flags(mapping: Mapping[str, Any], what: str) -> Iterator[Flag]:
    if "flags" not in mapping:
        raise EngineError(f"{what} has no 'flags'")
    unchecked = mapping.get("unchecked", {})
    json_flags: Mapping[str, str] = unchecked.get("json", {})
    known_values: Mapping[str, Sequence[str]] = unchecked.get("values", {})
    seen: dict[str, str] = {}
    for entry in _list(mapping, "flags", what):
        if not isinstance(entry, Mapping) or not entry.get("names"):
            raise EngineError(f"{what}: a flag without 'names': {entry!r}")
        names = [name for name in entry["names"] if isinstance(name, str) and name.startswith("--")]
        if not names:
            raise EngineError(f"{what}: {entry['names']!r} is no list of long flags ('--name')")
        for name in names:
            if name in seen:
                raise EngineError(f"{what}: {name} is there twice")
            seen[name] = name
        yield Flag(
            names=tuple(name.removeprefix("--") for name in names),
            dest=entry.get("dest") or names[0].removeprefix("--").replace("-", "_"),
            action=entry.get("action") or "Store",
            type=entry.get("type"),
            nargs=entry.get("nargs"),
            choices=None if entry.get("choices") is None else tuple(entry["choices"]),
            default=entry.get("default"),
            required=bool(entry.get("required")),
            deprecated=bool(entry.get("deprecated")),
            new_flag=entry.get("new_flag"),
            json=next(
                (_json_kind(json_flags[name]) for name in names if name in json_flags), _json_of(entry.get("type"))
            ),
            known_values=tuple(next((known_values[name] for name in names if name in known_values), ())),
            preferred=_preferred(entry, names, what),
        )


def _preferred(entry: Mapping[str, Any], names: list[str], what: str) -> str | None:
    name = entry.get("name")
    if name is not None and name not in names:
        raise EngineError(f"{what}: {name!r} is none of the spellings {', '.join(names)}")
    return None if name is None else str(name).removeprefix("--")


def _json_kind(kind: str) -> str:
    if kind not in ("any", "object", "text"):
        raise ValueError(f"{kind!r} is no kind of JSON (any, object, text)")
    return kind


def _json_of(kind: str | None) -> str | None:
    if kind == "parse_cuda_graph_config_arg":
        return "object"
    return "any" if kind in _JSON_TYPES else None


def _env(readers: Any, what: str) -> Mapping[str | None, frozenset[str]]:
    if not isinstance(readers, Mapping):
        if readers:
            raise EngineError(f"{what}: 'env' must map readers to lists of variables")
        return {}
    # JSON has no null key: the variables without a known reader stand under the empty name.
    return {reader or None: frozenset(names) for reader, names in readers.items()}


def _text(mapping: Mapping[str, Any], key: str, what: str) -> str:
    value = mapping.get(key)
    if not isinstance(value, str) or not value:
        raise EngineError(f"{what} has no {key!r}")
    return value


def _list(mapping: Mapping[str, Any], key: str, what: str) -> list[Any]:
    value = mapping.get(key, [])
    if not isinstance(value, list):
        raise EngineError(f"{what}: {key!r} must be a list")
    return value
