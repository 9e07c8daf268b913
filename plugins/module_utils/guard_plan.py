# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard of a plan service: whom it watches. Checked once, here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils.guard import rules

_URL = re.compile(r"http://[^\s/@]+:\d{1,5}\Z")
_EXAMPLE = "a URL such as http://192.0.2.22:29100"


class GuardPlanError(ValueError):
    """A guard that cannot be what a plan holds. The message says where and why."""


@dataclass(frozen=True)
class Watched:
    """Another unit. name: in messages; url: of its guard; ports: of the unit itself, at the guard's address."""

    name: str
    url: str
    ports: tuple[int, ...]


@dataclass(frozen=True)
class GuardPlan:
    """url: where it answers; what, follows: what it follows (rules.HEAD or rules.STORE, and who); ranks: of a rank 0
    the other ranks; gone_seconds: see rules.Duty."""

    url: str
    gone_seconds: int
    what: str | None = None
    follows: Watched | None = None
    ranks: tuple[tuple[int, Watched], ...] = ()


def parse(guard: Any) -> GuardPlan | None:
    """The key `guard` of a plan service."""
    if guard is None:
        return None
    if not isinstance(guard, Mapping):
        raise _refusal("", guard, "a mapping or null")
    follows, ranks = guard.get("follows"), guard.get("ranks", [])
    if isinstance(ranks, (str, bytes)) or not isinstance(ranks, Sequence):
        raise _refusal(".ranks", ranks, "a list")
    what = None
    if follows is not None:
        what = follows.get("what") if isinstance(follows, Mapping) else follows
        if what not in (rules.HEAD, rules.STORE):
            raise _refusal(".follows.what", what, f"{rules.HEAD} or {rules.STORE}")
    return GuardPlan(
        url=_url(".url", guard.get("url")),
        gone_seconds=_number(".gone_seconds", guard.get("gone_seconds"), 1, 86400),
        what=what,
        follows=_watched(".follows", follows) if follows is not None else None,
        ranks=tuple((_rank(one), _watched(".ranks", one)) for one in ranks),
    )


def _watched(key: str, one: Any) -> Watched:
    ports = one.get("ports", [])
    if isinstance(ports, (str, bytes)) or not isinstance(ports, Sequence):
        raise _refusal(f"{key}.ports", ports, "a list of port numbers")
    host = one.get("host")
    if not isinstance(host, str) or not host.isprintable():
        raise _refusal(f"{key}.host", host, "a text on one line")
    numbers = tuple(_number(f"{key}.ports", port, 1, 65535) for port in ports)
    return Watched(host, _url(f"{key}.url", one.get("url")), numbers)


def _rank(one: Any) -> int:
    if not isinstance(one, Mapping):
        raise _refusal(".ranks", one, "mappings")
    return _number(".ranks.rank", one.get("rank"), 1, 100000)


def _url(key: str, value: Any) -> str:
    if not isinstance(value, str) or not _URL.match(value):
        raise _refusal(key, value, _EXAMPLE)
    return value


def _number(key: str, value: Any, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise _refusal(key, value, f"a whole number from {least} to {most}")
    return value


def _refusal(key: str, value: Any, wanted: str) -> GuardPlanError:
    return GuardPlanError(f"guard{key} is {value!r}, but must be {wanted}")
