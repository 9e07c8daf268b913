# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""All engines that are known, and what they share.

Changes of spelling are recorded once, in the file of a version that has seen them, and hold for every pair of versions
whose grammars differ so. What the layers below SGLang read from the environment stands in files of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine, EngineError, load_engine
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.suggest import nearest

SERVER = "sglang.launch_server"
ROUTER = "sglang_router.launch_router"
BENCHMARK = "sglang.bench_serving"


@dataclass(frozen=True)
class Catalogue:
    """engines: in the order of program and version, oldest first."""

    engines: tuple[Engine, ...]

    def versions(self, program: str = SERVER) -> list[str]:
        """The versions of a program, oldest first."""
        return [engine.version for engine in self.engines if engine.program == program]

    def get(self, version: str, program: str = SERVER) -> Engine:
        """The engine of this version; raises `EngineError` that lists the known ones and says how to add one."""
        for engine in self.engines:
            if (engine.program, engine.version) == (program, version):
                return engine
        known = self.versions(program)
        near = nearest(version, known, count=1)
        raise EngineError(
            f"there is no engine file for {program} {version}"
            + (f"; did you mean {near[0]}?" if near else "")
            + f" Known versions: {', '.join(known) or 'none'}."
            + " tools/dump_engine.py, run where that version is installed, prints its file."
        )


def load_catalogue(files: Mapping[str, Any]) -> Catalogue:
    """Build the catalogue from parsed files: name -> JSON. Raises `EngineError` that names the file."""
    engines: dict[tuple[str, str], Engine] = {}
    below: dict[str | None, frozenset[str]] = {}
    for name, content in files.items():
        if not isinstance(content, Mapping):
            raise EngineError(f"{name}: an engine file must hold one JSON object, not {type(content).__name__}")
        if "program" not in content and "environment" in content:
            for reader, variables in content["environment"].items():
                below[reader or None] = below.get(reader or None, frozenset()) | frozenset(variables)
            continue
        try:
            engine = load_engine(content)
        except EngineError as error:
            raise EngineError(f"{name}: {error}") from error
        engines[engine.program, engine.version] = engine
    ordered = sorted(engines.values(), key=lambda engine: (engine.program, version_key(engine.version)))
    return Catalogue(tuple(_shared(engine, ordered, below) for engine in ordered))


def version_key(version: str) -> tuple[Any, ...]:
    """An order of versions: numbers as numbers, ``.post`` after the release, ``rc`` and ``.dev`` before it."""
    key: list[tuple[int, Any]] = []
    for part in re.findall(r"\d+|[a-z]+", version.lower()):
        if part.isdigit():
            key.append((3, int(part)))
        else:
            key.append((0 if part in ("dev", "a", "b", "rc") else 4, part))
    return (*key, (2, 0))


def _shared(engine: Engine, engines: list[Engine], below: Mapping[str | None, frozenset[str]]) -> Engine:
    family = [other for other in engines if other.program == engine.program]
    env = dict(below)
    for reader, names in engine.env.items():
        env[reader] = env.get(reader, frozenset()) | names
    return replace(
        engine,
        env=env,
        # Newest first: where two versions say something about one spelling, the later has the last word.
        rules=tuple(dict.fromkeys(rule for other in reversed(family) for rule in other.rules)),
        removals=tuple(dict.fromkeys(removal for other in reversed(family) for removal in other.removals)),
        defaults=tuple(dict.fromkeys(default for other in reversed(family) for default in other.defaults)),
    )
