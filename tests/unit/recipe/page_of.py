# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A profile written out as a recipe page: what the importer undoes."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

ARRAYS = {"prefill": "P_IP", "decode": "D_IP", "mixed": "MIX_IP"}
HOSTS = {"prefill": "<your prefill ip{}>", "decode": "<your decode ip{}>", "mixed": "<your mixed ip{}>"}


@dataclass(frozen=True)
class Style:
    """How a page may write the same thing."""

    python: str = "python3"
    one_line: bool = False
    equals: bool = False
    braces: bool = True
    dollar: bool = True
    backticks: bool = True
    single_brackets: bool = False


def page_of(profile: Mapping[str, Any], style: Style) -> str:
    """Markdown with one recipe."""
    lines = [f"### {profile['title']}", ""]
    for key, text in profile["facts"].items():
        lines += [f"**{key}**: {text}", ""]
    lines += ["#### Model Deployment", "", "```bash", *_servers(profile, style), "```", ""]
    if "router" in profile["roles"]:
        lines += ["```shell", *_router(profile, style), "```", ""]
    if profile["benchmark"]:
        lines += ["#### Benchmark", "", "```shell", *_benchmark(profile["benchmark"], style), "```", ""]
    return "\n".join(lines)


def _servers(profile: Mapping[str, Any], style: Style) -> Iterator[str]:
    host = profile["host"]
    if host["governor"]:
        yield f"echo {host['governor']} | tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor"
    for name, setting in host["sysctl"].items():
        yield f"sysctl -w {shlex.quote(f'{name}={setting}')}"
    roles = {role: body for role, body in profile["roles"].items() if role != "router"}
    # What the roles begin with alike stands above their loops, as on the pages.
    bodies = list(roles.values())
    shared = {key: alike([body[key] for body in bodies]) for key in ("unset", "source")}
    exports = alike([shareable(body) for body in bodies])
    if any(names_host(body) for body in bodies):
        for role, body in roles.items():
            names = " ".join(f"'{host_of(role, number)}'" for number in range(body["instances"] * body["nodes"]))
            yield f"{ARRAYS[role]}=({names})"
    yield from _surroundings(
        bodies[0], slice(0, shared["unset"]), slice(0, shared["source"]), slice(0, exports), "x", style
    )
    yield "MODEL_PATH=/path/to/model-weights"
    yield "DRAFT_MODEL_PATH=/path/to/draft-model-weights"
    own = "`hostname -I|awk -F \" \" '{print$1}'`" if style.backticks else "$(hostname -I | awk '{print $1}')"
    yield f"LOCAL_HOST={own}"
    for role, body in roles.items():
        rest = [slice(shared["unset"], None), slice(shared["source"], None), slice(exports, None)]
        inside = [
            *_surroundings(body, *rest, role, style),
            *command("sglang.launch_server", flags(role, body, style), style),
        ]
        if not names_host(body):
            yield from inside
            continue
        array = ARRAYS[role]
        element = f"${{{array}[{'$' if style.dollar else ''}i]}}"
        test = f'[ "$LOCAL_HOST" = "{element}" ]' if style.single_brackets else f'[[ "$LOCAL_HOST" == "{element}" ]]'
        yield f'for i in "${{!{array}[@]}}";'
        yield "do"
        yield f"    if {test};"
        yield "    then"
        yield from (f"        {line}" for line in inside)
        yield "        NODE_RANK=$i"
        yield "        break"
        yield "    fi"
        yield "done"


def alike(lists: Sequence[Sequence[Any]]) -> int:
    """With how many equal items the lists begin."""
    return len(list(takewhile(lambda column: all(each == column[0] for each in column), zip(*lists, strict=False))))


