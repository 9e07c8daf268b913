# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host's services: what is there, and carrying out steps that reconcile decided on."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from itertools import groupby

from ansible_collections.ascend.sglang.plugins.module_utils import files, history, systemd, unit_file
from ansible_collections.ascend.sglang.plugins.module_utils.commands import Run, run
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout, guard_of
from ansible_collections.ascend.sglang.plugins.module_utils.reconcile import Guard, Observed, Step

_SYSTEMCTL_SECONDS = 60.0
_STOP_MARGIN_SECONDS = 60.0
_DEFAULT_STOP_SECONDS = 120

_COMMANDS = {
    "enable": ["enable"],
    "disable": ["disable"],
    # Starting waits for nothing: loading takes tens of minutes, and all nodes of an instance load at once.
    "start": ["--no-block", "start"],
    "restart": ["--no-block", "restart"],
    "stop": ["stop"],
    "forget": ["reset-failed"],
}


class StepError(RuntimeError):
    """A step failed. ``done`` are the sentences of those before it."""

    def __init__(self, step: Step, why: str, done: Sequence[str]) -> None:
        before = f"Done before: {'; '.join(done)}." if done else "Nothing was changed before."
        super().__init__(f"could not {step.sentence}: {why}. {before}")
        self.done = list(done)


class Host:
    """Reads and changes one host, below ``layout.root``."""

    def __init__(self, layout: Layout, ask: Run = run) -> None:
        self.layout = layout
        self._ask = ask
        self.seconds: dict[str, float] = {}
        """How long each unit that was stopped took."""

    def own_units(self) -> list[str]:
        """Units that this collection made, guards left out: by a unit file, or by what an aborted run left."""
        found = set()
        for unit, text in self._unit_files().items():
            guarded = unit_file.guarded(text)
            if guarded is not None:
                found.add(guarded)
            elif unit_file.facts(text) is not None:
                found.add(unit)
        found |= {name for name in _names(self.layout.config) if name.startswith("sglang-")}
        return sorted(found)

    def declared(self) -> dict[str, dict[str, str]]:
        """Units whose file this collection made -> what the file says of them (unit_file.facts)."""
        told = {unit: unit_file.facts(text) for unit, text in self._unit_files().items()}
        return {unit: facts for unit, facts in told.items() if facts is not None}

    def _unit_files(self) -> dict[str, str]:
        names = [name for name in _names(self.layout.units) if name.startswith("sglang-")]
        looked = {
            name[: -len(".service")]: files.look(os.path.join(self.layout.units, name))
            for name in names
            if name.endswith(".service")
        }
        return {unit: there.text for unit, there in looked.items() if there is not None}

    def units_with_history(self) -> list[str]:
        """Units of which there are earlier configurations, whether they exist or not."""
        return [name for name in _names(self.layout.histories) if name.startswith("sglang-")]

    def observe(self, units: Sequence[str]) -> dict[str, Observed]:
        """What is there of each unit."""
        states = systemd.show([*units, *map(guard_of, units)], self._ask)
        return {unit: self._observe(states[unit], states[guard_of(unit)]) for unit in units}

    def _observe(self, state: systemd.UnitState, guard: systemd.UnitState) -> Observed:
        unit, layout = state.unit, self.layout
        code = layout.guard_code(unit)
        paths = [*history.config_paths(layout, unit), layout.launcher(unit)]
        paths += [os.path.join(code, name) for name in _names(code) if name.endswith(".py")]
        found = {path: there for path in paths for there in [files.look(path)] if there is not None}

        def text(path: str) -> str:
            return found[path].text if path in found else ""

        facts = unit_file.facts(text(layout.unit_file(unit)))
        if facts is None:
            found.pop(layout.unit_file(unit), None)  # somebody else's
        guards = unit_file.guarded(text(layout.unit_file(guard.unit))) == unit
        if not guards:
            found.pop(layout.unit_file(guard.unit), None)
        launch = systemd.launch_of(guard)
        leftovers = (code, *layout.data_directories(unit))
        return Observed(
            state,
            found,
            facts,
            systemd.launch_of(state),
            tuple(path for path in leftovers if os.path.lexists(path)),
            Guard(guard, guards or launch is not None, launch),
            history.load(layout, unit),
        )

    def carry_out(self, steps: Sequence[Step], observed: dict[str, Observed]) -> list[str]:
        """Do the steps in order; units of the same kind in a row share one call. Returns their sentences."""
        done: list[str] = []
        for kind, group in groupby(steps, key=lambda step: step.kind):
            batch = list(group)
            if kind in _COMMANDS:
                self._command(kind, batch, observed, done)
                done += [step.sentence for step in batch]
                continue
            for step in batch:
                try:
                    self._do(step)
                except OSError as error:
                    raise StepError(step, str(error), done) from error
                done.append(step.sentence)
        return done

    def _do(self, step: Step) -> None:
        if step.entry is not None:
            history.write(self.layout, step.unit, step.entry)
        elif step.file is not None:
            files.write(step.file.path, step.file.content, step.file.mode)
        elif step.kind == "remove":
            files.remove(step.path)
            for directory in self.layout.shared_directories(step.unit):
                files.remove_if_empty(directory)
        elif step.kind == "reload":
            answer = self._ask(["systemctl", "daemon-reload"], _SYSTEMCTL_SECONDS)
            if answer.rc != 0:
                raise OSError(systemd.explain(answer))

    def _command(self, kind: str, batch: list[Step], observed: dict[str, Observed], done: list[str]) -> None:
        units = [step.acts_on for step in batch]
        seconds = _SYSTEMCTL_SECONDS
        if kind == "stop":
            limits = [(observed[step.unit].facts or {}).get("stop_timeout", "") for step in batch]
            seconds = max(int(limit) if limit.isdigit() else _DEFAULT_STOP_SECONDS for limit in limits)
            seconds += _STOP_MARGIN_SECONDS
        began = time.monotonic()
        answer = self._ask(["systemctl", *_COMMANDS[kind], "--", *(unit + ".service" for unit in units)], seconds)
        if answer.rc != 0:
            raise StepError(batch[0], systemd.explain(answer), done)
        if kind == "stop":
            self._prove_stopped(batch, time.monotonic() - began, observed, done)

    def _prove_stopped(self, batch: list[Step], seconds: float, observed: dict[str, Observed], done: list[str]) -> None:
        """A stop leaves no process: systemd says so, and the control group is empty."""
        after = systemd.show([step.acts_on for step in batch], self._ask)
        for step in batch:
            state = after[step.acts_on]
            left = systemd.processes(observed[step.unit].state_of(step.acts_on).cgroup)
            if state.active not in ("inactive", "failed") or left:
                pids = ", ".join(map(str, left)) or "none"
                raise StepError(step, f"it is still {state.phase}; processes left: {pids}", done)
            self.seconds[step.acts_on] = seconds
        failed = [unit + ".service" for unit, state in after.items() if state.active == "failed"]
        if failed:
            # It had to be killed, or its end looked like a failure: it was asked to end, so that is none.
            self._ask(["systemctl", "reset-failed", "--", *failed], _SYSTEMCTL_SECONDS)


def _names(directory: str) -> list[str]:
    try:
        return sorted(os.listdir(directory))
    except FileNotFoundError:
        return []
