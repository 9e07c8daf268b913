# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The services of one role as one role of a profile: instances, nodes, environment, arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import placeholders as ph
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import places as pl
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note, RecipeError
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.options import Option, argument
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.places import Marked, Member, Places
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.template import NotDerivedError, Template, template
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.values import HostVariable, Text, Value

STORE = "ASCEND_MF_STORE_URL"
ZBAL = "SGLANG_ZBAL_BOOTSTRAP_URL"
BOOTSTRAP = "disaggregation-bootstrap-port"
# Variables that hold an address, and whose it is.
_ADDRESSES = {
    "HCCL_IF_IP": "data_address",
    "SGLANG_HOST_IP": "data_address",
    "HOST_IP": "data_address",
    "MASTER_ADDR": "head_address",
    STORE: "store_address",
    ZBAL: "head_address",
}
# What the plan decides itself where several servers share a host.
_NPUS = ("base-gpu-id", "ASCEND_RT_VISIBLE_DEVICES", "ASCEND_VISIBLE_DEVICES")
_STORE_PORT = 24670


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
class Folding:
    """What folding a role needs to know.

    options: of each member, in the members' order. nodes: of an instance. model: the path of the weights.
    """

    role: str
    members: Sequence[Member]
    options: Sequence[Sequence[Option]]
    nodes: int
    places: Places
    engine: Engine | None
    model: Value | None = None

    @property
    def instances(self) -> int:
        return 1 + max(member.instance for member in self.members)

    @property
    def line(self) -> int:
        return self.members[0].launch.line

    def text(self, value: Value) -> str:
        return self.places.text(value)


def fold(what: Folding) -> RoleText:
    """The role. Raises `RecipeError` for what differs between hosts and cannot be derived."""
    role = RoleText()
    _surroundings(what, role)
    for name in _same_names(what, "variable", [list(member.launch.env) for member in what.members]):
        _variable(what, role, name)
    by_name = [{option.name: option for option in options} for options in what.options]
    for name in _same_names(what, "flag", [list(options) for options in by_name]):
        _flag(what, role, name, [options[name] for options in by_name])
    return role


def _same_names(what: Folding, kind: str, names: Sequence[Sequence[str]]) -> Sequence[str]:
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


def _surroundings(what: Folding, role: RoleText) -> None:
    first = what.members[0].launch
    sources = [[what.text(word.value) for word in member.launch.source] for member in what.members]
    unsets = [list(member.launch.unset) for member in what.members]
    for kind, lists in (("sourced file", sources), ("unset variable", unsets)):
        _same_names(what, kind, lists)
    for word in first.source:
        if any(isinstance(part, HostVariable) for part in word.value):
            raise RecipeError(
                word.line,
                f"which file {what.text(word.value)} is depends on the host",
                "Write its path into a copy of the page",
            )
    role.source = list(dict.fromkeys(sources[0]))
    role.unset = unsets[0]
    role.used |= {(word.line, "source", what.text(word.value)) for word in first.source}
    role.used |= {(line, "unset", name) for name, line in first.unset.items()}


def _variable(what: Folding, role: RoleText, name: str) -> None:
    exported = [member.launch.env[name] for member in what.members]
    line = exported[0].line
    role.used |= {(each.line, "export", name) for each in exported}
    values = [each.value for each in exported]
    if name.endswith("SOCKET_IFNAME") or _asks_for(what, values[0], "interface"):
        role.env[name] = "<network_interface>"
        return
    if name in _ADDRESSES:
        found = _url(what, role, name, values, line, _ADDRESSES[name])
    elif name in _NPUS and len({what.text(value) for value in values}) > 1:
        role.notes += [Note(each.line, f"export {name}", "the plan gives each server its NPUs") for each in exported]
        return
    else:
        found = _derived(what, f"the variable {name}", values, line)
    elsewhere = {part.name for part in values[0] if isinstance(part, HostVariable)} - {name}
    if elsewhere:
        shown = ", ".join(sorted(elsewhere))
        role.notes.append(
            Note(line, f"export {name}", f"the page never sets {shown}: the host's own is used", "warning")
        )
    if found.per_rank:
        raise RecipeError(line, f"{name} grows with the rank, which a profile cannot say", "Set it in the settings")
    _grow(role, name, found, what, default=0)
    role.env[name] = what.places.placeholders.restore(found.text)


