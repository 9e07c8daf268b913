# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""hccn_tool: links, TLS, and its ways of telling nothing."""

from __future__ import annotations

import pathlib

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import hccn_tool
from ansible_collections.ascend.sglang.plugins.module_utils.commands import Answer

SAMPLES = pathlib.Path(__file__).parent / "samples"


def sample(name: str) -> str:
    return (SAMPLES / f"{name}.txt").read_text()


class Tool:
    """Answers of a tool by its arguments; what is not there is -link up and -tls off."""

    def __init__(self, tmp_path, **answers: Answer) -> None:
        (tmp_path / "hccn_tool").touch(0o755)
        self.search = str(tmp_path)
        self.answers = answers
        self.calls: list[list[str]] = []

    def __call__(self, argv, _limit):
        self.calls.append(list(argv[1:]))
        usual = {"link": sample("hccn_link_up"), "tls": sample("hccn_tls_off_preconfigured")}
        query = argv[3].strip("-")
        return self.answers.get(f"{query}{argv[2]}", Answer(0, usual[query], ""))

    def look(self, *numbers: int):
        return hccn_tool.look(numbers, self, self.search)


def test_link():
    assert hccn_tool.link(sample("hccn_link_up")) == "UP"
    assert hccn_tool.link(sample("hccn_link_down")) == "DOWN"
    assert hccn_tool.link("") is None


@pytest.mark.parametrize(
    ("name", "switch"),
    [
        ("hccn_tls_off_old_driver", 0),
        ("hccn_tls_off_preconfigured", 0),
        ("hccn_tls_on_cert_near_expiry", 1),
        ("hccn_tls_on_preconfigured_with_certs", 1),
        ("hccn_tls_no_cert.stderr", None),
    ],
)
def test_tls(name: str, switch: int | None):
    assert hccn_tool.tls(sample(name)) == switch


def test_all_npus_are_asked_one_after_the_other(tmp_path):
    tool = Tool(tmp_path, link3=Answer(0, sample("hccn_link_down"), ""))
    found = tool.look(2, 3)
    assert found["npus"] == [
        {"number": 2, "link": "UP", "tls": 0, "error": ""},
        {"number": 3, "link": "DOWN", "tls": 0, "error": ""},
    ]
    assert tool.calls[:2] == [["-i", "2", "-link", "-g"], ["-i", "2", "-tls", "-g"]]


def test_one_npu_that_does_not_tell(tmp_path):
    tool = Tool(tmp_path, link0=Answer(1, "", sample("hccn_error_health.stderr")))
    assert tool.look(0, 1)["npus"][0] == {
        "number": 0, "link": None, "tls": 0, "error": "Get device health status failed!",
    }  # fmt: skip
    assert tool.look(0, 1)["npus"][1]["link"] == "UP"


@pytest.mark.parametrize(
    "name", ["permission.stderr", "conf.stderr", "unsupported.stderr", "vm.stderr", "not_mounted_rc127.stderr"]
)
def test_what_is_the_same_for_all_is_asked_once(tmp_path, name: str):
    error = Answer(1, "", sample(f"hccn_error_{name}"))
    tool = Tool(tmp_path, **{f"{query}{number}": error for query in ("link", "tls") for number in range(16)})
    found = tool.look(*range(16))
    # A tool that the shell did not find is one that this module did not find either; its words are never this one's.
    calls = {"unsupported.stderr": 2, "vm.stderr": 2, "not_mounted_rc127.stderr": 32}.get(name, 1)
    assert (len(tool.calls), bool(found["error"])) == (calls, calls < 32)


@pytest.mark.parametrize("name", ["unsupported.stderr", "health.stderr"])
def test_tls_is_told_where_links_are_not(tmp_path, name: str):
    error = Answer(1, "", sample(f"hccn_error_{name}"))
    found = Tool(tmp_path, link0=error, link1=error).look(0, 1)
    assert [(one["number"], one["link"], one["tls"]) for one in found["npus"]] == [(0, None, 0), (1, None, 0)]
    assert not found["error"]


def test_somebody_elses_call_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(hccn_tool.time, "sleep", lambda _seconds: None)
    tool = Tool(tmp_path)
    answers = iter([Answer(1, sample("hccn_error_busy"), "")] * 2)
    found = hccn_tool.look([0], lambda argv, limit: next(answers, None) or tool(argv, limit), tool.search)
    assert found["npus"][0]["link"] == "UP"


def test_a_tool_that_is_missing(tmp_path):
    assert hccn_tool.look([0], search=str(tmp_path)) == {"path": None, "error": "", "npus": []}
