# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every difference from the page is declared once, with a reason of the closed list; what is equal is not declared."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.deviations import Command, Reasons, compare
from ansible_collections.ascend.sglang.plugins.plugin_utils.reasons import REASONS

from .cluster import planned

R1 = "deepseek-r1-w8a8-2p1d"


def test_a_reason_outside_the_list_cannot_be_given():
    with pytest.raises(KeyError):
        Reasons().note("arg", "--port", "because")


def test_a_difference_that_nobody_explained_cannot_go_unnoticed():
    with pytest.raises(KeyError):
        list(
            compare(Command({"--port": ["1"]}, {}), Command({"--port": ["2"]}, {}), Reasons(), host="h", role="decode")
        )


def test_a_difference_is_told_from_both_sides_and_a_rename_is_two():
    reasons = Reasons()
    for kind, name in (("arg", "--old"), ("arg", "--new"), ("env", "A"), ("unset", "B"), ("source", "/s")):
        reasons.note(kind, name, "override")
    page = Command({"--old": ["1"], "--same": []}, {"A": "1"}, ("B",), ("/s",))
    planned_side = Command({"--new": ["1"], "--same": []}, {"A": "2"})
    found = list(compare(page, planned_side, reasons, host="h", role="decode", instance=1, rank=2))
    assert [(one.kind, one.name, one.page, one.rendered) for one in found] == [
        ("arg", "--old", ["1"], None),
        ("arg", "--new", None, ["1"]),
        ("env", "A", "1", "2"),
        ("unset", "B", "B", None),
        ("source", "/s", "/s", None),
    ]
    assert {(one.host, one.role, one.instance, one.rank, one.why) for one in found} == {
        ("h", "decode", 1, 2, REASONS["override"])
    }


def test_a_later_reason_counts_and_a_copy_is_its_own():
    reasons = Reasons()
    reasons.note_flag("port", "port-moved")
    copy = reasons.copy()
    copy.note_flag("port", "override")
    assert (reasons.of("arg", "--port"), copy.of("arg", "--port")) == ("port-moved", "override")


@pytest.mark.parametrize("sentence", REASONS.values())
def test_every_reason_is_a_sentence(sentence):
    assert sentence[0].isupper()
    assert sentence.endswith(".")


def test_a_repeated_flag_is_a_list_of_lists_and_a_bare_flag_an_empty_one():
    plan = planned(R1, hosts={"p1": {"sglang_bootstrap_port": 9100}}, sglang_decode_args={"enable-metrics": True})
    found = {(one.role, one.rank, one.name): one for one in plan.deviations}
    listed = found["router", 0, "--prefill"]
    assert listed.page == [["http://192.0.2.11:8000", "8998"], ["http://192.0.2.12:8000", "8999"]]
    assert listed.rendered == [["http://192.0.2.11:8000", "9100"], ["http://192.0.2.12:8000", "8999"]]
    bare = found["decode", 1, "--enable-metrics"]
    assert (bare.page, bare.rendered, bare.reason) == (None, [], "override")


def test_another_version_is_spelled_with_reasons():
    plan = planned(R1, sglang_engine="0.5.23")
    found = {(one.kind, one.name): one for one in plan.deviations if (one.role, one.rank) == ("decode", 0)}
    sizes = [str(number) for number in range(2, 34, 2)]
    for kind, name, page, rendered in (
        ("arg", "--cuda-graph-bs", sizes, None),
        ("arg", "--cuda-graph-bs-decode", None, sizes),
        ("arg", "--prefill-round-robin-balance", [], None),
        ("arg", "--enable-dp-attention", [], None),
        ("arg", "--attn-dp-size", None, ["32"]),
        ("env", "SGLANG_NPU_FUSED_MOE_MODE", "1", None),
        ("arg", "--fuseep-mode", None, ["1"]),
    ):
        one = found[kind, name]
        assert (one.page, one.rendered, one.reason) == (page, rendered, "engine-translation")
    assert found["arg", "--moe-dense-tp"].reason == "flag-in-full"


def test_each_change_of_spelling_says_what_changed_and_in_which_version():
    """The one line of the closed list says that versions differ; what a reader wants to know is how this flag does."""
    plan = planned(R1, sglang_engine="0.5.23")
    why = {(one.kind, one.name): one.why for one in plan.deviations if (one.role, one.rank) == ("decode", 0)}
    general = REASONS["engine-translation"].rstrip(".")
    renamed = "--cuda-graph-bs is called --cuda-graph-bs-decode since 0.5.14 and gone since 0.5.20"
    assert why["arg", "--cuda-graph-bs"] == why["arg", "--cuda-graph-bs-decode"] == f"{general}: {renamed}."
    assert "does nothing since 0.5.8" in why["arg", "--prefill-round-robin-balance"]
    assert "--attn-dp-size N says both" in why["arg", "--enable-dp-attention"]
    assert "it is the flag --fuseep-mode since 0.5.16" in why["env", "SGLANG_NPU_FUSED_MOE_MODE"]
    assert why["arg", "--moe-dense-tp"] == REASONS["flag-in-full"]
