# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line is refused and accepted as that version's own parser does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from sglang.stand_in import grammar

OLD, NEW = "0.5.13.post1", "0.5.23"
PROFILES = sorted((Path(__file__).resolve().parents[3] / "profiles").glob("*.yml"))


def parse(*argv, version=OLD):
    return grammar.parse(grammar.load(grammar.find(version)), ["--model-path", "/m", *map(str, argv)])


def refusal(capsys, *argv, version=OLD):
    with pytest.raises(SystemExit) as ended:
        parse(*argv, version=version)
    assert ended.value.code == 2
    return capsys.readouterr().err.splitlines()[-1]


def test_names_are_those_of_server_args():
    args = parse("--tp-size", 16, "--dp-size", "4", "--enable-dp-attention")
    assert (args["tp_size"], args["dp_size"], args["enable_dp_attention"]) == (16, 4, True)
    assert parse("--tp-size", 8, version=NEW)["tp_size"] == 8


def test_an_unknown_flag_is_refused_in_the_real_words(capsys):
    assert refusal(capsys, "--no-such-flag") == "sglang serve: error: unrecognized arguments: --no-such-flag"


def test_a_missing_model_path_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        grammar.parse(grammar.load(grammar.find(OLD)), [])
    assert ended.value.code == 2
    assert "the following arguments are required: --model-path/--model" in capsys.readouterr().err


def test_abbreviations_that_one_flag_fits_are_taken():
    assert parse("--moe-dense-tp", 1)["moe_dense_tp_size"] == 1
    assert parse("--tp", 2)["tp_size"] == 2


def test_abbreviations_that_several_fit_are_refused(capsys):
    assert "ambiguous option: --disable-c" in refusal(capsys, "--disable-c")
    assert "ambiguous option: --cuda-graph-bs could match" in refusal(capsys, "--cuda-graph-bs", 8, version=NEW)


def test_what_one_version_drops_the_other_still_takes(capsys):
    assert "prefill_round_robin_balance" not in parse("--prefill-round-robin-balance")
    assert "unrecognized arguments" in refusal(capsys, "--prefill-round-robin-balance", version=NEW)
    assert parse("--disable-cuda-graph", version=NEW)["disable_cuda_graph"] is True


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--port", "many"], "invalid int value: 'many'"),
        (["--mem-fraction-static", "x"], "invalid float value: 'x'"),
        (["--disaggregation-mode", "both"], "invalid choice: 'both'"),
        (["--preferred-sampling-params", "{'temperature': 0.6}"], "invalid loads value"),
        (["--forward-hooks", "[1"], "Invalid JSON list"),
        (["--cuda-graph-bs"], "expected at least one argument"),
        (["--model-loader-extra-config", "{enable_multithread_load:", "true}"], "unrecognized arguments: true}"),
    ],
)
def test_wrong_values_are_refused(capsys, words, said):
    assert said in refusal(capsys, *words)


def test_values_are_of_their_type():
    args = parse("--cuda-graph-bs", 2, 4, 6, "--context-length", "8k", "--limit-mm-data-per-request", '{"image": 2}')
    assert args["cuda_graph_bs"] == [2, 4, 6]
    assert args["context_length"] == 8000
    assert args["limit_mm_data_per_request"] == {"image": 2}
    assert parse("--max-total-tokens", "2K")["max_total_tokens"] == 2048
    assert parse("--quantization-param-path", "None")["quantization_param_path"] is None


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_every_profile_is_accepted(path):
    roles = (yaml.safe_load(path.read_text(encoding="utf-8")) or {}).get("roles", {})
    for name, role in roles.items():
        if name == "router":
            continue
        words = []
        for flag, value in role["args"].items():
            words.append(f"--{flag}")
            if isinstance(value, dict):
                words.append(json.dumps(value))
            elif value is not True:
                words += [
                    str(item).replace("<node_rank>", "0") for item in (value if isinstance(value, list) else [value])
                ]
        grammar.parse(grammar.load(grammar.find(OLD)), words)
