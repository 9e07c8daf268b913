# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values become the words of a command line, as written."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.arguments import argv, occurrences, spelled, words


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("tp-size", 16, ["16"]),
        ("tp-size", "16", ["16"]),
        ("chunked-prefill-size", -1, ["-1"]),
        ("mem-fraction-static", 0.81, ["0.81"]),
        ("mem-fraction-static", 1.0, ["1.0"]),
        ("mem-fraction-static", "0.810", ["0.810"]),
        ("disable-radix-cache", True, []),
        ("cuda-graph-bs", [1, 2, 4], ["1", "2", "4"]),
        ("cuda-graph-bs", 8, ["8"]),
        ("model-path", "/models/r 1", ["/models/r 1"]),
        ("model-loader-extra-config", {"enable_multithread_load": True}, ['{"enable_multithread_load": true}']),
        ("model-loader-extra-config", '{"a": 1}', ['{"a": 1}']),
        ("extra-metric-labels", {"a": [1, {"b": None}]}, ['{"a": [1, {"b": null}]}']),
        ("forward-hooks", [{"name": "x"}], ['[{"name": "x"}]']),
        (
            "lora-paths",
            ["one=/a", {"lora_name": "two", "lora_path": "/b"}],
            ["one=/a", '{"lora_name": "two", "lora_path": "/b"}'],
        ),
        ("lora-strict-loading", False, []),
        ("no-such-flag", 1, ["1"]),
    ],
)
def test_words(old, name, value, expected):
    assert words(old, name, value) == expected


def test_a_flag_with_two_sides_is_given_its_no_form_for_false(old):
    assert argv(old, {"lora-strict-loading": False}) == ["--no-lora-strict-loading"]
    assert argv(old, {"lora-strict-loading": True}) == ["--lora-strict-loading"]
    assert argv(old, {"no-lora-strict-loading": True}) == ["--no-lora-strict-loading"]


def test_the_order_is_the_mappings(old):
    args = {"port": 8000, "disable-radix-cache": True, "cuda-graph-bs": [1, 2], "host": "192.0.2.1"}
    expected = ["--port", "8000", "--disable-radix-cache", "--cuda-graph-bs", "1", "2", "--host", "192.0.2.1"]
    assert argv(old, args) == expected


def test_a_repeatable_flag_repeats(router):
    prefill = [["http://192.0.2.11:8000", "8998"], ["http://192.0.2.12:8000", 8999]]
    assert argv(router, {"prefill": prefill}) == (
        ["--prefill", "http://192.0.2.11:8000", "8998", "--prefill", "http://192.0.2.12:8000", "8999"]
    )
    assert spelled(router, "prefill", prefill) == [
        ["http://192.0.2.11:8000", "8998"],
        ["http://192.0.2.12:8000", "8999"],
    ]


def test_a_plain_list_of_a_repeatable_flag_follows_how_many_words_it_takes(router):
    urls = ["http://192.0.2.21:8001", "http://192.0.2.22:8001"]
    assert occurrences(router, "decode", urls) == [[urls[0]], [urls[1]]]  # takes one word each
    assert occurrences(router, "prefill", [urls[0], 8998]) == [[urls[0], "8998"]]  # takes several
    assert occurrences(router, "decode", urls[0]) == [[urls[0]]]


def test_words_of_a_flag_that_repeats_are_asked_for_one_by_one(router):
    with pytest.raises(ValueError, match="--decode is given 2 times"):
        words(router, "decode", ["http://a", "http://b"])
