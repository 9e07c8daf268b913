# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engine files of one's own, for a version that the collection does not know."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.files import OWN_DIRECTORY
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError
from ansible_collections.ascend.sglang.plugins.plugin_utils.from_ansible import Variables, compile_from

from .cluster import groups_for, profile, variables_for

NAME = "deepseek-r1-w4a8-8p-in3k5-out1k5-50-36ms"


def plan_with(**settings: object) -> object:
    groups = groups_for(profile(NAME))
    return compile_from(Variables(groups, variables_for(groups, **settings), {}), profile=NAME).plan


def test_a_dumped_version_can_be_named(tmp_path: Path) -> None:
    known = json.loads((OWN_DIRECTORY / "sglang-0.5.13.post1.json").read_text())
    (tmp_path / "mine.json").write_text(json.dumps({**known, "version": "0.5.13.post9"}))
    plan = plan_with(sglang_engine="0.5.13.post9", sglang_engine_dirs=[str(tmp_path)])
    assert plan.engine == "0.5.13.post9"


def test_a_directory_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match=f"sglang_engine_dirs: {tmp_path}/none: is no directory"):
        plan_with(sglang_engine_dirs=[f"{tmp_path}/none"])


def test_an_unknown_version_says_how_to_add_it() -> None:
    with pytest.raises(CompileError, match=r"there is no engine file for sglang.launch_server 0\.5\.14.*dump_engine"):
        plan_with(sglang_engine="0.5.14")
