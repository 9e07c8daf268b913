# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was not as on the page when a benchmark ran: without it a ratio says little."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Condition:
    """One thing that differs. topic: engine, size, override, deviation or load; what: the two sides; why: the reason
    for it, where the plan has one."""

    topic: str
    what: str
    why: str = ""

    def as_dict(self) -> dict[str, str]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.what} ({self.why.rstrip('.')})" if self.why else self.what


def conditions(plan: Mapping[str, Any], page: Mapping[str, Any]) -> list[Condition]:
    """The differences between a plan (as plan.json) and the page that it comes from.

    page: engine, the version that the page was written for; instances, by role.
    """
    return [*_engine(plan, page), *_size(plan, page), *_host(plan), *_deviations(plan["deviations"])]


def _engine(plan: Mapping[str, Any], page: Mapping[str, Any]) -> Iterator[Condition]:
    if plan["engine"] != page["engine"]:
        yield Condition("engine", f"SGLang {plan['engine']}, the page was written for {page['engine']}")


def _size(plan: Mapping[str, Any], page: Mapping[str, Any]) -> Iterator[Condition]:
    there: dict[str, int] = {}
    for one in plan["instances"]:
        there[one["role"]] = there.get(one["role"], 0) + 1
    for role, count in there.items():
        wanted = page["instances"].get(role)
        if wanted is not None and wanted != count:
            yield Condition("size", f"{count} {role} instance{'s' * (count != 1)}, the page has {wanted}")


def _host(plan: Mapping[str, Any]) -> Iterator[Condition]:
    host = plan["benchmark"]["host"]
    if host not in [one["host"] for one in plan["entrances"]]:
        yield Condition("load", f"asked from {host}, the page asks on the entrance's own host")


def _deviations(deviations: Sequence[Mapping[str, Any]]) -> Iterator[Condition]:
    """Overrides first. What several services share is one condition, and so are the variables that are kept out."""
    found: dict[tuple[str, str, str, str], list[Mapping[str, Any]]] = {}
    for one in deviations:
        found.setdefault((one["kind"], one["name"], one["reason"], one["why"]), []).append(one)
    shared: dict[tuple[str, str, str, str], list[str]] = {}
    for (kind, name, reason, why), same in found.items():
        roles = ", ".join(dict.fromkeys(one["role"] for one in same))
        if kind in ("unset", "source"):
            left = "left out" if same[0]["rendered"] is None else "not on the page"
            shared.setdefault((f"{roles}: {kind}", left, reason, why), []).append(name)
        else:
            shared.setdefault((f"{roles}:", _sentence(name, same), reason, why), [])
    for (what, rest, reason, why), names in sorted(shared.items(), key=lambda one: one[0][2] != "override"):
        text = f"{what} {', '.join(names)}, {rest}" if names else f"{what} {rest}"
        yield Condition("override", text) if reason == "override" else Condition("deviation", text, why)


def _sentence(name: str, same: Sequence[Mapping[str, Any]]) -> str:
    """A flag or variable on both sides, as far as its services agree."""
    pages, rendered = (list(dict.fromkeys(side(one[key]) for one in same)) for key in ("page", "rendered"))
    here = rendered[0] if len(rendered) == 1 else "another for each"
    page = pages[0] if len(pages) == 1 else "another for each"
    if not here:
        return f"{name} left out, the page has {page}"
    return f"{name} {here}, {f'the page has {page}' if page else 'not on the page'}"


def side(value: Any) -> str:
    """One side of a deviation as text; empty where it is absent."""
    if value is None:
        return ""
    if isinstance(value, list):
        return " ".join(side(item) for item in value) or "(bare)"
    if isinstance(value, dict):
        return f"<{value.get('secret', '')}>"
    return str(value)
