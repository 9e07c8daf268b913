# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which hosts are already what the plan says, as their facts tell, so that nobody need look at them again.

The decision is that of the module ascend.sglang.service, made here from what the module host_facts saw. It only ever
spares a second look: where it cannot be made from here, the host is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils import plan_service, reconcile, seen, unit_file
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout


def unsettled(
    services: Mapping[str, Sequence[Mapping[str, Any]]],
    facts: Mapping[str, Mapping[str, Any]],
    user: str | None,
    stop_timeout: int,
) -> list[str]:
    """The hosts on which something may have to be done.

    services: host -> what the plan has for it; facts: what hosts told (module host_facts), by host; user, stop_timeout:
    as the module ascend.sglang.service takes them.
    """
    return [host for host, own in services.items() if not _is_settled(own, facts.get(host), user, stop_timeout)]


def untuned(tuning: Mapping[str, Mapping[str, Any]], answers: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The hosts that may have to be tuned: all but those that said that the same tuning would change nothing.

    tuning: host -> options, as plan_result.tuning_by_host makes them; answers: what host_facts returned, by host.
    """

    def is_tuned(host: str, wanted: Mapping[str, Any]) -> bool:
        answer = answers.get(host, {})
        told = answer.get("facts", {}).get("tuning") or {"changed": True}
        return answer.get("tuning") == wanted and not told["changed"] and not told["error"]

    return [host for host, wanted in tuning.items() if not is_tuned(host, wanted)]


def _is_settled(
    services: Sequence[Mapping[str, Any]], told: Mapping[str, Any] | None, user: str | None, stop_timeout: int
) -> bool:
    if told is None:
        return False
    layout = Layout()
    options = unit_file.UnitOptions(user, stop_timeout, bool(told["npu_group"]))
    there = {unit: seen.observed(one["seen"]) for unit, one in told["units"].items()}
    wanted = []
    for raw in services:
        service = plan_service.parse(raw)
        # The key to the secrets that a host has is on that host alone.
        if service.secrets or service.unit not in there:
            return False
        record = reconcile.record_text(raw)
        wanted.append(reconcile.desired(service, layout, options, None, "", "", record, str(told["interpreter"])))
    if set(there) != {want.unit for want in wanted}:
        return False
    try:
        return not reconcile.to_start(wanted, there, {}, layout)
    except reconcile.ReconcileError:
        return False
