"""Services with guards, and the way back: the whole module on a host below a temporary directory."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import history, listeners, reconcile, systemd, unit_file
from ansible_collections.ascend.sglang.plugins.module_utils.commands import Answer
from ansible_collections.ascend.sglang.plugins.module_utils.host import Host
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout
from ansible_collections.ascend.sglang.plugins.module_utils.listeners import Listener
from ansible_collections.ascend.sglang.plugins.modules import service as module

UNIT, GUARD = "sglang-decode", "sglang-decode-guard"


class Systemd:
    """Answers as systemctl does; a unit that was started runs with what its file said then."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.calls: list[str] = []
        self.started_with: dict[str, str | None] = {}
        self.enabled: set[str] = set()

    def __call__(self, argv: Sequence[str], timeout: float) -> Answer:
        words = list(argv)[1:]
        units = [word[: -len(".service")] for word in words if word.endswith(".service")]
        if words[0] == "show":
            return Answer(0, "\n".join(map(self._show, units)), "")
        verb = next(word for word in words if not word.startswith("-"))
        self.calls.append(" ".join([verb, *units]))
        for unit in units:
            if verb in ("start", "restart"):
                self.started_with[unit] = unit_file.launch_digest(Path(self.layout.unit_file(unit)).read_text())
            elif verb == "stop":
                self.started_with.pop(unit, None)
            elif verb == "enable":
                self.enabled.add(unit)
            elif verb == "disable":
                self.enabled.discard(unit)
        return Answer(0, "", "")

    def _show(self, unit: str) -> str:
        running = unit in self.started_with
        return (
            f"Id={unit}.service\n"
            f"LoadState={'loaded' if Path(self.layout.unit_file(unit)).exists() else 'not-found'}\n"
            f"ActiveState={'active' if running else 'inactive'}\nSubState={'running' if running else 'dead'}\n"
            f"MainPID={2**22 + 1 if running else 0}\n"
            f"UnitFileState={'enabled' if unit in self.enabled else 'disabled'}\n"
        )


class Machine:
    """A host and runs of the module on it."""

    def __init__(self, root: Path) -> None:
        self.layout = Layout(str(root))
        os.makedirs(self.layout.units)
        self.systemd = Systemd(self.layout)

    def run(self, check: bool = False, **params: Any) -> dict[str, Any]:
        """What the module returns."""
        defaults = {name: spec.get("default") for name, spec in module.argument_spec().items()}
        host = Host(self.layout, self.systemd)
        one = module.Reconciler({**defaults, **copy.deepcopy(params)}, host)
        steps = one.steps()
        if not check:
            host.carry_out(steps, one.observed)
        after = host.observe([]) if check else host.observe(sorted({step.unit for step in steps if step.unit}))
        return {
            "actions": [step.sentence.replace(self.layout.root, "") for step in steps],
            "units": one.units(steps, after),
            "diff": module.diffs(steps, one.observed),
        }

    def files(self) -> dict[str, str]:
        """What there is of configurations, by name."""
        unit = [Path(self.layout.directory(UNIT)), Path(self.layout.units)]
        return {path.name: path.read_text() for one in unit if one.exists() for path in one.iterdir() if path.is_file()}

    def kept(self) -> list[tuple[int, str, bool]]:
        return [(one.number, one.change, one.is_nothing) for one in history.load(self.layout, UNIT)]


@pytest.fixture
def machine(tmp_path, monkeypatch) -> Machine:
    machine = Machine(tmp_path)
    monkeypatch.setattr(systemd, "launch_of", lambda state: machine.systemd.started_with.get(state.unit))
    monkeypatch.setattr(listeners, "listening", lambda ports=None: [])
    # A test may run as anybody; on a host all is root's.
    monkeypatch.setattr(os, "geteuid", lambda: 0 if os.getuid() == 0 else 1000)
    return machine


def with_flag(service: dict[str, Any], *words: Any) -> dict[str, Any]:
    return {**service, "argv": [*service["argv"], *words]}


# Guards


def test_a_guard_comes_with_its_service(machine, guarded):
    done = machine.run(services=[guarded])
    assert done["actions"][-5:] == [
        "make systemd read its units again",
        f"enable {GUARD} at boot",
        f"enable {UNIT} at boot",
        f"start {GUARD}",
        f"start {UNIT} because it is new",
    ]
    assert machine.systemd.calls == ["daemon-reload", f"enable {GUARD} {UNIT}", f"start {GUARD} {UNIT}"]
    assert {"guard.json", "service.json", f"{GUARD}.service", f"{UNIT}.service"} <= set(machine.files())
    assert (done["units"][UNIT]["action"], done["units"][UNIT]["guard"]) == ("start", "start")
    assert machine.run(services=[guarded])["actions"] == []
    assert Host(machine.layout, machine.systemd).own_units() == [UNIT]


