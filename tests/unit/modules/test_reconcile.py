# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From what is there to what has to be done: every decision, and its reason in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import reconcile
from ansible_collections.ascend.sglang.plugins.module_utils.files import Found
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout
from ansible_collections.ascend.sglang.plugins.module_utils.listeners import Listener
from ansible_collections.ascend.sglang.plugins.module_utils.plan_service import parse
from ansible_collections.ascend.sglang.plugins.module_utils.systemd import UnitState
from ansible_collections.ascend.sglang.plugins.module_utils.unit_file import UnitOptions, facts

LAYOUT = Layout()
RUNNING = UnitState("sglang-decode", "loaded", "active", "running", enabled=True, pid=100, invocation="a")


def want(service: dict[str, Any], options: UnitOptions | None = None, secrets: str = "") -> reconcile.Desired:
    return reconcile.desired(
        parse(service), LAYOUT, options or UnitOptions(), "1", secrets, secrets and "mark" + secrets
    )


def deployed(wanted: reconcile.Desired, state: UnitState = RUNNING, launch: str | None = "") -> reconcile.Observed:
    """The host after that configuration was applied."""
    found = {file.path: Found(file.content, file.mode, 0, 0) for file in wanted.files}
    unit_text = found[LAYOUT.unit_file(wanted.unit)].text
    running = wanted.digest if launch == "" and state.running else launch or None
    return reconcile.Observed(replace(state, unit=wanted.unit), found, facts(unit_text), running)


def sentences(wanted: reconcile.Desired, there: reconcile.Observed, restart: dict[str, str] | None = None) -> list[str]:
    return [step.sentence for step in reconcile.to_start([wanted], {wanted.unit: there}, restart or {}, LAYOUT)]


def test_a_fresh_host(decode):
    nothing = reconcile.Observed(UnitState("sglang-decode"))
    assert sentences(want(decode), nothing) == [
        "create /etc/ascend-sglang/sglang-decode/launch.sh",
        "create /etc/ascend-sglang/sglang-decode/service.json",
        "create /etc/systemd/system/sglang-decode.service",
        "make systemd read its units again",
        "enable sglang-decode at boot",
        "start sglang-decode because it is new",
    ]


def test_a_second_run_does_nothing(decode):
    assert sentences(want(decode), deployed(want(decode))) == []


def test_a_changed_argument_restarts_and_is_named(decode):
    before = deployed(want(decode))
    decode["argv"][decode["argv"].index("8001")] = "8002"
    assert sentences(want(decode), before) == [
        "change /etc/ascend-sglang/sglang-decode/launch.sh",
        "change /etc/systemd/system/sglang-decode.service",
        "make systemd read its units again",
        "restart sglang-decode because its launch.sh changes (--port)",
    ]


def edited(there: reconcile.Observed, path: str, text: str, seconds_after_its_start: float) -> reconcile.Observed:
    """Somebody changes a file by hand, before or after the process began."""
    state = replace(there.state, started=1000.0)
    found = Found(text.encode(), there.files[path].mode, 0, 0, mtime=1000.0 + seconds_after_its_start)
    return replace(there, state=state, files={**there.files, path: found})


@pytest.mark.parametrize("after", [-60.0, 60.0])
def test_a_launch_script_that_was_edited_by_hand(decode, after):
    path = "/etc/ascend-sglang/sglang-decode/launch.sh"
    there = deployed(want(decode))
    there = edited(there, path, there.files[path].text.replace("8001", "8002"), after)
    restart = ["restart sglang-decode because it was started with launch.sh as somebody had changed it"]
    assert sentences(want(decode), there) == [f"change {path}", *(restart if after < 0 else [])]


def test_a_unit_file_that_was_edited_by_hand(decode):
    path = "/etc/systemd/system/sglang-decode.service"
    there = deployed(want(decode))
    text = there.files[path].text
    assert len(sentences(want(decode), edited(there, path, text.replace("LANG=C.UTF-8", "LANG=C"), -60.0))) == 3
    # What only the manager reads, a comment, and another section are not what a process begins with.
    for old, new in (
        ("Restart=always", "Restart=no"),
        ("[Service]", "[Service]\n# mine"),
        ("[Install]", "[Install]\n"),
    ):
        assert len(sentences(want(decode), edited(there, path, text.replace(old, new), -60.0))) == 2


