# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The transient unit in which a benchmark runs on a host, and what can be seen of it while it does."""

from __future__ import annotations

import base64
import gzip
import json
import os
import pwd
import re
import shutil
import time
from dataclasses import dataclass
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils import bench_runner, bench_samples, secret_launcher, systemd
from ansible_collections.ascend.sglang.plugins.module_utils.commands import Run, run
from ansible_collections.ascend.sglang.plugins.module_utils.guard_files import source

UNIT = "sglang-benchmark"
DIRECTORY = "/var/lib/ascend-sglang-benchmark"
_RUNNER, _PACKED = "runner.py", bench_runner.RESULT + ".gz"
_TAIL_BYTES = 16384
_LOG_LINES = 40
_ASK_SECONDS = 60.0
# The runner ends in time by itself; systemd's own limit is for a runner that does not.
_GRACE_SECONDS = 60

# What bench_serving prints, in this order; its bar of progress reads "43%|####  | 3082/7168 [01:12<01:36, 42.10it/s]".
_WARMING, _MEASURING = "Starting warmup with", "Warmup completed with"
_BAR = re.compile(r"(\d+)/(\d+) \[")


class BenchmarkError(RuntimeError):
    """The benchmark cannot be started or read, in words."""


@dataclass(frozen=True)
class Wanted:
    """A benchmark to start: see bench_runner.Job. user: the account that runs it."""

    argv: list[str]
    env: dict[str, Any]
    unset: list[str]
    secrets: dict[str, str]
    user: str
    deadline: float
    lease: float
    details: bool


def _path(name: str) -> str:
    return os.path.join(DIRECTORY, name)


def active(ask: Run = run) -> bool:
    """Whether a benchmark runs on this host."""
    return systemd.show([UNIT], ask)[UNIT].active not in ("inactive", "failed")


def start(wanted: Wanted, python: str, ask: Run = run) -> None:
    """Start it. Raises BenchmarkError where one runs already, or it cannot be started."""
    if active(ask):
        since = systemd.show([UNIT], ask)[UNIT].since
        raise BenchmarkError(
            f"a benchmark runs on this host already ({UNIT}.service, since {since}), and two would measure each other. "
            f"Wait for its end; one whose controller is gone ends by itself soon. `systemctl stop {UNIT}` ends it at "
            "once."
        )
    try:
        account = pwd.getpwnam(wanted.user)
    except KeyError:
        raise BenchmarkError(f"the user {wanted.user!r}, who is to run it, does not exist on this host") from None
    missing = [value["secret"] for value in wanted.env.values() if isinstance(value, dict)]
    missing = [name for name in missing if not wanted.secrets.get(name)]
    if missing:
        raise BenchmarkError(f"it needs the secret {', '.join(missing)}, which was not given")
    remove(ask)
    os.makedirs(DIRECTORY, mode=0o700)
    more = ["--output-file", _path(bench_runner.WRITTEN), *(["--output-details"] if wanted.details else [])]
    job = {
        "argv": [*wanted.argv, *more],
        "env": wanted.env,
        "unset": wanted.unset,
        "deadline": wanted.deadline,
        "lease": wanted.lease,
    }
    _write(bench_runner.JOB, json.dumps(job))
    _write(_RUNNER, source(bench_runner))
    _write(bench_runner.LEASE, "")
    if wanted.secrets:
        told = {"values": wanted.secrets, "spellings": secret_launcher.spellings(wanted.secrets.values())}
        _write(bench_runner.SECRETS, json.dumps(told))
    for path in (DIRECTORY, *(_path(name) for name in os.listdir(DIRECTORY))):
        os.chown(path, account.pw_uid, account.pw_gid)
    answer = ask(_start_command(wanted, python), _ASK_SECONDS)
    if answer.rc != 0:
        remove(ask)
        raise BenchmarkError(f"systemd-run: {systemd.explain(answer)}")


def _start_command(wanted: Wanted, python: str) -> list[str]:
    properties = {
        "Description": "Benchmark of the SGLang cluster (ascend.sglang)",
        "User": wanted.user,
        "KillMode": "control-group",
        "TimeoutStopSec": "20",
        "RuntimeMaxSec": str(int(wanted.deadline) + _GRACE_SECONDS),
        # A connection each; bench_serving raises its soft limit up to this.
        "LimitNOFILE": "1048576",
    }
    words = [word for name, value in properties.items() for word in ("--property", f"{name}={value}")]
    return ["systemd-run", f"--unit={UNIT}", "--collect", "--quiet", *words, "--", python, _path(_RUNNER), DIRECTORY]


