# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which services of a host serve, and what of them travels to the controller."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import (
    guard_files,
    health,
    readiness,
    router_api,
    seen,
    serving,
)
from ansible_collections.ascend.sglang.plugins.module_utils.files import Found
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout
from ansible_collections.ascend.sglang.plugins.module_utils.reconcile import Guard, Observed
from ansible_collections.ascend.sglang.plugins.module_utils.systemd import UnitState

NOBODY = health.Begun(0.0, {})
UP = UnitState("sglang-decode", "loaded", "active", "running", enabled=True, pid=100)
DECODE = Observed(UP, facts={"role": "decode", "url": "http://192.0.2.21:8001"})
ROUTER = Observed(replace(UP, unit="sglang-router"), facts={"role": "router", "url": "http://127.0.0.1:6688"})
DOWN = UnitState("sglang-router", "loaded", "failed", "failed")


@pytest.fixture
def answers(monkeypatch):
    """Everything that is asked is ready; the router has one worker."""
    asked = []

    def look(services, *_unused, states, answers):
        assert all(states[one.unit].running for one in services)
        asked.extend(one.unit for one in services)
        return [SimpleNamespace(unit=one.unit, ready=True) for one in services]

    monkeypatch.setattr(readiness, "look", look)
    monkeypatch.setattr(router_api, "listed", lambda router: {"workers": ["one"]})
    return asked


def test_only_what_runs_is_asked(answers, tmp_path):
    there = {"sglang-decode": DECODE, "sglang-router": replace(ROUTER, state=DOWN)}
    assert serving.ready(there, NOBODY) == {"sglang-decode": True}
    assert answers == ["sglang-decode"]
    found = serving.routers(Layout(str(tmp_path)), there)
    assert list(found) == ["sglang-router"]
    assert found["sglang-router"]["error"] == "it does not run: failed (failed)"


def test_a_router_tells_its_workers(answers, tmp_path):
    there = {"sglang-router": ROUTER}
    assert serving.ready(there, NOBODY) == {"sglang-router": True}
    assert serving.routers(Layout(str(tmp_path)), there) == {"sglang-router": {"workers": ["one"]}}


def test_a_router_whose_key_cannot_be_read(answers, tmp_path):
    layout = Layout(str(tmp_path))
    (tmp_path / "etc/ascend-sglang/sglang-router/secrets.env").mkdir(parents=True)
    found = serving.routers(layout, {"sglang-router": ROUTER})
    assert "cannot read the API key" in found["sglang-router"]["error"]


def test_what_leaves_stays_behind(answers, tmp_path):
    """A directory that an aborted run left is no service."""
    left = {"sglang-decode": Observed(UnitState("sglang-decode"))}
    assert serving.ready(left, NOBODY) == {}
    assert serving.routers(Layout(str(tmp_path)), left) == {}


def test_no_content_travels():
    files = {"/etc/ascend-sglang/sglang-decode/secrets.env": Found(b"api_key=hunter2", 0o600, 0, 0, 5.0)}
    there = replace(DECODE, files=files, launch="abc", leftovers=("/x",), guard=Guard(UP, True, "def"))
    text = json.dumps(seen.plain(there))
    assert "hunter2" not in text
    again = seen.observed(json.loads(text))
    assert {path: (one.sha256, one.mode) for path, one in again.files.items()} == {
        path: (one.sha256, one.mode) for path, one in files.items()
    }
    assert replace(again, files={}) == replace(there, files={})


@pytest.mark.parametrize("text", ["import os\n", b"import os\n"])
def test_the_source_of_a_module_is_text_whoever_has_loaded_it(text):
    loader = SimpleNamespace(get_source=lambda name: text)
    module = SimpleNamespace(__spec__=SimpleNamespace(loader=loader), __name__="m")
    assert guard_files.source(module) == "import os\n"
