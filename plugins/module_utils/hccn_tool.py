# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``hccn_tool`` says of the links between NPUs of several hosts, and of their TLS switch."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterable
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils import commands, unit_file

_ASK_SECONDS = 5.0
_TOTAL_SECONDS = 20.0
_BUSY = "is busy"
_BUSY_PAUSE = 0.3
_ATTEMPTS = 4
_LINK = re.compile(r"link status\s*:\s*(\w+)")
_TLS = re.compile(r"tls switch\s*\[(\d)\]")

# What is said for every NPU alike: asking the others would take seconds and tell nothing.
_HOPELESS = ("permission", "can't access", "no such file")
# The same, where every query says so.
_UNSUPPORTED = ("not supported", "does not support")


def link(text: str) -> str | None:
    """``UP`` or ``DOWN`` out of ``-link -g``."""
    found = _LINK.search(text)
    return found.group(1).upper() if found else None


def tls(text: str) -> int | None:
    """1 (on) or 0 (off) out of ``-tls -g``."""
    found = _TLS.search(text)
    return int(found.group(1)) if found else None


def explain(answer: commands.Answer) -> str:
    """Why hccn_tool told nothing, on one line."""
    lines = [line.strip() for line in (answer.err + "\n" + answer.out).splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith("Cmd execute failed")] or lines
    return telling[0] if telling else f"exit status {answer.rc}"


def look(
    numbers: Iterable[int], ask: commands.Run = commands.run, search: str = unit_file.SEARCH_PATH
) -> dict[str, Any]:
    """The links of these NPUs (numbers as in /dev/davinciN), one call after the other: the tool locks itself.

    ``path`` (None: no such program), ``error`` (why the rest was not asked, or empty), ``npus``: a list of ``number``,
    ``link`` and ``tls`` (None: not told) and ``error``.
    """
    path = shutil.which("hccn_tool", path=search)
    found: dict[str, Any] = {"path": path, "error": "", "npus": []}
    if path is None:
        return found
    until = time.monotonic() + _TOTAL_SECONDS
    for number in numbers:
        if time.monotonic() > until:
            found["error"] = f"not all NPUs answered within {_TOTAL_SECONDS:g} s"
            break
        texts, errors = {}, []
        # One may tell where the other does not: TLS differs also where links are down or not told.
        for query in ("link", "tls"):
            answer = _ask([path, "-i", str(number), f"-{query}", "-g"], ask)
            texts[query] = answer.out
            if answer.rc != 0 or not answer.out.strip():
                errors.append(explain(answer))
            if _says(errors[:1], _HOPELESS):
                break
        if _says(errors[:1], _HOPELESS) or (len(errors) == len(texts) and _says(errors, _UNSUPPORTED)):
            found["error"] = errors[0]
            break
        error = errors[0] if errors else ""
        one = {"number": number, "link": link(texts["link"]), "tls": tls(texts["tls"]), "error": error}
        found["npus"].append(one)
    return found


def _says(errors: Iterable[str], words: Iterable[str]) -> bool:
    return any(word in error.lower() for error in errors for word in words)


def _ask(argv: list[str], ask: commands.Run) -> commands.Answer:
    """Again while somebody else's call is running."""
    for _attempt in range(_ATTEMPTS - 1):
        answer = ask(argv, _ASK_SECONDS)
        if _BUSY not in answer.out + answer.err:
            return answer
        time.sleep(_BUSY_PAUSE)
    return ask(argv, _ASK_SECONDS)
