# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what a host should run and what it does run to the steps between them. Decides; does nothing.

The same steps are told in check mode and carried out otherwise.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils import (
    guard_files,
    history,
    launch_script,
    plan_service,
    secret_launcher,
    unit_file,
)
from ansible_collections.ascend.sglang.plugins.module_utils.files import Found
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout, guard_of
from ansible_collections.ascend.sglang.plugins.module_utils.listeners import Listener
from ansible_collections.ascend.sglang.plugins.module_utils.plan_service import PlanService
from ansible_collections.ascend.sglang.plugins.module_utils.systemd import UnitState

GUARD_PORT = "guard"
"""The one of a service's ports on which its guard listens, not itself."""


class ReconcileError(RuntimeError):
    """The host is in a state from which it must not be changed. The message says why and what to do."""


@dataclass(frozen=True)
class File:
    """A file as it should be. ``secret`` keeps its content out of every output; ``code`` is no configuration."""

    path: str
    content: bytes
    mode: int
    secret: bool = False
    code: bool = False

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


@dataclass(frozen=True)
class Desired:
    """A service that should run: its files, and the digests that its process and its guard's should carry.

    guard: None where it should have no guard. ports, port_ranges: what it listens on.
    """

    unit: str
    role: str
    files: tuple[File, ...]
    digest: str
    guard: str | None
    ports: tuple[tuple[str, int], ...]
    port_ranges: tuple[tuple[str, int, int], ...]

    @property
    def fingerprint(self) -> str:
        return history.fingerprint({file.path: file.content for file in self.files if not file.code})


@dataclass(frozen=True)
class Guard:
    """What a host shows of the guard of a unit. ours: its unit file, or its process, says so."""

    state: UnitState
    ours: bool = False
    launch: str | None = None


@dataclass(frozen=True)
class Observed:
    """What a host shows of one unit.

    files: by path, only those that exist; facts: our section of its unit file, None where the unit is not ours or
    does not exist; launch: the digest that its running process was started with; leftovers: other things of it, files
    and directories; history: its earlier configurations.
    """

    state: UnitState
    files: Mapping[str, Found] = field(default_factory=dict)
    facts: Mapping[str, str] | None = None
    launch: str | None = None
    leftovers: tuple[str, ...] = ()
    guard: Guard | None = None
    history: tuple[history.Entry, ...] = ()

    @property
    def unit(self) -> str:
        return self.state.unit

    @property
    def ours(self) -> bool:
        """Made by this collection: its unit file says so, or its process (when somebody removed the file)."""
        return self.facts is not None or self.launch is not None

    @property
    def guarded(self) -> bool:
        return self.guard is not None and self.guard.ours

    def state_of(self, name: str) -> UnitState:
        """The state of the unit itself, or of its guard."""
        return self.guard.state if self.guard is not None and name == self.guard.state.unit else self.state


@dataclass(frozen=True)
class Step:
    """One thing to do for a unit.

    ``kind`` is keep, write, remove, reload, enable, disable, start, restart, stop or forget. ``target`` is what
    systemctl acts on where that is not the unit itself but its guard.
    """

    kind: str
    unit: str
    sentence: str
    file: File | None = None
    path: str = ""
    reason: str = ""
    target: str = ""
    entry: history.Entry | None = None

    @property
    def acts_on(self) -> str:
        return self.target or self.unit


@dataclass(frozen=True)
class Change:
    """The change that a run makes: what the user calls it, and when it is."""

    name: str = ""
    at: str = ""


def record_text(service: Mapping[str, Any]) -> str:
    """The text of the service.json of a service as the plan has it."""
    return json.dumps(service, indent=1, sort_keys=True) + "\n"


