# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Addresses with ports: ``tcp://ADDRESS:24670``, ``ADDRESS:5000``. The address is derived, the port is data."""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import placeholders as ph
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import places as pl
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.folding import Folding, RoleText, derived
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note, RecipeError
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.places import Marked
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.template import NotDerivedError, Template, template
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.values import Value

STORE = "ASCEND_MF_STORE_URL"
ZBAL = "SGLANG_ZBAL_BOOTSTRAP_URL"
DIST_INIT = "dist-init-addr"
# The ports of SGLang's pages, where one leaves its port open.
_PORTS = {STORE: 24670, ZBAL: 24699, DIST_INIT: 5000}


def url(what: Folding, role: RoleText, name: str, values: Sequence[Value], line: int, whose: str) -> Template:
    """The value with the address's placeholder.

    whose: whose it has to be. Another one is kept where it may be another's, else it is noted.
    """
    parts = [pl.split_url(what.marked(value)) for value in values]
    split = [part for part in parts if part is not None]
    if len(split) != len(parts):
        return derived(what, name, values, line, (whose,))
    hosts = [_literal(part[1]) for part in split]
    if all(host is not None and not pl.is_host(host) for host in hosts) and whose != "store_address":
        if what.nodes == 1 or name != DIST_INIT:
            return derived(what, name, values, line)
        why = "other nodes cannot reach it: the instance's rank 0 is taken"
        role.notes.append(Note(line, f"{name} {hosts[0]}", why, "warning"))
    chosen = _chosen(what, [part[1] for part in split], whose)
    if chosen is None:
        chosen = whose
        shown = " | ".join(dict.fromkeys(what.text(value) for value in values))
        role.notes.append(
            Note(line, f"{name} {shown}", f"its address becomes <{whose}>, which it has to be", "warning")
        )
    rests = [_port(what, role, name, part[2], line) for part in split]
    texts: list[Marked] = [(f"{part[0]}<{chosen}>{rest}",) for part, rest in zip(split, rests, strict=True)]
    try:
        return template(texts, what.members, what.role, what.places)
    except NotDerivedError as different:
        raise RecipeError(line, f"{name} differs between the {what.role} hosts: {different}", "Correct it") from None


def _literal(host: Marked) -> str | None:
    return host[0] if len(host) == 1 and isinstance(host[0], str) else None


def _chosen(what: Folding, hosts: Sequence[Marked], whose: str) -> str | None:
    """The placeholder that these hosts are, `whose` first; None if they are known to be another's."""
    common: set[str] | None = None
    for host, member in zip(hosts, what.members, strict=True):
        reference = host[0] if len(host) == 1 else None
        if isinstance(reference, str):
            reference = what.places.named(reference)
        if not isinstance(reference, pl.Reference) or (reference.host is None and not reference.own):
            continue
        if member.host is None and reference.own:
            continue
        fitting = set(what.places.fitting(reference, what.role, member))
        common = fitting if common is None else common & fitting
    if common is None or whose in common:
        return whose
    # Another one is taken at its word where the meaning of the variable leaves it open.
    return next(
        (name for name in ("data_address", "store_address") if name in common and whose == "head_address"), None
    )


def _port(what: Folding, role: RoleText, name: str, rest: str, line: int) -> str:
    if len(rest) != 2 or not ph.is_mark(rest[1]):
        return rest
    if name not in _PORTS:
        raise RecipeError(line, f"the page leaves the port of {name} open", "Write a number into a copy of the page")
    why = f"the page leaves the port open; {_PORTS[name]} is taken, as on SGLang's other pages"
    role.notes.append(Note(line, f"{name} {what.places.placeholders.restore(rest[1])}", why, "warning"))
    return f":{_PORTS[name]}"
