# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What systemd says of units, and which processes belong to them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.module_utils.commands import Answer, Run, run
from ansible_collections.ascend.sglang.plugins.module_utils.layout import ENVIRONMENT_MARK

_PROPERTIES = (
    *("Id", "LoadState", "ActiveState", "SubState", "UnitFileState", "NeedDaemonReload", "Job"),
    *("MainPID", "InvocationID", "NRestarts", "Result", "ExecMainStatus", "ExecMainCode", "ControlGroup"),
    *("ActiveEnterTimestamp", "InactiveEnterTimestamp", "StateChangeTimestamp"),
)
_ASK_SECONDS = 20.0

# si_code of a child that ended: how ExecMainCode says that a signal did it.
_KILLED_CODES = ("2", "3")


class SystemdError(RuntimeError):
    """systemd did not do or say what it was asked. The message is what it answered."""


@dataclass(frozen=True)
class UnitState:
    """One unit, as systemctl show tells it."""

    unit: str
    load: str = "not-found"
    active: str = "inactive"
    sub: str = "dead"
    enabled: bool = False
    reload_needed: bool = False
    job: bool = False
    pid: int = 0
    invocation: str = ""
    restarts: int = 0
    result: str = "success"
    exit_status: int = 0
    killed: bool = False
    cgroup: str = ""
    since: str = ""
    started: float = 0.0
    """When its main process began, in seconds since 1970 by the clock as it goes now; 0 where none runs."""

    @property
    def running(self) -> bool:
        """It has a main process that nobody is ending."""
        return self.pid > 0 and self.active in ("active", "reloading")

    @property
    def phase(self) -> str:
        """active/running and the like, as systemctl status writes it."""
        return f"{self.active} ({self.sub})"

    @property
    def ending(self) -> str:
        """How its last main process ended, in words."""
        if self.killed:
            return f"killed by signal {self.exit_status}"
        return f"exit status {self.exit_status}"


def show(units: Sequence[str], ask: Run = run) -> dict[str, UnitState]:
    """The state of each unit (names without .service), with one call. Unknown units have load not-found."""
    if not units:
        return {}
    names = [unit + ".service" for unit in units]
    answer = ask(["systemctl", "show", "--property=" + ",".join(_PROPERTIES), "--", *names], _ASK_SECONDS)
    blocks = [block for block in answer.out.split("\n\n") if block.strip()]
    if answer.rc != 0 or len(blocks) != len(units):
        raise SystemdError(f"systemctl show: {explain(answer)}")
    return {unit: _state(unit, block) for unit, block in zip(units, blocks)}


def explain(answer: Answer) -> str:
    """Why a call failed, on one line."""
    return " ".join((answer.err or answer.out).split()) or f"exit status {answer.rc}"


def _state(unit: str, block: str) -> UnitState:
    values = dict(line.partition("=")[::2] for line in block.splitlines() if "=" in line)

    def number(name: str) -> int:
        text = values.get(name, "")
        return int(text) if text.isdigit() else 0

    return UnitState(
        unit=unit,
        load=values.get("LoadState", ""),
        active=values.get("ActiveState", ""),
        sub=values.get("SubState", ""),
        enabled=values.get("UnitFileState", "") in ("enabled", "enabled-runtime"),
        reload_needed=values.get("NeedDaemonReload") == "yes",
        job=number("Job") > 0,
        pid=number("MainPID"),
        invocation=values.get("InvocationID", ""),
        restarts=number("NRestarts"),
        result=values.get("Result", ""),
        exit_status=number("ExecMainStatus"),
        killed=values.get("ExecMainCode") in _KILLED_CODES,
        cgroup=values.get("ControlGroup", ""),
        since=values.get("StateChangeTimestamp", ""),
        started=started_at(number("MainPID")),
    )


def started_at(pid: int, proc: str = "/proc") -> float:
    """When a process began, in seconds since 1970; 0 where there is none. A program that it becomes does not count."""
    try:
        with open(f"{proc}/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            # The name in parentheses may hold anything; behind it come fields 3 and on, of which 22 is the start.
            ticks = int(stream.read().rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return 0.0
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - age


def unit_of(pid: int, proc: str = "/proc") -> str | None:
    """The service (without .service) in whose control group a process lives."""
    try:
        with open(f"{proc}/{pid}/cgroup", encoding="utf-8", errors="replace") as stream:
            paths = [line.rstrip("\n").split(":", 2)[-1] for line in stream]
    except OSError:
        return None
    for path in paths:
        for part in reversed(path.split("/")):
            if part.endswith(".service"):
                return part[: -len(".service")]
    return None


def processes(cgroup: str, mounts: Sequence[str] = ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd")) -> list[int]:
    """Ids of the processes in a control group and below it (cgroup v2, or v1's systemd hierarchy)."""
    found: list[int] = []
    for mount in mounts:
        for directory, _names, files in os.walk(mount + cgroup) if cgroup else ():
            if "cgroup.procs" in files:
                try:
                    with open(os.path.join(directory, "cgroup.procs"), encoding="utf-8") as stream:
                        found += [int(line) for line in stream]
                except OSError:
                    continue
    return sorted(set(found))


def read_bytes(cgroup: str, proc: str = "/proc") -> int:
    """Bytes that the processes of a control group have read, from files, pipes or page faults, as far as they tell."""
    total = 0
    for pid in processes(cgroup):
        try:
            with open(f"{proc}/{pid}/io", encoding="ascii") as stream:
                told = dict(line.split(": ") for line in stream)
        except (OSError, ValueError):
            continue
        # What is mapped into memory shows in the second only, what comes from the page cache in the first only.
        total += max(int(told.get("rchar", 0)), int(told.get("read_bytes", 0)))
    return total


def launch_of(state: UnitState, proc: str = "/proc") -> str | None:
    """The digest that the running service was started with; None when nothing runs, or no process tells.

    An engine may overwrite its own environment with a process title; some process of its group still has it.
    """
    if not state.running:
        return None
    for pid in _main_first(state):
        digest = _marked(pid, proc)
        if digest is not None:
            return digest
    return None


def _main_first(state: UnitState) -> Iterator[int]:
    yield state.pid
    yield from (pid for pid in processes(state.cgroup) if pid != state.pid)


def _marked(pid: int, proc: str) -> str | None:
    try:
        with open(f"{proc}/{pid}/environ", "rb") as stream:
            entries = stream.read().split(b"\0")
    except OSError:
        return None
    mark = f"{ENVIRONMENT_MARK}=".encode()
    return next((entry[len(mark) :].decode("ascii", "replace") for entry in entries if entry.startswith(mark)), None)
