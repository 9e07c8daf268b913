# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what a host should run and what it does run to the steps between them. Decides; does nothing.

The same steps are told in check mode and carried out otherwise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ansible_collections.ascend.sglang.plugins.module_utils import launch_script, secret_launcher, unit_file
from ansible_collections.ascend.sglang.plugins.module_utils.files import Found
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout
from ansible_collections.ascend.sglang.plugins.module_utils.listeners import Listener
from ansible_collections.ascend.sglang.plugins.module_utils.plan_service import PlanService
from ansible_collections.ascend.sglang.plugins.module_utils.systemd import UnitState


class ReconcileError(RuntimeError):
    """The host is in a state from which it must not be changed. The message says why and what to do."""


@dataclass(frozen=True)
class File:
    """A file as it should be. ``secret`` keeps its content out of every output."""

    path: str
    content: bytes
    mode: int
    secret: bool = False


@dataclass(frozen=True)
class Desired:
    """A service that should run: its files, and the digest that its process should carry."""

    service: PlanService
    files: tuple[File, ...]
    gone: tuple[str, ...]
    digest: str

    @property
    def unit(self) -> str:
        return self.service.unit


@dataclass(frozen=True)
class Observed:
    """What a host shows of one unit.

    files: by path, only those that exist; facts: our section of its unit file, None where the unit is not ours or
    does not exist; launch: the digest that its running process was started with.
    """

    state: UnitState
    files: Mapping[str, Found] = field(default_factory=dict)
    facts: Mapping[str, str] | None = None
    launch: str | None = None
    leftovers: tuple[str, ...] = ()

    @property
    def unit(self) -> str:
        return self.state.unit

    @property
    def ours(self) -> bool:
        """Made by this collection: its unit file says so, or its process (when somebody removed the file)."""
        return self.facts is not None or self.launch is not None


@dataclass(frozen=True)
class Step:
    """One thing to do. ``kind`` is write, remove, reload, enable, disable, start, restart, stop or forget."""

    kind: str
    unit: str
    sentence: str
    file: File | None = None
    path: str = ""
    reason: str = ""


def desired(
    service: PlanService,
    layout: Layout,
    options: unit_file.UnitOptions,
    cxx_abi: str | None,
    secrets_text: str,
    secrets_mark: str,
) -> Desired:
    """The files of a service that should run.

    :param secrets_text: the text of its secrets.env; empty when it has no secrets.
    """
    unit = service.unit
    directory = Layout().directory(unit)
    launch = launch_script.render(service, directory, cxx_abi)
    rendered = unit_file.render(service, options, launch, secrets_mark)
    files = [File(layout.launch(unit), launch.encode(), 0o755)]
    secret_paths = (layout.launcher(unit), layout.secrets(unit))
    if service.secrets:
        files.append(File(secret_paths[0], launcher_text().encode(), 0o644))
        files.append(File(secret_paths[1], secrets_text.encode(), 0o600, secret=True))
    files.append(File(layout.unit_file(unit), rendered.text.encode(), 0o644))
    return Desired(service, tuple(files), () if service.secrets else secret_paths, rendered.digest)


def launcher_text() -> str:
    """The source of secret_launcher, wherever Ansible has put it (a zip file, on a host)."""
    loader = secret_launcher.__spec__.loader  # type: ignore[union-attr]
    text = loader.get_source(secret_launcher.__name__)  # type: ignore[union-attr]
    if not text:
        raise ReconcileError("the source of secret_launcher cannot be read; is this collection installed as a whole?")
    return str(text)


def to_start(
    wanted: Sequence[Desired], observed: Mapping[str, Observed], restart: Mapping[str, str], layout: Layout
) -> list[Step]:
    """The steps after which all wanted services run with their configuration.

    :param restart: unit -> why it has to be restarted although its own configuration is the same.
    """
    steps: list[Step] = []
    ends: list[Step] = []
    for want in wanted:
        there = observed[want.unit]
        _refuse_foreign(there, layout)
        steps += _file_steps(want, there)
        if not there.state.enabled:
            ends.append(Step("enable", want.unit, f"enable {want.unit} at boot"))
        run = _run_step(want, there, restart.get(want.unit), layout)
        if run:
            ends.append(run)
    unit_paths = {layout.unit_file(want.unit) for want in wanted}
    written = [step for step in steps if step.kind == "write" and step.file and step.file.path in unit_paths]
    if written or any(observed[want.unit].state.reload_needed for want in wanted):
        steps.append(Step("reload", "", "make systemd read its units again"))
    return steps + ends


