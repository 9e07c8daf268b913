# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The servers that a recipe starts, put into their roles, instances and ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import options as op
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import placeholders as ph
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import places as pl
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.commands import Launch
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note, RecipeError
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.values import Text, show

# What only rank 0 does anything with, so that pages leave it out of the others' commands.
_OF_THE_HEAD = ("host", "port", "disaggregation-bootstrap-port")


@dataclass(frozen=True)
class Seated:
    """A role's servers. options: of each member. nodes: of an instance."""

    members: tuple[pl.Member, ...]
    options: tuple[tuple[op.Option, ...], ...]
    nodes: int


@dataclass(frozen=True)
class _Server:
    launch: Launch
    options: tuple[op.Option, ...]
    host: Text | None

    def text(self, name: str) -> str | None:
        option = next((option for option in self.options if option.name == name), None)
        return show(option.words[0].value) if option and option.words else None

    @property
    def role(self) -> str:
        mode = self.text("disaggregation-mode")
        return mode if mode in ("prefill", "decode") else "mixed"


def seat(
    launches: Sequence[Launch], engine: Engine, placeholders: ph.Placeholders
) -> tuple[dict[str, Seated], list[Note]]:
    """The servers by role, in the order of the page. Raises `RecipeError`."""
    servers: dict[str, list[_Server]] = {}
    notes: list[Note] = []
    for launch in launches:
        options, said = op.parse(launch, engine)
        notes.extend(said)
        server = _Server(launch, options, launch.host)
        if server.host is None:
            server = replace(server, host=_named_host(server, placeholders))
        servers.setdefault(server.role, []).append(server)
    seated = {}
    for role, group in servers.items():
        seated[role], doubts = _seat(role, group, placeholders)
        notes.extend(doubts)
    return seated, notes


def _named_host(server: _Server, placeholders: ph.Placeholders) -> Text | None:
    """The address that a server without an array listens on, where the page names one."""
    option = next((option for option in server.options if option.name == "host"), None)
    if option is None or len(option.words[0].value) != 1:
        return None
    part = option.words[0].value[0]
    if not isinstance(part, Text) or not pl.is_host(part.text):
        return None
    return part if pl.looks_like_host(placeholders.restore(part.text)) else None


def _seat(role: str, servers: Sequence[_Server], placeholders: ph.Placeholders) -> tuple[Seated, list[Note]]:
    notes: list[Note] = []
    nodes = _nodes(role, servers, notes)
    line = servers[0].launch.line
    in_arrays = [server for server in servers if server.launch.host is not None]
    instances = max(1, len(servers) // nodes)
    if in_arrays and len(servers) != instances * nodes:
        hosts = "1 host" if len(servers) == 1 else f"{len(servers)} hosts"
        what = f"the {role} array has {hosts} and --nnodes is {nodes}"
        why = f"taken as {instances} {'instance' if instances == 1 else 'instances'} of {nodes} nodes"
        over = [show((server.host,)) for server in servers[instances * nodes :] if server.host is not None]
        why += f"; {', '.join(map(placeholders.restore, over))} of the array is left over" if over else ""
        notes.append(Note(line, what, why, "warning"))
    ordered = list(servers)
    ranks = [server.text("node-rank") for server in servers]
    if not in_arrays and len(servers) == nodes and sorted(map(str, ranks)) == [str(rank) for rank in range(nodes)]:
        ordered.sort(key=lambda server: int(server.text("node-rank") or 0))
    kept = [_as_head(server, ordered[place // nodes * nodes], notes) for place, server in enumerate(ordered)]
    kept = kept[: instances * nodes]
    members = tuple(
        pl.Member(server.launch, server.host, place // nodes, place % nodes) for place, server in enumerate(kept)
    )
    return Seated(members, tuple(server.options for server in kept), nodes), notes


def _as_head(server: _Server, head: _Server, notes: list[Note]) -> _Server:
    """The server with what only the first node's command says: where it listens, which is all the same for the rest."""
    names = {option.name for option in server.options}
    missing = [option for option in head.options if option.name in _OF_THE_HEAD and option.name not in names]
    if not missing or server.text("node-rank") == head.text("node-rank"):
        return server
    shown = ", ".join(f"--{option.written}" for option in missing)
    why = "only the first node's command has it; the plan gives it to all nodes"
    notes.append(Note(server.launch.line, f"{shown} of node {server.text('node-rank')}", why))
    return replace(server, options=(*server.options, *missing))


def _nodes(role: str, servers: Sequence[_Server], notes: list[Note]) -> int:
    given = {server.text("nnodes") for server in servers}
    line = servers[0].launch.line
    if len(given) > 1:
        shown = ", ".join(sorted(str(each) for each in given))
        raise RecipeError(line, f"the {role} servers have different --nnodes: {shown}", "Give all of them the same")
    text = given.pop()
    if text is not None:
        if not text.isdigit() or int(text) < 1:
            raise RecipeError(line, f"--nnodes {text} of {role} is no number of nodes", "Write a number from 1")
        return int(text)
    ranks = {server.text("node-rank") for server in servers}
    if len(ranks) > 1 and all(server.text("dist-init-addr") for server in servers):
        what = f"{role} has ranks ({', '.join(sorted(map(str, ranks)))}) but no --nnodes"
        notes.append(Note(line, what, f"taken as instances of {len(ranks)} nodes", "warning"))
        return len(ranks)
    return 1


def topology(seated: Mapping[str, Seated]) -> Iterator[tuple[str, int, int]]:
    """role, instances, nodes of an instance."""
    for role, seats in seated.items():
        yield role, 1 + max(member.instance for member in seats.members), seats.nodes
