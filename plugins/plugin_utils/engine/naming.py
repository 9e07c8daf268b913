# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From a flag as somebody wrote it to the spelling that a profile and a plan use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.suggest import nearest


@dataclass(frozen=True)
class Candidates:
    """No single flag was meant: several begin so (``ambiguous``), or none does (``unknown``).

    names: full names without dashes in front, best first; for an unknown flag the nearest ones, possibly none.
    """

    kind: Literal["ambiguous", "unknown"]
    names: tuple[str, ...]


def canonical(engine: Engine, name: str) -> str:
    """The one spelling of the flag that has this exact name (without dashes); the name itself if there is none.

    ``ep`` and ``expert-parallel-size`` are ``ep-size``. A ``no-`` form stays one: it says something else.
    """
    flag = engine.flag(name)
    if flag is None or name in flag.off_names:
        return name
    return flag.name


def full_name(engine: Engine, written: str) -> str | Candidates:
    """The full name, without dashes, of a flag as written on a command line or in a settings file.

    Accepts what the parser accepts (dashes in front, abbreviations that fit one flag only, ``--flag=value``) and
    what people write besides (underscores, capitals, one dash).
    """
    name = written.strip().lstrip("-").partition("=")[0]
    for attempt in (name, name.replace("_", "-"), name.replace("_", "-").lower()):
        if not attempt:
            break
        if attempt in engine.by_name:
            return canonical(engine, attempt)
        begun = sorted({canonical(engine, known) for known in engine.by_name if known.startswith(attempt)})
        if len(begun) == 1:
            return begun[0]
        if begun:
            return Candidates("ambiguous", tuple(begun))
    return Candidates("unknown", nearest_flags(engine, name))


def nearest_flags(engine: Engine, name: str) -> tuple[str, ...]:
    """The full names most like ``name``, best first, each flag once."""
    near = (canonical(engine, each) for each in nearest(name, engine.by_name, count=6))
    return tuple(dict.fromkeys(near))[:3]
