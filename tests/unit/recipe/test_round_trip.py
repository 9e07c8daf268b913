# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Property: a profile written out as a page and imported again is the same profile."""

from __future__ import annotations

import json
import re
from typing import Any

import yaml
from ansible_collections.ascend.sglang.plugins.plugin_utils import profile as profiles
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.naming import full_name
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.emit import emit
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.titles import slug
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .importing import ENGINES, ROOT, imported
from .page_of import Style, page_of

ENGINE = ENGINES.get("0.5.13.post1")
# Flags with a meaning of their own to the importer or to the plan; the strategies below place them.
SPECIAL = {
    *("model-path", "host", "port", "node-rank", "nnodes", "dist-init-addr", "base-gpu-id", "tokenizer-path"),
    *("disaggregation-mode", "disaggregation-bootstrap-port", "speculative-draft-model-path"),
}

styles = st.builds(
    Style,
    python=st.sampled_from(["python", "python3", "/usr/bin/python3.11"]),
    **{name: st.booleans() for name in ("one_line", "equals", "braces", "dollar", "backticks", "single_brackets")},
)
names = st.from_regex(r"[A-Z][A-Z_]{2,12}[A-Z]", fullmatch=True).filter(
    lambda name: (
        not name.endswith("IFNAME") and name not in ("IP", "HOST", "PATH", "PYTHONPATH", "MASTER_ADDR", "HOST_IP")
    )
)
# Any text that a shell can pass on, but for what stands for a placeholder.
texts = st.text(
    st.characters(codec="utf-8", exclude_categories=["C", "Z"], exclude_characters="<>"), min_size=1, max_size=12
)
env_texts = st.one_of(
    texts,
    st.sampled_from(["1", "expandable_segments:True", "send,recv", "a b", "it's", '"', "$HOME", "`x`", "a\\b", "*"]),
).filter(lambda text: "your" not in text.lower())
ports = st.integers(1024, 40000)
sizes = st.integers(1, 4)


def decimals(low: float, high: float) -> st.SearchStrategy[float]:
    return st.integers(int(low * 1000), int(high * 1000)).map(lambda number: number / 1000)


def plain_words(name: str) -> bool:
    return not re.match(r"[-{\[]", name) and not re.fullmatch(r"[-+]?[\d.]+", name) and "=" not in name


simple_values = st.recursive(
    st.one_of(st.integers(0, 99), st.booleans(), st.sampled_from(["x", "auto"])),
    lambda inner: st.dictionaries(st.from_regex(r"[a-z]{1,6}", fullmatch=True), inner, min_size=1, max_size=2),
    max_leaves=3,
)
mappings = st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), simple_values, min_size=1, max_size=3)


@st.composite
def flag_values(draw: st.DrawFn) -> tuple[str, Any, dict[str, Any]]:
    """A flag of the engine, a value for it, and how the page spells it."""
    flag = draw(st.sampled_from([flag for flag in ENGINE.flags if not SPECIAL & set(flag.names)]))
    name, page = flag.name, {}
    scalar: st.SearchStrategy[Any]
    if flag.json is not None and flag.nargs is None:
        scalar = mappings
    elif flag.choices:
        scalar = st.sampled_from([choice for choice in flag.choices if choice is not None])
    elif flag.type in ("int", "human_readable_int"):
        scalar = st.integers(-1, 10**6)
    elif flag.type == "float":
        scalar = st.one_of(decimals(0, 2), st.integers(0, 9))
    else:
        scalar = texts.filter(plain_words)
    if flag.bare:
        value: Any = True
    elif flag.nargs in ("+", "*"):
        value = draw(st.lists(scalar, min_size=1, max_size=4))
    else:
        value = draw(scalar)
    if isinstance(value, dict) and draw(st.booleans()):
        # JSON without quotes around it: the shell takes the ones in it away and splits it at its blanks.
        page["words"] = json.dumps(value).replace('"', "").split(" ")
    elif draw(st.booleans()):
        short = name[: draw(st.integers(2, len(name)))]
        if short != name and not short.endswith("-") and full_name(ENGINE, short) == name:
            page["flag"] = short
    return name, value, page


