# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every profile can be spelled for every version, is accepted there with abbreviations off, and means the same."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.arguments import argv
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.catalogue import ROUTER
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.check import check
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.environment import check_env
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.translate import translate
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.values import check_values

from .oracle import NEW, OLD, parser
from .oracle import ROUTER as ROUTER_FILE

PROFILES = Path(__file__).resolve().parents[3] / "profiles"
FILLED = {
    "<model_path>": "/models/m",
    "<draft_model_path>": "/models/d",
    "<data_address>": "192.0.2.11",
    "<head_address>": "192.0.2.21",
    "<store_address>": "192.0.2.11",
    "<network_interface>": "bond0",
    "<node_rank>": "0",
}
URLS = {
    "<prefill_urls>": [["http://192.0.2.11:8000", "8998"], ["http://192.0.2.12:8000", "8999"]],
    "<decode_urls>": [["http://192.0.2.21:8001"]],
}


def filled(value):
    if isinstance(value, str):
        if value in URLS:
            return URLS[value]
        for placeholder, text in FILLED.items():
            value = value.replace(placeholder, text)
    return value


def services():
    for path in sorted(PROFILES.glob("*.yml")):
        profile = yaml.safe_load(path.read_text(encoding="utf-8"))
        for role, service in profile.get("roles", {}).items():
            args = {name: filled(value) for name, value in service["args"].items()}
            env = {name: filled(value) for name, value in service.get("env", {}).items()}
            yield pytest.param(profile, role, args, env, id=f"{path.stem}-{role}")


SERVERS = [param for param in services() if param.values[1] != "router"]
ROUTERS = [param for param in services() if param.values[1] == "router"]


def test_all_profiles_are_here():
    assert len({param.values[0]["name"] for param in SERVERS}) >= 18


@pytest.mark.parametrize(("profile", "role", "args", "env"), SERVERS)
def test_a_profile_is_accepted_by_its_own_version(catalogue, profile, role, args, env):
    engine = catalogue.get(profile["engine"])
    line = argv(engine, args)
    parser(f"sglang-{profile['engine']}").parse_args(line)
    found = check(engine, args, where=role, role=role, complete=True) + check_values(args, env, where=role, role=role)
    assert [problem for problem in found if problem.level == "error"] == []
    unread = {problem.flag for problem in check_env(engine, env, where=role, role=role)}
    assert unread <= {"ENABLE_MOE_NZ", "SGLANG_LM_HEAD_TP", "SGLANG_DP_ROUND_ROBIN"}


def meaning(space, env):
    """What an old or a new command line asks for, in neither's words. Everything else must be equal as it stands."""
    asked = {name: value for name, value in vars(space).items() if value is not None}
    groups = asked.pop("attn_dp_size", 1)
    replicas = asked.pop("dp_size", None) or asked.pop("data_parallel_size", 1)
    if asked.pop("enable_dp_attention"):
        groups, replicas = replicas, 1
    off = asked.pop("disable_cuda_graph")
    graphs = {asked.pop(f"cuda_graph_backend_{phase}", None) for phase in ("decode", "prefill")}
    sizes = asked.pop("cuda_graph_bs", None) or asked.pop("cuda_graph_bs_decode", None)
    mode = int(env.get("SGLANG_NPU_FUSED_MOE_MODE") or asked.pop("fuseep_mode", 1))
    fused = mode if asked["moe_a2a_backend"] == "ascend_fuseep" else None
    return groups, replicas, off or graphs == {"disabled"}, sizes, fused, asked


@pytest.mark.parametrize(("profile", "role", "args", "env"), SERVERS)
def test_a_profile_means_the_same_in_the_newer_version(old, new, profile, role, args, env):
    assert profile["engine"] == old.version
    done = translate(args, env, source=old, target=new, role=role)
    assert done.problems == ()
    found = check(new, done.args, where=role, role=role, complete=True)
    found += check_values(done.args, done.env, where=role, role=role)
    assert found == []  # not even a deprecated spelling
    before, after = parser(OLD).parse_args(argv(old, args)), parser(NEW).parse_args(argv(new, done.args))
    *said_before, rest_before = meaning(before, env)
    *said_after, rest_after = meaning(after, done.env)
    assert said_before == said_after
    given = {flag.dest for flag in old.flags if any(name in args for name in flag.names)}
    renamed = {"cuda_graph_bs", "disable_cuda_graph", "enable_dp_attention", "data_parallel_size"}
    for name in given - renamed - {"prefill_round_robin_balance"}:
        other = {"tensor_parallel_size": "tp_size"}.get(name, name)
        assert rest_before[name] == rest_after[other], name
    kept = {name: value for name, value in env.items() if name in done.env}
    assert kept == done.env
    assert set(env) - set(kept) <= {"SGLANG_NPU_FUSED_MOE_MODE", "SGLANG_ENABLE_SPEC_V2"}


@pytest.mark.parametrize(("profile", "role", "args", "env"), SERVERS)
def test_a_profile_comes_back_from_the_newer_version(old, new, profile, role, args, env):
    there = translate(args, env, source=old, target=new, role=role)
    back = translate(there.args, there.env, source=new, target=old, role=role)
    assert back.problems == ()
    wanted = {name: value for name, value in args.items() if name != "prefill-round-robin-balance"}
    assert {name: str(value) for name, value in back.args.items()} == {n: str(value) for n, value in wanted.items()}
    assert back.env == {name: value for name, value in env.items() if name != "SGLANG_ENABLE_SPEC_V2"}


@pytest.mark.parametrize(("profile", "role", "args", "env"), ROUTERS)
def test_routers_are_accepted_by_the_router(catalogue, profile, role, args, env):
    engine = catalogue.get(profile["router_engine"], ROUTER)
    parser(ROUTER_FILE).parse_args(argv(engine, args))
    assert check(engine, args, where=role, role=role, complete=True) == []
