# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's own unit: what systemd says of it, and having it restarted."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence

from . import rules

_PROPERTIES = ("ActiveState", "SubState", "InvocationID", "MainPID", "ExecMainStartTimestampMonotonic")
_SECONDS = 10.0


class SystemctlError(RuntimeError):
    """systemctl did not do or say what it was asked. The message is what it answered."""


def look(unit: str) -> rules.Unit:
    """The unit as it is now."""
    answer = _systemctl(["show", "--property=" + ",".join(_PROPERTIES), unit + ".service"])
    return parse(answer, time.monotonic())


def parse(text: str, now: float) -> rules.Unit:
    """What `systemctl show` says, at a time of the clock that systemd's timestamps are of."""
    values = dict(line.partition("=")[::2] for line in text.splitlines())
    phase = _phase(values.get("ActiveState", ""), values.get("SubState", ""), values.get("MainPID", "0") != "0")
    began = values.get("ExecMainStartTimestampMonotonic", "")
    age = max(0.0, now - int(began) / 1e6) if phase in (rules.RUNNING, rules.ENDING) and began.isdigit() else 0.0
    return rules.Unit(phase, values.get("InvocationID", ""), age)


def _phase(active: str, sub: str, has_process: bool) -> str:
    if active == "deactivating":
        return rules.ENDING
    if active in ("active", "reloading"):
        return rules.RUNNING
    if active == "activating":
        if sub.startswith("auto-restart"):
            return rules.WAITING
        return rules.RUNNING if has_process and sub == "start" else rules.STARTING
    return rules.STOPPED


def restart(unit: str) -> None:
    """Have it restarted, unless it is stopped or somebody is just stopping it; waits for nothing."""
    _systemctl(["--no-block", "--job-mode=fail", "try-restart", unit + ".service"])


def kill(unit: str) -> None:
    """End all processes of its control group."""
    _systemctl(["kill", "--signal=SIGKILL", unit + ".service"])


def _systemctl(words: Sequence[str]) -> str:
    try:
        done = subprocess.run(
            ["systemctl", *words],
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SystemctlError(str(error)) from error
    if done.returncode != 0:
        raise SystemctlError(" ".join((done.stderr or done.stdout).split()) or f"exit status {done.returncode}")
    return done.stdout