def test_check_mode_says_the_same_and_does_nothing(machine, guarded):
    said = machine.run(check=True, services=[guarded])
    assert machine.files() == {}
    assert machine.run(services=[guarded])["actions"] == said["actions"]


def test_another_guard_restarts_no_engine(machine, guarded):
    machine.run(services=[guarded])
    guarded["guard"]["gone_seconds"] = 30
    done = machine.run(services=[guarded])
    assert done["actions"][1:] == [
        f"change /etc/ascend-sglang/{UNIT}/service.json",
        f"change /etc/ascend-sglang/{UNIT}/guard.json",
        f"change /etc/systemd/system/{GUARD}.service",
        "make systemd read its units again",
        f"restart {GUARD} because its configuration changes",
    ]
    assert (done["units"][UNIT]["action"], done["units"][UNIT]["guard"]) == ("none", "restart")


def test_other_code_of_the_guard_restarts_no_engine_and_keeps_no_configuration(machine, guarded):
    machine.run(services=[guarded])
    code = Path(machine.layout.guard_code(UNIT))
    (code / "rules.py").write_text("# of an earlier version\n")
    (code / "gone.py").write_text("# of an earlier version\n")
    machine.systemd.started_with[GUARD] = "another"
    assert machine.run(services=[guarded])["actions"] == [
        f"change /etc/ascend-sglang/{UNIT}/guard/rules.py",
        f"remove /etc/ascend-sglang/{UNIT}/guard/gone.py",
        f"restart {GUARD} because its configuration changes",
    ]


def test_a_guard_that_somebody_stopped_runs_again(machine, guarded):
    machine.run(services=[guarded])
    del machine.systemd.started_with[GUARD]
    machine.systemd.enabled.discard(GUARD)
    assert machine.run(services=[guarded])["actions"] == [f"enable {GUARD} at boot", f"start {GUARD}"]


def test_a_guard_goes_without_its_service(machine, guarded):
    machine.run(services=[guarded])
    os.makedirs(machine.layout.guard_memory(UNIT))
    run = machine.systemd.started_with[UNIT]
    del guarded["guard"], guarded["ports"]["guard"]
    done = machine.run(services=[guarded])
    assert done["actions"][1:] == [
        f"stop {GUARD}",
        f"do not start {GUARD} at boot",
        f"change /etc/ascend-sglang/{UNIT}/service.json",
        f"change /etc/systemd/system/{UNIT}.service",
        f"remove /etc/ascend-sglang/{UNIT}/guard.json",
        f"remove /etc/systemd/system/{GUARD}.service",
        f"remove /etc/ascend-sglang/{UNIT}/guard",
        f"remove /run/ascend-sglang/{GUARD}",
        "make systemd read its units again",
    ]
    assert machine.systemd.started_with == {UNIT: run}
    assert (done["units"][UNIT]["action"], done["units"][UNIT]["guard"]) == ("none", "remove")
    assert machine.run(services=[guarded])["actions"] == []


def test_halting_leaves_the_guard(machine, guarded):
    machine.run(services=[guarded])
    assert machine.run(state="halted")["actions"] == [f"stop {UNIT}"]
    assert GUARD in machine.systemd.started_with


def test_stopping_takes_the_guard_along_in_one_call(machine, guarded):
    """Their units' order lets the service end first: other guards see it go by order, and not vanish."""
    machine.run(services=[guarded])
    machine.systemd.calls.clear()
    machine.run(state="stopped")
    assert machine.systemd.calls == [f"stop {UNIT} {GUARD}", f"disable {UNIT} {GUARD}"]
    assert machine.run(state="stopped")["actions"] == []


def test_removing_leaves_nothing(machine, guarded, tmp_path):
    before = sorted(tmp_path.rglob("*"))
    machine.run(services=[guarded], change="one")
    machine.run(services=[with_flag(guarded, "--log-level", "debug")], change="two")
    os.makedirs(machine.layout.guard_memory(UNIT))
    machine.run(state="absent")
    left = [path for path in sorted(tmp_path.rglob("*")) if path not in before]
    assert [path for path in left if "sglang" in path.name] == []
    assert machine.systemd.started_with == {}
    assert machine.systemd.enabled == set()
    assert machine.run(state="absent")["actions"] == []


def test_a_guard_that_an_aborted_removal_left_is_removed(machine, guarded):
    machine.run(services=[guarded])
    for path in (machine.layout.unit_file(UNIT), machine.layout.launch(UNIT)):
        os.unlink(path)
    del machine.systemd.started_with[UNIT]
    machine.run(state="absent")
    assert GUARD not in machine.systemd.started_with
    assert machine.files() == {}


