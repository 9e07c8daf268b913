# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The importer: a page's text in, profiles and notes out. Knows no files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, Finding, error
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import account, blocks, recipes
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note, RecipeError
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.sections import Page, RecipeText, read
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.variants import variants


@dataclass(frozen=True)
class ImportedProfile:
    """One profile. line: of its title on the page. data: what its file holds."""

    name: str
    title: str
    line: int
    data: Mapping[str, Any]
    notes: tuple[Note, ...]


@dataclass(frozen=True)
class Import:
    """All profiles of a page, and the notes about what is in none of them."""

    engine: str
    profiles: tuple[ImportedProfile, ...]
    notes: tuple[Note, ...]


def import_page(text: str, name: str, engine: Engine, router_engine: Engine) -> Import:
    """The profiles of a page. name: the page's, for messages. engine: the version that the page was written for.

    Raises `CompileError` with every construct that is not understood, each with page and line.
    """
    page = read(text, _stem(name))
    found: list[ImportedProfile] = []
    rest: list[Note] = []
    problems: list[Finding] = []
    for section in page.sections:
        if not any(blocks.starts_server(block) for block in section.blocks):
            rest.extend(_no_recipe(section))
            continue
        try:
            parsed, placeholders, notes = blocks.parse(section.blocks)
        except RecipeError as wrong:
            problems.append(_problem(name, section.title, wrong))
            continue
        for title, group in variants(section.title, parsed):
            recipe = replace(section, title=title, notes=(*section.notes, *notes))
            try:
                done = recipes.compile_recipe(recipe, group, placeholders, engine, router_engine)
            except RecipeError as wrong:
                problems.append(_problem(name, title, wrong))
                continue
            every = {*done.notes, *account.missing(group, done), *account.commented([each.code for each in group])}
            line = section.line if group[0] is parsed[0] else group[0].code.line
            found.append(ImportedProfile(done.name, title, line, done.profile, tuple(sorted(every))))
    problems += _none(name, found, problems)
    if problems:
        raise CompileError(problems)
    rest.extend(_unused(page))
    return Import(engine.version, tuple(_distinct(found)), tuple(sorted(set(rest))))


def _problem(name: str, title: str, wrong: RecipeError) -> Finding:
    return error("recipe", f"{name}, line {wrong.line} ({title})", wrong.what, wrong.do)


def version_of(text: str) -> str | None:
    """The SGLang version that a page names by its image (``sglang:v0.5.13.post1-cann9.0.0-a3``); None without one."""
    found = set(re.findall(r"\bsglang:v?(\d+\.\d+\.\d+(?:\.?(?:post|rc|dev)\d+)?)", text))
    return found.pop() if len(found) == 1 else None


def _stem(name: str) -> str:
    return re.sub(r"\.[A-Za-z0-9]+$", "", name.rsplit("/", 1)[-1])


def _no_recipe(section: RecipeText) -> Iterator[Note]:
    for block in section.blocks:
        yield from account.elsewhere(block.line, block.text, f"{section.title!r} starts no server")


def _unused(page: Page) -> Iterator[Note]:
    for block in page.loose:
        why = "it stands outside of the recipes" if block.shell else "the block is no shell"
        yield from account.elsewhere(block.line, block.text, why)
    for line in page.prose:
        yield from account.elsewhere(line.line, line.text, "it is mentioned in the page's prose")


def _none(name: str, found: Sequence[ImportedProfile], problems: Sequence[Finding]) -> list[Finding]:
    if found or problems:
        return []
    what = "no recipe is in it: no shell block starts sglang.launch_server"
    return [error("recipe", name, what, "Give a page of SGLang's Ascend documentation, as Markdown or copied text")]


def _distinct(found: Sequence[ImportedProfile]) -> Iterator[ImportedProfile]:
    """Profiles under names of their own: a title that is there twice gets a number, as anchors of web sites do."""
    seen: dict[str, int] = {}
    for each in found:
        seen[each.name] = seen.get(each.name, 0) + 1
        if seen[each.name] == 1:
            yield each
            continue
        name = f"{each.name}-{seen[each.name]}"
        note = Note(each.line, each.title, f"the title is there before: the profile is called {name}", "warning")
        yield replace(each, name=name, data={**each.data, "name": name}, notes=tuple(sorted({*each.notes, note})))
