# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the importer makes of pages that differ from the two with committed profiles."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils import profile as profiles

from .importing import PAGES, block, imported, only, page, said

NAMES = sorted(path.name for path in PAGES.iterdir() if path.suffix in (".md", ".mdx", ".txt"))


def the_only(name: str) -> Any:
    (profile,) = page(name).profiles
    return profile


def topology(data: Any) -> dict[str, tuple[int, int]]:
    return {role: (body["instances"], body["nodes"]) for role, body in data["roles"].items() if role != "router"}


@pytest.mark.parametrize("name", NAMES)
def test_every_profile_is_one(name: str) -> None:
    for profile in page(name).profiles:
        loaded = profiles.load(profile.data, name)
        assert loaded.name == profile.name


def test_there_are_pages_enough() -> None:
    assert len(NAMES) >= 14


def test_words_as_placeholders_and_the_loopback_interface() -> None:
    data = the_only("your-ip.md").data
    assert topology(data) == {"prefill": (2, 1), "decode": (1, 2)}
    prefill, decode = data["roles"]["prefill"], data["roles"]["decode"]
    assert prefill["env"]["HCCL_SOCKET_IFNAME"] == prefill["env"]["GLOO_SOCKET_IFNAME"] == "<network_interface>"
    assert prefill["env"]["ASCEND_MF_STORE_URL"] == "tcp://<store_address>:24667"
    assert prefill["args"]["disaggregation-bootstrap-port"] == 8995
    assert "per_instance" not in prefill
    assert decode["args"]["dist-init-addr"] == "<head_address>:5000"
    # What is written differently than a number is printed stays as it is written.
    assert decode["args"]["mem-fraction-static"] == "0.80"
    assert data["facts"]["Deploy Mode"] == "PD Disaggregation"


def test_search_paths_keep_what_the_host_has() -> None:
    env = the_only("your-ip.md").data["roles"]["prefill"]["env"]
    assert env["PATH"] == "/usr/local/Ascend/8.5.0/compiler/bishengir/bin:<env:PATH>"
    assert env["PYTHONPATH"] == "/opt/sglang-npu/python:<env:PYTHONPATH>"


def test_sources_belong_to_the_role_that_reads_them() -> None:
    roles = the_only("your-ip.md").data["roles"]
    toolkit, atb = "/usr/local/Ascend/ascend-toolkit/set_env.sh", "/usr/local/Ascend/nnal/atb/set_env.sh"
    assert roles["prefill"]["source"] == [toolkit, atb]
    assert roles["decode"]["source"] == [toolkit]
    assert roles["router"]["source"] == []


def test_short_placeholders_html_facts_and_ttft() -> None:
    data = the_only("pip-dip.md").data
    assert topology(data) == {"prefill": (1, 1), "decode": (1, 2)}
    assert data["facts"] == {
        "Model": "Lantern-V3",
        "Hardware": "Atlas 800I A3",
        "Cards": "24",
        "Deploy Mode": "PD Disaggregation",
        "Dataset": "16K+0.5K",
        "TTFT": "2.75s",
        "Quantization": "W8A8 INT8",
    }
    assert data["published"] == {"ttft_ms": 2750}
    assert data["benchmark"] is None
    assert data["roles"]["decode"]["args"]["dist-init-addr"] == "<head_address>:5050"
    assert data["roles"]["prefill"]["env"]["ASCEND_MF_STORE_URL"] == "tcp://<store_address>:24699"


def test_one_prefill_instance_of_two_nodes() -> None:
    profile = the_only("multi-node-prefill.mdx")
    assert topology(profile.data) == {"prefill": (1, 2), "decode": (1, 2)}
    prefill = profile.data["roles"]["prefill"]
    assert prefill["args"]["node-rank"] == "<node_rank>"
    assert prefill["args"]["dist-init-addr"] == "<head_address>:5000"
    assert prefill["args"]["disaggregation-bootstrap-port"] == 8998
    # $((8998 + $i)) gives rank 1 a port of its own; the profile keeps that as the page's words.
    assert prefill["page"] == {"disaggregation-bootstrap-port": {"per_rank": 1}}
    assert [text for _unused, _unused, text in said(profile)] == [
        "--disaggregation-bootstrap-port: the page adds 1 for every rank; all nodes of an instance get rank 0's number"
    ]


