# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The weights: there, whole, of the right kind, and the same on all hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils.service_python import DYNAMIC_USER
from ansible_collections.ascend.sglang.plugins.module_utils.weights import QUANT_DESCRIPTION
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.situation import (
    Problem,
    Situation,
    after,
    check,
    engine_hosts,
    error,
    odd_ones,
    some,
    unknown,
    warning,
)

_WORDS = {
    "pointer": "are Git LFS pointers, not weights",
    "broken": "are no whole safetensors files",
    "unreadable": "cannot be read",
}
# How many files a message names.
_SHOWN = 2
# Model types in config.json by what a profile's model is called.
_FAMILIES = {"deepseek": ("deepseek",), "kimi": ("kimi",)}


def _found(situation: Situation, host: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = situation.looked(host).get("weights") or {}
    return found


@check(
    "model-path",
    explains="Every host loads the weights from the same path of its own file systems.",
    remedy="Copy or mount the weights there, or correct sglang_model_path or sglang_draft_model_path.",
)
def model_path(situation: Situation) -> Iterator[Problem]:
    """The directories of the model and the draft model are there, with something in them that services can read."""
    for host in situation.hosts:
        words = {str(word) for one in situation.own[host] for word in one.argv}
        for path, there in situation.answers[host].get("paths", {}).items():
            if path not in words:
                continue
            if not there["directory"]:
                yield error(host, f"there is no directory {path}")
            elif there["empty"]:
                yield error(host, f"{path} is empty", "A file system that is not mounted looks like this: mount it")
            elif not there["readable"]:
                yield error(host, f"{path} cannot be listed")
        for user, told in (situation.answers[host]["python"].get("users") or {}).items():
            for path, closed in told["closed"].items():
                # A router reads configuration and tokenizer only.
                needed = [name for name in closed if host in situation.engines or not name.endswith(".safetensors")]
                if path in words and needed:
                    who = "the router's dynamic user" if user == DYNAMIC_USER else user
                    what = f"{who} cannot read {_listed(needed)} in {path}"
                    yield error(host, what, "Give everybody the right to read them, or set sglang_user")


@check(
    "weights",
    explains="An interrupted download shows when loading has taken minutes, or as garbage in answers: SGLang loads "
    "whatever files it finds.",
    remedy="Copy the missing or damaged files again; git lfs pull fetches what pointers stand for.",
    scope=engine_hosts,
)
def weights(situation: Situation) -> Iterator[Problem]:
    """Every file that the index or the files' own numbers ask for is there and as long as its header says."""
    for host in situation.engines:
        for path, found in _found(situation, host).items():
            if not found["exists"] or found["empty"] or _made_up(situation, host):
                continue  # model-path has said so, or weights are random numbers
            for what in _faults(found):
                yield error(host, what, where=path)
            if found["absent"]:
                absent = f"{len(found['absent'])} tensors of {found['index']['name']} are in none of the files"
                what = f"{absent}: {_listed(found['absent'])}; one of them may have another's content"
                yield warning(host, what, where=path)


def _made_up(situation: Situation, host: str) -> bool:
    """Whether the servers are told to load no weights at all."""
    formats = [after(one.argv, "--load-format") for one in situation.own[host] if one.npus is not None]
    return bool(formats) and all(one == "dummy" for one in formats)


def _faults(found: Mapping[str, Any]) -> Iterator[str]:
    config, index = found["config"], found["index"]
    if found["error"]:
        yield f"it cannot be listed: {found['error']}"
        return
    if config is None:
        yield "there is no config.json"
    elif config["error"]:
        yield f"config.json: {config['error']}"
    if index is not None and index["error"]:
        yield f"{index['name']}: {index['error']}"
    if found["missing"]:
        yield f"{len(found['missing'])} files of weights are missing: {_listed(found['missing'])}"
    elif not found["files"]:
        yield "there are no files of weights"
    if found["pointers"]:
        yield f"{len(found['pointers'])} other files are Git LFS pointers: {_listed(found['pointers'])}"
    for problem, words in _WORDS.items():
        names = [one["name"] for one in found["problems"] if one["problem"] == problem]
        if names:
            yield f"{len(names)} files of weights {words}: {_listed(names)}"
    for one in [one for one in found["problems"] if one["problem"] == "truncated"][:_SHOWN]:
        yield f"{one['name']} is truncated: it has {one['size']} bytes and needs {one['needed']}"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


@check(
    "quantization",
    explains="Weights of another quantisation load, or fail late; of modelslim's description SGLang reads only "
    f"{QUANT_DESCRIPTION}.",
    remedy="Use the weights that the profile's recipe names.",
    scope=engine_hosts,
)
def quantization(situation: Situation) -> Iterator[Problem]:
    """The weights are quantised as the servers are told."""
    model = situation.settings.text("sglang_model_path")
    wanted = situation.recipe.get("Quantization", "").split(" ")[0].upper()
    for host in situation.engines:
        found = _found(situation, host).get(model)
        slim = any(after(one.argv, "--quantization") == "modelslim" for one in situation.own[host])
        if found is None or found["config"] is None or not slim or _made_up(situation, host):
            continue
        config, quant = found["config"], found["quant"]
        if quant is None:
            other = found["other_quant"]
            what = f"there is no {QUANT_DESCRIPTION}, and servers are told --quantization modelslim"
            do = f"Copy {other[0]} to that name" if other else ""
            yield error(host, what + (f"; there is {other[0]}, which SGLang does not read" if other else ""), do, model)
        elif quant["error"]:
            yield error(host, f"{QUANT_DESCRIPTION}: {quant['error']}", where=model)
        elif wanted and quant["type"] and not quant["type"].upper().startswith(wanted):
            what = f"its weights are {quant['type']}; the profile was published for {wanted}"
            yield warning(host, what, where=model)
        if config["quant_method"] not in ("", "none", "modelslim", "ascend"):
            what = f"config.json says quant_method {config['quant_method']}: these are not weights of modelslim"
            yield error(host, what, where=model)
        elif config["quant_method"] == "none" or config["model_type"] == "deepseekv2":
            what = "config.json is of an export for MindIE (model_type deepseekv2, a quantization_config)"
            yield error(host, what, "Take the config.json of an export for vLLM or SGLang", model)


@check(
    "model-family",
    explains="A path may lead to another model: it would be served, under the wrong flags.",
    remedy="Correct sglang_model_path, or choose the profile of that model.",
    scope=engine_hosts,
)
def family(situation: Situation) -> Iterator[Problem]:
    """config.json is of the model that the profile is for."""
    model = situation.settings.text("sglang_model_path")
    name = situation.recipe.get("Model", "")
    kinds = next((kinds for word, kinds in _FAMILIES.items() if name.lower().startswith(word)), None)
    for host in situation.engines:
        config = (_found(situation, host).get(model) or {}).get("config")
        if kinds is None or not config or not config["model_type"]:
            yield unknown(host, "config.json or the profile does not say which model it is")
        elif not config["model_type"].lower().startswith(kinds):
            what = f"config.json says model_type {config['model_type']}, and the profile is for {name}"
            yield warning(host, what, where=model)


@check(
    "weights-equal",
    explains="Ranks with different weights answer garbage. Compared are sizes and the hashes of index, configuration "
    "and quantisation description, not the weights themselves.",
    remedy="Copy the weights from one of the others.",
    scope=engine_hosts,
)
def weights_equal(situation: Situation) -> Iterator[Problem]:
    """All hosts have the same weights."""
    yield from situation.alone(situation.planned_engines)
    paths = dict.fromkeys(path for host in situation.engines for path in _found(situation, host))
    for path in paths:
        there = {host: _found(situation, host).get(path) for host in situation.engines}
        # What is damaged has been told; it differs for that reason.
        whole = {host: found for host, found in there.items() if found and _whole(found)}
        for part, read in _PARTS.items():
            hosts: dict[Any, list[str]] = {}
            for host, found in whole.items():
                hosts.setdefault(read(found), []).append(host)
            hosts.pop("", None)
            usual, others = odd_ones(hosts)
            for value, minority in others:
                what = f"{part} differs from that on {some(hosts[usual])}"
                yield error(minority, f"{what} ({value} against {usual})", where=path)


def _whole(found: Mapping[str, Any]) -> bool:
    return found["exists"] and not found["empty"] and not any(_faults(found))


def _hash(found: Mapping[str, Any] | None) -> str:
    return str(found["sha256"])[:12] if found else "none"


_PARTS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "the size of the weights": lambda found: f"{found['size']} bytes in {found['files']} files",
    "the index": lambda found: _hash(found["index"]),
    "config.json": lambda found: _hash(found["config"]),
    # One that is missing is what the check of the quantisation says.
    QUANT_DESCRIPTION: lambda found: _hash(found["quant"]) if found["quant"] else "",
}
