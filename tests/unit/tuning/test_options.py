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