def test_a_unit_of_somebody_else_with_a_guards_name_is_refused(machine, guarded):
    foreign = Path(machine.layout.unit_file(GUARD))
    foreign.write_text("[Service]\nExecStart=/bin/true\n")
    with pytest.raises(reconcile.ReconcileError, match=rf"a unit {GUARD}\.service exists on this host that this"):
        machine.run(services=[guarded])
    assert foreign.exists()


def test_a_guards_port_that_is_taken_is_refused(machine, guarded, monkeypatch):
    web = Listener("0.0.0.0", 29100, 4711, "python3 -m http.server", "web")
    monkeypatch.setattr(listeners, "listening", lambda ports=None: [web] if 29100 in ports else [])
    with pytest.raises(
        reconcile.ReconcileError, match=rf"{GUARD} needs port 29100 \(guard\), which is held by process"
    ):
        machine.run(services=[guarded])
    assert machine.files() == {}


def test_the_guards_own_listener_is_no_obstacle(machine, guarded, monkeypatch):
    machine.run(services=[guarded])
    own = [Listener("192.0.2.22", 29100, 1, "python3", GUARD), Listener("192.0.2.22", 8001, 2, "python3", UNIT)]
    monkeypatch.setattr(listeners, "listening", lambda ports=None: own)
    guarded["guard"]["gone_seconds"] = 30
    machine.run(services=[with_flag(guarded, "--log-level", "debug")])


# Earlier configurations


def test_the_first_deployment_keeps_that_there_was_nothing(machine, guarded):
    done = machine.run(services=[guarded], change="one")
    assert done["actions"][0] == f"keep that there was no {UNIT} in /var/lib/ascend-sglang/history/{UNIT}/1"
    assert machine.kept() == [(1, "one", True)]
    machine.run(services=[guarded], change="one")
    assert machine.kept() == [(1, "one", True)]


def test_a_change_keeps_what_it_replaces(machine, guarded):
    machine.run(services=[guarded], change="one")
    before = machine.files()
    done = machine.run(services=[with_flag(guarded, "--log-level", "debug")], change="two")
    assert done["actions"][0] == f"keep the configuration of {UNIT} in /var/lib/ascend-sglang/history/{UNIT}/2"
    kept = history.load(machine.layout, UNIT)[-1]
    assert {os.path.basename(path): found.text for path, found in kept.files.items()} == before
    assert kept.role == "decode"


def test_a_change_that_broke_off_is_kept_once(machine, guarded):
    machine.run(services=[guarded], change="one")
    other = with_flag(guarded, "--log-level", "debug")
    machine.run(services=[other], change="two")
    # Its unit file was not written yet.
    Path(machine.layout.unit_file(UNIT)).write_text(
        history.load(machine.layout, UNIT)[-1].files[machine.layout.unit_file(UNIT)].text
    )
    machine.run(services=[other], change="another name")
    assert machine.kept() == [(1, "one", True), (2, "two", False)]


def test_a_first_deployment_that_broke_off_is_no_configuration(machine, guarded):
    machine.run(services=[guarded], change="one")
    os.unlink(machine.layout.unit_file(UNIT))
    machine.run(services=[with_flag(guarded, "--log-level", "debug")], change="two")
    assert machine.kept() == [(1, "one", True)]


def test_a_rollback_brings_back_exactly_what_was_there(machine, guarded):
    machine.run(services=[guarded], change="one")
    before, run = machine.files(), machine.systemd.started_with[UNIT]
    machine.run(services=[with_flag(guarded, "--log-level", "debug")], change="two", stop_timeout=30)
    said = machine.run(check=True, state="rolled_back")
    done = machine.run(state="rolled_back")
    assert machine.files() == before
    assert machine.systemd.started_with[UNIT] == run
    assert done["actions"] == said["actions"]
    assert f"restart {UNIT} because its launch.sh changes (--log-level)" in done["actions"]
    assert done["units"][UNIT]["action"] == "restart"
    # It is forgotten: the next one would be the change before, and deploying again changes nothing.
    assert machine.kept() == [(1, "one", True)]
    assert machine.run(services=[guarded], change="three")["actions"] == []


def test_a_rollback_of_several_changes_one_after_the_other(machine, guarded):
    texts = []
    for number in range(4):
        texts.append(machine.files().get("launch.sh"))
        machine.run(services=[with_flag(guarded, "--log-level", str(number))], change=str(number))
    for text in reversed(texts[1:]):
        machine.run(state="rolled_back")
        assert machine.files()["launch.sh"] == text
    assert machine.kept() == [(1, "0", True)]


