# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Applies a wish to a host, or puts back what was there before; says what it did, or would do.

The order: everything is probed and decided, then the record of the host's own values is written, then values are set
and read back, then the files that make them last are written. An interruption anywhere leaves a record that is true.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from ansible_collections.ascend.sglang.plugins.module_utils import (
    files,
    tuning_cpus,
    tuning_files,
    tuning_knobs,
    tuning_ports,
    tuning_watch,
)
from ansible_collections.ascend.sglang.plugins.module_utils.tuning import (
    BY_BOOT_SCRIPT,
    BY_SYSCTL_FILE,
    Decision,
    Knob,
    Record,
    Wish,
    decide,
    read_record,
    record_text,
    remembered,
    wanted_value,
)
from ansible_collections.ascend.sglang.plugins.module_utils.tuning_machine import Machine
from ansible_collections.ascend.sglang.plugins.module_utils.tuning_rivals import GOVERNOR, RESERVED_PORTS, Rival, same

_MODES = {tuning_files.BOOT_SCRIPT: 0o755}
_SYSTEMCTL_SECONDS = 60.0

# What became of a knob.
KEPT = "kept"
SET = "set"
SKIPPED = "skipped"
REFUSED = "refused"
RESTORED = "restored"


class Outcome(NamedTuple):
    """What became of one knob."""

    name: str
    setting: str
    before: str | None  # at the beginning of this run
    wanted: str
    now: str | None
    status: str
    why: str
    lasts_by: str  # the file that makes it last; empty: none

    @property
    def changed(self) -> bool:
        return self.before != self.now


class Report(NamedTuple):
    """What was done, or would be."""

    outcomes: list[Outcome]
    files: list[dict[str, str]]  # path, before, after: those that changed
    rivals: list[Rival]

    @property
    def changed(self) -> bool:
        return bool(self.files) or any(outcome.changed for outcome in self.outcomes)

    @property
    def missed(self) -> list[Outcome]:
        """What did not become as it was wanted."""
        return [outcome for outcome in self.outcomes if outcome.status in (SKIPPED, REFUSED)]


class _Plan(NamedTuple):
    """All that is decided before anything is changed."""

    forward: list[Decision]
    back: list[Decision]
    record: Record  # as it was found
    added_ports: frozenset[int]  # that will be the role's own afterwards


class NotPossibleError(Exception):
    """Something that was asked for cannot be had, and that was to be fatal. Nothing was changed."""


class SystemdRefusedError(Exception):
    """systemd did not do what it was told; the message is its answer."""


def plan(machine: Machine, wish: Wish) -> _Plan:
    """Probe the host and decide.

    :raises ValueError: a record that cannot be used.
    """
    text = machine.text(tuning_files.RECORD)
    if text is None and machine.exists(tuning_files.RECORD):
        # Taking it for none would write another one over the host's own values.
        text = ""
    record = read_record(tuning_files.RECORD, text)
    forward, back = [], []
    added = record.added_ports
    for knob in tuning_knobs.knobs(machine, wish, record):
        wanted, ours = wanted_value(wish, knob, record)
        if wanted is not None:
            decision = decide(knob, wanted)
            forward.append(decision)
            if knob.setting == RESERVED_PORTS and decision.action != "skip":
                added = ours
        elif knob.setting == RESERVED_PORTS:
            others = tuning_ports.parse(knob.value or "") - record.added_ports
            back.append(decide(knob, tuning_ports.format_ports(others)))
        else:
            back.append(decide(knob, record.before[knob.name]))
    return _Plan(forward, back, record, added)


