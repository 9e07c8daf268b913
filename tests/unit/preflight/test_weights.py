# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Directories of weights: whole, damaged in every way that was met, and of another kind."""

from __future__ import annotations

import json
import os
import pathlib
import struct

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import weights

SAMPLES = pathlib.Path(__file__).parent / "samples"
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"


def write_shard(path: pathlib.Path, size: int = 8, lost: int = 0) -> None:
    """A safetensors file with a tensor of so many bytes, of which the last are lost."""
    header = json.dumps({
        "__metadata__": {}, path.stem: {"dtype": "I8", "shape": [size], "data_offsets": [0, size]},
    }).encode()  # fmt: skip
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(size - lost))


@pytest.fixture
def model(tmp_path: pathlib.Path) -> pathlib.Path:
    """A whole export of modelslim: three shards, their index, its description."""
    names = [f"quant_model_weights-{number:05d}-of-00003.safetensors" for number in (1, 2, 3)]
    for name in names:
        write_shard(tmp_path / name)
    tensors = {pathlib.Path(name).stem: name for name in names}
    index = {"metadata": {"total_size": 24}, "weight_map": tensors}
    (tmp_path / "quant_model_weights.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "config.json").write_text((SAMPLES / "weights_config_deepseek_sglang_style.json").read_text())
    description = (SAMPLES / "weights_quant_model_description_w8a8.json").read_text()
    (tmp_path / "quant_model_description.json").write_text(description)
    return tmp_path


def problems(path: pathlib.Path) -> dict[str, str]:
    return {one["name"]: one["problem"] for one in weights.look(str(path))["problems"]}


def test_a_whole_model(model):
    found = weights.look(str(model))
    assert (found["problems"], found["missing"], found["files"]) == ([], [], 3)
    assert (found["absent"], found["pointers"]) == ([], [])
    assert found["size"] == sum(path.stat().st_size for path in model.glob("*.safetensors"))
    assert found["index"]["total_size"] == 24
    assert found["index"]["error"] == found["config"]["error"] == found["quant"]["error"] == ""
    assert found["config"]["model_type"] == "deepseek_v3"
    assert found["quant"]["type"] == "W8A8_DYNAMIC"


def test_a_pointer_a_truncated_file_zeros_and_nothing(model):
    first, second, third = sorted(model.glob("*.safetensors"))
    first.write_text(POINTER)
    write_shard(second, lost=1)
    third.write_bytes(bytes(4096))
    (model / "extra.safetensors").touch()
    assert problems(model) == {
        first.name: "pointer", second.name: "truncated", third.name: "broken", "extra.safetensors": "broken",
    }  # fmt: skip
    told = next(one for one in weights.look(str(model))["problems"] if one["name"] == second.name)
    assert told["needed"] == told["size"] + 1


def test_a_file_that_ends_in_its_header(model):
    path = model / "quant_model_weights-00001-of-00003.safetensors"
    path.write_bytes(path.read_bytes()[:20])
    assert problems(model) == {path.name: "truncated"}


@pytest.mark.parametrize("header", [b"[1, 2]", b"{}{", b'{"a": {}}', b'{"a": {"data_offsets": [0]}}', b'{"a": 3}'])
def test_a_header_that_is_none(tmp_path, header: bytes):
    (tmp_path / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    assert problems(tmp_path) == {"model.safetensors": "broken"}


def test_a_file_with_another_ones_content(model):
    first, second, _third = sorted(model.glob("*.safetensors"))
    second.write_bytes(first.read_bytes())
    found = weights.look(str(model))
    assert (found["absent"], found["problems"], found["missing"]) == ([second.stem], [], [])


def test_an_index_is_not_held_against_files_that_do_not_tell(model):
    first, *_rest = sorted(model.glob("*.safetensors"))
    first.write_text(POINTER)
    assert weights.look(str(model))["absent"] == []


def test_a_tokenizer_that_is_a_pointer(model):
    (model / "tokenizer.json").write_text(POINTER)
    (model / "merges.txt").write_text("a b")
    (model / "assets").mkdir()
    (model / "gone").symlink_to("nowhere")
    assert weights.look(str(model))["pointers"] == ["tokenizer.json"]


def test_what_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "a.safetensors")  # reading it would wait for ever
    (tmp_path / "b.safetensors").mkdir()
    assert problems(tmp_path) == {"a.safetensors": "broken", "b.safetensors": "broken"}


@pytest.mark.parametrize("text", ["[]", "3", '"deepseek_v3"'])
def test_a_config_that_is_no_object(model, text: str):
    (model / "config.json").write_text(text)
    assert weights.look(str(model))["config"]["error"] == "it is no JSON object"


def test_a_link_that_leads_nowhere(tmp_path):
    (tmp_path / "model.safetensors").symlink_to("blobs/gone")
    assert problems(tmp_path) == {"model.safetensors": "unreadable"}


def test_a_missing_file_by_the_index_and_by_the_names(model):
    gone = model / "quant_model_weights-00002-of-00003.safetensors"
    gone.unlink()
    assert weights.look(str(model))["missing"] == [gone.name]
    (model / "quant_model_weights.safetensors.index.json").unlink()
    assert weights.look(str(model))["missing"] == [gone.name]


def test_the_index_that_sglang_filters_by_counts(model):
    (model / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"a": "a.safetensors"}}))
    found = weights.look(str(model))
    assert found["index"]["name"] == "model.safetensors.index.json"
    assert "a.safetensors" in found["missing"]