def test_a_rollback_of_what_was_new_removes_it(machine, guarded):
    machine.run(services=[guarded], change="one")
    done = machine.run(state="rolled_back", change="one")
    assert done["units"][UNIT]["action"] == "remove"
    assert machine.files() == {}
    assert machine.systemd.started_with == {}
    assert machine.kept() == []


def test_a_rollback_of_a_removal_brings_it_back(machine, guarded):
    machine.run(services=[guarded], change="one")
    before = machine.files()
    done = machine.run(services=[], prune=True, change="two")
    assert f"keep the configuration of {UNIT} in /var/lib/ascend-sglang/history/{UNIT}/2" in done["actions"]
    assert machine.files() == {}
    done = machine.run(state="rolled_back", change="two")
    assert machine.files() == before
    assert done["units"][UNIT]["action"] == "start"
    assert set(machine.systemd.started_with) == {UNIT, GUARD}


def test_a_removal_that_is_done_again_keeps_nothing_more(machine, guarded):
    machine.run(services=[guarded], change="one")
    machine.run(services=[], prune=True, change="two")
    machine.run(services=[], prune=True, change="two")
    assert machine.kept() == [(1, "one", True), (2, "two", False)]
    machine.run(state="absent", roles=["prefill"])
    assert len(machine.kept()) == 2
    machine.run(state="absent", roles=["decode"])
    assert machine.kept() == []


def test_units_whose_last_change_was_another_one_stay(machine, guarded, router):
    machine.run(services=[guarded, router], change="one")
    machine.run(services=[with_flag(guarded, "--log-level", "debug"), router], change="two")
    done = machine.run(state="rolled_back", change="two")
    assert done["units"]["sglang-router"]["action"] == "none"
    assert done["units"]["sglang-router"]["changed"] is False
    assert machine.run(state="rolled_back", change="two")["actions"] == []


def test_a_rollback_restarts_what_it_is_told_to(machine, guarded, router):
    machine.run(services=[guarded, router], change="one")
    machine.run(services=[with_flag(guarded, "--log-level", "debug"), router], change="two")
    restart = {"sglang-router": "its workers restart"}
    done = machine.run(state="rolled_back", change="two", restart=restart)
    assert done["units"]["sglang-router"]["reason"] == "its workers restart"
    assert done["units"][UNIT]["action"] == "restart"


def test_a_rollback_of_one_unit_only(machine, guarded, router):
    machine.run(services=[guarded, router], change="one")
    services = [with_flag(guarded, "--log-level", "debug"), with_flag(router, "--log-level", "debug")]
    machine.run(services=services, change="two")
    done = machine.run(state="rolled_back", change="two", units=["sglang-router"])
    assert set(done["units"]) == {"sglang-router"}
    done = machine.run(check=True, state="rolled_back", change="two", roles=["decode"])
    assert done["units"][UNIT]["action"] == "restart"


def test_secrets_come_back_and_are_shown_nowhere(machine, guarded, capsys):
    keyed = with_flag(guarded, "--api-key", {"secret": "api_key"})
    machine.run(services=[keyed], secrets={"api_key": "s3cret-one"}, change="one")
    machine.run(services=[keyed], secrets={"api_key": "s3cret-two"}, change="two")
    done = machine.run(state="rolled_back")
    assert machine.files()["secrets.env"].splitlines()[-1] == 'api_key="s3cret-one"'
    assert f"restart {UNIT} because its secrets change" in done["actions"]
    assert "s3cret" not in json.dumps(done)
    assert Path(machine.layout.secrets(UNIT)).stat().st_mode & 0o777 == 0o600


def test_a_key_that_the_change_brought_goes(machine, guarded):
    machine.run(services=[guarded], change="one")
    keyed = with_flag(guarded, "--api-key", {"secret": "api_key"})
    machine.run(services=[keyed], secrets={"api_key": "s3cret"}, change="two")
    machine.run(state="rolled_back")
    assert not {"launcher.py", "secrets.env"} & set(machine.files())


def test_a_user_who_is_no_more_is_named(machine, guarded, monkeypatch):
    monkeypatch.setattr(module, "user_exists", lambda name: True)
    machine.run(services=[guarded], change="one", user="sglang")
    machine.run(services=[guarded], change="two")
    monkeypatch.setattr(module, "user_exists", lambda name: False)
    with pytest.raises(reconcile.ReconcileError, match="runs as the user 'sglang', who does not exist on this host"):
        machine.run(state="rolled_back")


def test_a_rollback_without_history_does_nothing(machine):
    assert machine.run(state="rolled_back")["actions"] == []