def _asks_for(what: Folding, value: Value, kind: str) -> bool:
    text = "".join(part.text for part in value if isinstance(part, Text))
    meaning = ph.meaning(what.places.placeholders.restore(text)) if len(text) == 1 and ph.is_mark(text) else None
    return meaning is not None and meaning.kind == kind


def _grow(role: RoleText, name: str, found: Template, what: Folding, default: int) -> None:
    if what.instances > 1 and found.per_instance != default:
        role.per_instance[name] = found.per_instance


def _derived(what: Folding, name: str, values: Sequence[Value], line: int, prefer: Sequence[str] = ()) -> Template:
    marked = [what.places.marked(value) for value in values]
    try:
        return template(marked, what.members, what.role, what.places, prefer)
    except NotDerivedError as different:
        raise RecipeError(
            line,
            f"{name} differs between the {what.role} hosts in a way that follows neither from instance nor from rank: "
            f"{different}",
            f"A profile has one set of arguments for all {what.role} instances: split the recipe",
        ) from None


def _url(what: Folding, role: RoleText, name: str, values: Sequence[Value], line: int, whose: str) -> Template:
    """An address with a port, such as ``tcp://ADDRESS:24670``: the address is derived, the port is data."""
    parts = [pl.split_url(what.places.marked(value)) for value in values]
    if any(part is None for part in parts):
        return _derived(what, name, values, line, (whose,))
    split = [part for part in parts if part is not None]
    hosts = [_literal(part[1]) for part in split]
    if all(host is not None and not pl.is_host(host) for host in hosts) and whose != "store_address":
        if what.nodes == 1 or not name.startswith("dist-init"):
            return _derived(what, name, values, line)
        role.notes.append(
            Note(line, f"{name} {hosts[0]}", "other nodes cannot reach it: the instance's rank 0 is taken", "warning")
        )
    chosen = _whose(what, [part[1] for part in split], whose)
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


def _whose(what: Folding, hosts: Sequence[Marked], whose: str) -> str | None:
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
    if len(rest) == 2 and ph.is_mark(rest[1]):
        if name == STORE:
            shown = what.places.placeholders.restore(rest[1])
            why = f"the page leaves the port open; {_STORE_PORT} is taken, as on SGLang's other pages"
            role.notes.append(Note(line, f"{name} {shown}", why, "warning"))
            return f":{_STORE_PORT}"
        raise RecipeError(line, f"the page leaves the port of {name} open", "Write a number into a copy of the page")
    return rest


# Flags


def _flag(what: Folding, role: RoleText, name: str, options: Sequence[Option]) -> None:
    first = options[0]
    role.used |= {(option.line, "flag", option.written) for option in options}
    page: dict[str, Any] = {}
    if first.written != name:
        page["flag"] = first.written
        role.notes.append(Note(first.line, f"--{first.written}", f"its full name is --{name}"))
    if first.torn is not None:
        page["words"] = [what.text(word.value) for word in first.words]
        shown = " ".join(page["words"])
        role.notes.append(
            Note(first.line, f"--{first.written} {shown}", "the shell tears the JSON apart; it is kept whole")
        )
    special = _SPECIAL.get(name)
    if special is not None:
        value = special(what, role, options)
    elif name in _NPUS and len({tuple(word.text for word in option.words) for option in options}) > 1:
        role.notes += [
            Note(option.line, f"--{option.written}", "the plan gives each server its NPUs") for option in options
        ]
        return
    else:
        value = _plain_flag(what, role, name, options, page)
    if value is not None:
        role.args[name] = value
        if page:
            role.page[name] = page


