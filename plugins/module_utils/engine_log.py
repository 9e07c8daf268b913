# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an engine's log says: how far it has come, and why it died.

Every mark is optional: which of them a version prints differs, and health decides whether it is ready.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ansible_collections.ascend.sglang.plugins.module_utils.known_failures import CAUSES, CONSEQUENCES

# In the order in which they appear; the last one that is found counts.
_MARKS = (
    (re.compile(r"Init torch distributed begin"), "waiting for its other ranks"),
    (re.compile(r"Init torch distributed ends"), "starting"),
    (re.compile(r"Load weight begin"), "loading"),
    (re.compile(r"Load weight end"), "loaded"),
    (re.compile(r"(?i)capture .*graph begin"), "capturing graphs"),
    (re.compile(r"(?i)capture .*graph end"), "loaded"),
    (re.compile(r"Uvicorn running on|Start of pd disaggregation warmup"), "warming up"),
)
_SHARDS = re.compile(r"[Ll]oading .*\bshards:.*\|\s*(\d+)/(\d+)")
_GRAPHS = re.compile(r"Capturing .*\|\s*(\d+)/(\d+)")
_EXCEPTION = re.compile(r"^(?:\[[^]]*\]\s*)?([A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)\b.*)")
_REFUSED = re.compile(r"^launch(?:\.sh|er\.py): (.*)")
_USAGE = re.compile(r"error: (.*)")

EX_USAGE = 2
EX_CONFIG = 78
_FAILURES = [(re.compile(one.pattern), one) for one in CAUSES]
_LATER = [(re.compile(one.pattern), one) for one in CONSEQUENCES]


def lines_of(text: str) -> list[str]:
    """A log's lines. Progress bars end theirs with carriage returns."""
    return [line.rstrip() for line in re.split(r"[\r\n]+", text) if line.strip()]


def phase(lines: Sequence[str]) -> str:
    """How far a start has come: starting, waiting for its other ranks, loading 70/163 shards, warming up ..."""
    now, count = "starting", ""
    for line in lines:
        for pattern, name in _MARKS:
            if pattern.search(line):
                now, count = name, ""
        # All ranks of a node write into one log: a count belongs to its phase only.
        shards, graphs = _SHARDS.search(line), _GRAPHS.search(line)
        if shards and now in ("starting", "loading"):
            now, count = "loading", f" {shards[1]}/{shards[2]} shards"
        elif graphs and now in ("loaded", "capturing graphs"):
            now, count = "capturing graphs", f" {graphs[1]}/{graphs[2]}"
    return now + count


def cause(lines: Sequence[str], exit_status: int | None = None) -> str:
    """Why the engine died, as one sentence or two; empty when the log does not tell.

    The first line that names a cause counts: what follows it is mostly what it brought about.
    """
    if exit_status == EX_CONFIG:
        refused = [found[1] for found in map(_REFUSED.match, lines) if found]
        if refused:
            return refused[-1]
    if exit_status == EX_USAGE:
        usage = [found[1] for found in map(_USAGE.search, lines) if found]
        if usage:
            return f"It does not accept its arguments: {usage[-1]}"
    # The lines of code in a traceback are indented: they may name an error, and say nothing of it.
    said = sorted(lines, key=lambda line: line.startswith("    "))
    for table in (_FAILURES, _LATER):
        for line in said:
            for pattern, known in table:
                if pattern.search(line):
                    return f"{known.meaning} ({line.strip()[:200]}). To do: {known.remedy}."
        if table is _FAILURES:
            errors = [found[1] for found in map(_EXCEPTION.match, lines) if found]
            if errors:
                return errors[-1][:300]
    return ""


def without_usage(lines: Sequence[str]) -> list[str]:
    """The lines without the hundreds that argparse prints of its options before it says what is wrong."""
    return [line for line in lines if not line.startswith(("usage: ", " "))]