def shareable(body: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The variables, up to the first that depends on the host."""
    steps = body.get("per_instance", {})
    return list(
        takewhile(
            lambda item: item[0] not in steps and "<data_address>" not in item[1] and "<head_address>" not in item[1],
            body["env"].items(),
        )
    )


def names_host(body: Mapping[str, Any]) -> bool:
    """Whether a role's commands depend on the host that runs them."""
    return body["args"].get("host") == "<data_address>"


def host_of(role: str, number: int) -> str:
    return HOSTS[role].format(number + 1)


def _surroundings(
    body: Mapping[str, Any], unset: slice, source: slice, env: slice, role: str, style: Style
) -> Iterator[str]:
    for name in body["unset"][unset]:
        yield f"unset {name}"
    for path in body["source"][source]:
        yield f"source {shlex.quote(path)}"
    for name, value in list(body["env"].items())[env]:
        yield f"export {name}={text_of(name, value, role, body, style)}"


def text_of(name: str, value: Any, role: str, body: Mapping[str, Any], style: Style) -> str:
    """A value of the profile as a shell word."""
    array = ARRAYS.get(role, "P_IP")
    index = f"{'$' if style.dollar else ''}i"
    nodes = body.get("nodes", 1)
    text = str(value)
    if name == "node-rank" and value == "<node_rank>":
        return f"$(({index} % {nodes}))" if body["instances"] > 1 else "$i"
    step = body.get("per_instance", {}).get(name, 1 if name == "disaggregation-bootstrap-port" else 0)
    by_rank = body.get("page", {}).get(name, {}).get("per_rank", 0)
    if (step and body.get("instances", 1) > 1) or by_rank:
        stem, number = re.fullmatch(r"(.*?)(\d+)", text).groups()  # type: ignore[union-attr]
        if by_rank:
            text = f"{stem}$(({number} + {index}))"
        elif nodes == 1:
            text = f"{stem}$(({number} + {index} * {step}))"
        else:
            text = f"{stem}$(({number} + {index} / {nodes} * {step}))"
    places = {
        "<model_path>": "${MODEL_PATH}" if style.braces else "$MODEL_PATH",
        "<draft_model_path>": "${DRAFT_MODEL_PATH}" if style.braces else "$DRAFT_MODEL_PATH",
        "<data_address>": f"${{{array}[{index}]}}",
        "<head_address>": f"${{{array}[$(({index} / {nodes} * {nodes}))]}}"
        if body.get("instances", 1) > 1
        else f"${{{array}[0]}}",
        "<store_address>": host_of("prefill", 0),
        "<network_interface>": "<network-interface>",
    }
    found = re.split(r"(<[a-z_]+>|<env:\w+>|\$\(\(.*?\)\))", text)
    return "".join(_piece(piece, places) for piece in found) or "''"


def _piece(piece: str, places: Mapping[str, str]) -> str:
    if piece in places:
        return places[piece]
    if piece.startswith("<env:"):
        return f"${piece[5:-1]}"
    return piece if piece.startswith("$((") or not piece else shlex.quote(piece)


def flags(role: str, body: Mapping[str, Any], style: Style) -> Iterator[list[str]]:
    """Each flag with its words, as shell."""
    for name, value in body["args"].items():
        spelling = body.get("page", {}).get(name, {})
        flag = f"--{spelling.get('flag', name)}"
        if "words" in spelling:
            # Unquoted, as the pages have it.
            yield [flag, json.dumps(value)]
            continue
        if isinstance(value, dict):
            words = [shlex.quote(json.dumps(value))]
        elif value is True:
            words = []
        else:
            words = [text_of(name, each, role, body, style) for each in (value if isinstance(value, list) else [value])]
        yield [f"{flag}={words[0]}"] if style.equals and len(words) == 1 else [flag, *words]


def command(module: str, options: Iterator[list[str]], style: Style) -> list[str]:
    """The command, on one line or one flag a line."""
    parts = [f"{style.python} -m {module}", *(" ".join(option) for option in options)]
    if style.one_line:
        return [" ".join(parts)]
    return [f"{part} \\" for part in parts[:-1]] + parts[-1:]


def _router(profile: Mapping[str, Any], style: Style) -> Iterator[str]:
    body = profile["roles"]["router"]
    yield from _surroundings(body, slice(None), slice(None), slice(None), "router", style)
    options: list[list[str]] = []
    for name, value in body["args"].items():
        if name in ("prefill", "decode"):
            options += list(_workers(name, profile["roles"][name]))
        else:
            options += flags("router", {**body, "args": {name: value}}, style)
    yield from command(body["module"], iter(options), style)


def _workers(role: str, body: Mapping[str, Any]) -> Iterator[list[str]]:
    steps = {"disaggregation-bootstrap-port": 1, **body.get("per_instance", {})}
    for instance in range(body["instances"]):
        port = body["args"]["port"] + steps.get("port", 0) * instance
        words = [f"--{role}", f"http://{host_of(role, instance * body['nodes'])}:{port}"]
        if role == "prefill":
            words.append(
                str(body["args"]["disaggregation-bootstrap-port"] + steps["disaggregation-bootstrap-port"] * instance)
            )
        yield words


def _benchmark(benchmark: Mapping[str, Any], style: Style) -> Iterator[str]:
    body = {"unset": [], "source": [], **benchmark}
    yield from _surroundings(body, slice(None), slice(None), slice(None), "benchmark", style)
    yield from command(benchmark["module"], flags("benchmark", benchmark, style), style)