def to_halt(units: Sequence[Observed]) -> list[Step]:
    """The steps after which none of these units runs; whether they start at boot stays as it is."""
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
    """The steps after which none of these units runs, nor starts at boot."""
    return to_halt(units) + [
        Step("disable", there.unit, f"do not start {there.unit} at boot")
        for there in units
        if there.ours and there.state.enabled
    ]


def to_remove(units: Sequence[Observed], layout: Layout, keep_logs: bool) -> list[Step]:
    """The steps after which nothing of these units is left."""
    steps = to_stop(units)
    unit_files = {layout.unit_file(there.unit) for there in units}
    for there in units:
        paths = [*sorted(there.files), *there.leftovers]
        kept = layout.log_directories(there.unit) if keep_logs else ()
        steps += [Step("remove", there.unit, f"remove {path}", path=path) for path in paths if path not in kept]
    if any(step.path in unit_files for step in steps):
        steps.append(Step("reload", "", "make systemd read its units again"))
    return steps


def refuse_taken_ports(
    wanted: Sequence[Desired], steps: Sequence[Step], listeners: Sequence[Listener], ours: set[str]
) -> None:
    """Raise where a service that is about to start would find one of its ports taken.

    :param ours: units of the plan on this host, and those about to be removed; their listeners are no obstacle.
    """
    starting = {step.unit for step in steps if step.kind in ("start", "restart")}
    problems = []
    for want in wanted:
        if want.unit not in starting:
            continue
        for listener in listeners:
            name = _port_name(want.service, listener.port)
            if name and listener.unit not in ours:
                problems.append(f"{want.unit} needs port {listener.port} ({name}), which is held by {listener}")
    if problems:
        raise ReconcileError(
            "; ".join(problems) + ". Nothing was changed. End that process, or move the port in the settings: "
            "a taken port is noticed by the engine only after the whole model is loaded."
        )


def _port_name(service: PlanService, port: int) -> str | None:
    for name, number in service.ports:
        if number == port:
            return name
    for name, first, last in service.port_ranges:
        if first <= port <= last:
            return f"{name} {first}-{last}"
    return None


def _refuse_foreign(there: Observed, layout: Layout) -> None:
    if there.state.load not in ("not-found", "") and not there.ours:
        where = layout.unit_file(there.unit)
        masked = " (it is masked)" if there.state.load == "masked" else ""
        raise ReconcileError(
            f"a unit {there.unit}.service exists on this host that this collection did not make{masked}; nothing was "
            f"changed. Look at it with 'systemctl cat {there.unit}', and rename, unmask or remove it ({where})."
        )


def _file_steps(want: Desired, there: Observed) -> list[Step]:
    steps = []
    for file in want.files:
        found = there.files.get(file.path)
        if found is None:
            steps.append(Step("write", want.unit, f"create {file.path}", file))
        elif found.content != file.content:
            steps.append(Step("write", want.unit, f"change {file.path}", file))
        elif found.mode != file.mode or (found.uid, found.gid) != (0, 0):
            steps.append(Step("write", want.unit, f"set owner root and mode {file.mode:04o} of {file.path}", file))
    for path in want.gone:
        if path in there.files:
            steps.append(Step("remove", want.unit, f"remove {path}", path=path))
    return steps


def _run_step(want: Desired, there: Observed, named: str | None, layout: Layout) -> Step | None:
    state = there.state
    if not state.running:
        reason = _why_not_running(there)
        # systemd refuses to start at once what waits to be tried again; restarting it is what it wants.
        kind = "restart" if state.active == "activating" else "start"
        return Step(kind, want.unit, f"{kind} {want.unit} because {reason}", reason=reason)
    if there.launch == want.digest:
        if named is None:
            return None
        reason = named
    else:
        reason = _why_other(want, there, layout)
    return Step("restart", want.unit, f"restart {want.unit} because {reason}", reason=reason)


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
