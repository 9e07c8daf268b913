# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A slip in what is to be restarted never restarts everything."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations import selection


def test_names_with_blanks_and_commas_too_many():
    assert selection.names([" decode-0", "", "decode-1 "], "instances") == ["decode-0", "decode-1"]


@pytest.mark.parametrize("words", [None, [], [""], [" ", ""]])
@pytest.mark.parametrize(("option", "says"), [("roles", "role=: it is empty"), ("instances", "instance=: it is empty")])
def test_nothing_is_not_everything(words: list[str] | None, option: str, says: str):
    with pytest.raises(CompileError, match=says):
        selection.names(words, option)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("roles", "role"), ("Role", "role"), ("rol", "role"), ("instances", "instance"), ("instace", "instance")],
)
def test_a_misspelt_variable_is_refused_with_the_right_one(name: str, meant: str):
    (found,) = selection.misspelt([name])
    assert (found.where, found.do) == (f"{name}=", f"Use {meant}=")


def test_variables_that_select_and_those_for_other_things_are_fine():
    given = [
        "role",
        "instance",
        "profile",
        "sglang_instances",
        "sglang_profile",
        "sglang_groups",
        "ansible_user",
        "change",
    ]
    assert selection.misspelt(given) == []
