# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deviations: the differences between the page and what is planned, each with its reason.

The differences are computed from both sides; passes only record why they touched a flag or variable. So no difference
can be left out, and none can be declared that is not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ansible_collections.ascend.sglang.plugins.plugin_utils.reasons import REASONS

DeviationKind = Literal["arg", "env", "unset", "source"]
# For args the words behind the flag ([] a bare flag; a list of lists for a repeated flag), for the rest their text.
# A secret's word is {"secret": name}.
Side: TypeAlias = Any


@dataclass(frozen=True)
class Deviation:
    """One flag or variable that is not as the page has it. `page` and `rendered` are None where it is absent."""

    host: str
    role: str
    instance: int
    rank: int
    kind: DeviationKind
    name: str
    page: Side
    rendered: Side
    reason: str
    why: str

    def as_dict(self) -> dict[str, Any]:
        return {
            "host": self.host,
            "role": self.role,
            "instance": self.instance,
            "rank": self.rank,
            "kind": self.kind,
            "name": self.name,
            "page": self.page,
            "rendered": self.rendered,
            "reason": self.reason,
            "why": self.why,
        }


@dataclass(frozen=True)
class Command:
    """One side of the comparison: flags as spelled, with dashes, to words; variables to text; names."""

    args: Mapping[str, Side]
    env: Mapping[str, Side]
    unset: tuple[str, ...] = ()
    source: tuple[str, ...] = ()

    def sides(self) -> Iterator[tuple[DeviationKind, Mapping[str, Side]]]:
        yield "arg", self.args
        yield "env", self.env
        yield "unset", {name: name for name in self.unset}
        yield "source", {name: name for name in self.source}


class Reasons:
    """Why the passes touched what they touched. A later reason replaces an earlier one."""

    def __init__(self, known: Mapping[tuple[DeviationKind, str], tuple[str, str]] | None = None) -> None:
        self._reasons = dict(known or {})

    def note(self, kind: DeviationKind, name: str, reason: str, of_it: str = "") -> None:
        """Record why the flag (with its dashes), variable or file differs; of_it: what holds for just this one."""
        if reason not in REASONS:
            raise KeyError(reason)
        self._reasons[(kind, name)] = (reason, of_it)

    def note_flag(self, name: str, reason: str) -> None:
        self.note("arg", f"--{name}", reason)

    def copy(self) -> Reasons:
        return Reasons(self._reasons)

    def of(self, kind: DeviationKind, name: str) -> str:
        return self._reasons[(kind, name)][0]

    def why(self, kind: DeviationKind, name: str) -> str:
        """The reason's sentence, with what holds for just this flag, variable or file."""
        reason, of_it = self._reasons[(kind, name)]
        sentence = REASONS[reason]
        return f"{sentence.rstrip('.')}: {of_it.rstrip('.')}." if of_it else sentence


def compare(
    page: Command, rendered: Command, reasons: Reasons, *, host: str, role: str, instance: int = 0, rank: int = 0
) -> Iterable[Deviation]:
    """Every difference, in the page's order, then what was added."""
    for (kind, before), (_kind, after) in zip(page.sides(), rendered.sides(), strict=True):
        for name in dict.fromkeys((*before, *after)):
            old, new = before.get(name), after.get(name)
            if old != new:
                reason, why = reasons.of(kind, name), reasons.why(kind, name)
                yield Deviation(host, role, instance, rank, kind, name, old, new, reason, why)