def test_the_page_that_is_deployed_on_test_hosts() -> None:
    """Addresses in quotation marks, short names, `--flag=value`, a torn JSON and one-line launches on one page."""
    profile = the_only("marble-three-hosts.mdx")
    assert topology(profile.data) == {"prefill": (1, 2), "decode": (1, 1)}
    roles = profile.data["roles"]
    assert roles["prefill"]["args"]["dist-init-addr"] == "<head_address>:5060"
    assert roles["prefill"]["args"]["tp-size"] == 32
    assert roles["prefill"]["env"]["SGLANG_ZBAL_BOOTSTRAP_URL"] == "tcp://<head_address>:24691"
    assert roles["decode"]["args"]["cuda-graph-bs"] == [2, 4, 6, 8]
    assert roles["router"]["args"]["policy"] == "round_robin"
    assert not [note for note in profile.notes if note.level == "warning"]


def test_several_prefill_instances_of_several_nodes() -> None:
    profile = the_only("grouped-prefills.md")
    assert topology(profile.data) == {"prefill": (2, 2), "decode": (2, 2)}
    prefill, decode = profile.data["roles"]["prefill"], profile.data["roles"]["decode"]
    assert prefill["args"]["disaggregation-bootstrap-port"] == 8998
    assert "per_instance" not in prefill
    assert "page" not in prefill
    assert prefill["env"]["SGLANG_ZBAL_BOOTSTRAP_URL"] == "tcp://<head_address>:24700"
    assert decode["per_instance"] == {"port": 1, "dist-init-addr": 1}
    assert decode["args"]["dist-init-addr"] == "<head_address>:5100"
    assert not profile.notes


def test_short_and_underscored_flags_get_their_full_names() -> None:
    data = the_only("short-flags.md").data
    mixed = data["roles"]["mixed"]
    assert topology(data) == {"mixed": (1, 2)}
    wanted = {"tp-size": 16, "dp-size": 8, "ep-size": 16, "pp-size": 2, "mem-fraction-static": 0.75, "port": 30000}
    assert {name: mixed["args"][name] for name in wanted} == wanted
    assert mixed["args"]["chunked-prefill-size"] == -1
    assert mixed["args"]["cuda-graph-bs"] == [2, 4, 6, 8]
    assert {name: spelling["flag"] for name, spelling in mixed["page"].items()} == {
        "model-path": "model",
        "tp-size": "tp",
        "dp-size": "dp",
        "ep-size": "ep",
        "mem-fraction-static": "mem_fraction_static",
        "chunked-prefill-size": "chunked_prefill_size",
    }
    assert data["benchmark"]["args"]["request-rate"] == 1.5
    assert data["benchmark"]["args"]["model"] == "<model_path>"


def test_a_server_on_half_of_a_node_and_two_beside_each_other() -> None:
    one, two = page("part-of-node.md").profiles
    assert one.data["roles"]["mixed"]["args"]["tp-size"] == 8
    assert one.data["published"] == {}
    assert one.data["benchmark"] is None
    assert not one.notes
    assert topology(two.data) == {"mixed": (2, 1)}
    assert two.data["roles"]["mixed"]["per_instance"] == {"port": 100}
    assert "ASCEND_RT_VISIBLE_DEVICES" not in two.data["roles"]["mixed"]["env"]
    assert [line for line, _unused, text in said(two) if "ASCEND_RT_VISIBLE_DEVICES" in text] == [26, 28]


def test_addresses_in_urls_and_variables() -> None:
    profile = the_only("zbal-by-address.md")
    prefill, decode = profile.data["roles"]["prefill"], profile.data["roles"]["decode"]
    assert prefill["env"]["SGLANG_ZBAL_BOOTSTRAP_URL"] == "tcp://<head_address>:24711"
    assert prefill["env"]["HCCL_IF_IP"] == prefill["env"]["SGLANG_HOST_IP"] == "<data_address>"
    # Both instances listen on one number, which is not what the plan would take by itself.
    assert prefill["per_instance"] == {"SGLANG_ZBAL_BOOTSTRAP_URL": 10, "disaggregation-bootstrap-port": 0}
    assert prefill["args"]["tokenizer-path"] == "<model_path>"
    assert prefill["args"]["speculative-draft-model-path"] == "<draft_model_path>"
    assert decode["args"]["speculative-draft-model-path"] == "<model_path>"
    assert profile.data["published"] == {"tpot_ms": 95}


