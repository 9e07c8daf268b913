# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a program of the host, bounded in time, in plain English and without proxies."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Answer(NamedTuple):
    """What a program answered. ``rc`` is 127 when there is no such program, 124 when it took too long."""

    rc: int
    out: str
    err: str


Run = Callable[[Sequence[str], float], Answer]


def environment() -> dict[str, str]:
    """The environment for programs that we ask: the caller's without its language and its proxies."""
    kept = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    return {**kept, "LC_ALL": "C.UTF-8", "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"}


def run(argv: Sequence[str], timeout: float) -> Answer:
    """Run a program and wait for it, ``timeout`` seconds at most."""
    try:
        done = subprocess.run(
            list(argv),
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
            env=environment(),
            stdin=subprocess.DEVNULL,
            timeout=timeout,
        )
    except subprocess.TimeoutExpired:
        return Answer(124, "", f"{argv[0]} gave no answer within {timeout:g} s")
    except OSError as error:
        return Answer(127, "", f"{argv[0]}: {error.strerror}")
    return Answer(done.returncode, done.stdout, done.stderr)