def desired(
    service: PlanService,
    layout: Layout,
    options: unit_file.UnitOptions,
    cxx_abi: str | None,
    secrets_text: str,
    secrets_mark: str,
    record: str = "{}",
    python: str = sys.executable,
) -> Desired:
    """The files of a service that should run.

    :param secrets_text: the text of its secrets.env; empty when it has no secrets.
    :param record: the service as the plan has it, as JSON.
    :param python: the interpreter that runs its guard.
    """
    unit = service.unit
    directory = Layout().directory(unit)
    launch = launch_script.render(service, directory, cxx_abi)
    rendered = unit_file.render(service, options, launch, secrets_mark)
    files = [File(layout.launch(unit), launch.encode(), 0o755), File(layout.service(unit), record.encode(), 0o644)]
    if service.secrets:
        files.append(_launcher(layout, unit))
        files.append(File(layout.secrets(unit), secrets_text.encode(), 0o600, secret=True))
    if service.guard is not None:
        code = guard_files.code()
        config = guard_files.config(unit, service.guard)
        text = guard_files.unit_text(unit, service.title, python, config, code)
        files += _guard_code(layout, unit, code)
        files.append(File(layout.guard_config(unit), config.encode(), 0o644))
        files.append(File(layout.unit_file(guard_of(unit)), text.encode(), 0o644))
    files.append(File(layout.unit_file(unit), rendered.text.encode(), 0o644))
    return _desired(unit, service.role, files, layout, service.ports, service.port_ranges)


def restored(unit: str, found: Mapping[str, Found], layout: Layout) -> Desired:
    """A configuration that was there before, from its files.

    :param found: by path; code that is not among them is this collection's.
    """
    facts = unit_file.facts(found[layout.unit_file(unit)].text) if layout.unit_file(unit) in found else None
    if facts is None:
        raise ReconcileError(f"what is kept of {unit} has no unit file of ours; nothing was changed")
    files = [
        File(
            path,
            there.content,
            there.mode,
            path == layout.secrets(unit),
            path not in history.config_paths(layout, unit),
        )
        for path, there in found.items()
    ]
    if layout.secrets(unit) in found and layout.launcher(unit) not in found:
        files.append(_launcher(layout, unit))
    # guard.json stands beside the package and begins like it.
    has_code = any(file.path.startswith(layout.guard_code(unit) + "/") for file in files)
    if layout.guard_config(unit) in found and not has_code:
        files += _guard_code(layout, unit, guard_files.code())
    try:
        service = plan_service.parse(json.loads(found[layout.service(unit)].text))
        ports, ranges = service.ports, service.port_ranges
    except (KeyError, ValueError):  # of before there was a record
        pairs = [pair.partition(":")[::2] for pair in facts.get("ports", "").split()]
        ports, ranges = tuple((name, int(port)) for name, port in pairs), ()
    return _desired(unit, facts["role"], files, layout, ports, ranges)


def _desired(
    unit: str,
    role: str,
    files: Sequence[File],
    layout: Layout,
    ports: tuple[tuple[str, int], ...],
    ranges: tuple[tuple[str, int, int], ...],
) -> Desired:
    texts = {file.path: file.content.decode("utf-8", "replace") for file in files}
    guard = layout.unit_file(guard_of(unit))
    return Desired(
        unit,
        role,
        tuple(files),
        unit_file.launch_digest(texts[layout.unit_file(unit)]) or "",
        unit_file.launch_digest(texts[guard]) if guard in texts else None,
        ports,
        ranges,
    )


def _launcher(layout: Layout, unit: str) -> File:
    return File(layout.launcher(unit), guard_files.source(secret_launcher).encode(), 0o644, code=True)


def _guard_code(layout: Layout, unit: str, code: Mapping[str, str]) -> list[File]:
    directory = layout.guard_code(unit)
    return [File(os.path.join(directory, name), text.encode(), 0o644, code=True) for name, text in code.items()]


def to_start(
    wanted: Sequence[Desired],
    observed: Mapping[str, Observed],
    restart: Mapping[str, str],
    layout: Layout,
    change: Change | None = None,
) -> list[Step]:
    """The steps after which all wanted services run with their configuration, and their guards.

    :param restart: unit -> why it has to be restarted although its own configuration is the same.
    :param change: what a replaced configuration is kept under; None keeps none.
    """
    steps: list[Step] = []
    enables: list[Step] = []
    runs: list[Step] = []
    for want in wanted:
        there = observed[want.unit]
        _refuse_foreign(there, layout)
        written = _file_steps(want, there, layout)
        if change is not None:
            steps += _keep(want, there, written, layout, change)
        if want.guard is None and there.guarded:
            steps += _guard_ends(there)
        steps += written
        guard = guard_of(want.unit)
        if want.guard is not None and not (there.guard and there.guard.state.enabled):
            enables.append(Step("enable", want.unit, f"enable {guard} at boot", target=guard))
        if not there.state.enabled:
            enables.append(Step("enable", want.unit, f"enable {want.unit} at boot"))
        runs += _guard_run(want, there)
        run = _run_step(want, there, restart.get(want.unit), layout)
        if run:
            runs.append(run)
    unit_paths = {layout.unit_file(name) for want in wanted for name in (want.unit, guard_of(want.unit))}
    touched = [step for step in steps if (step.file.path if step.file else step.path) in unit_paths]
    if touched or any(_reload_needed(observed[want.unit]) for want in wanted):
        steps.append(Step("reload", "", "make systemd read its units again"))
    return steps + enables + runs


