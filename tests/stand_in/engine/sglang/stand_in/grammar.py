# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line, read as the real parser of that SGLang version reads it: argparse built from the version's flags.

The flags are data: `grammar/sglang-<version>.json` beside the package (put there by install.py), in a clone the
collection's own `engines/`. Abbreviations, types, choices and error texts are argparse's, as in the real engine.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

from sglang.stand_in.knobs import PACKAGE

# Names that the real engine's ServerArgs has for what the parser calls otherwise (0.5.13.post1).
SERVER_ARGS_NAMES = {
    "tensor_parallel_size": "tp_size",
    "pipeline_parallel_size": "pp_size",
    "data_parallel_size": "dp_size",
    "expert_parallel_size": "ep_size",
    "attention_context_parallel_size": "attn_cp_size",
    "moe_data_parallel_size": "moe_dp_size",
}


class GrammarNotFoundError(Exception):
    """There is no data for the version that the stand-in is told to be."""


def find(version, chosen=None):
    """The path of the grammar of a version; `chosen` is the knob that names one."""
    if chosen:
        return Path(chosen)
    name = f"sglang-{version}.json"
    places = [PACKAGE.parent / "grammar" / name, PACKAGE.parent / "grammar.json"]
    places += [parent / "engines" / name for parent in PACKAGE.parents]
    for place in places:
        if place.is_file():
            return place
    raise GrammarNotFoundError(f"stand-in: no command grammar {name}; looked at {', '.join(map(str, places))}")


def load(path):
    """The flags of a grammar file."""
    return json.loads(Path(path).read_text(encoding="utf-8"))["flags"]


def build(flags):
    """The parser made of a version's flags."""
    parser = argparse.ArgumentParser(prog="sglang serve")
    fill(parser, flags)
    return parser


def fill(parser, flags):
    """Add a version's flags to a parser."""
    for flag in flags:
        _add(parser, flag)


def parse(flags, argv):
    """The arguments by ServerArgs' names, defaults filled in. Ends the process as argparse does."""
    values = vars(build(flags).parse_args(argv))
    gone = {flag["dest"] for flag in flags if flag["action"] == "Deprecated"} | {"config"}
    return {SERVER_ARGS_NAMES.get(name, name): value for name, value in values.items() if name not in gone}


def _add(parser, flag):
    options = {"dest": flag["dest"], "default": flag["default"], "required": flag["required"]}
    if flag["default"] == argparse.SUPPRESS:
        options["default"] = argparse.SUPPRESS
    action = flag["action"]
    if action == "StoreTrue":
        parser.add_argument(*flag["names"], action="store_true", **options)
    elif action == "BooleanOptional":
        parser.add_argument(flag["names"][0], action=argparse.BooleanOptionalAction, **options)
    elif action == "Deprecated":
        parser.add_argument(*flag["names"], action=_DeprecatedNothing, nargs=0, **options)
    elif action == "DeprecatedStoreTrue":
        parser.add_argument(*flag["names"], action=_DeprecatedTrue, nargs=0, new_flag=flag.get("new_flag"), **options)
    else:
        deprecated = action.startswith("Deprecated")
        parser.add_argument(
            *flag["names"],
            action=_DeprecatedStore if deprecated else "store",
            type=TYPES[flag["type"]],
            nargs=flag["nargs"],
            choices=flag["choices"],
            **options,
        )


class _DeprecatedNothing(argparse.Action):
    """Accepted, says so, does nothing."""

    def __call__(self, parser, namespace, values, option_string=None):
        _warn(f"The command line argument '{option_string}' is deprecated and will be removed in a future version.")


class _DeprecatedTrue(argparse.Action):
    """An older name of a switch."""

    def __init__(self, option_strings, dest, new_flag=None, **kwargs):
        super().__init__(option_strings, dest, **kwargs)
        self.new_flag = new_flag

    def __call__(self, parser, namespace, values, option_string=None):
        _warn(f"'{option_string}' is deprecated and will be removed in a future version. Please use '{self.new_flag}'.")
        setattr(namespace, self.dest, True)


class _DeprecatedStore(argparse.Action):
    """An older name of a flag with a value."""

    def __call__(self, parser, namespace, values, option_string=None):
        _warn(f"'{option_string}' is deprecated and will be removed in a future version.")
        setattr(namespace, self.dest, values)


def _warn(text):
    print(text, file=sys.stderr, flush=True)


def loads(text):
    """JSON."""
    return json.loads(text)


def json_list_type(text):
    """A JSON list."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"Invalid JSON list: {text}. Please provide a valid JSON list.") from error


def nullable_str(text):
    """A string; `None` and the empty one are none."""
    return None if text in ("", "None") else text


def human_readable_int(text):
    """A whole number, also as 1k (1000), 1K (1024), 2.5m."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kKmMgGtT])", text.strip())
    if not match:
        return int(text)
    number, suffix = match.groups()
    power = "kmgt".index(suffix.lower()) + 1
    if suffix.islower():
        return int(float(number) * 1000**power)
    if "." in number:
        raise argparse.ArgumentTypeError(
            f"Decimals are not allowed with binary suffixes like {suffix}. Did you mean {number}{suffix.lower()}?"
        )
    return int(number) * 1024**power


def parse_cuda_graph_backend_arg(text):
    """The name of a graph backend."""
    return text


def parse_cuda_graph_config_arg(text):
    """A mapping in JSON."""
    value = json.loads(text)
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"expected a JSON object, got {text}")
    return value


TYPES = {
    None: None,
    "str": str,
    "int": int,
    "float": float,
    "loads": loads,
    "json_list_type": json_list_type,
    "nullable_str": nullable_str,
    "human_readable_int": human_readable_int,
    "parse_cuda_graph_backend_arg": parse_cuda_graph_backend_arg,
    "parse_cuda_graph_config_arg": parse_cuda_graph_config_arg,
}
