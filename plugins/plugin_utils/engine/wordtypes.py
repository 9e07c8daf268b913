# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which words an argparse type accepts.

The types are named as in the engine files: Python's own, and functions of SGLang.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

# "16", "-1"; what Python's int() takes besides ("1_6", " 16") is nothing that anybody means to write.
_INTEGER = re.compile(r"[+-]?\d+")
# SGLang's human_readable_int: decimals with SI suffixes (k, M, G, T), whole numbers with IEC ones (Ki, Mi, Gi, Ti).
_READABLE = re.compile(r"\d+(\.\d+)?[kMGT]|\d+[KMGT]i")
_SUFFIXES = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def expected(kind: str | None) -> str:
    """What a word of this type is, for messages."""
    return {
        "int": "a whole number",
        "float": "a number",
        "human_readable_int": "a whole number (also 16k, 1M, 64Ki)",
        "loads": "JSON",
        "json_list_type": "a JSON list",
        "parse_cuda_graph_config_arg": "a JSON object",
    }.get(kind or "str", "a text")


def fault(kind: str | None, text: str) -> str | None:
    """Why the type refuses the word, or None where it takes it. An unknown type takes any word."""
    check = _CHECKS.get(kind or "str")
    return check(text) if check else None


def converted(kind: str | None, text: str) -> Any:
    """The value that the parser would compare with a flag's choices."""
    if kind == "int" and _INTEGER.fullmatch(text):
        return int(text)
    if kind == "float":
        try:
            return float(text)
        except ValueError:
            return text
    return text


def integer(value: Any) -> int | None:
    """A value or word as the whole number that the engine reads in it, or None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str):
        if _INTEGER.fullmatch(value):
            return int(value)
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)", value)
        if found:
            return int(float(found[1]) * _SUFFIXES[found[2]])
    return None


def number(value: Any) -> float | None:
    """A value or word as a number, or None."""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        return float(value)
    except ValueError:
        return None


def json_fault(text: str, shape: str) -> str | None:
    """Why the text is not the JSON that is wanted (``any`` or ``object``), or None."""
    try:
        value = json.loads(text)
    except ValueError as error:
        return f"is no JSON ({error})"
    if shape == "object" and not isinstance(value, dict):
        return f"is JSON, but {_json_name(value)} where an object is wanted"
    return None


def _json_name(value: Any) -> str:
    if value is None:
        return "null"
    names = {bool: "true or false", list: "a list", str: "a text", int: "a number", float: "a number"}
    return names.get(type(value), "an object")


def _integer_fault(text: str) -> str | None:
    return None if _INTEGER.fullmatch(text) else "is no whole number"


def _float_fault(text: str) -> str | None:
    return "is no number" if number(text) is None else None


def _readable_fault(text: str) -> str | None:
    if _INTEGER.fullmatch(text) or _READABLE.fullmatch(text):
        return None
    return "is no whole number (16384, 16k and 16Ki are; suffixes are case-sensitive, decimals go with k, M, G, T only)"


_CHECKS: dict[str, Callable[[str], str | None]] = {
    "int": _integer_fault,
    "float": _float_fault,
    "human_readable_int": _readable_fault,
    "loads": lambda text: json_fault(text, "any"),
    "json_list_type": lambda text: json_fault(text, "any"),
    "parse_cuda_graph_config_arg": lambda text: json_fault(text, "object"),
}