def _reload_needed(there: Observed) -> bool:
    return there.state.reload_needed or (there.guarded and there.state_of(guard_of(there.unit)).reload_needed)


def _keep(want: Desired, there: Observed, written: Sequence[Step], layout: Layout, change: Change) -> list[Step]:
    """Keep the present configuration where it changes, unless that was done when this change was begun."""
    if not any(not step.file.code if step.file else step.path in there.files for step in written):
        return []
    kept = _kept(there, layout)
    if layout.unit_file(want.unit) not in kept:
        if there.history:
            return []  # an earlier run broke off, or somebody removed a file: this is no configuration to return to
        kept = {}
    if there.history and there.history[-1].becomes == want.fingerprint:
        return []
    what = f"the configuration of {want.unit}" if kept else f"that there was no {want.unit}"
    return [_keep_step(want.unit, want.role, kept, want.fingerprint, what, there, layout, change)]


def _kept(there: Observed, layout: Layout) -> dict[str, Found]:
    paths = history.config_paths(layout, there.unit)
    return {path: found for path, found in there.files.items() if path in paths}


def _keep_step(
    unit: str,
    role: str,
    kept: Mapping[str, Found],
    becomes: str,
    what: str,
    there: Observed,
    layout: Layout,
    change: Change,
) -> Step:
    number = there.history[-1].number + 1 if there.history else 1
    entry = history.Entry(number, change.name, change.at, becomes, role, kept)
    path = history.directory(layout, unit, number)
    return Step("keep", unit, f"keep {what} in {path}", entry=entry)


def to_halt(units: Sequence[Observed]) -> list[Step]:
    """The steps after which none of these units runs. Whether they start at boot stays as it is, and so do guards."""
    stops, forgets = [], []
    for there in units:
        if not there.ours:
            continue
        if there.state.active not in ("inactive", "failed") or there.state.job:
            stops.append(Step("stop", there.unit, f"stop {there.unit}"))
        elif there.state.active == "failed":
            forgets.append(Step("forget", there.unit, f"forget the failure of {there.unit}"))
    return stops + forgets


def to_stop(units: Sequence[Observed]) -> list[Step]:
    """The steps after which none of these units runs, nor starts at boot; nor do their guards."""
    ends = [step for there in units if there.guarded for step in _guard_ends(there)]
    # In one call: the guards' units are ordered so that they end after their services, which others see go.
    halts = to_halt(units)
    stops = [step for step in halts if step.kind == "stop"] + [step for step in ends if step.kind == "stop"]
    disables = [
        Step("disable", there.unit, f"do not start {there.unit} at boot")
        for there in units
        if there.ours and there.state.enabled
    ]
    return (
        stops
        + [step for step in halts + ends if step.kind == "forget"]
        + disables
        + [step for step in ends if step.kind == "disable"]
    )


def _guard_ends(there: Observed) -> list[Step]:
    """A guard is stopped and does not start at boot."""
    guard = guard_of(there.unit)
    state, steps = there.state_of(guard), []
    if state.active not in ("inactive", "failed") or state.job:
        steps.append(Step("stop", there.unit, f"stop {guard}", target=guard))
    elif state.active == "failed":
        steps.append(Step("forget", there.unit, f"forget the failure of {guard}", target=guard))
    if state.enabled:
        steps.append(Step("disable", there.unit, f"do not start {guard} at boot", target=guard))
    return steps


