# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Exported variables, unset ones and sourced files of a role."""

from __future__ import annotations

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import placeholders as ph
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.folding import (
    NPUS,
    Folding,
    RoleText,
    derived,
    grow,
    same_names,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note, RecipeError
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.urls import STORE, ZBAL, url
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.values import (
    HostOutput,
    HostVariable,
    Text,
    Value,
    known,
)

# Variables that hold an address, and whose it is.
_ADDRESSES = {
    "HCCL_IF_IP": "data_address",
    "SGLANG_HOST_IP": "data_address",
    "HOST_IP": "data_address",
    "MASTER_ADDR": "head_address",
    STORE: "store_address",
    ZBAL: "head_address",
}


def surroundings(what: Folding, role: RoleText) -> None:
    """Sourced files and unset variables."""
    first = what.members[0].launch
    sources = [[what.text(word.value) for word in member.launch.source] for member in what.members]
    unsets = [list(member.launch.unset) for member in what.members]
    for kind, lists in (("sourced file", sources), ("unset variable", unsets)):
        same_names(what, kind, lists)
    for word in first.source:
        if not known(word.value):
            raise RecipeError(
                word.line,
                f"which file {what.text(word.value)} is depends on the host",
                "Write its path into a copy of the page",
            )
    role.source = list(dict.fromkeys(sources[0]))
    role.unset = unsets[0]
    role.used |= {(word.line, "source", what.text(word.value)) for word in first.source}
    role.used |= {(line, "unset", name) for name, line in first.unset.items()}


def variables(what: Folding, role: RoleText) -> None:
    """The environment, in the order in which the first member has it."""
    envs = [dict(member.launch.env) for member in what.members]
    for name in NPUS:
        for env in envs:
            if name in env:
                line = env.pop(name).line
                role.notes.append(Note(line, f"export {name}", "the plan gives each server its NPUs"))
    for name in same_names(what, "variable", [list(env) for env in envs]):
        _variable(what, role, name)


def _variable(what: Folding, role: RoleText, name: str) -> None:
    exported = [member.launch.env[name] for member in what.members]
    line = exported[0].line
    role.used |= {(each.line, "export", name) for each in exported}
    values = [each.value for each in exported]
    if name.endswith("SOCKET_IFNAME") or _asks_for(what, values[0], "interface"):
        role.env[name] = "<network_interface>"
        return
    if what.nodes > 1 and _is_rank(what, name):
        role.env[name] = "<node_rank>"
        return
    if name in _ADDRESSES and not any(isinstance(part, HostOutput) for part in values[0]):
        found = url(what, role, name, values, line, _ADDRESSES[name])
    else:
        found = derived(what, f"the variable {name}", values, line)
    elsewhere = {part.name for part in values[0] if isinstance(part, HostVariable)} - {name}
    if elsewhere and f"<env:{min(elsewhere)}>" in found.text:
        why = f"the page never sets {', '.join(sorted(elsewhere))}: the host's own is used"
        role.notes.append(Note(line, f"export {name}", why, "warning"))
    if found.per_rank:
        raise RecipeError(line, f"{name} grows with the rank, which a profile cannot say", "Set it in the settings")
    grow(role, name, found, what)
    role.env[name] = what.places.placeholders.restore(found.text)


def _is_rank(what: Folding, name: str) -> bool:
    """Whether the commands take their --node-rank from this variable."""
    words = [option.words for options in what.options for option in options if option.name == "node-rank"]
    parts = [part for each in words if each for part in each[0].value]
    return any(isinstance(part, Text) and part.origin is not None and part.origin.name == name for part in parts)


def _asks_for(what: Folding, value: Value, kind: str) -> bool:
    text = "".join(part.text for part in value if isinstance(part, Text))
    meaning = ph.meaning(what.places.placeholders.restore(text)) if len(text) == 1 and ph.is_mark(text) else None
    return meaning is not None and meaning.kind == kind