def test_arrays_decide_about_hosts_and_flags_about_size() -> None:
    profile = the_only("contradiction.md")
    assert topology(profile.data) == {"prefill": (1, 2), "decode": (2, 1)}
    assert profile.data["roles"]["prefill"]["args"]["nnodes"] == 2
    assert profile.data["roles"]["decode"]["args"]["nnodes"] == 1
    warnings = {text for _unused, level, text in said(profile) if level == "warning"}
    left = "taken as 1 instance of 2 nodes; <your prefill ip3> of the array is left over"
    assert f"the prefill array has 3 hosts and --nnodes is 2: {left}" in warnings
    assert "--node-rank 0, 1: the instances have 1 node: the ranks are 0, 0" in warnings
    assert "the title says 2P1D, the commands start 1P2D: the commands are taken" in warnings
    assert (
        "the router's prefill worker has bootstrap port 8990 instead of 8998: "
        "the router gets what the server listens on" in warnings
    )
    assert (
        "the router has 1 decode workers, and the recipe starts 2 decode instances: the router gets every instance"
        in warnings
    )


def test_copied_text_without_the_word_command() -> None:
    result = page("copied-without-command.txt")
    first, second = result.profiles
    assert [first.name, second.name] == [
        "sable-30b-w8a8-1p1d-16p-in4k-out1k-36ms",
        "sable-30b-bf16-1p-in2k-out1k-28ms",
    ]
    assert first.data["facts"]["Dataset"] == "4K+1K"
    assert second.data["facts"]["Quantization"] == "BF16"
    # The router's block is another host's: it has none of the servers' variables.
    assert first.data["roles"]["router"]["env"] == {"SGLANG_DP_ROUND_ROBIN": "1"}
    assert first.data["benchmark"]["args"]["max-concurrency"] == 96
    assert not first.notes
    assert said(result) == [(93, "note", "--max-concurrency: it is mentioned in the page's prose")]


def test_mixed_on_two_nodes_from_an_array() -> None:
    two, one = page("mixed-two-nodes.md").profiles
    assert topology(two.data) == {"mixed": (1, 2)}
    args = two.data["roles"]["mixed"]["args"]
    assert (args["node-rank"], args["nnodes"], args["dist-init-addr"]) == ("<node_rank>", 2, "<head_address>:5000")
    assert args["host"] == "127.0.0.1"
    assert args["speculative-draft-model-path"] == "<draft_model_path>"
    assert topology(one.data) == {"mixed": (1, 1)}
    assert one.data["benchmark"]["args"]["dataset-path"] == "/data/ShareGPT.json"


def test_json_in_all_quotes() -> None:
    mixed = the_only("json.md").data["roles"]["mixed"]
    args, words = mixed["args"], {name: spelling["words"] for name, spelling in mixed["page"].items()}
    assert args["model-loader-extra-config"] == {"enable_multithread_load": True, "num_threads": 8}
    assert args["json-model-override-args"] == '{"architectures":["BasaltForCausalLM"]}'
    assert args["preferred-sampling-params"] == {"temperature": 0.6, "top_p": 0.95}
    assert args["mm-process-config"] == {"image": {"max_pixels": 1048576}, "video": {"fps": 3}}
    assert args["hisparse-config"] == {"top_k": 2048}
    assert args["extra-metric-labels"] == {"team": "sea"}
    assert words == {
        "model-loader-extra-config": ["{enable_multithread_load:", "true,", "num_threads:", "8}"],
        # Bash expands the braces.
        "mm-process-config": ["image:{max_pixels:1048576}", "video:{fps:3}"],
        # Escaped quotes survive, and so do those in a variable; the blanks do not.
        "hisparse-config": ['{"top_k":', "2048}"],
        "extra-metric-labels": ['{"team":', '"sea"}'],
        "limit-mm-data-per-request": ["{image:4}"],
    }


def test_facts_from_a_table_alone_whatever_the_case() -> None:
    first, second = page("tables-only.mdx").profiles
    assert first.data["facts"]["TPOT"] == "17.5ms"
    assert second.data["facts"]["Cards"] == "8"
    assert second.name == "ember-32b-w8a8-8p-in3k-out1k-12ms"
    assert second.data["benchmark"]["args"] == {"backend": "sglang", "port": 6688, "dataset-name": "random"}


