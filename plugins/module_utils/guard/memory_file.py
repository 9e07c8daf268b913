# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's memory as a file in /run: it outlives the guard, and no boot."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

from . import rules


def load(path: str) -> rules.Memory:
    """The memory of an earlier guard of this boot; a new one where there is none, or none that can be read."""
    try:
        with open(path, encoding="utf-8") as stream:
            return _memory(json.load(stream))
    except (OSError, ValueError, TypeError, AttributeError):
        return rules.Memory()


def save(path: str, memory: rules.Memory) -> None:
    """Replace the file as a whole."""
    temporary = path + ".new"
    with open(temporary, "w", encoding="utf-8") as stream:
        json.dump(dataclasses.asdict(memory), stream)
    os.replace(temporary, path)


def _memory(values: dict[str, Any]) -> rules.Memory:
    known = {field.name: values[field.name] for field in dataclasses.fields(rules.Memory) if field.name in values}
    known["left"] = tuple(known.get("left", ()))
    known["pairs"] = {int(rank): str(run) for rank, run in known.get("pairs", {}).items()}
    # Nobody looked meanwhile.
    known["missing"] = {}
    return rules.Memory(**known)