def apply(machine: Machine, wish: Wish, check: bool = False, strict: bool = False) -> Report:
    """Bring the host to the wish; an empty one puts everything back.

    :param check: change nothing, and say what would be changed.
    :param strict: what cannot be had is an error, raised before anything is changed.
    :raises NotPossibleError: only with ``strict``.
    """
    decided = plan(machine, wish)
    if strict:
        missed = [_as_found(decision) for decision in decided.forward if decision.action == "skip"]
        if missed:
            raise NotPossibleError("; ".join(sentences(missed)))
    record = remembered(decided.record, decided.forward, decided.added_ports)
    # First the way back is written down, then anything is changed.
    changes = _write_record(machine, record, check)
    outcomes = [_carry_out(machine, decision, SET, check) for decision in decided.forward]
    returned = [_carry_out(machine, decision, RESTORED, check) for decision in decided.back]
    outcomes = [_lasting(outcome, decision.knob) for outcome, decision in zip(outcomes, decided.forward)]
    changes += _write_files(machine, _texts(machine, decided.forward, outcomes), check)
    changes += _write_record(machine, _without(record, decided.back, returned), check)
    lasting = {outcome.setting: outcome.wanted for outcome in outcomes if outcome.lasts_by}
    in_file = {o.setting: o.wanted for o in outcomes if o.lasts_by == tuning_files.SYSCTL_FILE}
    return Report(outcomes + returned, _merged(changes), tuning_watch.rivals(machine, lasting, in_file))


def _as_found(decision: Decision) -> Outcome:
    knob = decision.knob
    status = SKIPPED if decision.action == "skip" else KEPT
    return Outcome(knob.name, knob.setting, knob.value, decision.wanted, knob.value, status, decision.why, "")


def _carry_out(machine: Machine, decision: Decision, done: str, check: bool) -> Outcome:
    """Set the value, read it back, and say what came of it."""
    outcome = _as_found(decision)
    if decision.action != "set":
        return outcome
    if check:
        return outcome._replace(now=decision.wanted, status=done)
    knob = decision.knob
    # CPUs may share one policy: what was set through another one needs no second write.
    now = _again(machine, knob)
    if now is not None and same(knob.setting, now, decision.wanted):
        return outcome._replace(now=now, status=done)
    refusal = machine.put(knob.path, decision.wanted)
    now = _again(machine, knob)
    if now is not None and same(knob.setting, now, decision.wanted):
        return outcome._replace(now=now, status=done)
    return outcome._replace(now=now, status=REFUSED, why=refusal or f"it was written, and reads {now} afterwards")


def _again(machine: Machine, knob: Knob) -> str | None:
    return tuning_knobs.knob_named(machine, knob.name).value


def _lasting(outcome: Outcome, knob: Knob) -> Outcome:
    """With the file that makes it last, where the value took effect."""
    places = {BY_SYSCTL_FILE: tuning_files.SYSCTL_FILE, BY_BOOT_SCRIPT: tuning_files.BOOT_SCRIPT}
    return outcome._replace(lasts_by=places[knob.lasts_by]) if outcome.status in (KEPT, SET) else outcome


def _texts(machine: Machine, decisions: list[Decision], outcomes: list[Outcome]) -> dict[str, str | None]:
    """The role's files for what took effect."""
    sysctl: dict[str, str] = {}
    at_boot: dict[str, str] = {}
    governor = debugfs = None
    for decision, outcome in zip(decisions, outcomes):
        if outcome.lasts_by == tuning_files.SYSCTL_FILE:
            sysctl[outcome.setting] = decision.wanted
        elif outcome.lasts_by and outcome.setting == GOVERNOR:
            governor = decision.wanted
        elif outcome.lasts_by:
            at_boot[decision.knob.path] = decision.wanted
            if decision.knob.path.startswith(machine.debugfs + "/") and machine.debugfs_is_private:
                debugfs = machine.debugfs
    script = tuning_files.script_text(governor, tuning_knobs.cpu_directory(machine), at_boot, debugfs)
    return tuning_files.files(tuning_files.sysctl_text(sysctl), script)


def _without(record: Record, decisions: list[Decision], outcomes: list[Outcome]) -> Record:
    """The record without what has been put back, and without what does not exist any more."""
    before = dict(record.before)
    added = record.added_ports
    for decision, outcome in zip(decisions, outcomes):
        if outcome.status in (KEPT, RESTORED) or not decision.knob.exists:
            before.pop(outcome.name, None)
            if outcome.setting == RESERVED_PORTS:
                added = frozenset()
    return Record(before, added)


def _write_record(machine: Machine, record: Record, check: bool) -> list[dict[str, str]]:
    changes = _write(machine, {tuning_files.RECORD: record_text(record)}, check)
    if changes and not check and not machine.exists(tuning_files.RECORD):
        files.remove_if_empty(os.path.dirname(machine.real(tuning_files.RECORD)))
    return changes


