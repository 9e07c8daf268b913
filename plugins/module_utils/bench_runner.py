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
import threading
import time
from collections.abc import Callable
from typing import Any

JOB, STATUS, LEASE, OUTPUT, RESULT, SECRETS = (
    *("job.json", "status.json", "lease", "output.log", "result.jsonl", "secrets.json"),
)
# Where the benchmark writes; it becomes RESULT.
WRITTEN = "written.jsonl"
REDACTED = "<redacted>"
_POLL_SECONDS = 0.25
_STOP_SECONDS = 5.0

# Why it ended -> what the journal says of it.
_TOLD = {
    "exit": "The benchmark ended by itself",
    "start": "The benchmark cannot be started",
    "store": "The result of the benchmark cannot be stored",
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
        self._spellings: list[list[str]] = []
        if os.path.exists(self.path(SECRETS)):
            with open(self.path(SECRETS), encoding="utf-8") as stream:
                secrets = json.load(stream)
            os.unlink(self.path(SECRETS))
            self._secrets, self._spellings = secrets["values"], secrets["spellings"]

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
        """Take the secrets out of what was printed and written, and only then call the latter a result.

        Raises OSError or MemoryError where that cannot be done; then there is neither.
        """
        self._rewrite(OUTPUT, self._text)
        self._rewrite(WRITTEN, self._json)
        if os.path.exists(self.path(WRITTEN)):
            os.replace(self.path(WRITTEN), self.path(RESULT))

    def _rewrite(self, name: str, without: Callable[[bytes], bytes]) -> None:
        path, new = self.path(name), self.path(name + ".new")
        if not self._spellings or not os.path.exists(path):
            return
        try:
            with open(path, "rb") as stream, open(new, "wb") as written:
                written.writelines(map(without, stream))
            os.replace(new, path)
        except (OSError, MemoryError):
            for leftover in filter(os.path.exists, (path, new)):
                os.unlink(leftover)
            raise

    def _text(self, line: bytes) -> bytes:
        for one, instead in self._spellings:
            line = line.replace(one.encode(), instead.encode())
        return line

    def _json(self, line: bytes) -> bytes:
        """A line of JSON without secrets in its texts: its figures may have the digits of a key."""
        try:
            told = json.loads(line)
        except ValueError:
            return self._text(line)
        return json.dumps(self._value(told)).encode() + b"\n"

    def _value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {name: self._value(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._value(inner) for inner in value]
        if isinstance(value, str):
            # A short one is spelled with its quotes, and a value has none.
            if value in self._secrets.values():
                return REDACTED
            for one, instead in self._spellings:
                value = value.replace(one, instead)
        return value


def _unattended(job: Job) -> float:
    """Seconds since somebody looked."""
    try:
        return time.time() - os.stat(job.path(LEASE)).st_mtime
    except FileNotFoundError:
        return 0.0


def wait(child: subprocess.Popen[bytes], job: Job, stop: threading.Event) -> str:
    """Wait for the end; why it came: exit, deadline, unattended or stopped."""
    began = time.monotonic()
    while child.poll() is None:
        if time.monotonic() - began > job.deadline:
            return "deadline"
        if _unattended(job) > job.lease:
            return "unattended"
        if stop.wait(_POLL_SECONDS):
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


def run(job: Job, stop: threading.Event) -> dict[str, Any]:
    """Run the benchmark until it ends or `stop` is set; how it ended, as status.json has it."""
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
    reason, problem = wait(child, job, stop), ""
    end(child)
    # Of one for which nobody will come nothing is kept.
    if reason != "unattended":
        try:
            job.redact()
        except (OSError, MemoryError) as error:
            reason, problem = "store", f"cannot store its result: {str(error) or type(error).__name__}"
    seconds = round(time.monotonic() - began, 3)
    return {"reason": reason, "status": child.returncode, "began": wall, "seconds": seconds, "problem": problem}


def main() -> None:
    """Run the job of a directory."""
    # Only noted: whatever is being done comes to its end.
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.set())
    job = Job(sys.argv[1])
    status = run(job, stop)
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
