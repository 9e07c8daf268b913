# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the services that a host has serve, and which workers its router has, without knowing a plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils import (
    health,
    plan_service,
    readiness,
    router_api,
    secrets_file,
)
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout
from ansible_collections.ascend.sglang.plugins.module_utils.reconcile import Observed


def ready(there: Mapping[str, Observed], begun: health.Begun) -> dict[str, bool]:
    """Whether each unit that runs is ready, as readiness.look judges it.

    begun: the requests for their health that are on their way.
    """
    services = [
        plan_service.Watched(unit, one.facts["role"], one.facts.get("url") or None)
        for unit, one in there.items()
        if one.facts and one.state.running
    ]
    states = {unit: one.state for unit, one in there.items()}
    answers = begun.of({unit: one.state.started for unit, one in there.items()})
    found = readiness.look(services, {}, health.SECONDS, 0, states=states, answers=answers)
    return {one.unit: one.ready for one in found}


def routers(layout: Layout, there: Mapping[str, Observed]) -> dict[str, dict[str, Any]]:
    """What each router tells of its workers, as router_api.listed has it."""
    return {
        unit: _router(layout, unit, one) for unit, one in there.items() if (one.facts or {}).get("role") == "router"
    }


def _router(layout: Layout, unit: str, there: Observed) -> dict[str, Any]:
    if not there.state.running:
        return {**router_api.NOTHING, "error": f"it does not run: {there.state.phase}"}
    try:
        key = secrets_file.value(layout, unit, "api_key")
    except (OSError, ValueError) as error:
        return {**router_api.NOTHING, "error": f"cannot read the API key of {unit}: {error}"}
    return router_api.listed(router_api.Router((there.facts or {}).get("url", ""), key))
