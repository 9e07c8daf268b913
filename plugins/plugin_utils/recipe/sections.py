# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A page as recipes: each with its title, its facts and its shell blocks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import elements as el
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import facts as fa
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.plaintext import plain
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.titles import is_section, qualified, same_anchor


@dataclass(frozen=True)
class RecipeText:
    """One recipe as the page has it. blocks: its shell, in order."""

    title: str
    line: int
    facts: Mapping[str, str]
    blocks: tuple[el.Code, ...]
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Page:
    """What a page consists of. loose: blocks under no title, or of another language; prose: every other line."""

    sections: tuple[RecipeText, ...]
    loose: tuple[el.Code, ...]
    prose: tuple[el.Prose, ...]


@dataclass
class _Section:
    heading: el.Heading
    own: dict[str, str] = field(default_factory=dict)
    blocks: list[el.Code] = field(default_factory=list)
    open: bool = True


def read(text: str, name: str) -> Page:
    """The recipes of a page. name: the title of a recipe on a page without any heading."""
    lines = el.clean(text)
    marked = el.is_markdown(lines)
    elements = list(el.markdown(lines) if marked else plain(lines))
    page_title = el.title_of(lines) if marked else None
    label: str | None = None
    tables = [element for element in elements if isinstance(element, el.Table)]
    columns = fa.columns(tables)
    rows: list[tuple[Mapping[str, str], str | None]] = []
    anchors = [link for table in tables for _unused, link in fa.parse_table(table) if link]

    sections: list[_Section] = []
    stack: list[_Section] = []
    loose: list[el.Code] = []
    prose: list[el.Prose] = []
    for element in elements:
        match element:
            case el.Heading():
                label = None
                if element.level == 0 and is_section(element.text):
                    _close(stack)
                    continue
                _close(stack)
                stack = [each for each in stack if each.heading.level < element.level]
                stack.append(_Section(element))
                sections.append(stack[-1])
            case el.Code():
                _close(stack)
                owner = _owner(stack, anchors)
                if owner is None and not stack and element.shell:
                    stack = [_Section(el.Heading(element.line, 0, name), open=False)]
                    sections.append(stack[-1])
                    owner = stack[-1]
                if owner is not None and element.shell:
                    owner.blocks.append(replace(element, label=label))
                else:
                    loose.append(element)
            case el.Table():
                found = fa.parse_table(element)
                if stack and stack[-1].open and len(found) == 1 and found[0][1] is None:
                    stack[-1].own.update(found[0][0])
                else:
                    rows.extend(found)
            case el.Prose():
                prose.append(element)
                label = el.bold(element.text) or label
                if stack and stack[-1].open:
                    stack[-1].own.update(fa.parse_line(element.text, columns))
    recipes = tuple(_recipe(section, rows, page_title) for section in sections if section.blocks)
    return Page(recipes, tuple(loose), tuple(prose))


def _close(stack: Sequence[_Section]) -> None:
    """Facts stand under a title, before anything else does."""
    for section in stack:
        section.open = False


def _owner(stack: Sequence[_Section], anchors: Iterable[str]) -> _Section | None:
    """The recipe that a block under these headings belongs to: the nearest title that is one."""
    known = list(anchors)
    for section in reversed(stack):
        title = section.heading.text
        if fa.is_about(section.own) or any(same_anchor(anchor, title) for anchor in known):
            return section
    return next((section for section in reversed(stack) if not is_section(section.heading.text)), None)


def _recipe(
    section: _Section, rows: Sequence[tuple[Mapping[str, str], str | None]], page_title: str | None
) -> RecipeText:
    title, line = section.heading.text, section.heading.line
    linked = [facts for facts, link in rows if link and same_anchor(link, title)]
    notes: list[Note] = []
    own = dict(section.own) if fa.is_about(section.own) else {}
    fitting = linked or [facts for facts, link in rows if fa.matches_title(facts, title)]
    if own and linked:
        for key in fa.different_figures(own, linked[0]):
            what = f"{key} is {own[key]!r} under the title and {linked[0][key]!r} in the page's table"
            notes.append(Note(line, what, "what stands under the title is taken", "warning"))
        own = {**own, **{key: text for key, text in linked[0].items() if key not in own}}
    elif not own and (linked or len(fitting) == 1):
        own = dict(fitting[0])
    elif not own:
        notes.append(Note(line, title, "the page has no facts about it (model, cards, TPOT)"))
    title = title if own else qualified(title, page_title)
    return RecipeText(title, line, fa.without_asides(own), tuple(section.blocks), tuple(notes))
