# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a tiny Llama with random weights, the same ones always: a model that loads in no time and means nothing.

    python3 model.py FOLDER

Standard library only. A token is a byte. Of the output only printable ASCII has weights, so that each token is a
character, and a text ends where the request says, never by itself. Two layers, grouped heads: what is moved between
prefill and decode, and split between ranks, is what a large model has, too.
"""

from __future__ import annotations

import array
import json
import pathlib
import random
import struct
import sys

SPECIAL = ("<s>", "</s>", "<pad>")
HIDDEN, INNER, LAYERS, HEADS, KV_HEADS, HEAD = 64, 128, 2, 4, 2, 16
# Ranks share the vocabulary in parts of equal size, padded to a multiple of 64.
VOCABULARY = 320
CONTEXT = 4096
PRINTABLE = range(32, 127)
# Far enough apart that the order in which ranks or batches sum up does not change which token is the likeliest.
SPREAD = 0.25

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": HIDDEN,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": CONTEXT,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-05,
    "rope_theta": 10000.0,
    "attention_bias": False,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": 2,
}
CHAT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant: {% endif %}"
)


def byte_characters() -> list[str]:
    """How byte-level tokenizers write each byte: as itself where it can be seen, else as a character from 256 on."""
    seen = {*range(33, 127), *range(161, 173), *range(174, 256)}
    hidden = iter(range(256, 512))
    return [chr(byte if byte in seen else next(hidden)) for byte in range(256)]


def tokenizer() -> dict[str, object]:
    """A byte-level tokenizer without merges."""
    names = [*SPECIAL, *byte_characters()]
    added = [
        {"id": number, "content": name, "special": True}
        | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
        for number, name in enumerate(SPECIAL)
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {name: number for number, name in enumerate(names)},
            "merges": [],
        },
    }


def shapes() -> dict[str, tuple[int, ...]]:
    """Every weight of the model."""
    query, value = HEADS * HEAD, KV_HEADS * HEAD
    found: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (VOCABULARY, HIDDEN),
        "model.norm.weight": (HIDDEN,),
        "lm_head.weight": (VOCABULARY, HIDDEN),
    }
    for layer in range(LAYERS):
        for name, shape in {
            "input_layernorm": (HIDDEN,),
            "post_attention_layernorm": (HIDDEN,),
            "self_attn.q_proj": (query, HIDDEN),
            "self_attn.k_proj": (value, HIDDEN),
            "self_attn.v_proj": (value, HIDDEN),
            "self_attn.o_proj": (HIDDEN, query),
            "mlp.gate_proj": (INNER, HIDDEN),
            "mlp.up_proj": (INNER, HIDDEN),
            "mlp.down_proj": (HIDDEN, INNER),
        }.items():
            found[f"model.layers.{layer}.{name}.weight"] = shape
    return found


def weights() -> bytes:
    """The weights as a safetensors file: length of the header, header, bfloat16 values in its order."""
    chance = random.Random(0)
    header: dict[str, object] = {"__metadata__": {"format": "pt"}}
    data = bytearray()
    outputs = {len(SPECIAL) + byte for byte in PRINTABLE}
    for name, shape in shapes().items():
        if len(shape) == 1:
            values = [1.0] * shape[0]
        else:
            spread = 1.0 if "embed" in name or "lm_head" in name else SPREAD
            values = [chance.gauss(0.0, spread) for _one in range(shape[0] * shape[1])]
        if name == "lm_head.weight":
            values = [value if at // HIDDEN in outputs else 0.0 for at, value in enumerate(values)]
        begin = len(data)
        data += bfloat16(values)
        header[name] = {"dtype": "BF16", "shape": list(shape), "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + bytes(data)


def bfloat16(values: list[float]) -> bytes:
    """The upper half of each as a 32-bit float, little endian."""
    halves = array.array("H", struct.pack(f"<{len(values)}f", *values))
    if sys.byteorder == "big":
        halves.byteswap()
    upper = halves[1::2]
    if sys.byteorder == "big":
        upper.byteswap()
    return upper.tobytes()


def write(folder: pathlib.Path) -> None:
    """Fill a folder, which is made, with the model."""
    folder.mkdir(parents=True, exist_ok=True)
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": SPECIAL[0],
        "eos_token": SPECIAL[1],
        "pad_token": SPECIAL[2],
        "model_max_length": CONTEXT,
        "clean_up_tokenization_spaces": False,
        "chat_template": CHAT_TEMPLATE,
    }
    generation = {"bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2}
    for name, content in {
        "config.json": CONFIG,
        "generation_config.json": generation,
        "tokenizer.json": tokenizer(),
        "tokenizer_config.json": settings,
    }.items():
        (folder / name).write_text(json.dumps(content, indent=1) + "\n")
    (folder / "model.safetensors").write_bytes(weights())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FOLDER")
    write(pathlib.Path(sys.argv[1]))
