# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a benchmark on a host and never outlives its time: a program of its own, in a unit of its own.

    python runner.py DIRECTORY

DIRECTORY holds job.json (see Job), and gets output.log (what the benchmark prints), result.jsonl (what it measured) and
status.json (how it ended), all without the values of secrets: bench_serving writes down what /server_info tells, which
is every argument of the server. The benchmark is ended when it takes longer than it may, when nobody has touched the
file `lease` for a while, or on SIGTERM. It imports nothing of the collection.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from typing import Any

JOB, STATUS, LEASE, OUTPUT, RESULT, SECRETS = (
    *("job.json", "status.json", "lease", "output.log", "result.jsonl", "secrets.json"),
)
# Where the benchmark writes; it becomes RESULT.
WRITTEN = "written.jsonl"
_POLL_SECONDS = 0.25
_STOP_SECONDS = 5.0

# Why it ended -> what the journal says of it.
_TOLD = {
    "exit": "The benchmark ended by itself",
    "start": "The benchmark cannot be started",
    "deadline": "The benchmark was ended: it took longer than it may",
    "unattended": "The benchmark was ended: its playbook is gone",
    "stopped": "The benchmark was ended from outside, as an interrupted playbook does it",
}


class Job:
    """What to run: the values of job.json.

    argv: the command; env: variables to set, a secret as {"secret": name}; unset: variables to take away; deadline and
    lease: seconds. secrets.json has the values by name, and all their spellings with what takes their place, longest
    first; it goes at once.
    """

    def __init__(self, directory: str) -> None:
        with open(os.path.join(directory, JOB), encoding="utf-8") as stream:
            told = json.load(stream)
        self.directory = directory
        self.argv: list[str] = told["argv"]
        self.env: dict[str, Any] = told["env"]
        self.unset: list[str] = told["unset"]
        self.deadline: float = told["deadline"]
        self.lease: float = told["lease"]
        self._secrets: dict[str, str] = {}
        self._spellings: list[tuple[bytes, bytes]] = []
        if os.path.exists(self.path(SECRETS)):
            with open(self.path(SECRETS), encoding="utf-8") as stream:
                secrets = json.load(stream)
            os.unlink(self.path(SECRETS))
            self._secrets = secrets["values"]
            self._spellings = [(one.encode(), instead.encode()) for one, instead in secrets["spellings"]]

    def path(self, name: str) -> str:
        return os.path.join(self.directory, name)

    def environment(self) -> dict[str, str]:
        """The unit's own environment, without what is taken away, with what is set."""
        kept = {name: value for name, value in os.environ.items() if name not in self.unset}
        for name, value in self.env.items():
            kept[name] = self._secrets[value["secret"]] if isinstance(value, dict) else str(value)
        # The client needs no NPU, and without CANN's environment PyTorch could not load the extension for them.
        kept.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
        # Its progress goes into a file, where Python would keep it back by the kilobyte.
        return {**kept, "PYTHONUNBUFFERED": "1"}

    def redact(self) -> None:
        """Take the secrets out of what was printed and written, and only then call the latter a result."""
        for name, final in ((OUTPUT, OUTPUT), (WRITTEN, RESULT)):
            try:
                with open(self.path(name), "rb") as stream:
                    content = stream.read()
            except FileNotFoundError:
                continue
            without = content
            for one, instead in self._spellings:
                without = without.replace(one, instead)
            if without != content:
                with open(self.path(name), "wb") as stream:
                    stream.write(without)
            os.replace(self.path(name), self.path(final))


class StopAskedError(Exception):
    """SIGTERM came."""


def _stop(_number: int, _frame: object) -> None:
    raise StopAskedError


def _unattended(job: Job) -> float:
    """Seconds since somebody looked."""
    try:
        return time.time() - os.stat(job.path(LEASE)).st_mtime
    except FileNotFoundError:
        return 0.0


def wait(child: subprocess.Popen[bytes], job: Job) -> str:
    """Wait for the end; why it came: exit, deadline, unattended or stopped."""
    began = time.monotonic()
    try:
        while child.poll() is None:
            if time.monotonic() - began > job.deadline:
                return "deadline"
            if _unattended(job) > job.lease:
                return "unattended"
            time.sleep(_POLL_SECONDS)
    except StopAskedError:
        return "stopped"
    return "exit"


def end(child: subprocess.Popen[bytes]) -> None:
    """End the benchmark. Its descendants end with the unit."""
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def run(job: Job) -> dict[str, Any]:
    """Run the benchmark; how it ended, as status.json has it."""
    began, wall = time.monotonic(), time.time()
    try:
        with open(job.path(OUTPUT), "wb") as output:
            child = subprocess.Popen(
                job.argv,
                cwd=job.directory,
                env=job.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
    except (OSError, ValueError, KeyError) as error:
        why = f"cannot be started: {error}"
        return {"reason": "start", "status": 127, "began": wall, "seconds": 0.0, "problem": why}
    reason = wait(child, job)
    # What comes now must not interrupt the end.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    end(child)
    job.redact()
    seconds = round(time.monotonic() - began, 3)
    return {"reason": reason, "status": child.returncode, "began": wall, "seconds": seconds, "problem": ""}


def main() -> None:
    """Run the job of a directory."""
    signal.signal(signal.SIGTERM, _stop)
    job = Job(sys.argv[1])
    try:
        status = run(job)
    except StopAskedError:
        status = {"reason": "stopped", "status": 143, "began": time.time(), "seconds": 0.0, "problem": ""}
    # Into the journal of the unit.
    sys.stdout.write(_TOLD[status["reason"]] + "\n")
    sys.stdout.flush()
    if status["reason"] == "unattended":
        # Nobody will come for it.
        shutil.rmtree(job.directory, ignore_errors=True)
        return
    temporary = job.path(STATUS + ".new")
    with open(temporary, "w", encoding="utf-8") as stream:
        json.dump(status, stream)
    os.replace(temporary, job.path(STATUS))


if __name__ == "__main__":
    main()
