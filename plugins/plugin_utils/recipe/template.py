# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One value as the profile has it, from what it is on each host: what depends on the node becomes a placeholder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.places import Marked, Member, Places, Reference


@dataclass(frozen=True)
class Template:
    """The value with placeholders. per_instance, per_rank: what its last number grows by with either index."""

    text: str
    per_instance: int = 0
    per_rank: int = 0


class NotDerivedError(ValueError):
    """The value differs from host to host in a way that a profile cannot say; the message shows the values."""


def template(
    values: Sequence[Marked], members: Sequence[Member], role: str, places: Places, prefer: Sequence[str] = ()
) -> Template:
    """The template that gives each member its value. prefer: placeholders to take where several would fit.

    Raises `NotDerivedError`.
    """
    texts = _addresses(values, members, role, places, prefer)
    if len(set(texts)) == 1:
        return Template(texts[0])
    ranks = [str(member.rank) for member in members]
    if texts == ranks:
        return Template("<node_rank>")
    return _numbers(texts, members)


def _addresses(
    values: Sequence[Marked], members: Sequence[Member], role: str, places: Places, prefer: Sequence[str]
) -> list[str]:
    shapes = {tuple(isinstance(part, Reference) for part in value) for value in values}
    if len(shapes) != 1:
        raise NotDerivedError(_shown(values, places))
    texts = ["" for _unused in values]
    for place, is_reference in enumerate(shapes.pop()):
        column = [value[place] for value in values]
        if not is_reference:
            texts = [text + str(part) for text, part in zip(texts, column, strict=True)]
            continue
        references = [part for part in column if isinstance(part, Reference)]
        fitting = [
            places.fitting(reference, role, member) for reference, member in zip(references, members, strict=True)
        ]
        common = [name for name in fitting[0] if all(name in names for names in fitting)]
        chosen = next((name for name in prefer if name in common), common[0] if common else None)
        if chosen is None:
            raise NotDerivedError(_shown(values, places))
        texts = [f"{text}<{chosen}>" for text in texts]
    return texts


def _numbers(texts: Sequence[str], members: Sequence[Member]) -> Template:
    fields = [re.split(r"(\d+)", text) for text in texts]
    varying = {
        place
        for parts in fields
        for place, part in enumerate(parts)
        if len(parts) != len(fields[0]) or part != fields[0][place]
    }
    # Numbers stand at odd places; one that changes must be the last thing in the value.
    if len(varying) != 1 or min(varying) % 2 == 0 or min(varying) != len(fields[0]) - 2 or fields[0][-1]:
        raise NotDerivedError(" | ".join(dict.fromkeys(texts)))
    place = varying.pop()
    numbers = {(member.instance, member.rank): int(parts[place]) for member, parts in zip(members, fields, strict=True)}
    first = numbers[0, 0]
    by_instance = numbers.get((1, 0), first) - first
    by_rank = numbers.get((0, 1), first) - first
    if any(number != first + by_instance * at + by_rank * rank for (at, rank), number in numbers.items()):
        raise NotDerivedError(" | ".join(dict.fromkeys(texts)))
    return Template(texts[0], by_instance, by_rank)


def _shown(values: Sequence[Marked], places: Places) -> str:
    texts = []
    for value in values:
        parts = [part if isinstance(part, str) else (part.host.text if part.host else "own address") for part in value]
        texts.append(places.placeholders.restore("".join(parts)))
    return " | ".join(dict.fromkeys(texts))