def test_a_changed_limit_of_its_stop_restarts_nothing(decode):
    before = deployed(want(decode))
    assert sentences(want(decode, UnitOptions(stop_timeout=600)), before) == [
        "change /etc/systemd/system/sglang-decode.service",
        "make systemd read its units again",
    ]


def test_another_user_restarts(decode):
    steps = sentences(want(decode, UnitOptions(user="sglang")), deployed(want(decode)))
    assert steps[-1] == "restart sglang-decode because settings of its unit change (User)"


def test_files_of_an_earlier_run_that_broke_off(decode):
    """The files are new, the process is old: nothing differs on disk, and it still must be restarted."""
    there = deployed(want(decode), launch="0" * 64)
    assert sentences(want(decode), there) == [
        "restart sglang-decode because it still runs with an earlier configuration than that of its files"
    ]


def test_a_named_restart_gives_its_reason(decode):
    there = deployed(want(decode))
    assert sentences(want(decode), there, {"sglang-decode": "the store on p1 restarts", "sglang-x": "never"}) == [
        "restart sglang-decode because the store on p1 restarts"
    ]


def test_a_named_restart_of_what_does_not_run_is_a_start(decode):
    stopped = replace(RUNNING, active="inactive", sub="dead", pid=0)
    assert sentences(want(decode), deployed(want(decode), stopped), {"sglang-decode": "the store restarts"}) == [
        "start sglang-decode because it is not running"
    ]


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (
            {"active": "failed", "sub": "failed", "pid": 0, "result": "exit-code", "exit_status": 2},
            "start sglang-decode because it has failed (exit-code, exit status 2)",
        ),
        # systemd refuses to start what it is about to start again by itself.
        (
            {"active": "activating", "sub": "auto-restart", "pid": 0, "exit_status": 9, "killed": True},
            "restart sglang-decode because it died (killed by signal 9) and waits to be tried again",
        ),
        (
            {"active": "deactivating", "sub": "stop-sigterm"},
            "start sglang-decode because it is being stopped",
        ),
    ],
)
def test_why_it_does_not_run(decode, state, says):
    assert sentences(want(decode), deployed(want(decode), replace(RUNNING, **state))) == [says]


def test_what_is_not_started_at_boot_is_enabled(decode):
    there = deployed(want(decode), replace(RUNNING, enabled=False))
    assert sentences(want(decode), there) == ["enable sglang-decode at boot"]


def test_a_unit_file_that_systemd_has_not_read_yet(decode):
    there = deployed(want(decode), replace(RUNNING, reload_needed=True))
    assert sentences(want(decode), there) == ["make systemd read its units again"]


@pytest.mark.parametrize("wrong", [{"mode": 0o777}, {"uid": 1000}, {"gid": 1000}])
def test_owner_and_mode_are_mended(decode, wrong):
    there = deployed(want(decode))
    path = LAYOUT.launch("sglang-decode")
    files = {**there.files, path: replace(there.files[path], **wrong)}
    assert sentences(want(decode), replace(there, files=files)) == [f"set owner root and mode 0755 of {path}"]


def test_secrets_come_and_go(decode):
    plain = deployed(want(decode))
    decode["argv"] += ["--api-key", {"secret": "api_key"}]
    first = want(decode, secrets="one")
    assert [file.mode for file in first.files if file.secret] == [0o600]
    assert sentences(first, plain) == [
        "change /etc/ascend-sglang/sglang-decode/launch.sh",
        "create /etc/ascend-sglang/sglang-decode/launcher.py",
        "create /etc/ascend-sglang/sglang-decode/secrets.env",
        "change /etc/systemd/system/sglang-decode.service",
        "make systemd read its units again",
        "restart sglang-decode because its launch.sh changes (the program, --api-key) and its secrets change",
    ]
    assert sentences(want(decode, secrets="two"), deployed(first))[-1] == (
        "restart sglang-decode because its secrets change"
    )
    del decode["argv"][-2:]
    assert sentences(want(decode), deployed(first))[1:4] == [
        "change /etc/systemd/system/sglang-decode.service",
        "remove /etc/ascend-sglang/sglang-decode/launcher.py",
        "remove /etc/ascend-sglang/sglang-decode/secrets.env",
    ]


