# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The options as a wish: whose value counts, what is switched off, what cannot be meant."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import tuning


def test_the_recipe_alone(recipe):
    assert tuning.wish_of({"recipe": recipe}) == tuning.Wish(
        "performance",
        {"vm.swappiness": "0", "kernel.numa_balancing": "0", "kernel.sched_migration_cost_ns": "50000"},
        None,
        frozenset(),
    )


def test_own_values_win_over_the_recipe(recipe):
    wish = tuning.wish_of(
        {
            "recipe": recipe,
            "governor": "ondemand",
            "swappiness": 10,
            "sysctl": {"kernel/numa_balancing": 1, "vm.dirty_ratio": "5"},
        }
    )
    assert wish.governor == "ondemand"
    assert wish.sysctl == {
        "vm.swappiness": "10",
        "kernel.numa_balancing": "1",
        "kernel.sched_migration_cost_ns": "50000",
        "vm.dirty_ratio": "5",
    }


def test_zero_is_a_value():
    assert tuning.wish_of({"swappiness": 0, "recipe": {"sysctl": {"vm.swappiness": 60}}}).sysctl == {
        "vm.swappiness": "0"
    }


@pytest.mark.parametrize(
    ("option", "gone"),
    [
        ({"swappiness_enabled": False}, "vm.swappiness"),
        ({"swappiness_enabled": False, "swappiness": 10}, "vm.swappiness"),
        ({"numa_balancing_enabled": False}, "kernel.numa_balancing"),
        ({"sched_migration_cost_ns_enabled": False}, "kernel.sched_migration_cost_ns"),
        ({"sysctl": {"vm.swappiness": None}}, "vm.swappiness"),
    ],
)
def test_switches(recipe, option, gone):
    kept = dict(tuning.wish_of({"recipe": recipe}).sysctl)
    kept.pop(gone)
    assert tuning.wish_of({"recipe": recipe, **option}).sysctl == kept


def test_the_governors_switch(recipe):
    assert tuning.wish_of({"recipe": recipe, "governor_enabled": False}).governor is None


def test_a_recipe_without_governor():
    assert tuning.wish_of({"recipe": {"governor": None, "sysctl": {}}}) == tuning.Wish(None, {}, None, frozenset())


def test_huge_pages_and_ports_are_off_until_they_are_switched_on():
    options = {"transparent_hugepage": "never", "reserved_ports": [8000, "60000-60001"]}
    assert tuning.wish_of(options) == tuning.Wish(None, {}, None, frozenset())
    wish = tuning.wish_of({**options, "transparent_hugepage_enabled": True, "reserved_ports_enabled": True})
    assert wish.transparent_hugepage == "never"
    assert wish.reserved_ports == {8000, 60000, 60001}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"swappiness": 201}, r"vm\.swappiness is 201; it must be a whole number from 0 to 200"),
        ({"swappiness": -1}, r"vm\.swappiness is -1"),
        ({"recipe": {"sysctl": {"vm.swappiness": "low"}}}, r"vm\.swappiness is 'low'"),
        ({"sysctl": {"vm.swappiness": 5}, "swappiness": 10}, r"swappiness is 10, but sysctl has vm\.swappiness: 5"),
        ({"sysctl": {"net.ipv4.ip_local_reserved_ports": "8000"}}, r"list the ports in reserved_ports"),
        ({"sysctl": {"swappiness": 0}}, r"'swappiness' is not the name of a sysctl, like vm\.swappiness"),
        ({"sysctl": {"vm.x": [1]}}, r"vm\.x"),
        ({"recipe": {"sysctl": ["vm.swappiness"]}}, r"recipe\.sysctl is \['vm\.swappiness'\]; it must be a mapping"),
        ({"recipe": {"sysctls": {}}}, "recipe has sysctls; it may have governor and sysctl"),
        ({"sysctl": {"vm/swappiness": 5, "vm.swappiness": 6}}, "vm.swappiness in two spellings, with 5 and 6"),
        ({"governor": "performance; reboot"}, "governor is 'performance; reboot'"),
        ({"reserved_ports": ["http"], "reserved_ports_enabled": True}, "reserved_ports: 'http' is neither a port"),
    ],
)
def test_what_cannot_be_meant(options, message):
    with pytest.raises(ValueError, match=message):
        tuning.wish_of(options)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"version": 2, "before": {}, "added_ports": ""}',
        '{"version": 1}',
        '{"version": 1, "before": {"swappiness": "60"}, "added_ports": ""}',
        '{"version": 1, "before": {"governor ../../x": "y"}, "added_ports": ""}',
        '{"version": 1, "before": {"governor cpu": "y"}, "added_ports": ""}',
        '{"version": 1, "before": {"vm.swappiness": null}, "added_ports": ""}',
        '{"version": 1, "before": {"vm.swappiness": [60]}, "added_ports": ""}',
        '{"version": 1, "before": {}, "added_ports": 8000}',
    ],
)
def test_a_record_that_cannot_be_used_is_named(text):
    with pytest.raises(ValueError, match=r"/var/lib/x\.json, the record of this host's own values, cannot be used"):
        tuning.read_record("/var/lib/x.json", text)


def test_a_record_and_its_text():
    record = tuning.Record({"vm.swappiness": "60", "governor cpu0": "ondemand"}, frozenset({8000, 8001}))
    assert tuning.read_record("f", tuning.record_text(record)) == record
    assert tuning.record_text(tuning.Record({}, frozenset())) is None
