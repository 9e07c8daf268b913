# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a service is ready, and if not, how far it is or why it died."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Union
from urllib.parse import urlsplit

from ansible_collections.ascend.sglang.plugins.module_utils import engine_log, health, http_probe, listeners, systemd
from ansible_collections.ascend.sglang.plugins.module_utils.commands import Run, run
from ansible_collections.ascend.sglang.plugins.module_utils.plan_service import PlanService, Watched
from ansible_collections.ascend.sglang.plugins.module_utils.systemd import UnitState

_JOURNAL_SECONDS = 10.0
_PHASE_LINES = 400
_CAUSE_LINES = 1000
_LINE = 300

Service = Union[PlanService, Watched]

# What systemd itself writes into a unit's log, with the descriptions that unit_file gives.
_BEGUN = re.compile(r"Started .*\bSGLang ")
_EXITED = re.compile(r"\.service: Main process exited, code=(\w+), status=(\d+)")
_ENDED = re.compile(r"\.service: (?:Main process exited|Deactivated successfully|Failed with result|Scheduled restart)")


@dataclass(frozen=True)
class Status:
    """One service as it is. See the module service_status for what the fields mean."""

    unit: str
    active: str
    sub: str
    invocation: str
    restarts: int
    pid: int
    ready: bool
    phase: str
    health: str
    since: str = ""
    version: str = ""
    mode: str = ""
    guard: dict[str, object] | None = None
    dead: bool = False
    ending: str = ""
    cause: str = ""
    log: tuple[str, ...] = ()

    def plain(self) -> dict[str, object]:
        """As a module returns it."""
        return {**asdict(self), "log": list(self.log)}


def look(
    services: Sequence[Service],
    restarts: Mapping[str, int],
    health_timeout: float,
    log_lines: int,
    ask: Run = run,
    keys: Mapping[str, str | None] | None = None,
    states: Mapping[str, UnitState] | None = None,
    answers: Mapping[str, health.Answer] | None = None,
) -> list[Status]:
    """The status of each service, all at once.

    :param restarts: unit -> its number of restarts some time ago; one that has more now died since.
    :param health_timeout: seconds for a health request.
    :param log_lines: how many of the last lines of the journal a service that is dead or not ready comes with.
    :param keys: unit -> its API key; when given, a server that is ready is asked what it is.
    :param states: unit -> its state, where somebody has just asked systemd.
    :param answers: unit -> what waits for its answer, where somebody has just begun to ask for its health.
    """
    if states is None:
        states = systemd.show([service.unit for service in services], ask)
    with ThreadPoolExecutor(max_workers=max(1, len(services))) as pool:
        futures = [
            pool.submit(
                _one,
                one,
                states[one.unit],
                restarts.get(one.unit),
                (answers or {}).get(one.unit) or partial(health.ask, one.role, one.url or "", health_timeout),
                log_lines,
                ask,
            )
            for one in services
        ]
        found = [future.result() for future in futures]
        if keys is None:
            return found
        return list(pool.map(lambda pair: _itself(*pair, health_timeout, keys), zip(services, found)))


def _itself(service: Service, found: Status, timeout: float, keys: Mapping[str, str | None]) -> Status:
    """With what its guard answers, and what the server says that it is: a rank above 0, a router and a store do not."""
    if isinstance(service, Watched) and service.guard:
        found = replace(found, guard=_guard(http_probe.request(service.guard, timeout)))
    if not found.ready or service.role in ("router", "store"):
        return found
    body = http_probe.request(f"{service.url}/server_info", timeout, key=keys.get(service.unit)).json()
    if not isinstance(body, dict) or "version" not in body:
        return found
    mode = str(body.get("disaggregation_mode") or "null")
    return replace(found, version=str(body["version"]), mode="mixed" if mode == "null" else mode)


def _one(
    service: Service, state: UnitState, restarts: int | None, answer: health.Answer, log_lines: int, ask: Run
) -> Status:
    dead = is_dead(state) or (restarts is not None and state.restarts > restarts)
    ready, said = False, ""
    if state.running and not state.job and not dead:
        ready, said = _ready(service, answer)
    lines: list[str] = []
    if dead:
        lines = run_that_died(journal(state, _CAUSE_LINES, ask, all_runs=True), state.running)
    elif not ready:
        lines = journal(state, _PHASE_LINES, ask)
    exit_status, ending = _end(state, lines)
    # What somebody stopped has not died of anything.
    cause = engine_log.cause(lines, exit_status) if dead and _gone(state) == "dead" else ""
    if dead and exit_status == engine_log.EX_USAGE:
        lines = engine_log.without_usage(lines)
    return Status(
        unit=service.unit,
        active=state.active,
        sub=state.sub,
        invocation=state.invocation,
        restarts=state.restarts,
        pid=state.pid,
        ready=ready,
        phase=_gone(state) if dead else "ready" if ready else _phase(service, state, lines, said),
        health=said,
        since=state.since,
        dead=dead,
        ending=ending if dead else "",
        cause=cause,
        log=tuple(map(_clipped, lines[-log_lines:])) if log_lines else (),
    )


