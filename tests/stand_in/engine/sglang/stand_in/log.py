# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Log lines in the real engine's layout, on standard error, each whole."""

from __future__ import annotations

import sys
import threading
import time

# Reentrant: a signal handler may log while its own thread is in the middle of a line.
_lock = threading.RLock()
_rank = ""


def set_rank(text):
    """What `rank` lines carry behind the time, e.g. `DP0 TP0`; empty for one NPU."""
    global _rank
    _rank = f" {text}" if text else ""


def raw(text):
    """A text as it is."""
    with _lock:
        sys.stderr.write(text)
        sys.stderr.flush()


def line(text):
    """A line of the main process."""
    raw(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}] {text}\n")


def rank(text):
    """A line of a scheduler process."""
    raw(f"[{time.strftime('%Y-%m-%d %H:%M:%S')}{_rank}] {text}\n")


def uvicorn(text, level="INFO"):
    """A line of the web server."""
    line(f"{level + ':':<9} {text}")
