# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tiny model's files are what their formats say."""

from __future__ import annotations

import json
import math
import struct
import subprocess
import sys

import pytest

from .conftest import REAL


@pytest.fixture
def folder(tmp_path):
    subprocess.run([sys.executable, REAL / "model.py", tmp_path / "tiny"], check=True)
    return tmp_path / "tiny"


def number(two_bytes: bytes) -> float:
    (value,) = struct.unpack("<f", b"\0\0" + two_bytes)
    return value


def test_weights_fill_the_file_and_have_the_shapes_of_the_configuration(folder):
    data = (folder / "model.safetensors").read_bytes()
    config = json.loads((folder / "config.json").read_text())
    (length,) = struct.unpack("<Q", data[:8])
    assert length % 8 == 0
    header = json.loads(data[8 : 8 + length])
    del header["__metadata__"]
    body, at = data[8 + length :], 0
    for one in header.values():
        assert one["data_offsets"] == [at, at + 2 * math.prod(one["shape"])]
        at = one["data_offsets"][1]
    assert at == len(body)
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    assert header["lm_head.weight"]["shape"] == [config["vocab_size"], hidden]
    assert header["model.layers.1.self_attn.q_proj.weight"]["shape"] == [heads * config["head_dim"], hidden]
    assert sum(name.endswith("k_proj.weight") for name in header) == config["num_hidden_layers"]
    values = [number(body[place : place + 2]) for place in range(0, len(body), 2)]
    assert all(map(math.isfinite, values))


def test_only_printable_characters_can_be_answered(folder, tiny):
    data = (folder / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    begin, end = json.loads(data[8 : 8 + length])["lm_head.weight"]["data_offsets"]
    weights, row = data[8 + length :][begin:end], 2 * tiny.HIDDEN
    used = [token for token in range(tiny.VOCABULARY) if any(weights[token * row : (token + 1) * row])]
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    names = {token: name for name, token in vocabulary.items()}
    assert "".join(names[token] for token in used) == "".join(map(chr, tiny.PRINTABLE)).replace(" ", "Ġ")


def test_every_byte_has_a_token_of_its_own(folder):
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    assert sorted(vocabulary.values()) == list(range(3 + 256))
    assert vocabulary["a"] == 3 + ord("a")
    assert vocabulary["Ġ"] == 3 + ord(" ")
    assert vocabulary["Ċ"] == 3 + ord("\n")


def test_it_is_the_same_model_always(folder, tmp_path, tiny):
    tiny.write(tmp_path / "again")
    for path in folder.iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name


def test_wrong_use(tmp_path):
    done = subprocess.run([sys.executable, REAL / "model.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "usage" in done.stderr
