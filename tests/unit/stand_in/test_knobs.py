# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a knob's value comes from, and that a misspelt one is noticed."""

from __future__ import annotations

import json

import pytest
from sglang.stand_in.knobs import DEFAULTS, Knobs, UnknownKnobError


def test_the_environment_wins_then_the_role_then_the_host_then_the_installation(tmp_path):
    host, installed = tmp_path / "host.json", tmp_path / "installed.json"
    host.write_text(
        json.dumps({"load_seconds": 2, "health_seconds": 3, "decode": {"load_seconds": 4}}), encoding="utf-8"
    )
    installed.write_text(json.dumps({"health_seconds": 9, "shards": 7}), encoding="utf-8")
    knobs = Knobs({"STAND_IN_CONFIG": str(host), "STAND_IN_TOKEN_SECONDS": "0.5"}, installed)
    assert knobs.get("load_seconds") == 2
    knobs.role = "decode"
    assert [knobs.get(name) for name in ("load_seconds", "health_seconds", "shards", "token_seconds")] == [4, 3, 7, 0.5]
    assert knobs.get("drain_stuck") is DEFAULTS["drain_stuck"]


def test_a_file_that_changes_is_read_again(tmp_path):
    host = tmp_path / "host.json"
    knobs = Knobs({"STAND_IN_CONFIG": str(host)}, tmp_path / "none")
    assert knobs.get("hang_at") is None
    host.write_text('{"hang_at": "load"}', encoding="utf-8")
    assert knobs.get("hang_at") == "load"
    host.unlink()
    assert knobs.get("hang_at") is None


def test_values_in_the_environment_are_of_the_knobs_type(tmp_path):
    env = {
        "STAND_IN_VERSION": "0.5",
        "STAND_IN_HCCL_PORTS": "false",
        "STAND_IN_LOG_LINE": '["a", "b"]',
        "STAND_IN_CRASH_LINE": "x: y",
    }
    knobs = Knobs({"STAND_IN_CONFIG": str(tmp_path / "none"), **env}, tmp_path / "none")
    assert [knobs.get(name) for name in ("version", "hccl_ports", "log_line", "crash_line")] == [
        "0.5",
        False,
        ["a", "b"],
        "x: y",
    ]


@pytest.mark.parametrize("text", ['{"load_second": 1}', '{"decode": {"load_second": 1}}'])
def test_a_name_that_is_no_knob_is_refused(tmp_path, text):
    host = tmp_path / "host.json"
    host.write_text(text, encoding="utf-8")
    with pytest.raises(UnknownKnobError, match="load_second"):
        Knobs({"STAND_IN_CONFIG": str(host)}, tmp_path / "none").get("load_seconds")
    with pytest.raises(UnknownKnobError, match="STAND_IN_LOAD_SECOND"):
        Knobs({"STAND_IN_LOAD_SECOND": "1"}, tmp_path / "none")


def test_a_phase_that_is_none_is_refused(serve):
    server = serve(crash_at="lunch")
    assert server.wait_end() == 1
    assert "no phase is named 'lunch'" in server.log
