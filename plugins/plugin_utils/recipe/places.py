# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who is who among the hosts of a recipe, and which of them an address on the page means."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import placeholders as ph
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.commands import Launch
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.values import (
    HostOutput,
    HostVariable,
    OwnAddress,
    Text,
    Value,
    show,
)

LOOPBACK = re.compile(r"127(\.\d+){3}|localhost|\[?::1\]?")
WILDCARD = re.compile(r"0\.0\.0\.0|\[?::\]?")


@dataclass(frozen=True)
class Member:
    """One service of a role: the launch, the address of its host (None where the page names none), its place."""

    launch: Launch
    host: Text | None
    instance: int
    rank: int


@dataclass(frozen=True)
class Reference:
    """An address in a value. host: whose it is; own: the host's on which the value is used; both false: anybody's."""

    host: Text | None = None
    own: bool = False


# A value as a sequence of plain texts and addresses.
Marked = tuple["str | Reference", ...]


@dataclass(frozen=True)
class Places:
    """All members of all roles. nodes: role -> nodes of an instance."""

    members: Mapping[str, tuple[Member, ...]]
    placeholders: ph.Placeholders

    def marked(self, value: Value) -> Marked:
        """The value with the addresses in it told from other text."""
        found: list[str | Reference] = []
        for part in value:
            if isinstance(part, OwnAddress):
                found.append(Reference(own=True))
            elif isinstance(part, HostVariable):
                found.append(f"<env:{part.name}>")
            elif isinstance(part, HostOutput):
                found.append(part.raw)
            elif part.origin is not None and part in self.hosts:
                found.append(Reference(part))
            else:
                found.extend(self._in_text(part.text))
        return tuple(_merged(found))

    def _in_text(self, text: str) -> Iterator[str | Reference]:
        if looks_like_host(self.placeholders.restore(text)) and (whole := self._exact(text)) is not None:
            yield Reference(whole)
            return
        for character in text:
            reference = self.named(character) if ph.is_mark(character) else None
            yield character if reference is None else reference

    def named(self, text: str) -> Reference | None:
        """The host that a placeholder or a literal address means; None for text that is no address."""
        exact = self._exact(text)
        if exact is not None:
            return Reference(exact)
        meaning = ph.meaning(self.placeholders.restore(text))
        if meaning is None or meaning.kind != "address":
            return None
        members = self.members.get(meaning.role or "", ())
        hosts = list(dict.fromkeys(member.host for member in members if member.host is not None))
        place = meaning.place or 0
        return Reference(hosts[place]) if place < len(hosts) else Reference()

    def _exact(self, text: str) -> Text | None:
        same = [host for host in self.hosts if host.text == text]
        return same[0] if len(same) == 1 else None

    @property
    def hosts(self) -> tuple[Text, ...]:
        """Every host's address, once."""
        every = (member.host for members in self.members.values() for member in members)
        return tuple(dict.fromkeys(host for host in every if host is not None))

    def fitting(self, reference: Reference, role: str, member: Member) -> list[str]:
        """The placeholders of a profile that stand for this address on this member, best first."""
        if reference.own:
            return ["data_address"]
        found = []
        if reference.host is not None:
            if reference.host == member.host:
                found.append("data_address")
            head = next(
                (each for each in self.members[role] if each.instance == member.instance and each.rank == 0), None
            )
            if head is not None and reference.host == head.host:
                found.append("head_address")
            if reference.host == self.store:
                found.append("store_address")
        return found

    @property
    def store(self) -> Text | None:
        """The first prefill host, which serves the store."""
        prefills = self.members.get("prefill", ())
        return prefills[0].host if prefills else None

    def text(self, value: Value) -> str:
        """The value as the page has it."""
        return self.placeholders.restore(show(value))


def is_host(text: str) -> bool:
    """Whether the text is a host that others can reach: neither loopback nor the wildcard."""
    return bool(text) and not LOOPBACK.fullmatch(text) and not WILDCARD.fullmatch(text)


def looks_like_host(text: str) -> bool:
    """Whether the text alone, wherever it stands, can only be a host: an address, or words that ask for one."""
    meaning = ph.meaning(text)
    return (bool(re.fullmatch(r"\d+(\.\d+){3}|\[?[0-9a-f:]*:[0-9a-f:]+\]?", text)) and is_host(text)) or (
        meaning is not None and meaning.kind == "address"
    )


def split_url(marked: Marked) -> tuple[str, Marked, str] | None:
    """``tcp://HOST:PORT/rest`` as what stands before the host, the host, and the rest; None for another text.

    A text that is a single host has an empty rest.
    """
    flat = "".join(each if isinstance(each, str) else "\0" for each in marked)
    found = re.fullmatch(r"([a-z][a-z0-9+.-]*://)?(\[[^\]]*\]|[^:/\s]*)(:[^:/\s]*)?(/.*)?", flat)
    if not found or not found[2]:
        return None
    references = iter([each for each in marked if not isinstance(each, str)])
    before = found[1] or ""
    host = tuple(_merged([next(references) if character == "\0" else character for character in found[2]]))
    rest = (found[3] or "") + (found[4] or "")
    return (before, host, rest) if "\0" not in rest and "\0" not in before else None


def _merged(parts: Sequence[str | Reference]) -> Iterator[str | Reference]:
    text = ""
    for part in parts:
        if isinstance(part, str):
            text += part
            continue
        if text:
            yield text
            text = ""
        yield part
    if text:
        yield text