def _write(machine: Machine, texts: dict[str, str | None], check: bool) -> list[dict[str, str]]:
    """Make the files as they have to be; those that were not, with their text before and after."""
    changes = []
    for path, text in texts.items():
        real, mode = machine.real(path), _MODES.get(path, 0o644)
        found = files.look(real)
        if (found is None and text is None) or (found and (found.text, found.mode) == (text, mode)):
            continue
        changes.append({"path": path, "before": found.text if found else "", "after": text or ""})
        if check:
            continue
        if text is None:
            files.remove(real)
        else:
            files.write(real, text.encode(), mode)
    return changes


def _write_files(machine: Machine, texts: dict[str, str | None], check: bool) -> list[dict[str, str]]:
    """The files that make values last. The unit is never started: what it sets has just been set."""
    wanted = texts[tuning_files.UNIT] is not None
    if not wanted and machine.exists(tuning_files.UNIT) and not check:
        _systemctl(machine, "stop", tuning_files.UNIT_NAME)
    changes = _write(machine, texts, check) + _link(machine, wanted, check)
    if check or not changes:
        return changes
    if any(change["path"] in (tuning_files.UNIT, tuning_files.UNIT_LINK) for change in changes):
        _systemctl(machine, "daemon-reload")
    if not wanted:
        files.remove_if_empty(os.path.dirname(machine.real(tuning_files.BOOT_SCRIPT)))
    return changes


def _link(machine: Machine, wanted: bool, check: bool) -> list[dict[str, str]]:
    """What `systemctl enable` makes."""
    real = machine.real(tuning_files.UNIT_LINK)
    found = os.readlink(real) if os.path.islink(real) else ""
    target = tuning_files.UNIT if wanted else ""
    if found == target and (wanted or not os.path.lexists(real)):
        return []
    if not check:
        files.remove(real)
        if wanted:
            files.make_directory(os.path.dirname(real), 0o755)
            os.symlink(target, real)
    return [{"path": tuning_files.UNIT_LINK, "before": found, "after": target}]


def _systemctl(machine: Machine, *words: str) -> None:
    if not machine.is_real or not machine.exists("/run/systemd/system"):
        return
    answer = machine.ask(["systemctl", *words], _SYSTEMCTL_SECONDS)
    if answer.rc != 0:
        raise SystemdRefusedError(f"systemctl {' '.join(words)}: {(answer.err or answer.out).strip()}")


def _merged(changes: list[dict[str, str]]) -> list[dict[str, str]]:
    """One entry for each file: from its first text to its last."""
    by_path: dict[str, dict[str, str]] = {}
    for change in changes:
        first = by_path.setdefault(change["path"], change)
        by_path[change["path"]] = {**change, "before": first["before"]}
    return [change for change in by_path.values() if change["before"] != change["after"]]


def sentences(outcomes: list[Outcome]) -> list[str]:
    """A line for each thing that did not become as wanted; CPUs with one fate share one."""
    groups: dict[tuple[str, str, str, str], list[str]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.setting, outcome.status, outcome.wanted, outcome.why), []).append(outcome.name)
    lines = []
    for (setting, status, wanted, why), names in groups.items():
        what = setting + _of_cpus(setting, names)
        did = "is left as it is" if status == SKIPPED else f"was to be {wanted} and is not"
        lines.append(f"{what} {did}: {why}")
    return lines


def changes_told(report: Report) -> list[str]:
    """A line for each change: values first, then files."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for outcome in report.outcomes:
        if outcome.changed:
            values = (outcome.setting, outcome.before or "nothing", outcome.now or "nothing")
            groups.setdefault(values, []).append(outcome.name)
    lines = [
        f"{setting}{_of_cpus(setting, names)}: {before} -> {now}" for (setting, before, now), names in groups.items()
    ]
    for change in report.files:
        lines.append(f"{change['path']}: " + ("written" if change["after"] else "removed"))
    return lines


def _of_cpus(setting: str, names: list[str]) -> str:
    cpus = [name.partition(" ")[2] for name in names]
    return f" of {tuning_cpus.format_cpus(cpus)}" if setting == GOVERNOR and all(cpus) else ""
