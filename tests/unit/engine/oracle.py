# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An argparse parser made from an engine file's raw flags, with abbreviations off.

It knows nothing of the code under test: what it accepts is what the program's own parser accepts.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

ENGINES = Path(__file__).resolve().parents[3] / "engines"
OLD, NEW, ROUTER = "sglang-0.5.13.post1", "sglang-0.5.23", "sglang-router-0.3.2"


class RefusedError(Exception):
    pass


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise RefusedError(message)


def raw(name: str) -> dict[str, Any]:
    return json.loads((ENGINES / f"{name}.json").read_text(encoding="utf-8"))


def human_readable_int(text: str) -> int:
    text = text.strip()
    if re.fullmatch(r"\d+(\.\d+)?[kMGT]|\d+[KMGT]i", text):
        return 1
    return int(text)


def cuda_graph_config(text: str) -> Any:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)
    return value


TYPES = {
    None: None,
    "str": str,
    "int": int,
    "float": float,
    "loads": json.loads,
    "json_list_type": json.loads,
    "nullable_str": str,
    "human_readable_int": human_readable_int,
    "parse_cuda_graph_backend_arg": str,
    "parse_cuda_graph_config_arg": cuda_graph_config,
}


def parser(name: str) -> Parser:
    made = Parser(allow_abbrev=False, add_help=False)
    for flag in raw(name)["flags"]:
        action, options = flag["action"], {"dest": flag["dest"], "default": flag["default"]}
        if action in ("StoreTrue", "Deprecated", "DeprecatedStoreTrue"):
            made.add_argument(*flag["names"], action="store_true", **options)
        elif action == "BooleanOptional":
            on = [each for each in flag["names"] if not each.startswith("--no-")]
            made.add_argument(*on, action=argparse.BooleanOptionalAction, **options)
        else:
            assert action in ("Store", "Append", "LoRAPath", "DeprecatedAliasStore", "DeprecatedStoreConst"), action
            made.add_argument(
                *flag["names"],
                action="append" if action == "Append" else "store",
                type=TYPES[flag["type"]],
                nargs=flag["nargs"],
                choices=flag["choices"],
                required=flag["required"],
                **options,
            )
    return made
