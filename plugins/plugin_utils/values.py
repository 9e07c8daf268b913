# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From Ansible's values to plain builtins, and from text (`-e name=value`) to the type that a setting declares."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

Plain: TypeAlias = "bool | int | float | str | list[Plain] | dict[str, Plain] | None"
Kind = Literal["str", "int", "bool", "list", "dict"]

_TRUE = ("true", "yes", "on", "1")
_FALSE = ("false", "no", "off", "0")
# More of a text than this helps nobody in a message.
_SHOWN = 100
_KIND_WORDS: dict[Kind, str] = {
    "str": "text",
    "int": "a whole number",
    "bool": "true or false",
    "list": "a list",
    "dict": "a mapping",
}


class ValueTypeError(ValueError):
    """The value is not of the declared type; the message says what was expected and what was found."""


def plain(value: object) -> Plain:
    """A copy of nothing but dict, list, str, int, float, bool and None.

    Ansible's values are subclasses that carry tags (2.19 and later), lazy containers or vault text; whatever they
    are, the compiler sees builtins only. A value of another kind (a date in YAML, say) becomes its text.
    """
    if value is None or isinstance(value, bool):
        return value
    # Until ansible-core 2.18 vault text is a sequence of characters that is no str; its text is the decrypted one.
    if getattr(value, "__ENCRYPTED__", False):
        return "".join(str(value))
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, Mapping):
        return {str(plain(key)): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [plain(item) for item in value]
    # str() of a tagged subclass may return the subclass; joining its characters never does.
    return "".join(str(value))


def describe(value: Plain) -> str:
    """`the text 'abc'`, `the number 3`, `a list`: a value in the words of a message."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {value!r}" if len(value) <= _SHOWN else f"the text {value[:_SHOWN]!r}..."
    return "a list" if isinstance(value, list) else "a mapping"


def coerce(value: Plain, kind: Kind) -> Plain:
    """The value as its declared type. Raises ValueTypeError.

    Text is read as `-e name=value` writes it: digits for a number, true/yes/on/1 for a switch, JSON for lists and
    mappings. A number where text is declared becomes its digits. Anything else must have the type already.
    """
    if kind == "int":
        return _integer(value)
    if kind == "bool":
        return _switch(value)
    if kind == "str":
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return str(value)
        if not isinstance(value, str):
            raise _mismatch(value, kind)
        return value
    return _container(value, kind)


def _mismatch(value: Plain, kind: Kind) -> ValueTypeError:
    return ValueTypeError(f"{_KIND_WORDS[kind]} is needed, not {describe(value)}")


def _integer(value: Plain) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and re.fullmatch(r"[+-]?\d+", value.strip()):
        return int(value)
    raise _mismatch(value, "int")


def _switch(value: Plain) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, (str, int)) else ""
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise _mismatch(value, "bool")


def _container(value: Plain, kind: Kind) -> Plain:
    wanted: type = list if kind == "list" else dict
    if isinstance(value, str):
        try:
            value = plain(json.loads(value))
        except ValueError:
            words = f"{_KIND_WORDS[kind]} is needed, not {describe(value)} (on the command line write it as JSON)"
            raise ValueTypeError(words) from None
    if not isinstance(value, wanted):
        raise _mismatch(value, kind)
    return value