@st.composite
def bodies(draw: st.DrawFn, role: str, shared: dict[str, Any]) -> dict[str, Any]:
    """A role of servers."""
    instances, nodes = draw(sizes), draw(st.integers(1, 3))
    per_instance: dict[str, int] = {}
    page: dict[str, dict[str, Any]] = {}
    args: dict[str, Any] = {"model-path": "<model_path>", "host": "<data_address>", "port": draw(ports)}
    if role != "mixed":
        args["disaggregation-mode"] = role
    if role == "prefill":
        args["disaggregation-bootstrap-port"] = draw(ports)
        if nodes > 1 and draw(st.booleans()):
            page["disaggregation-bootstrap-port"] = {"per_rank": 1}
            per_instance["disaggregation-bootstrap-port"] = nodes
        else:
            per_instance["disaggregation-bootstrap-port"] = draw(st.integers(0, 3))
    if nodes > 1:
        args |= {"dist-init-addr": f"<head_address>:{draw(ports)}", "nnodes": nodes, "node-rank": "<node_rank>"}
        per_instance["dist-init-addr"] = draw(st.sampled_from([0, 1, 10]))
    elif draw(st.booleans()):
        args |= {"nnodes": 1, "node-rank": 0}
    per_instance["port"] = draw(st.sampled_from([0, 1, 100]))
    if draw(st.booleans()):
        args["speculative-draft-model-path"] = draw(st.sampled_from(["<draft_model_path>", "<model_path>"]))
    for name, value, spelling in draw(st.lists(flag_values(), max_size=8)):
        if name not in args:
            args[name] = value
            if spelling:
                page[name] = spelling
    args = {name: args[name] for name in draw(st.permutations(list(args)))}
    env = dict(shared["env"])
    own = draw(st.dictionaries(names, env_texts, max_size=4))
    if draw(st.booleans()):
        own |= {"HCCL_SOCKET_IFNAME": "<network_interface>", "SGLANG_HOST_IP": "<data_address>"}
    if draw(st.booleans()):
        own["SGLANG_ZBAL_BOOTSTRAP_URL"] = (
            f"tcp://{draw(st.sampled_from(['127.0.0.1', '<head_address>']))}:{draw(ports)}"
        )
        per_instance["SGLANG_ZBAL_BOOTSTRAP_URL"] = draw(st.sampled_from([0, 1, 5]))
    env |= {name: value for name, value in own.items() if name not in env}
    unset = [*shared["unset"], *draw(st.lists(names, max_size=2, unique=True))]
    source = [*shared["source"], *draw(st.lists(st.sampled_from(["/opt/a/set_env.sh", "/opt/a b/x.sh"]), max_size=1))]
    body: dict[str, Any] = {
        "instances": instances,
        "nodes": nodes,
        "unset": [name for name in dict.fromkeys(unset) if name not in env],
        "source": source,
        "env": env,
        "args": args,
    }
    page = {name: page[name] for name in args if name in page}
    if page:
        body["page"] = page
    default = {"disaggregation-bootstrap-port": 1}
    steps = {name: step for name, step in per_instance.items() if step != default.get(name, 0) and instances > 1}
    if steps:
        body["per_instance"] = steps
    return body


