# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every value that a plan derives, and for each a wrong one that looks right.

What is derived is read off the plan, so that a new derived value is found too: whatever holds an address of a host,
an interface, a port, a rank or a number of nodes, and whatever the compiler put in that the page has not.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Values that say a node's place by their name; the number alone could be anything.
PLACES = {"--node-rank": "rank", "--nnodes": "nnodes"}
# Derived where the page forgets it, stated by those that do not; and the engine's default, which is wrong on NPUs.
STATED = {"--disaggregation-transfer-backend": "mooncake"}
# Reasons to differ from the page that are about spelling, not about the cluster.
SPELLING = {"flag-in-full", "json-one-argument", "engine-translation", "override", "cann-location"}
LOOPBACK = "127.0.0.1"
ADDRESS = r"(?<![\d.])\d+\.\d+\.\d+\.\d+(?![\d.])"
NUMBER = r"(?<![\d.])\d{4,5}(?![\d.])"


@dataclass(frozen=True)
class Place:
    """A host on its networks: the data address that its services use, and what it has besides."""

    data: str
    management: str
    interface: str
    other_interface: str


@dataclass(frozen=True)
class Flip:
    """One word of one service's command line or environment, and what it becomes; None: it is left out."""

    host: str
    unit: str
    kind: str
    name: str
    position: int
    piece: str
    old: str
    new: str | None

    @property
    def id(self) -> str:
        """Names it in every cluster alike: of a repeated flag or one with several values, which of them."""
        which = f"[{self.position}]" if self.position else ""
        return f"{self.host}.{self.unit.removeprefix('sglang-')} {self.name}{which} {self.piece}"


def flips(plan: Mapping[str, Any], places: Mapping[str, Place]) -> list[Flip]:
    """All flips of a plan, service by service."""
    found = []
    for service in plan["services"]:
        added = _added(plan, service)
        for kind, name, position, word in _words(service):
            pieces = list(_pieces(plan, service, places, name, word))
            if not pieces and name in STATED:
                pieces = [("value", STATED[name])]
            elif not pieces and (kind, name) in added:
                pieces = [("left out", None)]
            for piece, new in pieces:
                found.append(Flip(service["host"], service["unit"], kind, name, position, piece, word, new))
    return found


def _added(plan: Mapping[str, Any], service: Mapping[str, Any]) -> set[tuple[str, str]]:
    keys = ("host", "role", "instance", "rank")
    return {
        (one["kind"], one["name"])
        for one in plan["deviations"]
        if all(one[key] == service[key] for key in keys)
        and one["rendered"] is not None
        and one["reason"] not in SPELLING
    }


def _words(service: Mapping[str, Any]) -> Iterator[tuple[str, str, int, str]]:
    """(kind, name, how manieth value of that name, value) of all values; a bare flag has the empty one."""
    for name, values in arguments(service["argv"]):
        for position, value in enumerate(values or [""]):
            yield "arg", name, position, value
    for name, value in service["env"].items():
        yield "env", name, 0, value


def arguments(argv: Sequence[Any]) -> list[tuple[str, list[str]]]:
    """Flags with all their values, those of a repeated flag in one list."""
    found: dict[str, list[str]] = {}
    name = ""
    for word in argv[3:]:
        if str(word).startswith("--"):
            name = str(word)
            found.setdefault(name, [])
        else:
            found[name].append(str(word))
    return list(found.items())


def _pieces(
    plan: Mapping[str, Any], service: Mapping[str, Any], places: Mapping[str, Place], name: str, word: str
) -> Iterator[tuple[str, str]]:
    """(piece, the word with that piece wrong)."""
    here = places[service["host"]]
    if name in PLACES:
        number, nnodes = service[PLACES[name]], service["nnodes"]
        assert word == str(number), f"{service['host']} {name}: the plan says {number}, its command line {word}"
        if PLACES[name] == "rank":
            yield "rank", str((number + 1) % nnodes if nnodes > 1 else number + 1)
        else:
            yield "number of nodes", str(number - 1 if number > 1 else 2)
        return
    for match in re.finditer(ADDRESS, word):
        other = _other_address(match[0], service["host"], places)
        if other:
            yield "address", word[: match.start()] + other + word[match.end() :]
    ports = {port for one in plan["services"] for port in one["ports"].values()}
    for match in re.finditer(NUMBER, word):
        if int(match[0]) in ports:
            yield "port", f"{word[: match.start()]}{int(match[0]) + 1}{word[match.end() :]}"
    if word == here.interface:
        yield "interface", here.other_interface


def _other_address(address: str, host: str, places: Mapping[str, Place]) -> str | None:
    """An address where it might be looked for by mistake.

    In place of one's own that of the management network, of another host's that of the next, of loopback one's own.
    """
    if address == LOOPBACK:
        return places[host].data
    if address == places[host].data:
        return places[host].management
    owners = [name for name, place in places.items() if place.data == address]
    names = list(places)
    return places[names[(names.index(owners[0]) + 1) % len(names)]].data if owners else None


def read(text: str) -> tuple[list[str], dict[str, str]]:
    """The command line and the exported variables of a launch.sh."""
    head, _unused, tail = text.partition("\nexec ")
    argv = shlex.split(tail.replace("\\\n", " "))
    exported = (shlex.split(line)[1].partition("=") for line in head.splitlines() if line.startswith("export "))
    return argv, {name: value for name, _unused, value in exported}


def edit(text: str, flip: Flip) -> str:
    """A launch.sh with the flip in it and nothing else changed."""
    argv, env = read(text)
    head = text.partition("\nexec ")[0]
    if flip.kind == "env":
        assert env[flip.name] == flip.old
        line = f"export {flip.name}={shlex.quote(flip.old)}\n"
        assert head.count(line) == 1, f"{line!r} is not in launch.sh once"
        return text.replace(line, "" if flip.new is None else f"export {flip.name}={shlex.quote(flip.new)}\n")
    changed = _edit_words(argv, flip)
    return f"{head}\nexec {shlex.join(changed)}\n"


def _edit_words(argv: list[str], flip: Flip) -> list[str]:
    changed, seen, name = list(argv[:3]), 0, ""
    for word in argv[3:]:
        if word.startswith("--"):
            name = word
            if name != flip.name or flip.new is not None:
                changed.append(word)
        elif name != flip.name:
            changed.append(word)
        else:
            if seen == flip.position:
                assert word == flip.old
                word = flip.new
            seen += 1
            if flip.new is not None:
                changed.append(word)
    assert changed != argv, f"{flip.id} changes nothing"
    return changed