def _write(name: str, text: str) -> None:
    descriptor = os.open(_path(name), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(text)


def look(ask: Run = run) -> dict[str, Any]:
    """Where it is, and a sign that somebody is looking.

    phase: preparing, warming up, measuring or ended; done and total: requests; ended: as in status.json, or None.
    """
    if os.path.exists(_path(bench_runner.LEASE)):
        os.utime(_path(bench_runner.LEASE))
    ended = _status()
    if ended is None and not active(ask):
        # It may have ended just now.
        time.sleep(0.5)
        ended = _status() or {"reason": "lost", "status": 1, "began": 0.0, "seconds": 0.0, "problem": "it was killed"}
    head, tail = _output()
    phase = "measuring" if _MEASURING in head else "warming up" if _WARMING in head else "preparing"
    # Other bars may have been before.
    bars = _BAR.findall(tail[max(tail.rfind(_MEASURING), 0) :]) if phase == "measuring" else []
    done, total = (int(bars[-1][0]), int(bars[-1][1])) if bars else (0, 0)
    return {"phase": "ended" if ended else phase, "done": done, "total": total, "ended": ended}


def _knows_a_secret() -> bool:
    try:
        with open(_path(bench_runner.JOB), encoding="utf-8") as stream:
            return any(isinstance(value, dict) for value in json.load(stream)["env"].values())
    except FileNotFoundError:
        return False


def _status() -> dict[str, Any] | None:
    try:
        with open(_path(bench_runner.STATUS), encoding="utf-8") as stream:
            told = json.load(stream)
    except (FileNotFoundError, ValueError):
        return None
    return dict(told)


def _output() -> tuple[str, str]:
    """All that was printed, and its end."""
    try:
        with open(_path(bench_runner.OUTPUT), "rb") as stream:
            text = stream.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return "", ""
    return text, text[-_TAIL_BYTES:]


def log() -> list[str]:
    """The last lines that it printed, without what a bar of progress has overwritten. None where it knows a secret and
    has no status: the runner, which takes secrets out of them, has not come to its end."""
    if _status() is None and _knows_a_secret():
        return []
    lines = [line.rpartition("\r")[2].rstrip() for line in _output()[0].splitlines(keepends=False)]
    return [line for line in lines if line and not _BAR.search(line)][-_LOG_LINES:]


def collect() -> dict[str, Any]:
    """What it measured, once it has ended.

    result: text of the result without its details, empty where there is none; samples: see bench_samples; raw_size:
    bytes of the whole result, packed; problem: why the file cannot be read as a result, empty where it can or is not
    there.
    """
    told: dict[str, Any] = {"result": "", "samples": None, "raw_size": 0, "log": log(), "problem": ""}
    path = _path(bench_runner.RESULT)
    if not os.path.exists(path):
        return told
    with open(path, "rb") as stream:
        data = stream.read()
    with gzip.open(_path(_PACKED), "wb", compresslevel=3) as packed:
        packed.write(data)
    told["raw_size"] = os.path.getsize(_path(_PACKED))
    try:
        found = bench_samples.last_result(data.decode())
    except ValueError as error:
        return {**told, "problem": str(error)}
    if found is None:
        return told
    try:
        told["samples"] = bench_samples.samples(found)
    except (ValueError, TypeError, LookupError, AttributeError):
        # Of a version that has other details: what it says of all requests is a result without them, too.
        told["samples"] = None
    return {**told, "result": json.dumps(bench_samples.without_details(found)) + "\n"}


def read(offset: int, size: int) -> str:
    """A piece of the whole result, packed, in base64."""
    with open(_path(_PACKED), "rb") as stream:
        stream.seek(offset)
        return base64.b64encode(stream.read(size)).decode()


def remove(ask: Run = run) -> bool:
    """End it, and leave nothing of it. Whether there was anything."""
    there = active(ask) or os.path.isdir(DIRECTORY)
    if active(ask):
        answer = ask(["systemctl", "stop", f"{UNIT}.service"], _ASK_SECONDS)
        if answer.rc != 0 and active(ask):
            raise BenchmarkError(f"systemctl stop {UNIT}: {systemd.explain(answer)}")
    shutil.rmtree(DIRECTORY, ignore_errors=True)
    return there
