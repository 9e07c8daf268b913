# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which change a rollback undoes, and what the cluster is then."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.rollback import (
    change_to_undo,
    lines,
    services_after,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.rollout import change_of


def entry(change: str, at: str, exists: bool = True) -> dict[str, Any]:
    return {"number": 1, "change": change, "at": at, "exists": exists}


def unit(*entries: dict[str, Any], after: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"entries": list(entries), "after": after}


HISTORY = {
    "p1": {"sglang-prefill": unit(entry("first", "2026-11-30T10:00:00Z", exists=False))},
    "d1": {
        "sglang-decode": unit(
            entry("first", "2026-11-30T10:00:01Z", exists=False), entry("second", "2026-11-30T11:00:00Z")
        )
    },
    "d2": {"sglang-decode": unit(entry("second", "2026-11-30T11:00:05Z"), entry("second", "2026-11-30T11:10:05Z"))},
}


def test_the_last_change_of_the_cluster_is_undone():
    assert change_to_undo(HISTORY, "") == "second"


def test_the_change_that_is_asked_for_must_be_some_units_last_one():
    assert change_to_undo(HISTORY, "first") == "first"
    with pytest.raises(CompileError, match="last change is third; the last ones are first, second"):
        change_to_undo(HISTORY, "third")


@pytest.mark.parametrize("history", [{}, {"p1": {}}, {"p1": {"sglang-prefill": unit()}}])
def test_nothing_to_return_to_is_told(history):
    with pytest.raises(CompileError, match="no host has kept an earlier configuration"):
        change_to_undo(history, "")


def test_a_change_without_a_name_is_not_undone():
    history = {**HISTORY, "r1": {"sglang-router": unit(entry("", "2026-11-30T12:00:00Z"))}}
    with pytest.raises(CompileError, match="the last change has no name"):
        change_to_undo(history, "")
    assert change_to_undo(history, "second") == "second"


def test_what_it_returns_to_is_told_for_each_unit_of_that_change():
    assert lines(HISTORY, "second") == [
        "d1: sglang-decode as it was before the change of 2026-11-30T11:00:00Z",
        "d2: sglang-decode as it was before the change of 2026-11-30T11:10:05Z",
    ]
    assert lines(HISTORY, "first") == ["p1: sglang-prefill not there, as before the change of 2026-11-30T10:00:00Z"]


def test_the_services_afterwards_are_in_the_order_of_a_plan():
    decode = {"host": "d1", "role": "decode", "instance": 0, "rank": 0}
    store = {"host": "r1", "role": "store", "instance": 0, "rank": 0}
    history = {"d1": {"sglang-decode": unit(after=decode)}, "r1": {"sglang-store": unit(after=store), "x": unit()}}
    assert services_after(history) == [store, decode]


def test_the_same_plan_is_the_same_change():
    services = [{"host": "d1", "argv": ["a"]}]
    assert change_of(services) == change_of([{"argv": ["a"], "host": "d1"}])
    assert change_of(services) != change_of([{"host": "d1", "argv": ["b"]}])