def to_remove(
    units: Sequence[Observed], layout: Layout, keep_logs: bool, change: Change | None = None, forget: bool = True
) -> list[Step]:
    """The steps after which nothing of these units is left.

    :param change: what their configurations are kept under; None keeps none.
    :param forget: remove their earlier configurations too.
    """
    steps = [] if change is None else [step for there in units for step in _keep_removed(there, layout, change)]
    steps += to_stop(units)
    unit_files = {layout.unit_file(name) for there in units for name in (there.unit, guard_of(there.unit))}
    for there in units:
        code = layout.guard_code(there.unit)
        paths = [*sorted(path for path in there.files if not path.startswith(code + "/")), *there.leftovers]
        kept = layout.log_directories(there.unit) if keep_logs else ()
        if forget and there.history:
            paths.append(layout.history(there.unit))
        steps += [Step("remove", there.unit, f"remove {path}", path=path) for path in paths if path not in kept]
    if any(step.path in unit_files for step in steps):
        steps.append(Step("reload", "", "make systemd read its units again"))
    return steps


def _keep_removed(there: Observed, layout: Layout, change: Change) -> list[Step]:
    kept = _kept(there, layout)
    # Without its unit file it is what a removal that broke off left.
    if layout.unit_file(there.unit) not in kept or (there.history and there.history[-1].becomes == ""):
        return []
    role, what = (there.facts or {}).get("role", ""), f"the configuration of {there.unit}"
    return [_keep_step(there.unit, role, kept, "", what, there, layout, change)]


def to_roll_back(
    units: Mapping[str, Observed], change: str, restart: Mapping[str, str], layout: Layout
) -> tuple[list[Step], list[Desired]]:
    """The steps after which the units have the configuration that they had before a change, and what is then wanted.

    :param change: see history.to_undo.
    :param restart: unit -> why it has to be started anew although it stays as it is.
    """
    wanted, removed, forgets = [], [], []
    for unit, there in units.items():
        undone = history.to_undo(there.history, change)
        forgets += [
            Step("remove", unit, f"forget {path}", path=path)
            for path in (history.directory(layout, unit, entry.number) for entry in undone)
        ]
        if not undone:
            if unit in restart:
                wanted.append(restored(unit, there.files, layout))
        elif undone[0].is_nothing:
            removed.append(there)
        else:
            wanted.append(restored(unit, undone[0].files, layout))
    steps = to_remove(removed, layout, keep_logs=False, forget=False)
    return steps + to_start(wanted, units, restart, layout) + forgets, wanted


def refuse_taken_ports(
    wanted: Sequence[Desired], steps: Sequence[Step], listeners: Sequence[Listener], ours: set[str]
) -> None:
    """Raise where a service, or its guard, that is about to start would find one of its ports taken.

    :param ours: units of the plan on this host, and those about to be removed; their listeners, and their guards', are
        no obstacle.
    """
    starting = {step.acts_on for step in steps if step.kind in ("start", "restart")}
    ours = ours | {guard_of(unit) for unit in ours}
    problems = []
    for want in wanted:
        for listener in listeners:
            name = _port_name(want, listener.port)
            starts = guard_of(want.unit) if name == GUARD_PORT else want.unit
            if name and starts in starting and listener.unit not in ours:
                problems.append(f"{starts} needs port {listener.port} ({name}), which is held by {listener}")
    if problems:
        raise ReconcileError(
            "; ".join(problems) + ". Nothing was changed. End that process, or move the port in the settings: "
            "a taken port is noticed by the engine only after the whole model is loaded."
        )


def _port_name(want: Desired, port: int) -> str | None:
    for name, number in want.ports:
        if number == port:
            return name
    for name, first, last in want.port_ranges:
        if first <= port <= last:
            return f"{name} {first}-{last}"
    return None


def _refuse_foreign(there: Observed, layout: Layout) -> None:
    guard = there.guard
    for state, ours in ((there.state, there.ours), *([(guard.state, guard.ours)] if guard else [])):
        if state.load not in ("not-found", "") and not ours:
            where = layout.unit_file(state.unit)
            masked = " (it is masked)" if state.load == "masked" else ""
            raise ReconcileError(
                f"a unit {state.unit}.service exists on this host that this collection did not make{masked}; nothing "
                f"was changed. Look at it with 'systemctl cat {state.unit}', and rename, unmask or remove it ({where})."
            )