@pytest.mark.parametrize(
    ("text", "said"),
    [(POINTER, "Git LFS pointer"), ("{", "no JSON"), ("[]", "no JSON object"), ("{}", "no weight_map")],
)
def test_an_index_that_is_none(model, text: str, said: str):
    (model / "quant_model_weights.safetensors.index.json").write_text(text)
    assert said in weights.look(str(model))["index"]["error"]


@pytest.mark.parametrize("version", ["v0", "v1"])
def test_real_names_of_an_index(tmp_path, version: str):
    (tmp_path / "x.safetensors.index.json").write_text((SAMPLES / f"weights_index_{version}.json").read_text())
    found = weights.look(str(tmp_path))
    assert found["index"]["error"] == ""
    assert len(found["missing"]) == 2


@pytest.mark.parametrize(
    ("name", "model_type", "method"),
    [
        ("deepseek_sglang_style", "deepseek_v3", ""),
        ("deepseek_mindie_style", "deepseekv2", "none"),
        ("deepseek_fp8_original_wrong", "deepseek_v3", "fp8"),
        ("kimi-k2.6", "kimi_k25", ""),
        ("eagle3_draft", "llama", ""),
    ],
)
def test_configurations(tmp_path, name: str, model_type: str, method: str):
    (tmp_path / "config.json").write_text((SAMPLES / f"weights_config_{name}.json").read_text())
    config = weights.look(str(tmp_path))["config"]
    assert (config["model_type"], config["quant_method"], config["error"]) == (model_type, method, "")


def test_a_description_under_a_name_that_nobody_reads(model):
    (model / "quant_model_description.json").rename(model / "quant_model_description_w8a8_dynamic.json")
    found = weights.look(str(model))
    assert (found["quant"], found["other_quant"]) == (None, ["quant_model_description_w8a8_dynamic.json"])


def test_no_directory_and_an_empty_one(tmp_path):
    assert not weights.look(str(tmp_path / "none"))["exists"]
    found = weights.look(str(tmp_path))
    assert (found["exists"], found["empty"], found["config"], found["index"]) == (True, True, None, None)


def test_what_differs_in_one_byte_of_the_index_has_another_hash(model):
    before = weights.look(str(model))["index"]["sha256"]
    path = model / "quant_model_weights.safetensors.index.json"
    path.write_text(path.read_text() + "\n")
    assert weights.look(str(model))["index"]["sha256"] != before
