# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A directory of model weights: whether it is whole, and what tells it from another. No weight is read.

Of every safetensors file only the header is read: it says how long the file has to be.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

QUANT_DESCRIPTION = "quant_model_description.json"
"""The one file with modelslim's description that SGLang reads."""

_OTHER_DESCRIPTION = re.compile(r"quant_model_description_.+\.json\Z")
_MODEL_INDEX = "model.safetensors.index.json"
_NUMBERED = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.safetensors\Z")
_LFS = b"version https://git-lfs"
_WEIGHT_SUFFIXES = (".safetensors", ".bin", ".pt", ".pth", ".gguf")
# safetensors' own limit of a header.
_LONGEST_HEADER = 100_000_000
_LONGEST_POINTER = 1024
_AT_A_TIME = 8


class Shard(NamedTuple):
    """One file of weights. ``problem``: empty, ``pointer``, ``truncated``, ``broken`` or ``unreadable``.

    tensors: those that its header names; None where it has no header that can be read.
    """

    name: str
    size: int
    problem: str = ""
    needed: int = 0
    tensors: frozenset[str] | None = None


def look(path: str) -> dict[str, Any]:
    """What is in a directory of weights.

    ``exists``, ``empty``, ``error`` (why it cannot be listed); ``files`` and ``size`` (bytes) of all weights;
    ``problems``: shards as ``name``, ``size``, ``problem``, ``needed``; ``missing``: files that an index or the number
    in other files' names asks for; ``absent``: tensors of the index that no file has; ``pointers``: other files that
    are Git LFS pointers; ``index``: ``name``, ``sha256``, ``total_size``, ``error``, or None; ``config``:
    ``sha256``, ``model_type``, ``quant_method``, ``error``, or None; ``quant``: ``sha256``, ``type``, ``error``, or
    None; ``other_quant``: descriptions under names that SGLang does not read.
    """
    found: dict[str, Any] = {"exists": os.path.isdir(path), "empty": False, "error": "", "files": 0, "size": 0}
    found.update(problems=[], missing=[], absent=[], pointers=[], index=None, config=None, quant=None, other_quant=[])
    if not found["exists"]:
        return found
    try:
        names = sorted(os.listdir(path))
    except OSError as error:  # not ours to read, or a mount whose server is gone
        return {**found, "error": error.strerror or str(error)}
    found["empty"] = not names
    shards = [name for name in names if name.endswith(_WEIGHT_SUFFIXES)]
    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        looked = list(pool.map(lambda name: shard(os.path.join(path, name)), shards))
    found["files"] = len(looked)
    found["size"] = sum(one.size for one in looked)
    found["problems"] = [
        {"name": one.name, "size": one.size, "problem": one.problem, "needed": one.needed}
        for one in looked
        if one.problem
    ]
    index = _index(path, names)
    found["index"] = index and {key: index[key] for key in ("name", "sha256", "total_size", "error")}
    wanted = set(index["shards"].values() if index else ()) | set(numbered(shards))
    found["missing"] = sorted(wanted - set(names))
    found["absent"] = absent(index["shards"], looked) if index and not found["missing"] else []
    # Tokenizers are kept in Git LFS too. What is read below says so itself.
    others = set(names) - set(shards) - {"config.json", QUANT_DESCRIPTION, index["name"] if index else ""}
    found["pointers"] = [name for name in sorted(others) if _is_pointer(os.path.join(path, name))]
    found["config"] = _config(path) if "config.json" in names else None
    found["quant"] = _quant(path) if QUANT_DESCRIPTION in names else None
    found["other_quant"] = [name for name in names if _OTHER_DESCRIPTION.match(name)]
    return found


def numbered(names: Iterable[str]) -> list[str]:
    """All files of the sets whose files say that they are one of so many (``x-00003-of-00163.safetensors``)."""
    sets = {(hit.group(1), hit.group(3)) for hit in map(_NUMBERED.match, names) if hit}
    return [
        f"{stem}-{number:05d}-of-{count}.safetensors" for stem, count in sets for number in range(1, int(count) + 1)
    ]


