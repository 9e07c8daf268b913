# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One recipe of a page as one profile."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile import npus_per_card
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import blocks as bl
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import facts as fa
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import options as op
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.commands import (
    BENCHMARK,
    ROUTER,
    SERVER,
    HostSetting,
    Launch,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.folding import Folding, Paths, RoleText
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note, RecipeError
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.placeholders import Placeholders
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.places import Member, Places
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.roles import fold
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.routers import router
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.seats import Seated, seat, topology
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.sections import RecipeText
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.titles import slug

# The order of the roles in a profile.
_ROLES = ("prefill", "decode", "mixed")
# Of the Atlas 800I servers.
_CARDS_OF_A_NODE = 8
# sglang-router's own default.
_ROUTER_PORT = 30000


@dataclass(frozen=True)
class Imported:
    """A profile, as the mapping that its file holds, and what there is to say about it.

    used: (line, kind, name) of every export, unset, source, sysctl and flag of the page that the profile holds.
    asides: lines of commands that are no part of a recipe, and why.
    """

    name: str
    profile: Mapping[str, Any]
    notes: tuple[Note, ...]
    used: frozenset[tuple[int, str, str]]
    asides: Mapping[int, str]


def compile_recipe(
    text: RecipeText, blocks: Sequence[bl.Block], placeholders: Placeholders, engine: Engine, router_engine: Engine
) -> Imported:
    """The profile of a recipe. Raises `RecipeError`."""
    runs, notes = bl.run_all(blocks)
    notes = [*text.notes, *notes, *(note for _unused, run in runs for note in run.notes)]
    asides = {line: why for _unused, run in runs for line, why in run.asides.items()}
    launches = [launch for _unused, run in runs for launch in run.launches]
    servers = [launch for launch in launches if launch.module == SERVER]
    seated, said = seat(servers, engine, placeholders)
    notes += said
    _whole(text, seated)
    places = Places({role: seats.members for role, seats in seated.items()}, placeholders)
    folded: dict[str, RoleText] = {}
    for role, seats in seated.items():
        folded[role] = fold(Folding(role, seats.members, seats.options, seats.nodes, places, engine, _paths(seats)))
    paths = next((_paths(seats) for seats in seated.values()), Paths())
    benchmark, more = _benchmark(launches, places, paths)
    folded_router, missing = _router(text, launches, seated, places, router_engine, benchmark, paths)
    if folded_router is not None:
        folded["router"] = folded_router
    notes += [*more, *missing, *_strangers(launches), *_doubts(text, seated)]
    settings = list(dict.fromkeys(setting for _unused, run in runs for setting in run.settings))
    notes += _again(settings)
    used = {(setting.line, "sysctl", setting.key) for setting in settings}
    for each in [*folded.values(), *([benchmark] if benchmark else [])]:
        notes += each.notes
        used |= each.used
    profile = _profile(text, seated, folded, benchmark, settings, engine, router_engine)
    return Imported(profile["name"], profile, tuple(sorted(set(notes))), frozenset(used), asides)


def _again(settings: Sequence[HostSetting]) -> Iterator[Note]:
    """Kernel settings that the page gives two values: a host has one."""
    last = {setting.key: setting for setting in settings}
    for setting in settings:
        kept = last[setting.key]
        if setting.value != kept.value:
            why = f"line {kept.line} sets it to {kept.value}, and that counts: a host has one value for all services"
            yield Note(setting.line, f"{setting.key} {setting.value}", why, "warning")


def _whole(text: RecipeText, seated: Mapping[str, Seated]) -> None:
    roles = set(seated)
    if not roles:
        what = f"no command of {text.title} starts a server in a way that is understood"
        raise RecipeError(text.line, what, "Write it as python3 -m sglang.launch_server … in a copy of the page")
    if "mixed" in roles and len(roles) > 1:
        line = seated["mixed"].members[0].launch.line
        raise RecipeError(
            line,
            "a server without --disaggregation-mode stands beside prefill and decode servers",
            "A profile is one recipe: give each a title of its own in a copy of the page",
        )
    for role, other in (("prefill", "decode"), ("decode", "prefill")):
        if role in roles and other not in roles:
            raise RecipeError(text.line, f"{text.title} starts {role} servers and no {other} server", "Add its command")


def _router(
    text: RecipeText,
    launches: Sequence[Launch],
    seated: Mapping[str, Seated],
    places: Places,
    engine: Engine,
    benchmark: RoleText | None,
    paths: Paths,
) -> tuple[RoleText | None, list[Note]]:
    found = [launch for launch in launches if launch.module == ROUTER]
    if found:
        # A block of servers that starts the router too is run once for each host.
        lines = dict.fromkeys(launch.line for launch in found)
        notes = [
            Note(line, "a second router", f"a profile has one; the one in line {found[0].line} is taken", "warning")
            for line in list(lines)[1:]
        ]
        return router(found[0], engine, seated, places, paths), notes
    if "mixed" in seated:
        return None, []
    asked = (benchmark.args.get("port") if benchmark else None) or _ROUTER_PORT
    own = RoleText()
    own.args = {
        "pd-disaggregation": True,
        "prefill": "<prefill_urls>",
        "decode": "<decode_urls>",
        "host": "127.0.0.1",
        "port": asked,
    }
    why = "prefill and decode need one: the profile has one with the router's own defaults"
    return own, [Note(text.line, "the recipe starts no router", why, "warning")]


def _benchmark(launches: Sequence[Launch], places: Places, paths: Paths) -> tuple[RoleText | None, list[Note]]:
    found = [launch for launch in launches if launch.module == BENCHMARK]
    if not found:
        return None, []
    lines = dict.fromkeys(launch.line for launch in found)
    notes = [
        Note(line, "a second benchmark", f"a profile has one; the one in line {found[0].line} is taken", "warning")
        for line in list(lines)[1:]
    ]
    again = [launch for launch in found[1:] if launch.line == found[0].line and launch.host == found[0].host]
    if any([word.text for word in launch.words] != [word.text for word in found[0].words] for launch in again):
        notes.append(Note(found[0].line, "the benchmark runs several times", "its first run is taken", "warning"))
    options, said = op.parse(found[0], None)
    member = Member(found[0], None, 0, 0)
    within = Places({**places.members, "benchmark": (member,)}, places.placeholders)
    text = fold(Folding("benchmark", (member,), (options,), 1, within, None, paths))
    text.notes.extend(said)
    return text, notes


def _paths(seats: Seated) -> Paths:
    values = {option.name: option.words[0].value for option in seats.options[0] if option.words}
    return Paths(values.get("model-path"), values.get("speculative-draft-model-path"))


def _strangers(launches: Sequence[Launch]) -> list[Note]:
    known = (SERVER, ROUTER, BENCHMARK)
    notes = {}
    for launch in launches:
        if launch.module in known:
            continue
        if not launch.module.startswith("sglang."):
            raise RecipeError(
                launch.line,
                f"python -m {launch.module} is none of what recipes start",
                "Remove it in a copy of the page",
            )
        notes[launch.line] = Note(launch.line, f"python -m {launch.module}", "it is no part of what a recipe starts")
    return list(notes.values())


def _doubts(text: RecipeText, seated: Mapping[str, Seated]) -> list[Note]:
    """What the title and the facts say otherwise than the commands."""
    notes = []
    counted = {role: instances for role, instances, _unused in topology(seated)}
    title = re.search(r"\b(\d+)P(\d+)D\b", text.title, re.IGNORECASE)
    if title and "prefill" in counted and (int(title[1]), int(title[2])) != (counted["prefill"], counted["decode"]):
        what = f"the title says {title[0]}, the commands start {counted['prefill']}P{counted['decode']}D"
        notes.append(Note(text.line, what, "the commands are taken", "warning"))
    cards = text.facts.get("Cards", "")
    if cards.isdigit():
        nodes = sum(instances * size for _unused, instances, size in topology(seated))
        npus = sum(
            instances * _npus(seats)
            for seats, (_role, instances, _size) in zip(seated.values(), topology(seated), strict=True)
        )
        if int(cards) not in (nodes * _CARDS_OF_A_NODE, npus // npus_per_card(text.facts)):
            on = "1 node" if nodes == 1 else f"{nodes} nodes"
            what = f"the facts say {cards} cards, the commands use {npus} NPUs on {on}"
            notes.append(Note(text.line, what, "the commands are taken", "warning"))
    return notes


def _npus(seats: Seated) -> int:
    values = {option.name: option.words[0].text for option in seats.options[0] if option.words}
    sizes = [values.get(name, "1") for name in ("tp-size", "pp-size")]
    if "enable-dp-attention" not in {option.name for option in seats.options[0]}:
        sizes.append(values.get("dp-size", "1"))
    result = 1
    for size in sizes:
        result *= int(size) if size.isdigit() else 1
    return result


def _profile(
    text: RecipeText,
    seated: Mapping[str, Seated],
    folded: Mapping[str, RoleText],
    benchmark: RoleText | None,
    settings: Sequence[HostSetting],
    engine: Engine,
    router_engine: Engine,
) -> dict[str, Any]:
    governors = [setting.value for setting in settings if setting.key == "governor"]
    roles: dict[str, Any] = {}
    for role, instances, nodes in sorted(
        topology(seated), key=lambda each: ["prefill", "decode", "mixed"].index(each[0])
    ):
        roles[role] = {"instances": instances, "nodes": nodes, **_body(folded[role])}
    if "router" in folded:
        roles["router"] = {"module": ROUTER, **_body(folded["router"])}
    return {
        "name": slug(text.title) or "recipe",
        "title": text.title,
        "engine": engine.version,
        **({"router_engine": router_engine.version} if "router" in folded else {}),
        "facts": dict(text.facts),
        "published": fa.published(text.facts),
        "host": {
            "governor": governors[-1] if governors else None,
            "sysctl": {each.key: op.typed(each.value, "int") for each in settings if each.key != "governor"},
        },
        "roles": roles,
        "benchmark": None if benchmark is None else _benchmark_body(benchmark),
    }


def _body(role: RoleText) -> dict[str, Any]:
    body: dict[str, Any] = {"unset": role.unset, "source": role.source, "env": role.env, "args": role.args}
    if role.page:
        body["page"] = role.page
    if role.per_instance:
        body["per_instance"] = role.per_instance
    return body


def _benchmark_body(benchmark: RoleText) -> dict[str, Any]:
    body: dict[str, Any] = {"module": BENCHMARK}
    if benchmark.unset:
        body["unset"] = benchmark.unset
    if benchmark.source:
        body["source"] = benchmark.source
    return {**body, "env": benchmark.env, "args": benchmark.args}
