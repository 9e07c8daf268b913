# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A version that the collection has never seen is one file: all profiles follow it, or say why they cannot.

The version here is made up: the newest one's grammar with a rename, a choice less, a flag less and a variable less.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.files import read_catalogue

from . import cluster

NEXT = "0.5.30"
NEWEST = json.loads((cluster.ROOT / "engines" / "sglang-0.5.23.json").read_text())
NAMES = sorted(cluster.PROFILES.files)
RENAME = {
    "old": "--mem-fraction-static",
    "new": "--static-memory-share",
    "why": "--mem-fraction-static is called --static-memory-share since 0.5.30",
}


def flag(grammar: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in grammar["flags"] if name in one["names"])


def grammar() -> dict[str, Any]:
    """The version's file as tools/dump_engine.py prints it: with no word about earlier versions."""
    made = copy.deepcopy(NEWEST)
    return {**made, "version": NEXT, "renames": [], "removed": [], "defaults": []}


@pytest.fixture
def with_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Plan a profile for the version that a grammar is of; nothing but that one file is added."""

    def plan(name: str, made: dict[str, Any], **settings: Any) -> Any:
        (tmp_path / f"sglang-{NEXT}.json").write_text(json.dumps(made))
        monkeypatch.setattr(cluster, "ENGINES", read_catalogue([tmp_path]))
        return cluster.planned(name, sglang_engine=NEXT, **settings)

    return plan


@pytest.mark.parametrize("name", NAMES)
def test_a_dumped_file_is_enough(name: str, with_next: Any) -> None:
    """What is known of earlier versions holds for it too: each command line is that of the newest version."""
    newest = cluster.planned(name, sglang_engine="0.5.23")
    made = with_next(name, grammar())
    assert [one.argv for one in made.services] == [one.argv for one in newest.services]
    assert [one.env for one in made.services] == [one.env for one in newest.services]
    assert not [one for one in made.findings if one.level == "error"]


@pytest.mark.parametrize("name", NAMES)
def test_a_rename_is_followed_in_every_profile(name: str, with_next: Any) -> None:
    made = grammar()
    flag(made, "--mem-fraction-static").update(names=["--static-memory-share"], dest="static_memory_share")
    made["renames"] = [RENAME]
    for one in with_next(name, made).services:
        if one.npus is None:
            continue
        body = cluster.profile(name).roles[one.role].args
        words = [one.argv[place + 1] for place, word in enumerate(one.argv) if word == "--static-memory-share"]
        assert words == [str(body[key]) for key in ("mem-fraction-static",) if key in body]
        assert "--mem-fraction-static" not in one.argv


@pytest.mark.parametrize("name", NAMES)
def test_a_rename_that_nobody_told_is_an_error_and_no_flag_is_dropped(name: str, with_next: Any) -> None:
    made = grammar()
    flag(made, "--mem-fraction-static").update(names=["--static-memory-share"], dest="static_memory_share")
    with pytest.raises(cluster.CompileError) as stopped:
        with_next(name, made)
    checks = {(one.check, one.level) for one in stopped.value.findings}
    assert ("flag-not-in-version", "error") in checks
    text = " ".join(map(str, stopped.value.findings))
    assert "SGLang 0.5.13.post1 has --mem-fraction-static, SGLang 0.5.30 has not" in text
    assert "stay with sglang_engine 0.5.13.post1" in text


@pytest.mark.parametrize("name", NAMES)
def test_a_value_that_is_gone_is_an_error_with_what_is_left(name: str, with_next: Any) -> None:
    made = grammar()
    quantization = flag(made, "--quantization")
    quantization["choices"] = [one for one in quantization["choices"] if one != "modelslim"]
    with pytest.raises(cluster.CompileError) as stopped:
        with_next(name, made)
    text = " ".join(map(str, stopped.value.findings))
    assert "'modelslim' is no value that SGLang 0.5.30 takes for --quantization (SGLang 0.5.13.post1 takes it)" in text
    assert "Choose from: " in text


def test_a_variable_that_is_no_longer_read_is_a_warning(with_next: Any) -> None:
    made = grammar()
    made["env"]["sglang"].remove("SGLANG_SET_CPU_AFFINITY")
    plan = with_next("deepseek-r1-w8a8-2p1d", made)
    found = {(one.where, one.check) for one in plan.findings if "SGLANG_SET_CPU_AFFINITY" in one.what}
    assert found >= {("prefill", "env-not-read"), ("decode", "env-not-read")}
    assert all("SGLANG_SET_CPU_AFFINITY" in one.env for one in plan.services if one.npus is not None)


@pytest.mark.parametrize("name", ["--tp-size", "--port", "--dist-init-addr"])
def test_a_flag_that_plans_are_counted_with_must_have_its_name(name: str, with_next: Any) -> None:
    """Under another name sizes and ports would be those of the defaults, and nobody would know."""
    made = grammar()
    flag(made, name).update(names=[f"{name}-anew"])
    flag(made, f"{name}-anew").pop("name", None)
    made["renames"] = [{"old": name, "new": f"{name}-anew", "why": "it is called otherwise since 0.5.30"}]
    with pytest.raises(cluster.CompileError) as stopped:
        with_next("deepseek-r1-w8a8-2p1d", made)
    (said,) = [str(one) for one in stopped.value.findings]
    assert said.startswith(f"sglang_engine: SGLang 0.5.30 has no {name}, which a plan is counted with.")
    assert "Stay with a version that has it (0.5.13.post1 has)" in said
