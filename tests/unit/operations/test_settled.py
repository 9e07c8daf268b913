# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host that is what the plan says is told from any other by its facts alone, as the module service would tell it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import plan_service, reconcile, seen
from ansible_collections.ascend.sglang.plugins.module_utils.files import Found
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout, guard_of
from ansible_collections.ascend.sglang.plugins.module_utils.reconcile import Guard, Observed
from ansible_collections.ascend.sglang.plugins.module_utils.systemd import UnitState
from ansible_collections.ascend.sglang.plugins.module_utils.unit_file import UnitOptions, facts
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.settled import unsettled, untuned
from ansible_collections.ascend.sglang.plugins.plugin_utils.plan_result import by_host, tuning_by_host
from unit.compiler.cluster import plan_of, profile
from unit.preflight.good import settings

LAYOUT = Layout()
PYTHON = "/usr/bin/python3"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    plan = plan_of("deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms")
    return {host: own["all"] for host, own in by_host(plan).items()}


def deployed(service: dict[str, Any]) -> Observed:
    """One unit after its configuration was applied."""
    record = reconcile.record_text(service)
    want = reconcile.desired(plan_service.parse(service), LAYOUT, UnitOptions(), None, "", "", record, PYTHON)
    found = {file.path: Found(file.content, file.mode, 0, 0, 1.0) for file in want.files}
    running = UnitState(want.unit, "loaded", "active", "running", enabled=True, pid=100, started=2.0)
    guard = Guard(replace(running, unit=guard_of(want.unit)), True, want.guard) if want.guard else None
    return Observed(running, found, facts(found[LAYOUT.unit_file(want.unit)].text), want.digest, guard=guard)


def told(services: list[dict[str, Any]], change: Callable[[Observed], Observed] = lambda one: one) -> dict[str, Any]:
    """What host_facts returns of such a host, through JSON as it comes."""
    units = {one["unit"]: {"seen": seen.plain(change(deployed(one)))} for one in services}
    return dict(json.loads(json.dumps({"npu_group": False, "interpreter": PYTHON, "units": units})))


def test_a_deployed_cluster_is_settled(services):
    answers = {host: told(own) for host, own in services.items()}
    assert unsettled(services, answers, None, 120) == []


def test_a_host_that_told_nothing_is_looked_at(services):
    answers = {host: told(own) for host, own in services.items() if host != "d1"}
    assert unsettled(services, answers, None, 120) == ["d1"]


def _edited(there: Observed) -> Observed:
    path = LAYOUT.launch(there.unit)
    return replace(there, files={**there.files, path: replace(there.files[path], content=b"edited")})


def _mode(there: Observed) -> Observed:
    path = LAYOUT.launch(there.unit)
    return replace(there, files={**there.files, path: replace(there.files[path], mode=0o777)})


def _state(**changes: Any) -> Callable[[Observed], Observed]:
    return lambda there: replace(there, state=replace(there.state, **changes))


def _guard(**changes: Any) -> Callable[[Observed], Observed]:
    def change(there: Observed) -> Observed:
        assert there.guard is not None
        return replace(there, guard=replace(there.guard, **changes))

    return change


@pytest.mark.parametrize(
    "change",
    [
        _edited,
        _mode,
        lambda there: replace(there, files={}),
        lambda there: replace(there, launch="another"),
        lambda there: replace(there, facts=None, launch=None),
        lambda there: replace(there, files={**there.files, LAYOUT.secrets(there.unit): Found(b"", 0o600, 0, 0)}),
        _state(active="failed", pid=0),
        _state(active="activating", pid=0),
        _state(enabled=False),
        _state(reload_needed=True),
        _guard(launch="another"),
        _guard(launch=None),
    ],
)
def test_whatever_differs_is_looked_at(services, change):
    answers = {host: told(own) for host, own in services.items()}
    answers["d1"] = told(services["d1"], change)
    assert unsettled(services, answers, None, 120) == ["d1"]


@pytest.mark.parametrize(("user", "limit"), [("sglang", 120), (None, 600)])
def test_other_settings_are_looked_at(services, user, limit):
    answers = {host: told(own) for host, own in services.items()}
    assert set(unsettled(services, answers, user, limit)) == set(services)


def test_a_unit_that_the_plan_does_not_have_is_looked_at(services):
    stranger = {**services["p1"][0], "unit": "sglang-prefill-1"}
    answers = {host: told(own) for host, own in services.items()}
    answers["p1"] = told([*services["p1"], stranger])
    assert unsettled(services, answers, None, 120) == ["p1"]


def test_a_service_with_a_secret_is_looked_at(services):
    own = copy.deepcopy(services)
    own["p1"][0]["argv"] += ["--api-key", {"secret": "api_key"}]
    answers = {host: told(services[host]) for host in services}
    assert unsettled(own, answers, None, 120) == ["p1"]


TUNED = {"changed": False, "error": "", "warnings": [], "reserved": []}
WANTED = {"recipe": {"governor": None, "sysctl": {}}, "reserved_ports": [8000, [60000, 60015]]}


@pytest.mark.parametrize(
    ("answer", "again"),
    [
        ({"facts": {"tuning": TUNED}, "tuning": WANTED}, False),
        ({"facts": {"tuning": {**TUNED, "changed": True}}, "tuning": WANTED}, True),
        ({"facts": {"tuning": {**TUNED, "error": "vm.swappiness is 900"}}, "tuning": WANTED}, True),
        # What the host told changed the plan: it was asked about other ports.
        ({"facts": {"tuning": TUNED}, "tuning": {**WANTED, "reserved_ports": [8001]}}, True),
        ({"facts": {"tuning": None}}, True),
        ({"unreachable": True}, True),
    ],
)
def test_a_host_is_tuned_unless_it_said_that_nothing_would_change(answer, again):
    assert untuned({"d1": WANTED}, {"d1": answer}) == (["d1"] if again else [])


def test_hosts_with_npus_are_tuned_and_all_their_ports_are_kept():
    plan = plan_of("deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms")
    tuning = tuning_by_host(plan, profile(plan.profile), settings())
    assert sorted(tuning) == ["d1", "d2", "p1", "p2"]
    assert tuning["d1"]["recipe"]["sysctl"]["vm.swappiness"] == 0
    assert [60000, 60015] in tuning["d1"]["reserved_ports"]
    assert tuning_by_host(plan, profile(plan.profile), settings(sglang_host_tuning=False)) == {}


def test_a_host_that_was_not_asked_has_nothing_to_say():
    assert untuned({"d1": WANTED}, {}) == ["d1"]
