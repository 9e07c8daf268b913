# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Folding: the services of one role, host by host, become one role of a profile. What its parts share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import placeholders as ph
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note, RecipeError
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.options import Option
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.places import Marked, Member, Places
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.template import NotDerivedError, Template, template
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.values import HostOutput, Text, Value

# What the plan decides itself where several servers share a host.
NPUS = ("base-gpu-id", "ASCEND_RT_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES")


@dataclass
class RoleText:
    """One role as a profile has it. used: (line, kind, name) of everything on the page that it holds."""

    env: dict[str, str] = field(default_factory=dict)
    args: dict[str, Any] = field(default_factory=dict)
    page: dict[str, dict[str, Any]] = field(default_factory=dict)
    per_instance: dict[str, int] = field(default_factory=dict)
    unset: list[str] = field(default_factory=list)
    source: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    used: set[tuple[int, str, str]] = field(default_factory=set)


@dataclass(frozen=True)
class Paths:
    """The words that a recipe gives for its weights; None where it gives none."""

    model: Value | None = None
    draft: Value | None = None

    def placeholder(self, value: Value) -> str | None:
        """``<model_path>`` or ``<draft_model_path>`` where the value is one of them."""
        if same_path(self.model, value):
            return "<model_path>"
        return "<draft_model_path>" if same_path(self.draft, value) else None


def same_path(path: Value | None, value: Value) -> bool:
    """Whether a word is that path: read from the same variable, or literally the same directory."""
    if path is None or len(path) != 1 or path != value:
        return False
    part = path[0]
    return not isinstance(part, Text) or part.origin is not None or "/" in part.text or ph.is_mark(part.text[:1])


@dataclass(frozen=True)
class Folding:
    """What folding a role needs to know.

    options: of each member, in the members' order. nodes: of an instance. paths: of the weights.
    """

    role: str
    members: Sequence[Member]
    options: Sequence[Sequence[Option]]
    nodes: int
    places: Places
    engine: Engine | None
    paths: Paths = field(default_factory=Paths)

    @property
    def instances(self) -> int:
        return 1 + max(member.instance for member in self.members)

    @property
    def line(self) -> int:
        return self.members[0].launch.line

    def text(self, value: Value) -> str:
        """The value as the page has it."""
        return self.places.text(value)

    def marked(self, value: Value) -> Marked:
        """The value with addresses told from text, and paths of the weights replaced by their placeholders."""
        found: list[Any] = []
        for part in value:
            path = self.paths.placeholder((part,)) if isinstance(part, Text) and part.origin is not None else None
            found.extend([path] if path else self.places.marked((part,)))
        return tuple(found)


def derived(what: Folding, name: str, values: Sequence[Value], line: int, prefer: Sequence[str] = ()) -> Template:
    """The template of a value. Raises `RecipeError` where it follows neither from instance nor from rank."""
    for value in values:
        for part in value:
            if isinstance(part, HostOutput):
                raise RecipeError(
                    line,
                    f"{name} is what {part.raw} prints, which depends on the host",
                    "Write what it prints there into a copy of the page",
                )
    try:
        return template([what.marked(value) for value in values], what.members, what.role, what.places, prefer)
    except NotDerivedError as different:
        raise RecipeError(
            line,
            f"{name} differs between the {what.role} hosts in a way that follows neither from instance nor from rank: "
            f"{different}",
            f"A profile has one set of arguments for all {what.role} instances: split the recipe",
        ) from None


def grow(role: RoleText, name: str, found: Template, what: Folding, default: int = 0) -> None:
    """Note by how much a number grows with the instance, where the plan would not know."""
    if what.instances > 1 and found.per_instance != default:
        role.per_instance[name] = found.per_instance


def same_names(what: Folding, kind: str, names: Sequence[Sequence[str]]) -> Sequence[str]:
    """The names that all members have. Raises `RecipeError` where one has others."""
    for other in names[1:]:
        odd = set(names[0]) ^ set(other)
        if odd:
            shown = ", ".join(sorted(odd))
            raise RecipeError(
                what.line,
                f"the {what.role} services are not alike: not all of them have the {kind} {shown}",
                f"A profile has one set of arguments for all {what.role} instances: split the recipe",
            )
    return names[0]
