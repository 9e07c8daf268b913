# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What host_facts asks about is what the role host_tuning would be given."""

from __future__ import annotations

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from ansible_collections.ascend.sglang.plugins.action import host_facts

PASSED = {"recipe": {"governor": "performance"}, "reserved_ports": [8000]}


@pytest.fixture
def options(monkeypatch):
    """The options and problems of a host with these variables; `extra` are those of the command line."""

    def of(variables, extra=None):
        every = {"omit": "__omit_place_holder__1", **variables, **(extra or {})}
        loader = DataLoader()
        action = host_facts.ActionModule.__new__(host_facts.ActionModule)
        action._loader, action._templar = loader, Templar(loader, variables=every)
        monkeypatch.setattr(host_facts, "load_extra_vars", lambda _loader: extra or {})
        return action._tuning(PASSED, every)

    return of


def test_the_playbook_comes_before_the_host_and_the_command_line_before_both(options):
    ours = {"host_tuning_swappiness": 10, "host_tuning_recipe": {"governor": "powersave"}}
    assert options(ours) == ({**PASSED, "swappiness": 10}, [])
    told, _problems = options(ours, {"host_tuning_recipe": {"governor": None}, "host_tuning_swappiness": 20})
    assert told == {**PASSED, "swappiness": 20, "recipe": {"governor": None}}


def test_what_is_null_or_left_out_is_no_option(options):
    variables = {"host_tuning_swappiness": None, "host_tuning_governor": "__omit_place_holder__1"}
    assert options({**variables, "host_tuning_state": "restored"}) == (PASSED, [])


def test_a_value_that_cannot_be_evaluated_is_named(monkeypatch, options):
    def template(_self, value):
        raise ValueError(f"'nowhere' is undefined in {value}")

    monkeypatch.setattr(Templar, "template", template)
    told, problems = options({"host_tuning_swappiness": "{{ nowhere }}"})
    assert told == PASSED
    assert problems == [
        "host_tuning_swappiness: its value cannot be evaluated: 'nowhere' is undefined in {{ nowhere }}"
    ]