def _file_steps(want: Desired, there: Observed, layout: Layout) -> list[Step]:
    steps = []
    for file in want.files:
        found = there.files.get(file.path)
        if found is None:
            steps.append(Step("write", want.unit, f"create {file.path}", file))
        elif found.sha256 != file.sha256:
            steps.append(Step("write", want.unit, f"change {file.path}", file))
        elif found.mode != file.mode or (found.uid, found.gid) != (0, 0):
            steps.append(Step("write", want.unit, f"set owner root and mode {file.mode:04o} of {file.path}", file))
    paths = {file.path for file in want.files}
    unwanted = [path for path in there.files if path not in paths]
    if want.guard is None:
        code = layout.guard_code(want.unit)
        unwanted = [path for path in unwanted if not path.startswith(code + "/")]
        unwanted += [path for path in there.leftovers if path in (code, layout.guard_memory(want.unit))]
    return steps + [Step("remove", want.unit, f"remove {path}", path=path) for path in unwanted]


def _guard_run(want: Desired, there: Observed) -> list[Step]:
    """Start a guard, or start it anew with another configuration. Before its service, which it sees start then."""
    if want.guard is None:
        return []
    guard = guard_of(want.unit)
    state = there.state_of(guard) if there.guard else None
    if state is not None and state.running:
        if there.guard and there.guard.launch == want.guard:
            return []
        why = "its configuration changes"
        return [Step("restart", want.unit, f"restart {guard} because {why}", target=guard)]
    # systemd refuses to start at once what waits to be tried again.
    kind = "restart" if state is not None and state.active == "activating" else "start"
    return [Step(kind, want.unit, f"{kind} {guard}", target=guard)]


def _run_step(want: Desired, there: Observed, named: str | None, layout: Layout) -> Step | None:
    state = there.state
    if not state.running:
        reason = _why_not_running(there)
        # systemd refuses to start at once what waits to be tried again; restarting it is what it wants.
        kind = "restart" if state.active == "activating" else "start"
        return Step(kind, want.unit, f"{kind} {want.unit} because {reason}", reason=reason)
    if there.launch == want.digest:
        edited = _edited(want, there, layout)
        if not edited and named is None:
            return None
        reason = f"it was started with {edited} as somebody had changed it" if edited else str(named)
    else:
        reason = _why_other(want, there, layout)
    return Step("restart", want.unit, f"restart {want.unit} because {reason}", reason=reason)


def _edited(want: Desired, there: Observed, layout: Layout) -> str:
    """Files that are not as they should be and are older than the process, which therefore began with them."""
    texts = {
        layout.launch(want.unit): lambda text: text,
        layout.unit_file(want.unit): unit_file.process_settings,
    }
    names = []
    for file in want.files:
        found, text = there.files.get(file.path), texts.get(file.path)
        if text is None or found is None or not 0 < found.mtime <= there.state.started:
            continue
        if text(found.text) != text(file.content.decode()):
            names.append(os.path.basename(file.path))
    return " and ".join(names)


def _why_not_running(there: Observed) -> str:
    state = there.state
    if state.load == "not-found":
        return "it is new"
    if state.active == "failed":
        return f"it has failed ({state.result}, {state.ending})"
    if state.sub == "auto-restart" or (state.active == "activating" and state.restarts):
        return f"it died ({state.ending}) and waits to be tried again"
    if state.active == "activating":
        return "it was just being started"
    if state.active == "deactivating":
        return "it is being stopped"
    return "it is not running"


def _why_other(want: Desired, there: Observed, layout: Layout) -> str:
    """Why a running service has another configuration than it should, as exactly as can be told."""
    if there.launch is None:
        return "no process of it tells which configuration it was started with"
    if there.facts is None or there.facts.get("launch") != there.launch:
        return "it still runs with an earlier configuration than that of its files"
    launch = layout.launch(want.unit)
    reasons = []
    old, new = there.files.get(launch), next(file for file in want.files if file.path == launch)
    if old is None or old.content != new.content:
        changed = launch_script.changes(old.text if old else "", new.content.decode())
        reasons.append(f"its launch.sh changes ({changed})" if changed else "its launch.sh changes")
    if any(
        file.secret and (file.path not in there.files or there.files[file.path].content != file.content)
        for file in want.files
    ):
        reasons.append("its secrets change")
    unit_path = layout.unit_file(want.unit)
    old_unit = there.files.get(unit_path)
    new_unit = next(file for file in want.files if file.path == unit_path)
    if not reasons and old_unit is not None:
        reasons.append(f"settings of its unit change ({unit_file.changes(old_unit.text, new_unit.content.decode())})")
    return " and ".join(reasons) or "its configuration changes"
