# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Environment variables that nothing reads are told, with what was perhaps meant."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.environment import check_env


def found(engine, **env):
    return check_env(engine, env, where="sglang_decode_env", role="decode")


@pytest.mark.parametrize(
    "name",
    [
        "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK",
        "SGLANG_ZBAL_LOCAL_MEM_SIZE",
        "HCCL_BUFFSIZE",
        "ASCEND_MF_STORE_URL",
        "DEEPEP_NORMAL_LONG_SEQ_ROUND",
        "ZBAL_NPU_ALLOC_CONF",
        "STREAMS_PER_DEVICE",
        "GLOO_SOCKET_IFNAME",
        "PATH",
        "LD_LIBRARY_PATH",
    ],
)
def test_known_variables_are_no_problem(old, new, name):
    assert found(old, **{name: "1"}) == found(new, **{name: "1"}) == []


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("SGLANG_NPU_USE_MLPO", "SGLANG_NPU_USE_MLAPO"),
        ("HCCL_BUFSIZE", "HCCL_BUFFSIZE"),
        ("hccl_buffsize", "HCCL_BUFFSIZE"),
        ("SGLANG_SET_CPU_AFINITY", "SGLANG_SET_CPU_AFFINITY"),
    ],
)
def test_an_unknown_variable_is_a_warning_with_the_nearest_known_one(old, name, near):
    (problem,) = found(old, **{name: "1"})
    assert (problem.level, problem.check, problem.flag) == ("warning", "unknown-env", name)
    assert name in problem.what
    assert problem.do.startswith(f"did you mean {near}")


def test_a_variable_like_no_other_is_passed_on(old):
    (problem,) = found(old, MY_OWN_SWITCH="1")
    assert problem.level == "warning"
    assert "passed on" in problem.do


@pytest.mark.parametrize("name", ["ENABLE_MOE_NZ", "SGLANG_DP_ROUND_ROBIN", "SGLANG_LM_HEAD_TP"])
def test_a_variable_of_the_pages_without_a_reader_says_so(old, new, router, name):
    for engine in (old, new, router):
        (problem,) = found(engine, **{name: "1"})
        assert (problem.level, problem.check) == ("warning", "env-no-known-reader")
        assert "no known reader" in problem.what


def test_a_variable_of_another_version_is_told_what_became_of_it(new):
    (fused,) = found(new, SGLANG_NPU_FUSED_MOE_MODE="1")
    assert "--fuseep-mode" in fused.do
    (spec,) = found(new, SGLANG_ENABLE_SPEC_V2="1")
    assert spec.do.startswith("leave it out")


def test_the_router_does_not_read_what_the_server_reads(router):
    (problem,) = found(router, SGLANG_SET_CPU_AFFINITY="1")
    assert "sglang-router 0.3.2" in problem.what
    assert found(router, RUST_LOG="debug", HF_HUB_OFFLINE="1") == []