def _end(state: UnitState, lines: Sequence[str]) -> tuple[int | None, str]:
    """How it ended: the exit status, if it was one, and in words.

    Once it runs again systemd shows the new process, and only the log has the old one's end. An end that
    counts as a good one, as SIGKILL does with this engine, is not in the log.
    """
    if not state.running:
        return None if state.killed else state.exit_status, state.ending
    exits = [found for found in map(_EXITED.search, lines) if found]
    if not exits:
        return None, "started again since"
    code, status = exits[-1].groups()
    if code != "exited":
        return None, f"killed by signal {status}"
    return int(status), f"exit status {status}"


def _guard(reply: http_probe.Reply) -> dict[str, object]:
    """What a guard answered, or why it did not."""
    body = reply.json()
    if reply.status == 200 and isinstance(body, dict):
        return body
    return {"error": f"its guard does not answer ({reply.error or reply.status})"}


def _clipped(line: str) -> str:
    """A line of a log for people: an engine prints all of its settings on one."""
    return line if len(line) <= _LINE else f"{line[: _LINE - 6]} [...]"


def _gone(state: UnitState) -> str:
    """Why it does not run: systemd tries each of these units again until somebody stops it."""
    if state.load == "not-found":
        return "not installed"
    return "stopped" if state.active == "inactive" and state.result == "success" else "dead"


def is_dead(state: UnitState) -> bool:
    """It does not run and will not by itself, or has died and waits to be tried again."""
    if state.job:
        return False  # about to be started
    if state.active in ("failed", "inactive") or state.sub == "auto-restart":
        return True
    return state.active == "activating" and state.restarts > 0


def _ready(service: Service, answer: health.Answer) -> tuple[bool, str]:
    """Readiness, and what was seen of it, in words.

    A rank above 0 answers as soon as its node has loaded, which is all that it can be asked.
    """
    if service.url is None:
        return True, "has no address to ask"
    port = urlsplit(service.url).port or 80
    held = listeners.listening([port])
    if not held:
        return False, "does not listen yet"
    if not any(one.unit == service.unit for one in held):
        # An engine that found its port taken warms up against the other server, and says that it is ready.
        return False, f"port {port} is held by {held[0]}"
    if service.role == "store":
        return True, "listens"  # it speaks no HTTP, and has nothing to load
    reply = answer()
    if reply.status == 200:
        return True, "200"
    body = reply.json()
    reason = body.get("reason") if isinstance(body, dict) else ""
    return False, f"{reply.status or reply.error}" + (f" ({reason})" if reason else "")


def _phase(service: Service, state: UnitState, lines: Sequence[str], said: str) -> str:
    if state.active == "deactivating":
        return "stopping"
    if state.job or not state.running:
        return "starting"
    if said.startswith("port "):
        return said
    if service.role == "router":
        return "waiting for its workers" if said.startswith("503") else "starting"
    # It answers, only not yet with 200.
    phase = "warming up" if said.startswith("503") else engine_log.phase(lines)
    # The bar of the shards reaches the journal at its end only: it is one line to it.
    gigabytes = systemd.read_bytes(state.cgroup) // 10**9 if phase == "loading" else 0
    return f"{phase} ({gigabytes} GB read)" if gigabytes else phase


def journal(state: UnitState, count: int, ask: Run = run, all_runs: bool = False) -> list[str]:
    """The last lines of a unit's log, of its present run or of all."""
    match = ["--unit", state.unit + ".service"]
    if state.invocation and not all_runs:
        match = [f"_SYSTEMD_INVOCATION_ID={state.invocation}", "+", f"INVOCATION_ID={state.invocation}"]
    command = ["journalctl", "--quiet", "--no-pager", "--output=cat", "--all", f"--lines={count}", *match]
    return engine_log.lines_of(ask(command, _JOURNAL_SECONDS).out)


def run_that_died(lines: Sequence[str], runs_again: bool) -> list[str]:
    """Of a unit's log the part that belongs to its last run, or to the one before when it runs again already."""
    begins = [number for number, line in enumerate(lines) if _BEGUN.match(line)]
    runs = [list(lines[begin:end]) for begin, end in zip([0, *begins], [*begins, len(lines)])]
    ended = [run for run in runs if any(_ENDED.search(line) for line in run)] if runs_again else []
    return ended[-1] if ended else runs[-1]