def test_a_unit_of_somebody_else_is_refused(decode):
    foreign = reconcile.Observed(RUNNING)
    with pytest.raises(reconcile.ReconcileError, match=r"a unit sglang-decode\.service exists on this host that this"):
        sentences(want(decode), foreign)


def test_a_unit_whose_file_somebody_removed_is_still_ours(decode):
    there = reconcile.Observed(RUNNING, launch="0" * 64)
    assert sentences(want(decode), there)[-1] == (
        "restart sglang-decode because it still runs with an earlier configuration than that of its files"
    )
    assert [step.kind for step in reconcile.to_stop([there])] == ["stop", "disable"]


def test_stopping_touches_only_what_is_ours_and_runs(decode):
    stopped = replace(RUNNING, active="inactive", sub="dead", pid=0, enabled=False)
    assert reconcile.to_stop([deployed(want(decode), stopped)]) == []
    assert reconcile.to_stop([reconcile.Observed(RUNNING)]) == []
    assert [step.sentence for step in reconcile.to_stop([deployed(want(decode))])] == [
        "stop sglang-decode",
        "do not start sglang-decode at boot",
    ]


def test_a_failure_is_forgotten(decode):
    failed = replace(RUNNING, active="failed", sub="failed", pid=0, enabled=False)
    assert [step.kind for step in reconcile.to_stop([deployed(want(decode), failed)])] == ["forget"]


@pytest.mark.parametrize("keep_logs", [True, False])
def test_removing_leaves_nothing_but_asked_for_logs(decode, keep_logs):
    home, logs = LAYOUT.home("sglang-decode"), LAYOUT.logs("sglang-decode")
    there = replace(deployed(want(decode)), leftovers=(home, logs))
    steps = [step.sentence for step in reconcile.to_remove([there], LAYOUT, keep_logs)]
    assert steps == [
        "stop sglang-decode",
        "do not start sglang-decode at boot",
        "remove /etc/ascend-sglang/sglang-decode/launch.sh",
        "remove /etc/ascend-sglang/sglang-decode/service.json",
        "remove /etc/systemd/system/sglang-decode.service",
        f"remove {home}",
        *([] if keep_logs else [f"remove {logs}"]),
        "make systemd read its units again",
    ]


def refuse(wanted: reconcile.Desired, there: reconcile.Observed, *listeners: Listener, ours: set[str]) -> None:
    steps = reconcile.to_start([wanted], {wanted.unit: there}, {}, LAYOUT)
    reconcile.refuse_taken_ports([wanted], steps, listeners, ours)


def test_a_port_of_another_process_is_refused_with_its_owner(decode):
    nothing = reconcile.Observed(UnitState("sglang-decode"))
    web = Listener("0.0.0.0", 8001, 4711, "python3 -m http.server 8001", "web")
    with pytest.raises(reconcile.ReconcileError) as refusal:
        refuse(want(decode), nothing, web, ours={"sglang-decode"})
    assert (
        "sglang-decode needs port 8001 (http), which is held by process 4711 (python3 -m http.server 8001, unit web)"
        in str(refusal.value)
    )
    hccl = Listener("::", 60015, None)
    with pytest.raises(reconcile.ReconcileError, match=r"60015 \(hccl 60000-60015\), .* an unknown process on ::"):
        refuse(want(decode), nothing, hccl, ours={"sglang-decode"})


def test_ports_of_the_plans_own_units_and_other_ports_are_no_obstacle(decode):
    nothing = reconcile.Observed(UnitState("sglang-decode"))
    own = Listener("192.0.2.22", 8001, 4711, "python3", "sglang-decode")
    other = Listener("0.0.0.0", 9999, 4712, "python3", "web")
    refuse(want(decode), nothing, own, other, ours={"sglang-decode"})


def test_a_service_that_stays_as_it_is_needs_no_free_port(decode):
    web = Listener("0.0.0.0", 60003, 4711, "python3", None)
    refuse(want(decode), deployed(want(decode)), web, ours={"sglang-decode"})
