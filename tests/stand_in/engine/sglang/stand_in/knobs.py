# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a test may set: how long things take, and how the engine is to fail.

A knob is looked for, first hit wins, in the environment (`STAND_IN_<NAME>`), in the host's file (`/etc/stand-in.json`,
or what `STAND_IN_CONFIG` names; a mapping under a role's name holds for that role only), in the `stand-in.json` that
the installer left beside the package, and in DEFAULTS. The host's file is read again when it changed, so a knob that
is looked at while serving can be turned on a running engine. A name that is no knob ends the engine: a misspelt knob
must not pass for a test.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

ROLES = ("prefill", "decode", "mixed")

DEFAULTS = {
    # Which SGLang it stands for, and where the command grammar of that version is (else looked for, see grammar.py).
    "version": "0.5.13.post1",
    "grammar": None,
    # How long things take, in seconds.
    "import_seconds": 0.0,
    "start_seconds": 0.2,
    "load_seconds": 3.0,
    "graph_seconds": 0.5,
    "warmup_seconds": 0.5,
    "health_seconds": 1.0,
    "token_seconds": 0.005,
    "peer_death_seconds": 5.5,
    "crash_seconds": 79.0,
    "port_taken_seconds": 1.0,
    # The real one's is 3 where its web server's end comes first.
    "port_taken_status": 137,
    "warmup_retry_seconds": 120.0,
    "drain_poll_seconds": 3.0,
    "drain_repeat_seconds": 5.0,
    # None: the engine's own environment variable decides, then 300 s.
    "kv_timeout_seconds": None,
    "handshake_timeout_seconds": 15.0,
    "zbal_timeout_seconds": 30.0,
    # How many shards the log counts. None: those of the model directory, 163 where it has none.
    "shards": None,
    # The real progress bar is one line with carriage returns; true ends each step with a newline, for a journal.
    "progress_newlines": False,
    # Where it is to fail: the name of a phase (see lifecycle.PHASES), the line to log first, the status to end with.
    "crash_at": None,
    "crash_line": None,
    "crash_status": 137,
    "crash_delay_seconds": 0.0,
    "hang_at": None,
    # Lines logged at the start, e.g. noise that must not pass for a failure.
    "log_line": None,
    # How it ends.
    "exit_code_on_term": None,
    "drain_stuck": False,
    "leave_child": False,
    # What it insists on.
    "npu_dir": "/var/lib/stand-in-npus",
    "cann_dir": "/usr/local/Ascend",
    "hccl_ports": True,
    "store_incarnation": True,
}

PACKAGE = Path(__file__).resolve().parent.parent


class UnknownKnobError(Exception):
    """A name in a file or in the environment that is no knob."""


class Knobs:
    """The knobs of one process. `role` is set as soon as the command line is read."""

    def __init__(self, environ=None, installed=None):
        self.environ = os.environ if environ is None else environ
        self.role = "mixed"
        self._path = self.environ.get("STAND_IN_CONFIG") or "/etc/stand-in.json"
        self._stamp = None
        self._host = {}
        self._installed = _read(Path(installed or PACKAGE.parent / "stand-in.json"))
        for name in self.environ:
            if name.startswith("STAND_IN_") and name != "STAND_IN_CONFIG":
                _known(name[len("STAND_IN_") :].lower(), name)

    def get(self, name):
        """The value of a knob, now."""
        default = DEFAULTS[name]
        variable = "STAND_IN_" + name.upper()
        if variable in self.environ:
            return _typed(self.environ[variable], default)
        self._refresh()
        for source in (self._host.get(self.role, {}), self._host, self._installed):
            if name in source:
                return source[name]
        return default

    def seconds(self, name):
        """A knob that is a time, as a number."""
        return float(self.get(name))

    def _refresh(self):
        try:
            status = os.stat(self._path)
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        except OSError:
            stamp = None
        if stamp != self._stamp:
            self._stamp = stamp
            self._host = _read(Path(self._path)) if stamp else {}


def _read(path):
    try:
        text = path.read_text(encoding="utf-8")
    except OSError:
        return {}
    values = json.loads(text)
    for name, value in values.items():
        if name in ROLES and isinstance(value, dict):
            for inner in value:
                _known(inner, f"{path}: {name}")
        else:
            _known(name, str(path))
    return values


def _known(name, where):
    if name not in DEFAULTS:
        raise UnknownKnobError(f"stand-in: {where}: no knob is named {name!r}; there are {', '.join(DEFAULTS)}")


def _typed(text, default):
    if isinstance(default, str):
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def engine_version():
    """The SGLang version that this host's stand-in is told to be."""
    try:
        return str(Knobs().get("version"))
    except (UnknownKnobError, ValueError) as error:
        sys.exit(str(error))