def absent(index: Mapping[str, str], there: Iterable[Shard]) -> list[str]:
    """Tensors that an index names and no file has: a file with another one's content. Only where all headers tell."""
    held: set[str] = set()
    for one in there:
        if one.tensors is None:
            return []
        held |= one.tensors
    return sorted(set(index) - held)


def _is_pointer(path: str) -> bool:
    """Whether a file is a Git LFS pointer; those are short."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LONGEST_POINTER:
            return False
        with open(path, "rb") as stream:
            return stream.read(len(_LFS)) == _LFS
    except OSError:  # what services cannot read is told elsewhere
        return False


def shard(path: str) -> Shard:
    """One file of weights, judged by its header and its length."""
    name = os.path.basename(path)
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return Shard(name, 0, "broken")
        with open(path, "rb") as stream:
            start = stream.read(max(8, len(_LFS)))
            if start.startswith(_LFS):
                return Shard(name, status.st_size, "pointer")
            if not name.endswith(".safetensors"):
                return Shard(name, status.st_size, "" if status.st_size else "broken")
            length = int.from_bytes(start[:8], "little")
            if status.st_size < 8 or not 0 < length <= _LONGEST_HEADER:
                return Shard(name, status.st_size, "broken")
            if 8 + length > status.st_size:
                return Shard(name, status.st_size, "truncated", 8 + length)
            stream.seek(8)
            header = json.loads(stream.read(length))
            tensors = frozenset(header) - {"__metadata__"}
            ends = [header[name]["data_offsets"][1] for name in tensors]
    except OSError:
        return Shard(name, _size(path), "unreadable")
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return Shard(name, status.st_size, "broken")
    needed = 8 + length + max(ends, default=0)
    return Shard(name, status.st_size, "truncated" if status.st_size < needed else "", needed, tensors)


def _size(path: str) -> int:
    try:
        status = os.stat(path)
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _index(path: str, names: Iterable[str]) -> dict[str, Any] | None:
    """The index: the one that SGLang filters by where it is there, else the export's own."""
    there = [name for name in names if name.endswith(".safetensors.index.json")]
    if not there:
        return None
    name = _MODEL_INDEX if _MODEL_INDEX in there else there[0]
    read = _json(os.path.join(path, name))
    content = read["content"] if isinstance(read["content"], dict) else {}
    shards: Any = content.get("weight_map")
    metadata = content.get("metadata")
    whole = isinstance(shards, dict) and bool(shards)
    return {
        "name": name,
        "sha256": read["sha256"],
        "total_size": metadata.get("total_size") if isinstance(metadata, dict) else None,
        "error": read["error"] or ("" if whole else "it has no weight_map"),
        "shards": {str(tensor): str(shard) for tensor, shard in shards.items()} if whole else {},
    }


def _config(path: str) -> dict[str, Any]:
    read = _json(os.path.join(path, "config.json"))
    content = read["content"] if isinstance(read["content"], dict) else {}
    quantized = content.get("quantization_config")
    return {
        "sha256": read["sha256"],
        "model_type": str(content.get("model_type") or ""),
        "quant_method": str(quantized.get("quant_method") or "none") if isinstance(quantized, dict) else "",
        "error": read["error"],
    }


def _quant(path: str) -> dict[str, Any]:
    read = _json(os.path.join(path, QUANT_DESCRIPTION))
    content = read["content"] if isinstance(read["content"], dict) else {}
    return {"sha256": read["sha256"], "type": str(content.get("model_quant_type") or ""), "error": read["error"]}


def _json(path: str) -> dict[str, Any]:
    """A file of a JSON object: its hash, its content, and why that cannot be read."""
    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except OSError as error:
        return {"sha256": "", "content": None, "error": error.strerror or str(error)}
    digest = hashlib.sha256(data).hexdigest()
    if data.startswith(_LFS):
        return {"sha256": digest, "content": None, "error": "it is a Git LFS pointer"}
    try:
        content = json.loads(data)
    except ValueError as error:
        return {"sha256": digest, "content": None, "error": f"it is no JSON: {error}"}
    return {"sha256": digest, "content": content, "error": "" if isinstance(content, dict) else "it is no JSON object"}