def _plain_flag(what: Folding, role: RoleText, name: str, options: Sequence[Option], page: dict[str, Any]) -> Any:
    words: list[str] = []
    count = len(options[0].words)
    if any(len(option.words) != count for option in options):
        raise RecipeError(
            options[0].line, f"--{name} has more words on one {what.role} host than on another", "Split it"
        )
    for place in range(count):
        values = [option.words[place].value for option in options]
        if _is_model_path(what, values[0]):
            words.append("<model_path>")
            continue
        _refuse_host_variables(what, options[0], values[0])
        found = _derived(what, f"--{name}", values, options[0].line)
        if found.per_rank:
            page["per_rank"] = found.per_rank
            why = f"the page adds {found.per_rank} for every rank; all nodes of an instance get rank 0's number"
            role.notes.append(Note(options[0].line, f"--{name}", why))
        if place == 0:
            _grow(role, name, found, what, default=1 if name == BOOTSTRAP else 0)
        text = what.places.placeholders.restore(found.text)
        if any(ph.is_mark(character) for character in found.text):
            why = f"the page leaves it open: set it with sglang_{what.role}_args"
            role.notes.append(Note(options[0].line, f"--{name} {text}", why, "warning"))
        words.append(text)
    return argument(options[0], words, what.engine)


def _refuse_host_variables(what: Folding, option: Option, value: Value) -> None:
    for part in value:
        if isinstance(part, HostVariable):
            raise RecipeError(
                option.line,
                f"--{option.written} uses ${part.name}, which the page never sets",
                "Set it in a copy of the page",
            )


def _is_model_path(what: Folding, value: Value) -> bool:
    """Whether a word is the path of the weights again (``--tokenizer-path $MODEL_PATH``)."""
    return what.model is not None and same_path(what.model, value)


def same_path(first: Value, second: Value) -> bool:
    """Whether two words are one path: read from one variable, or literally the same directory."""
    if len(first) != 1 or len(second) != 1 or first != second:
        return False
    part = first[0]
    return not isinstance(part, Text) or part.origin is not None or "/" in part.text or ph.is_mark(part.text[:1])


def _model_path(_what: Folding, _role: RoleText, _options: Sequence[Option]) -> str:
    return "<model_path>"


def _draft_model_path(what: Folding, _role: RoleText, options: Sequence[Option]) -> str:
    return "<model_path>" if _is_model_path(what, options[0].words[0].value) else "<draft_model_path>"


def _host(what: Folding, role: RoleText, options: Sequence[Option]) -> str:
    line = options[0].line
    values = [option.words[0].value for option in options]
    marked = [what.places.marked(value) for value in values]
    literals = [_literal(each) for each in marked]
    if all(literal is not None and not pl.is_host(literal) for literal in literals):
        return _derived(what, "--host", values, line).text
    for each, member in zip(marked, what.members, strict=True):
        reference = each[0] if len(each) == 1 else None
        other = isinstance(reference, pl.Reference) and reference.host is not None and member.host is not None
        if other and isinstance(reference, pl.Reference) and reference.host != member.host:
            shown = what.text(values[0])
            role.notes.append(
                Note(line, f"--host {shown}", "a server listens on its own node's address, not on another's", "warning")
            )
            break
    return "<data_address>"


def _dist_init_addr(what: Folding, role: RoleText, options: Sequence[Option]) -> str:
    values = [option.words[0].value for option in options]
    found = _url(what, role, "dist-init-addr", values, options[0].line, "head_address")
    _grow(role, "dist-init-addr", found, what, default=0)
    return found.text


def _node_rank(what: Folding, role: RoleText, options: Sequence[Option]) -> int | str:
    texts = [what.text(option.words[0].value) for option in options]
    line = options[0].line
    if what.nodes == 1 and len(set(texts)) == 1 and texts[0].isdigit():
        return int(texts[0])
    ranks = [str(member.rank) for member in what.members]
    if texts != ranks and not (len(texts) == 1 and what.nodes > 1):
        shown = ", ".join(texts)
        nodes = "1 node" if what.nodes == 1 else f"{what.nodes} nodes"
        why = f"the instances have {nodes}: the ranks are {', '.join(ranks)}"
        role.notes.append(Note(line, f"--node-rank {shown}", why, "warning"))
    return "<node_rank>"


_SPECIAL: Mapping[str, Callable[[Folding, RoleText, Sequence[Option]], Any]] = {
    "model-path": _model_path,
    "speculative-draft-model-path": _draft_model_path,
    "host": _host,
    "dist-init-addr": _dist_init_addr,
    "node-rank": _node_rank,
}
