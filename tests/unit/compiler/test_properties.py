# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for every plan, whatever the profile, the inventory and the numbers of instances.

Clusters are drawn at random: profiles, replications, hosts that serve several roles, addresses of all kinds, pins,
both SGLang versions. Ports and NPUs are counted here anew, from what the plan says that each process has.
"""

from __future__ import annotations

import itertools
import json
import re
import runpy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import kept_out, launch_script
from ansible_collections.ascend.sglang.plugins.module_utils.plan_service import parse
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.arguments import words
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError
from ansible_collections.ascend.sglang.plugins.plugin_utils.plan import Plan
from ansible_collections.ascend.sglang.plugins.plugin_utils.reasons import REASONS
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from .cluster import ENGINES, PROFILES, ROOT, SETTINGS, compiled, groups_for, plan_of, profile, variables_for

# The parser that knows nothing of the code under test belongs to the tests of the engines.
ORACLE = runpy.run_path(str(ROOT / "tests/unit/engine/oracle.py"))
NEWER = "0.5.23"
ENGINE_ROLES = ("prefill", "decode", "mixed")
quick = settings(max_examples=40)


@dataclass(frozen=True)
class Drawn:
    """A cluster that was drawn, and its plan."""

    name: str
    groups: dict[str, list[str]]
    hosts: dict[str, dict[str, Any]]
    api_key: bool = False
    plan: Plan = field(init=False)

    def __post_init__(self):
        object.__setattr__(self, "plan", compiled(profile(self.name), self.groups, self.hosts, api_key=self.api_key))

    @property
    def services(self) -> list[dict[str, Any]]:
        return self.plan.as_dict()["services"]

    def of(self, *roles: str) -> list[dict[str, Any]]:
        return [one for one in self.services if one["role"] in roles]

    def url_host(self, host: str) -> str:
        address = self.hosts[host]["sglang_data_address"]
        return f"[{address}]" if ":" in address else address


def address(number: int, kind: str) -> str:
    return {"ipv4": f"192.0.2.{number}", "ipv6": f"2001:db8::{number:x}", "name": f"node{number}.example"}[kind]


@st.composite
def clusters(draw: st.DrawFn, *, shared: bool = True, pins: bool = True, engines: bool = True) -> Drawn:
    """A cluster that fits: as many hosts and NPUs as its instances need."""
    name = draw(st.sampled_from(sorted(PROFILES.files)))
    wanted = profile(name)
    counts = {role: draw(st.integers(1, 3)) for role in wanted.roles if role != "router"}
    sizes = {role: counts[role] * wanted.roles[role].nodes for role in counts}
    roles = [*counts, "router"] if wanted.disaggregated or draw(st.booleans()) else [*counts]
    sizes["router"] = 1
    pool = [f"n{number}" for number in draw(st.permutations(range(1, sum(sizes.values()) + 1)))]
    groups: dict[str, list[str]] = {}
    for role in roles:
        apart = [host for host in pool if not any(host in members for members in groups.values())]
        groups[role] = draw(st.permutations(pool if shared else apart))[: sizes[role]]
    common: dict[str, Any] = {
        **SETTINGS,
        "sglang_instances": counts,
        "sglang_engine": draw(st.sampled_from(["", NEWER])) if engines else "",
        "sglang_store": draw(st.sampled_from(["prefill", "dedicated"])),
    }
    hosts: dict[str, dict[str, Any]] = {}
    for number, host in enumerate(dict.fromkeys(itertools.chain(*groups.values())), 1):
        hosts[host] = {
            **common,
            "sglang_data_address": address(number, draw(st.sampled_from(["ipv4", "ipv6", "name"]))),
            "sglang_npus": 16 * sum(host in groups.get(role, ()) for role in ENGINE_ROLES) or 16,
            "sglang_interface": draw(st.sampled_from(["bond0", "enp189s0f0"])),
        }
    if pins and not shared:
        for role in counts:
            for host, (instance, rank) in drawn_pins(draw, groups[role], counts[role], wanted.roles[role].nodes):
                hosts[host] |= {"sglang_instance": instance, "sglang_node_rank": rank}
    return Drawn(name, groups, hosts, draw(st.booleans()))


def drawn_pins(draw: st.DrawFn, members: list[str], count: int, nodes: int) -> Iterator[tuple[str, tuple[int, int]]]:
    places = draw(st.permutations([(index, rank) for index in range(count) for rank in range(nodes)]))
    return ((host, place) for host, place in zip(members, places, strict=True) if draw(st.booleans()))


def flag(service: dict[str, Any], name: str) -> Any:
    """The word behind a flag that stands once; None where it is absent."""
    argv = service["argv"]
    at = [index for index, word in enumerate(argv) if word == name]
    assert len(at) < 2
    return argv[at[0] + 1] if at else None


def listening(service: dict[str, Any]) -> list[int]:
    ranges = [range(first, last + 1) for first, last in service["port_ranges"].values()]
    return [*service["ports"].values(), *itertools.chain(*ranges)]


@quick
@given(clusters())
def test_every_rank_is_there_once_and_every_host_of_a_group_serves(drawn):
    for one in drawn.plan.as_dict()["instances"]:
        own = [each for each in drawn.services if (each["role"], each["instance"]) == (one["role"], one["instance"])]
        assert [each["rank"] for each in own] == list(range(len(one["nodes"])))
        assert [each["host"] for each in own] == one["nodes"]
        assert {each["nnodes"] for each in own} == {len(own)} == {profile(drawn.name).roles[one["role"]].nodes}
        if len(own) > 1:
            assert [flag(each, "--node-rank") for each in own] == [str(each["rank"]) for each in own]
            assert {flag(each, "--nnodes") for each in own} == {str(len(own))}
    for role, members in drawn.groups.items():
        assert sorted(each["host"] for each in drawn.of(role)) == sorted(members)


@quick
@given(clusters(shared=False))
def test_without_pins_order_is_the_groups_and_pins_are_kept(drawn):
    for role in ENGINE_ROLES:
        nodes = [host for one in drawn.plan.instances if one.role == role for host in one.nodes]
        free = [host for host in nodes if "sglang_node_rank" not in drawn.hosts[host]]
        assert free == [host for host in drawn.groups.get(role, ()) if host in free]
        for one in drawn.of(role):
            own = drawn.hosts[one["host"]]
            assert (own.get("sglang_instance", one["instance"]), own.get("sglang_node_rank", one["rank"])) == (
                one["instance"],
                one["rank"],
            )


@quick
@given(clusters())
def test_an_instance_meets_at_the_address_of_its_rank_0(drawn):
    for one in drawn.plan.as_dict()["instances"]:
        own = [each for each in drawn.services if (each["role"], each["instance"]) == (one["role"], one["instance"])]
        meeting = {flag(each, "--dist-init-addr") for each in own}
        if len(own) > 1 or meeting != {None}:
            assert meeting == {f"{drawn.url_host(one['nodes'][0])}:{own[0]['ports']['dist_init']}"}
        zbal = {each["env"].get("SGLANG_ZBAL_BOOTSTRAP_URL") for each in own}
        if zbal != {None}:
            head = drawn.url_host(one["nodes"][0]) if len(own) > 1 else "127.0.0.1"
            assert zbal == {f"tcp://{head}:{own[0]['ports']['zbal']}"}


@quick
@given(clusters())
def test_no_two_services_of_a_host_share_a_port_or_an_npu(drawn):
    for host in drawn.hosts:
        own = [one for one in drawn.services if one["host"] == host]
        ports = Counter(port for one in own for port in listening(one))
        assert [port for port, owners in ports.items() if owners > 1] == []
        assert all(1 <= port <= 65535 for port in ports)
        npus = [npu for one in own if one["npus"] for npu in range(one["npus"][0], one["npus"][1] + 1)]
        assert len(npus) == len(set(npus)) == 16 * len([one for one in own if one["npus"]])
        assert all(npu < drawn.hosts[host]["sglang_npus"] for npu in npus)
        assert len({one["unit"] for one in own}) == len(own)


@quick
@given(clusters())
def test_what_a_service_is_told_is_what_it_is_planned_with(drawn):
    for one in drawn.of(*ENGINE_ROLES):
        assert int(flag(one, "--port") or 30000) == one["ports"]["http"]
        assert one["url"].endswith(f":{one['ports']['http']}")
        assert int(one["env"].get("HCCL_IF_BASE_PORT", 60000)) == one["port_ranges"]["hccl"][0]
        assert int(flag(one, "--base-gpu-id") or 0) == one["npus"][0]
        assert one["env"]["HCCL_SOCKET_IFNAME"] == one["env"]["GLOO_SOCKET_IFNAME"]
        assert one["env"]["HCCL_SOCKET_IFNAME"] == drawn.hosts[one["host"]]["sglang_interface"]
        if one["role"] != "mixed" or one["nnodes"] > 1:
            assert one["env"]["SGLANG_HOST_IP"] == drawn.hosts[one["host"]]["sglang_data_address"]
            assert one["url"] == f"http://{drawn.url_host(one['host'])}:{one['ports']['http']}"
        derived = [port for name, port in one["ports"].items() if name == "dist_init"]
        if "--enable-dp-attention" in one["argv"] and not derived and one["rank"] == 0:
            base = one["ports"]["http"]
            assert one["port_ranges"]["dp_attention"] == [base + 233, base + 239]


@quick
@given(clusters())
def test_the_router_knows_every_head_and_its_bootstrap_port(drawn):
    routers = drawn.of("router")
    assert len(routers) == len(drawn.groups.get("router", ()))
    for router in routers:
        argv = router["argv"]
        prefill = [tuple(argv[at + 1 : at + 3]) for at, word in enumerate(argv) if word == "--prefill"]
        decode = [argv[at + 1] for at, word in enumerate(argv) if word == "--decode"]
        heads = [one for one in drawn.services if one["rank"] == 0]
        assert prefill == [(one["url"], str(one["ports"]["bootstrap"])) for one in heads if one["role"] == "prefill"]
        assert decode == [one["url"] for one in heads if one["role"] == "decode"]
        mixed = [one["url"] for one in heads if one["role"] == "mixed"]
        if mixed:
            at = argv.index("--worker-urls")
            assert argv[at + 1 : at + 1 + len(mixed)] == mixed
            assert argv[at + 1 + len(mixed)].startswith("--")
        for url in (url for url in mixed if "127.0.0.1" in url):
            assert next(one["host"] for one in heads if one["url"] == url) == router["host"]
    for one in drawn.of("prefill"):
        head = next(each for each in drawn.of("prefill") if (each["instance"], each["rank"]) == (one["instance"], 0))
        assert flag(one, "--disaggregation-bootstrap-port") == str(head["ports"]["bootstrap"])


@quick
@given(clusters())
def test_there_is_one_store_and_every_prefill_and_decode_knows_it(drawn):
    urls = {one["env"].get("ASCEND_MF_STORE_URL") for one in drawn.of("prefill", "decode")}
    holders = [one for one in drawn.services if "store" in one["ports"]]
    assert len(urls) == len(holders) == profile(drawn.name).disaggregated
    for holder in holders:
        dedicated = drawn.hosts[holder["host"]]["sglang_store"] == "dedicated"
        assert (holder["role"], holder["rank"], holder["instance"]) == ("store" if dedicated else "prefill", 0, 0)
        assert urls == {f"tcp://{drawn.url_host(holder['host'])}:{holder['ports']['store']}"}
    assert all("ASCEND_MF_STORE_URL" not in one["env"] for one in drawn.of("router", "mixed"))
    assert [one["role"] for one in drawn.services][:1] != ["router"]


@quick
@given(clusters(shared=False), st.randoms())
def test_the_order_of_the_groups_decides_and_nothing_else(drawn, random):
    def shuffled(mapping: dict[str, Any]) -> dict[str, Any]:
        keys = list(mapping)
        random.shuffle(keys)
        return {key: shuffled(mapping[key]) if isinstance(mapping[key], dict) else mapping[key] for key in keys}

    groups = {"others": ["n99", "x"], **shuffled(drawn.groups), "all": sorted(drawn.hosts), "ungrouped": ["y"]}
    hosts = {
        host: {**own, "ansible_host": f"198.51.100.{random.randrange(250)}", "rack": random.random()}
        for host, own in shuffled(drawn.hosts).items()
    }
    hosts["x"] = {"sglang_data_address": "127.0.0.1", "sglang_model_path": "elsewhere"}
    again = compiled(profile(drawn.name), groups, hosts, api_key=drawn.api_key)
    # Hosts of other groups may be named in one warning, where there is no router; nothing else is made of them.
    said = [one for one in again.findings if one.check == "groups"]
    assert [one.level for one in said] == ["warning"] * (("router" not in groups) and 1)
    rest = tuple(one for one in again.findings if one.check != "groups")
    assert replace(again, findings=rest).as_json() == drawn.plan.as_json()


@quick
@given(clusters())
def test_no_variable_that_a_launch_script_unsets_is_exported_afterwards(drawn):
    for one in drawn.services:
        assert exported_again(launch_script.render(parse(one), "/nowhere")) == []


@pytest.mark.parametrize("name", sorted(PROFILES.files))
@pytest.mark.parametrize("variable", sorted(kept_out.OF_ENGINES))
def test_what_a_profile_exports_in_vain_is_in_no_launch_script(name, variable):
    documented = profile(name)
    bodies = {role: replace(body, env={**body.env, variable: "x"}) for role, body in documented.roles.items()}
    own = replace(documented, roles=bodies)
    groups = groups_for(own)
    for one in compiled(own, groups, variables_for(groups)).services:
        assert exported_again(launch_script.render(parse(one.as_dict()), "/nowhere")) == []


def exported_again(script: str) -> list[str]:
    """The variables that the script unsets, and exports further down."""
    _before, _unset, after = script.partition("\nunset ")
    names, _end, rest = after.partition("\n")
    return [name for name in names.split() if f"\nexport {name}=" in f"\n{rest}"]


@quick
@given(clusters(shared=False, pins=False))
def test_two_hosts_that_change_places_change_places_in_the_plan(drawn):
    role, members = next((role, members) for role, members in drawn.groups.items() if role in ENGINE_ROLES)
    assume(len(members) > 1)
    swapped = {**drawn.groups, role: [members[1], members[0], *members[2:]]}
    nodes = {
        one.role: one.nodes for one in compiled(profile(drawn.name), swapped, drawn.hosts).instances if not one.index
    }
    before = [one.nodes for one in drawn.plan.instances if one.role == role]
    if len(before[0]) > 1:
        assert nodes[role][:2] == before[0][1::-1]
    else:
        assert nodes[role] == before[1]


@quick
@given(clusters())
def test_equal_inputs_give_equal_plans_and_plans_are_json(drawn):
    text = compiled(profile(drawn.name), drawn.groups, drawn.hosts, api_key=drawn.api_key).as_json()
    assert text == drawn.plan.as_json()
    assert json.loads(text) == json.loads(json.dumps(drawn.plan.as_dict()))


@cache
def parser(name: str) -> Any:
    return ORACLE["parser"](name)


@quick
@given(clusters())
def test_the_programs_own_parser_takes_every_command_line(drawn):
    version = drawn.plan.engine
    for one in drawn.of(*ENGINE_ROLES, "router"):
        grammar = ORACLE["ROUTER"] if one["role"] == "router" else f"sglang-{version}"
        argv = ["the-key" if isinstance(word, dict) else word for word in one["argv"][3:]]
        assert all(isinstance(word, str) for word in argv)
        parsed, left = parser(grammar).parse_known_args(argv)
        assert left == []
        assert parsed.port == one["ports"]["http"]
        assert (parsed.api_key == "the-key") == drawn.api_key


@quick
@given(clusters())
def test_every_difference_has_a_reason_and_nothing_else_is_declared(drawn):
    declared = {}
    for one in drawn.plan.as_dict()["deviations"]:
        key = (one["host"], one["role"], one["instance"], one["rank"], one["kind"], one["name"])
        assert key not in declared
        assert one["page"] != one["rendered"]
        general = REASONS[one["reason"]]
        if one["reason"] == "engine-translation":
            assert re.fullmatch(rf"{re.escape(general[:-1])}: .+[^.]\.", one["why"])
        else:
            assert one["why"] == general
        declared[key] = one["rendered"]
    for one in drawn.of(*ENGINE_ROLES):
        body, engine = profile(drawn.name).roles[one["role"]], ENGINES.get(profile(drawn.name).engine)
        place = (one["host"], one["role"], one["instance"], one["rank"])
        for name, value in body.args.items():
            stated = not (isinstance(value, str) and "<" in value) and name not in body.page
            if stated and (*place, "arg", f"--{name}") not in declared and not body.per_instance.get(name):
                at = one["argv"].index(f"--{name}")
                expected = words(engine, name, value)
                assert one["argv"][at + 1 : at + 1 + len(expected)] == expected
        for name, value in body.env.items():
            if "<" not in value and (*place, "env", name) not in declared:
                assert one["env"][name] == value
        for name in body.unset:
            assert name in one["unset"] or (*place, "unset", name) in declared
    assert {key[1] for key in declared} <= {*drawn.groups, "benchmark"}


@quick
@given(clusters(engines=False))
def test_a_plan_that_fits_has_no_error(drawn):
    found = [one for one in drawn.plan.findings if one.level == "error"]
    if drawn.api_key and any("--mini-lb" in one["argv"] for one in drawn.of("router")):
        # The one thing that pages and a setting cannot have together.
        assert [one.check for one in found] == ["mini-lb"]
    else:
        assert [str(one) for one in found] == []


OVERRIDES = {
    "tp-size": st.integers(1, 4).map(lambda number: 8 * number),
    "tensor-parallel-size": st.just(16),
    "dp-size": st.integers(1, 4),
    "port": st.integers(1, 65535) | st.just("8000") | st.just(["9000"]),
    "host": st.sampled_from(["0.0.0.0", "::", "127.0.0.1", "localhost", "not an address", "198.51.100.1", "<x>"]),
    "chat-template": st.sampled_from(["<tool_call>", "{{ messages }}", "<model_path>/x", "<prefill_urls>"]),
    "dist-init-addr": st.sampled_from(["<head_address>:5100", "127.0.0.1:5100", "192.0.2.9:5100", "nonsense"]),
    "disaggregation-bootstrap-port": st.integers(8000, 9000),
    "moe-dense-tp-size": st.sampled_from([1, 16]),
    "cuda-graph-bs": st.lists(st.integers(1, 4), max_size=3),
    "enable-dp-attention": st.booleans(),
    "model-loader-extra-config": st.just({"b": 1, "a": {"d": None, "c": "'"}}),
    "trust-remote-code": st.booleans() | st.none(),
    "base-gpu-id": st.integers(0, 8),
    "nccl-port": st.integers(8000, 8010),
    "no-such-flag": st.just("x"),
    "disaggregation-transfer-backend": st.sampled_from(["mooncake", "ascend", None]),
}
ROUTER_OVERRIDES = {
    "host": OVERRIDES["host"],
    "port": OVERRIDES["port"],
    "mini-lb": st.booleans(),
    "policy": st.sampled_from(["random", "cache_aware", None, "no-such-policy"]),
    "prometheus-port": st.integers(28990, 29010),
    "tokenizer-path": st.just("<model_path>"),
}
VARIABLES = {
    "HCCL_IF_BASE_PORT": st.sampled_from([61000, "61000", "x", 0, None]),
    "SGLANG_ZBAL_BOOTSTRAP_URL": st.sampled_from(["tcp://127.0.0.1:24800", "tcp://<head_address>:24800", "x", None]),
    "HCCL_BUFFSIZE": st.integers() | st.booleans() | st.text(max_size=5) | st.none(),
    "ASCEND_LAUNCH_BLOCKING": st.just("1"),
    "OWN": st.just("<think>"),
}


def few(data: st.DataObject, choice: dict[str, st.SearchStrategy[Any]]) -> dict[str, Any]:
    """A few of the settings: many at once, and hardly any cluster would be without an error that ends it early."""
    names = data.draw(st.lists(st.sampled_from(sorted(choice)), max_size=2, unique=True))
    return {name: data.draw(choice[name]) for name in names}


@settings(quick, max_examples=100)
@given(clusters(), st.data())
def test_any_override_gives_a_plan_or_errors_in_words(drawn, data):
    """No difference without a reason, no value that only fits the page: nothing but CompileError comes out."""
    common = {}
    for role in drawn.groups:
        common[f"sglang_{role}_args"] = few(data, ROUTER_OVERRIDES if role == "router" else OVERRIDES)
        common[f"sglang_{role}_env"] = few(data, VARIABLES)
    hosts = {host: {**own, **common, "sglang_npus": 64} for host, own in drawn.hosts.items()}
    try:
        plan = compiled(profile(drawn.name), drawn.groups, hosts, api_key=drawn.api_key)
    except CompileError as stopped:
        plan = None
        found = stopped.findings
    else:
        found = plan.findings
    for one in found:
        assert one.where
        assert one.what
        assert one.do or one.level == "warning", str(one)
    if plan is None:
        assert any(one.level == "error" for one in found)
        return
    for host in hosts:
        ports = Counter(port for one in plan.as_dict()["services"] if one["host"] == host for port in listening(one))
        assert max(ports.values()) == 1
    assert compiled(profile(drawn.name), drawn.groups, hosts, api_key=drawn.api_key).as_json() == plan.as_json()


@pytest.mark.parametrize("name", sorted(PROFILES.files))
def test_every_profile_is_planned_for_the_newer_version_too(name):
    assert [str(one) for one in plan_of(name, sglang_engine=NEWER).findings if one.level == "error"] == []
