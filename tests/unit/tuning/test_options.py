# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A look at what the module would do with its options is what the module does, and never more than a look."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import tuning_options


def look(host, **options):
    return tuning_options.look({"root": str(host.root), **options})


def test_what_is_not_tuned_would_be_changed_and_what_is_would_not(host, recipe):
    before = host.snapshot()
    told = look(host, recipe=recipe, reserved_ports=[8000, [60000, 60001]])
    assert (told["changed"], told["error"], told["reserved"]) == (True, "", [8000, 60000, 60001])
    assert host.snapshot() == before
    host.apply(recipe=recipe, reserved_ports=[8000, [60000, 60001]], reserved_ports_enabled=True)
    assert not look(host, recipe=recipe, reserved_ports=[8000, [60000, 60001]])["changed"]
    assert look(host, recipe=recipe, reserved_ports=[8000])["changed"]
    assert look(host, recipe=recipe, reserved_ports=[8000], reserved_ports_enabled="no")["reserved"] == []


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"swappiness": "many"}, "swappiness"),
        ({"swappiness": 900}, "from 0 to 200"),
        ({"transparent_hugepage": "sometimes"}, "transparent_hugepage"),
        ({"swapiness": 0}, "swapiness"),
        ({"sysctl": {"vm.swappiness": 1, "vm/swappiness": 2}}, "two spellings"),
        ({"governor": "fast!"}, "governor is 'fast!'"),
        ({"governor": "userspace", "strict": True}, "strict"),
    ],
)
def test_why_it_would_fail(host, options, says):
    before = host.snapshot()
    told = look(host, **options)
    assert says in told["error"]
    assert not told["changed"]
    assert host.snapshot() == before


def test_what_cannot_be_had_is_a_warning(bare, recipe):
    told = look(bare, recipe=recipe)
    assert told["error"] == ""
    assert any("vm.swappiness" in line for line in told["warnings"])


def test_ports_that_cannot_be_reserved_are_not(bare):
    """The preflight tells then that they are at risk."""
    told = look(bare, reserved_ports=[8000])
    assert told["reserved"] == []
    assert any("ip_local_reserved_ports" in line for line in told["warnings"])


def test_what_is_wrong_with_the_host_is_told_from_a_wrong_value(host):
    assert look(host, swappiness=900)["variable"]
    assert look(host, recipe={1: 2, "a": 3})["variable"]
    host.write("/var/lib/ascend-sglang/host_tuning.json", "{")
    told = look(host, swappiness=10)
    assert "host_tuning.json" in told["error"]
    assert not told["variable"]


def test_it_is_always_a_look_at_what_is_to_be(host):
    assert "state" in look(host, state="restored")["error"]
