# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The arguments of a role."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.check import check
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import placeholders as ph
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import places as pl
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.folding import (
    NPUS,
    Folding,
    RoleText,
    derived,
    grow,
    same_names,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note, RecipeError
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.options import Option, argument
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.urls import DIST_INIT, url
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.values import HostVariable, Value, known

BOOTSTRAP = "disaggregation-bootstrap-port"


def flags(what: Folding, role: RoleText) -> None:
    """The arguments, in the page's order."""
    by_name = [{option.name: option for option in options} for options in what.options]
    for name in NPUS:
        having = [options for options in by_name if name in options]
        for options in having if len(having) < len(by_name) else ():
            option = options.pop(name)
            role.notes.append(Note(option.line, f"--{option.written}", "the plan gives each server its NPUs"))
    for name in same_names(what, "flag", [list(options) for options in by_name]):
        _flag(what, role, name, [options[name] for options in by_name])


def _flag(what: Folding, role: RoleText, name: str, options: Sequence[Option]) -> None:
    first = options[0]
    role.used |= {(option.line, "flag", option.written) for option in options}
    page: dict[str, Any] = {}
    if first.written != name:
        page["flag"] = first.written
        role.notes.append(Note(first.line, f"--{first.written}", f"its full name is --{name}"))
    if first.torn is not None:
        page["words"] = [what.text(word.value) for word in first.words]
        shown = f"--{first.written} {' '.join(page['words'])}"
        role.notes.append(Note(first.line, shown, "the shell tears the JSON apart; it is kept whole"))
    special = _SPECIAL.get(name)
    if special is not None:
        value = special(what, role, options)
    elif name in NPUS and len({tuple(word.text for word in option.words) for option in options}) > 1:
        role.notes += [
            Note(option.line, f"--{option.written}", "the plan gives each server its NPUs") for option in options
        ]
        return
    else:
        value = _plain(what, role, name, options, page)
        role.notes.extend(_refused(what, name, value, first))
    role.args[name] = value
    if page:
        role.page[name] = page


def _refused(what: Folding, name: str, value: Any, option: Option) -> Iterator[Note]:
    """A value that the version's parser does not take: a page may be wrong, or of another version."""
    if what.engine is None or what.engine.flag(name) is None or "<" in str(value):
        return
    for problem in check(what.engine, {name: value}, where=what.role, role=what.role):
        if problem.level == "error":
            shown = f"--{option.written} {' '.join(what.text(word.value) for word in option.words)}".strip()
            yield Note(option.line, shown, f"{problem.what}. The profile has it as it stands", "warning")


def _plain(what: Folding, role: RoleText, name: str, options: Sequence[Option], page: dict[str, Any]) -> Any:
    words: list[str] = []
    line, count = options[0].line, len(options[0].words)
    if any(len(option.words) != count for option in options):
        raise RecipeError(line, f"--{name} has more words on one {what.role} host than on another", "Split the recipe")
    for place in range(count):
        values = [option.words[place].value for option in options]
        path = what.paths.placeholder(values[0])
        if path is not None:
            words.append(path)
            continue
        _refuse_host_variables(options[0], values[0])
        found = derived(what, f"--{name}", values, line)
        if found.per_rank:
            page["per_rank"] = found.per_rank
            why = f"the page adds {found.per_rank} for every rank; all nodes of an instance get rank 0's number"
            role.notes.append(Note(line, f"--{name}", why))
        if place == 0:
            grow(role, name, found, what, default=1 if name == BOOTSTRAP else 0)
        text = what.places.placeholders.restore(found.text)
        if any(ph.is_mark(character) for character in found.text):
            why = f"the page leaves it open: set it with sglang_{what.role}_args"
            role.notes.append(Note(line, f"--{name} {text}", why, "warning"))
        words.append(text)
    return argument(options[0], words, what.engine)


def _refuse_host_variables(option: Option, value: Value) -> None:
    for part in value:
        if isinstance(part, HostVariable):
            raise RecipeError(
                option.line,
                f"--{option.written} uses ${part.name}, which the page never sets",
                "Set it in a copy of the page",
            )


def _model_path(_what: Folding, _role: RoleText, _options: Sequence[Option]) -> str:
    return "<model_path>"


def _draft_model_path(what: Folding, _role: RoleText, options: Sequence[Option]) -> str:
    path = what.paths.placeholder(options[0].words[0].value)
    return "<model_path>" if path == "<model_path>" else "<draft_model_path>"


def _host(what: Folding, role: RoleText, options: Sequence[Option]) -> str:
    line = options[0].line
    values = [option.words[0].value for option in options]
    marked = [what.marked(value) for value in values]
    if all(known(value) for value in values) and all(
        len(each) == 1 and isinstance(each[0], str) and not pl.is_host(each[0]) for each in marked
    ):
        return derived(what, "--host", values, line).text
    for each, member in zip(marked, what.members, strict=True):
        reference = each[0] if len(each) == 1 else None
        if not isinstance(reference, pl.Reference) or None in (reference.host, member.host):
            continue
        if reference.host != member.host:
            why = "a server listens on its own node's address, not on another's"
            role.notes.append(Note(line, f"--host {what.text(values[0])}", why, "warning"))
            break
    return "<data_address>"


def _dist_init_addr(what: Folding, role: RoleText, options: Sequence[Option]) -> str:
    values = [option.words[0].value for option in options]
    found = url(what, role, DIST_INIT, values, options[0].line, "head_address")
    grow(role, DIST_INIT, found, what)
    return found.text


def _node_rank(what: Folding, role: RoleText, options: Sequence[Option]) -> int | str:
    texts = [what.text(option.words[0].value) for option in options]
    line = options[0].line
    if what.nodes == 1 and len(set(texts)) == 1 and texts[0].isdigit():
        return int(texts[0])
    ranks = [str(member.rank) for member in what.members]
    if texts != ranks and not (len(texts) == 1 and what.nodes > 1):
        nodes = "1 node" if what.nodes == 1 else f"{what.nodes} nodes"
        why = f"the instances have {nodes}: the ranks are {', '.join(ranks)}"
        role.notes.append(Note(line, f"--node-rank {', '.join(texts)}", why, "warning"))
    return "<node_rank>"


_SPECIAL: Mapping[str, Callable[[Folding, RoleText, Sequence[Option]], Any]] = {
    "model-path": _model_path,
    "speculative-draft-model-path": _draft_model_path,
    "host": _host,
    DIST_INIT: _dist_init_addr,
    "node-rank": _node_rank,
}