def test_search_path_with_the_draft_model_in_it() -> None:
    mixed, disaggregated = page("node-ips.mdx").profiles
    env = mixed.data["roles"]["mixed"]["env"]
    assert env["PYTHONPATH"] == "<draft_model_path>:<env:PYTHONPATH>"
    assert topology(mixed.data) == {"mixed": (1, 2)}
    assert mixed.data["roles"]["mixed"]["args"]["host"] == "<data_address>"
    # The table fills in what does not stand under the title, and differs about the cards.
    assert mixed.data["facts"] == {
        "Model": "Onyx-5",
        "Cards": "24",
        "TPOT": "47.5ms",
        "Hardware": "Atlas 800I A3",
        "Deploy Mode": "PD Mixed",
        "Dataset": "3.5K+1.5K",
        "Quantization": "W4A8 INT8",
    }
    assert any("Cards is '24' under the title and '16' in the page's table" in text for *_unused, text in said(mixed))
    assert topology(disaggregated.data) == {"prefill": (2, 2), "decode": (1, 2)}
    assert disaggregated.data["roles"]["decode"]["args"]["dp-size"] == 8
    assert not disaggregated.notes


def test_a_tutorial_has_recipes_under_titles_that_leave_the_model_to_the_page() -> None:
    result = page("tutorial.mdx")
    assert [profile.name for profile in result.profiles] == [
        "larch-9-single-node-deployment-a3-series",
        "larch-9-single-node-deployment-a2-series",
        "larch-9-multi-node-deployment",
        "larch-9-256k-inputs-on-2-x-atlas-800i-a3",
    ]
    first, second, third, fourth = (profile.data["roles"] for profile in result.profiles)
    assert first["mixed"]["args"]["mem-fraction-static"] == 0.7
    assert first["mixed"]["args"]["speculative-draft-model-quantization"] == "unquant"
    assert second["mixed"]["args"]["tp-size"] == 8
    assert "SGLANG_SET_CPU_AFFINITY" not in second["mixed"]["env"]
    assert third["mixed"]["args"]["dist-init-addr"] == "<head_address>:5000"
    assert fourth["prefill"]["env"]["ASCEND_MF_STORE_URL"] == "tcp://<store_address>:24707"
    assert fourth["decode"]["env"]["TASK_QUEUE_ENABLE"] == "0"
    assert fourth["router"]["args"]["host"] == "<data_address>"
    warnings = {text for _unused, level, text in said(result) if level == "warning"}
    assert warnings == {
        "--speculative-draft-model-quantization= unquant: a blank stands behind the equals sign; it is taken for the "
        "flag's value",
        "dist-init-addr your port: the page leaves the port open; 5000 is taken, as on SGLang's other pages",
    }


def test_rank_and_role_that_are_found_before_the_command() -> None:
    mixed, disaggregated = page("rank-outside-the-loop.md").profiles
    assert topology(mixed.data) == {"mixed": (1, 2)}
    args = mixed.data["roles"]["mixed"]["args"]
    assert (args["node-rank"], args["nnodes"], args["tp-size"]) == ("<node_rank>", 2, 32)
    assert (args["host"], args["dist-init-addr"]) == ("<data_address>", "<head_address>:6657")
    assert topology(disaggregated.data) == {"prefill": (1, 1), "decode": (1, 1)}
    prefill, decode = disaggregated.data["roles"]["prefill"], disaggregated.data["roles"]["decode"]
    assert (prefill["args"]["port"], decode["args"]["port"]) == (8000, 8001)
    assert (prefill["env"]["TASK_QUEUE_ENABLE"], decode["env"]["TASK_QUEUE_ENABLE"]) == ("2", "1")
    assert "disaggregation-bootstrap-port" not in decode["args"]


def test_variants_share_what_stands_before_them() -> None:
    text = (
        "# Oak-3B\n\n## Deployment\n\n```bash\nexport SHARED=1\n```\n"
        "```bash\npython3 -m sglang.launch_server --model-path /m --tp-size 2\n```\n"
        "```bash\npython3 -m sglang.launch_server --model-path /m --tp-size 4\n```\n"
        "```bash\npython3 -m sglang.bench_serving --backend sglang\n```\n"
    )
    first, second = imported(text).profiles
    assert [first.name, second.name] == ["oak-3b-1", "oak-3b-2"]
    assert first.data["roles"]["mixed"]["env"] == second.data["roles"]["mixed"]["env"] == {"SHARED": "1"}
    assert first.data["benchmark"] is None
    assert second.data["benchmark"]["args"] == {"backend": "sglang"}


