# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan as a page in a browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.plan import Plan
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.edges import edges
from ansible_collections.ascend.sglang.plugins.plugin_utils.report.cluster_drawing import draw
from ansible_collections.ascend.sglang.plugins.plugin_utils.report.commands import commands
from ansible_collections.ascend.sglang.plugins.plugin_utils.report.pages import drawing, render
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import Service

# With more services than these the table of who calls whom, which grows with their square, is no reading any more.
_MOST_SERVICES = 256


@dataclass(frozen=True)
class Connection:
    """A port that other hosts call."""

    purpose: str
    target: str
    port: int
    sources: tuple[str, ...]


def html(plan: Plan, note: str) -> str:
    """The whole page. `note` as for the Markdown page. Raises CompileError where the drawing library is missing."""
    told: Mapping[str, Any] = plan.as_dict()
    return render(
        "plan.html.j2",
        title=f"Plan: {plan.profile}",
        plan=told,
        note=note,
        hosts=len({one.host for one in plan.services}),
        findings=[{"level": one.level, "check": one.check, "text": str(one)} for one in plan.findings],
        drawing=drawing(draw(told)),
        connections=connections(plan.services) if len(plan.services) <= _MOST_SERVICES else None,
        commands=commands(told),
    )


def connections(services: Sequence[Service]) -> list[Connection]:
    """Every port that is called from another host, with its callers."""
    found: dict[tuple[str, str, int], list[str]] = {}
    for one in edges(services):
        found.setdefault((one.purpose, one.target, one.port), []).append(one.source)
    return [Connection(*key, tuple(dict.fromkeys(sources))) for key, sources in found.items()]