@st.composite
def recipes(draw: st.DrawFn) -> dict[str, Any]:
    """A whole profile."""
    tpot = draw(st.one_of(st.none(), decimals(1, 200), st.integers(1, 200)))
    title = f"{draw(st.sampled_from(['Harbor', 'Quarry-V2', 'Pebble']))}-{draw(sizes)}B W8A8 {draw(sizes)}P IN1K OUT1K"
    facts = {"Model": "Harbor", "Dataset": draw(st.sampled_from(["3.5K+1.5K", "64K+1K (90% prefix cache hit rate)"]))}
    if tpot is not None:
        facts["TPOT"] = f"{tpot}ms"
    disaggregated = draw(st.booleans())
    shared = {
        "env": draw(st.dictionaries(names, env_texts, max_size=4)),
        "unset": draw(st.lists(st.sampled_from(["http_proxy", "HTTPS_PROXY"]), unique=True)),
        "source": draw(st.lists(st.just("/usr/local/Ascend/ascend-toolkit/set_env.sh"), max_size=1)),
    }
    if draw(st.booleans()):
        shared["env"]["PATH"] = "/opt/bin:<env:PATH>"
    if disaggregated:
        shared["env"]["ASCEND_MF_STORE_URL"] = f"tcp://<store_address>:{draw(ports)}"
    roles = {role: draw(bodies(role, shared)) for role in (("prefill", "decode") if disaggregated else ("mixed",))}
    if disaggregated:
        args = {"pd-disaggregation": True, "prefill": "<prefill_urls>", "decode": "<decode_urls>", "port": draw(ports)}
        args |= {"host": "127.0.0.1"} | draw(st.sampled_from([{}, {"mini-lb": True}, {"policy": "cache_aware"}]))
        roles["router"] = {
            "module": "sglang_router.launch_router",
            "unset": [],
            "source": [],
            "env": draw(st.dictionaries(names, env_texts, max_size=2)),
            "args": {name: args[name] for name in draw(st.permutations(list(args)))},
        }
    return {
        "name": slug(title),
        "title": title,
        "engine": ENGINE.version,
        **({"router_engine": "0.3.2"} if disaggregated else {}),
        "facts": facts,
        "published": {} if tpot is None else {"tpot_ms": tpot},
        "host": {
            "governor": draw(st.sampled_from([None, "performance"])),
            "sysctl": draw(
                st.dictionaries(
                    st.sampled_from(["vm.swappiness", "kernel.numa_balancing", "net.ipv4.tcp_rmem"]),
                    st.one_of(st.integers(0, 10**6), st.just("4096 87380 6291456")),
                )
            ),
        },
        "roles": roles,
        "benchmark": draw(st.one_of(st.none(), benchmarks())),
    }


@st.composite
def benchmarks(draw: st.DrawFn) -> dict[str, Any]:
    args = draw(
        st.dictionaries(
            st.from_regex(r"[a-z]{2,8}(-[a-z]{1,6}){0,2}", fullmatch=True),
            st.one_of(st.just(True), st.integers(-1, 10**6), decimals(0, 50), texts.filter(plain_words)),
            max_size=6,
        )
    )
    return {"module": "sglang.bench_serving", "env": draw(st.dictionaries(names, env_texts, max_size=1)), "args": args}


@given(profile=recipes(), style=styles)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_profile_to_page_to_profile(profile: dict[str, Any], style: Style) -> None:
    page = page_of(profile, style)
    (again,) = imported(page).profiles
    assert json.loads(json.dumps(again.data)) == json.loads(json.dumps(profile)), page
    # In the page's order, too.
    for role, body in profile["roles"].items():
        assert list(again.data["roles"][role]["args"]) == list(body["args"])
        assert list(again.data["roles"][role]["env"]) == list(body["env"])
    assert [note for note in again.notes if note.level == "warning" and "the commands are taken" not in note.why] == []


@given(profile=recipes())
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_a_file_holds_the_profile(profile: dict[str, Any]) -> None:
    text = emit(profile)
    assert yaml.safe_load(text) == json.loads(json.dumps(profile))
    assert emit(yaml.safe_load(text)) == text
    profiles.load(yaml.safe_load(text), "test")


def test_committed_profiles_come_back_from_a_page_of_another_style() -> None:
    for path in sorted((ROOT / "profiles").glob("*.yml")):
        if path.stem == "aliases":
            continue
        profile = yaml.safe_load(path.read_text())
        for style in (
            Style(),
            Style("python", one_line=True, equals=True, braces=False, dollar=False, backticks=False),
        ):
            (again,) = imported(page_of(profile, style)).profiles
            assert again.data == profile