def test_blocks_node_by_node() -> None:
    profile = the_only("separate-blocks.md")
    assert topology(profile.data) == {"prefill": (1, 1), "decode": (1, 2)}
    decode = profile.data["roles"]["decode"]
    assert decode["args"]["dist-init-addr"] == "<head_address>:5000"
    assert decode["args"]["node-rank"] == "<node_rank>"
    assert decode["unset"] == ["ASCEND_LAUNCH_BLOCKING"]
    assert decode["env"]["HCCL_BUFFSIZE"] == "600"
    assert profile.data["roles"]["prefill"]["env"]["HCCL_BUFFSIZE"] == "1600"


@pytest.mark.parametrize("name", ["your-ip.md", "kimi-k2.6.txt"])
def test_what_editors_and_browsers_add_does_not_count(name: str) -> None:
    text = (PAGES / name).read_text()
    dirty = "\ufeff" + text.replace("\n", "\r\n").replace("Dataset", "Data\u200bset").replace(
        "HCCL_BUFF", "HCCL_\u200bBUFF"
    )
    assert imported(dirty, name) == imported(text, name)


def test_the_same_title_twice_gives_two_names() -> None:
    text = (PAGES / "json.md").read_text()
    first, second = imported(text + "\n" + text.replace("16", "8")).profiles
    assert second.name == f"{first.name}-2"
    assert second.data["name"] == second.name
    assert any("the title is there before" in text for _unused, _unused, text in said(second))


def test_the_engine_decides_about_full_names() -> None:
    text = (PAGES / "short-flags.md").read_text().replace("--cuda-graph-bs {2..8..2}", "--cuda-graph-bs-decode 2")
    args = only(text, engine="0.5.23").data["roles"]["mixed"]["args"]
    assert args["cuda-graph-bs-decode"] == [2]
    # 0.5.13.post1 has no such flag: the profile keeps it, and the report says so.
    profile = only(text)
    assert profile.data["roles"]["mixed"]["args"]["cuda-graph-bs-decode"] == 2
    assert any(
        text.startswith("--cuda-graph-bs-decode: SGLang 0.5.13.post1 has no such flag") for *_x, text in said(profile)
    )


def test_prefill_and_decode_without_a_router_get_one() -> None:
    text = (PAGES / "separate-blocks.md").read_text().split("#### Router")[0]
    profile = only(text)
    assert profile.data["roles"]["router"]["args"] == {
        "pd-disaggregation": True,
        "prefill": "<prefill_urls>",
        "decode": "<decode_urls>",
        "host": "127.0.0.1",
        "port": 30000,
    }
    assert any(text.startswith("the recipe starts no router") for *_unused, text in said(profile))


LAUNCH = "python3 -m sglang.launch_server --model-path /m"


def test_a_variable_that_says_the_rank_is_the_rank_of_each_node() -> None:
    node = f"{LAUNCH} --tp 32 --nnodes 2 --node-rank $NODE_RANK --dist-init-addr $MASTER_ADDR:5000"
    data = only(block("export NODE_RANK=0", "export MASTER_ADDR=192.168.0.1", node)).data
    assert data["roles"]["mixed"]["env"] == {"NODE_RANK": "<node_rank>", "MASTER_ADDR": "<head_address>"}
    assert data["roles"]["mixed"]["args"]["node-rank"] == "<node_rank>"


def test_where_the_server_listens_need_stand_with_the_first_node_only() -> None:
    node = f"{LAUNCH} --tp 32 --nnodes 2 --dist-init-addr 192.168.0.1:5000 --node-rank"
    fence = ["```", "", "```bash"]
    profile = only(block(f"{node} 0 --host 0.0.0.0 --port 30000", *fence, f"{node} 1"))
    assert profile.data["roles"]["mixed"]["args"]["port"] == 30000
    assert topology(profile.data) == {"mixed": (1, 2)}
    why = "only the first node's command has it; the plan gives it to all nodes"
    assert (12, "note", f"--host, --port of node 1: {why}") in said(profile)


@pytest.mark.parametrize("form", ["${LD_LIBRARY_PATH:-}", "${LD_LIBRARY_PATH-}", "$LD_LIBRARY_PATH"])
def test_a_default_of_nothing_leaves_what_the_host_has(form: str) -> None:
    data = only(block(f"export LD_LIBRARY_PATH=/x/lib:{form}", LAUNCH)).data
    assert data["roles"]["mixed"]["env"] == {"LD_LIBRARY_PATH": "/x/lib:<env:LD_LIBRARY_PATH>"}


def test_the_plan_gives_servers_their_npus() -> None:
    """With devices hidden, the plan's own numbers would count from the first that is not."""
    profile = only(block("export ASCEND_RT_VISIBLE_DEVICES=8,9,10,11", f"{LAUNCH} --tp 4"))
    assert profile.data["roles"]["mixed"]["env"] == {}
    assert (8, "note", "export ASCEND_RT_VISIBLE_DEVICES: the plan gives each server its NPUs") in said(profile)


START = f"{LAUNCH} --tp-size 8"
FORMS = {
    "in a quotation": f"> ```bash\n> export A=1\n> {START} \\\n>   --port 1\n> ```\n",
    "in a quotation without a blank": f">```bash\n>export A=1\n>{START} --port 1\n>```\n",
    "in a quotation that ends": f"> ```bash\n> export A=1\n> {START} --port 1\n\nMore.\n",
    "HTML": f'<pre><code class="x">export A=1\n{START} &#45;-port 1 &amp;&amp; true\n</code></pre>\n',
    "HTML with colours": f"<pre>\n<span class=k>export</span> A=1\n<div>{START} --port 1</div></pre>\n",
    "a list": f"1. Start it\n\n   ```bash\n   export A=1\n   {START} \\\n     --port 1\n   ```\n",
    "tildes around backticks": f"~~~bash\nexport A=1\n# ```\n{START} --port 1\n~~~\n",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("title", ["## {}\n\n", "{}\n-----\n\n", "Pages\n=====\n\n{}\n---\n\n", "<h2>{}</h2>\n\n"])
def test_blocks_and_titles_in_every_form_that_markdown_has(form: str, title: str) -> None:
    text = "---\ntitle: Front matter\n---\n\n" + title.format("Mist-7B W8A8 4P") + FORMS[form]
    profile = only(text)
    assert profile.title == "Mist-7B W8A8 4P"
    mixed = profile.data["roles"]["mixed"]
    assert mixed["env"] == {"A": "1"}
    assert mixed["args"] == {"model-path": "<model_path>", "tp-size": 8, "port": 1}


@pytest.mark.parametrize(
    ("title", "name"), [("Ünï-7B «8P»", "uni-7b-8p"), ("DeepSeek-R1 低时延", "deepseek-r1"), ("模型部署", "recipe")]
)
def test_a_title_in_any_script_names_a_profile(title: str, name: str) -> None:
    assert only(f"## {title}\n\n```bash\n{START}\n```\n").name == name


@pytest.mark.parametrize(("hardware", "fits"), [("A2", True), ("A3", False)])
def test_a_card_of_an_a2_is_one_npu(hardware: str, fits: bool) -> None:
    facts = f"- Model: Mist\n- Hardware: Atlas 800I {hardware}\n- Cards: 4\n\n"
    profile = only(f"## Mist-7B 4P\n\n{facts}```bash\n{LAUNCH} --tp-size 4\n```\n")
    doubts = [text for _line, level, text in said(profile) if level == "warning"]
    assert (doubts == []) == fits


@pytest.mark.parametrize("with_variable", [True, False])
def test_npus_of_one_server_only_make_no_difference_between_servers(with_variable: bool) -> None:
    """Of two on one host the second says where its NPUs begin; the plan says so itself."""
    second = "ASCEND_RT_VISIBLE_DEVICES=8,9 " if with_variable else ""
    base = "" if with_variable else " --base-gpu-id 8"
    profile = only(block(f"{LAUNCH} --tp 8 --port 30000 &", f"{second}{LAUNCH} --tp 8 --port 30001{base} &", "wait"))
    mixed = profile.data["roles"]["mixed"]
    assert topology(profile.data) == {"mixed": (2, 1)}
    assert (mixed["env"], mixed["per_instance"]) == ({}, {"port": 1})
    assert "base-gpu-id" not in mixed["args"]
    assert [text for line, _level, text in said(profile) if line == 9 and "the plan gives each server its NPUs" in text]
