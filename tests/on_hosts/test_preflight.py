# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preflight on real hosts: silent on a good cluster, naming what is wrong with a bad one, and gone afterwards."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from on_hosts import hosts, playbooks, state
from on_hosts.hosts import LabHost

NUMBERS = {"p1": 135, "p2": 136, "d1": 137, "d2": 138, "r1": 139}
GROUPS = {"prefill": ["p1", "p2"], "decode": ["d1", "d2"], "router": ["r1"]}
MODEL = "/models/deepseek-r1"
SHARD = f"{MODEL}/quant_model_weight_w8a8_dynamic-0000{{}}-of-00008.safetensors"
SAMPLES = hosts.PROJECT / "tests" / "unit" / "preflight" / "samples"
LISTENERS = "ss -Htln | grep -cv ':22 ' || true"
FIREWALL = (
    "nft add table inet t; nft 'add chain inet t i {{ type filter hook input priority 0; }}'; "
    "nft add rule inet t i tcp dport {port} {verdict}"
)
REJECT = "reject with icmpx type admin-prohibited"


class Lab:
    """Five hosts, and the preflight run on them."""

    def __init__(self, booted: Mapping[str, LabHost], folder: pathlib.Path) -> None:
        self.hosts = booted
        self.folder = folder
        self.undo: list[tuple[LabHost, str]] = []

    def __getitem__(self, name: str) -> LabHost:
        return self.hosts[name]

    def inventory(self, own: Mapping[str, Mapping[str, Any]] | None = None, **variables: Any) -> pathlib.Path:
        each = {name: host.inventory(**(own or {}).get(name, {})) for name, host in self.hosts.items()}
        groups = {group: {name: each[name] for name in names} for group, names in GROUPS.items()}
        cluster = {"sglang_profile": "deepseek-r1-w8a8-2p1d", "sglang_model_path": MODEL}
        return playbooks.write_inventory(
            self.folder / "hosts.yml", {**hosts.CONNECTION, **cluster, **variables}, groups
        )

    def preflight(self, *options: str, environment: Mapping[str, str] | None = None, **changes: Any) -> playbooks.Run:
        return playbooks.run("preflight", self.inventory(**changes), *options, **(environment or {}))

    def report(self, *options: str, **changes: Any) -> dict[str, Any]:
        """preflight.json of a run, passed or not."""
        place = self.folder / "plan"
        (place / "preflight.json").unlink(missing_ok=True)
        run = self.preflight("-e", f"sglang_plan_dir={place}", *options, **changes)
        assert (place / "preflight.json").is_file(), run.output
        return json.loads((place / "preflight.json").read_text())

    def spoil(self, host: str, command: str, undo: str) -> None:
        """Change something on a host, and keep in mind how it is undone."""
        self[host].run(command)
        self.undo.append((self[host], undo))

    def quiet(self) -> bool:
        """Whether nobody listens on any host but sshd."""
        return set(hosts.everywhere(self.hosts.values(), LISTENERS).values()) == {"0\n"}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with hosts.booted("pre-test", NUMBERS) as booted:
        yield Lab(booted, tmp_path_factory.mktemp("preflight"))


@pytest.fixture
def spoilt(lab: Lab) -> Iterator[Lab]:
    """Hosts on which a test spoils something; what undoes it is run whatever happens."""
    yield lab
    while lab.undo:
        host, command = lab.undo.pop()
        host.run(command)


def errors(report: Mapping[str, Any]) -> list[str]:
    return [
        f"{one['check']} {', '.join(one['hosts'])}: {one['what']}"
        for one in report["findings"]
        if one["level"] == "error"
    ]


def warnings(report: Mapping[str, Any]) -> set[str]:
    return {one["check"] for one in report["findings"] if one["level"] == "warning" and one["hosts"] != ["plan"]}


def test_a_good_cluster(lab: Lab):
    place = lab.folder / "good"
    texts = []
    for options in ((), ("--check",), ()):
        run = lab.preflight("-e", f"sglang_plan_dir={place}", *options).passed()
        run.said("preflight: 0 errors")
        assert run.count("changed") == (0 if texts or "--check" in options else 1)
        texts.append((place / "preflight.json").read_text())
        assert lab.quiet()
    assert len(set(texts)) == 1
    report = json.loads(texts[0])
    assert (report["errors"], warnings(report)) == (0, {"npu-driver"})
    assert set(report["hosts"]) == set(NUMBERS)
    assert report["hosts"]["d1"]["connections"] == "ok"
    assert report["hosts"]["d1"]["installed-parser"] == "ok"
    left = hosts.everywhere(
        lab.hosts.values(),
        "systemctl --failed --no-legend; ls /run/ascend-sglang /etc/ascend-sglang 2>&1 | grep -v cannot || true",
    )
    assert set(left.values()) == {""}


@pytest.mark.parametrize(
    "changes", [{"environment": {"ANSIBLE_SSH_PIPELINING": "False"}}, {"ansible_python_interpreter": "auto"}]
)
def test_however_ansible_reaches_the_hosts(lab: Lab, changes: Any):
    lab.preflight("--forks", "2", **changes).passed().said("ok       connections", "all 5 hosts")
    assert lab.quiet()


def test_two_at_once_do_not_get_in_each_others_way(lab: Lab):
    inventory = lab.inventory()
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda _number: playbooks.run("preflight", inventory), range(2)))
    for run in runs:
        run.passed().said("ok       connections", "all 5 hosts")
    # One that replaced the other's listeners keeps its own a little longer, for the other's visitors.
    until = time.monotonic() + 5
    while not lab.quiet():
        assert time.monotonic() < until


def test_everything_at_once(spoilt: Lab):
    """A firewall that rejects, one that drops, a busy port, weights damaged in three ways: one report of all."""
    lab = spoilt
    for host, port, verdict in (("p1", 8998, REJECT), ("d1", 5000, "drop"), ("p1", 24670, REJECT)):
        lab.spoil(host, FIREWALL.format(port=port, verdict=verdict), "nft flush ruleset")
    lab.spoil(
        "p2",
        f"systemd-run --quiet --unit=squatter python3 -m http.server 8999 --bind {lab['p2'].data};"
        " until ss -Htln sport = :8999 | grep -q .; do sleep 0.05; done",
        "systemctl stop squatter",
    )
    squatter = lab["p2"].run("systemctl show --value --property=MainPID squatter").strip()
    two, three = SHARD.format(2), SHARD.format(3)
    pointer = f"printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:0\\nsize 1\\n' >{two}"
    lab.spoil("d1", f"cp {two} /root/kept; {pointer}", f"mv /root/kept {two}")
    lab.spoil("d2", f"mv {three} /root/kept", f"mv /root/kept {three}")
    lab.spoil("p2", f"mv {MODEL} /root/kept; mkdir {MODEL}", f"rmdir {MODEL}; mv /root/kept {MODEL}")
    found = lab.report()
    said = {
        "connections d1: d1 cannot reach p1:8998 (bootstrap): no route to host (113)",
        "connections d2: d2 cannot reach p1:8998 (bootstrap): no route to host (113)",
        "connections p2: p2 cannot reach p1:24670 (store): no route to host (113)",
        "connections d1: d1 cannot reach p1:24670 (store): no route to host (113)",
        "connections d2: d2 cannot reach p1:24670 (store): no route to host (113)",
        "connections d2: d2 cannot reach d1:5000 (dist_init): no answer: a firewall drops it",
        f"port-busy p2: sglang-prefill needs port 8999 (bootstrap), and process {squatter} (/usr/bin/python3 -m http.",
        f"weights d1: {MODEL}: 1 files of weights are Git LFS pointers, not weights: {pathlib.Path(two).name}",
        f"weights d2: {MODEL}: 1 files of weights are missing: {pathlib.Path(three).name}",
        f"model-path p2: {MODEL} is empty",
    }
    told = errors(found)
    assert [text for text in said if not any(one.startswith(text) for one in told)] == [], told
    assert len(told) == len(said), told
    # Skipped by name they are not reported, and nobody opens a port for nothing.
    skip = json.dumps({"sglang_preflight_skip": ["connections", "port-busy", "weights", "model-path"]})
    lab.preflight("-e", skip).passed().said("skipped  connections")


def test_a_wrong_address_and_a_cable_that_is_out(spoilt: Lab):
    lab = spoilt
    found = errors(lab.report(own={"p2": {"sglang_data_address": "203.0.113.99"}}))
    assert found[0].startswith("data-address p2: the data address 203.0.113.99 is not on this host; it has lo (127.0.")
    subprocess.run([str(hosts.LABHOSTS), "link", lab["d2"].lab, "eth1", "down"], check=True)
    try:
        found = errors(lab.report())
    finally:
        subprocess.run([str(hosts.LABHOSTS), "link", lab["d2"].lab, "eth1", "up"], check=True)
    assert found[0] == "interface d2: interface eth1 is down"
    assert any(one.startswith("connections d2: d2 cannot reach p1:") for one in found)
    assert any(one.startswith("connections d1: d1 cannot reach d2:") for one in found)


def test_routes(spoilt: Lab):
    """One that leads nowhere cuts a host off; one that leaves through another network is told."""
    lab = spoilt
    target = lab["p1"].data
    lab.spoil("d1", f"ip route add blackhole {target}/32", f"ip route del blackhole {target}/32")
    lab.spoil("r1", f"ip route add {target}/32 dev eth0", f"ip route del {target}/32")
    found = lab.report()
    # Listeners that nobody reached are gone all the same.
    assert lab.quiet()
    # Neither do p1's answers come back.
    assert {one.partition(":")[0] for one in errors(found)} == {"connections d1", "connections p1"}
    assert any("d1 cannot reach p1:" in one for one in errors(found))
    (told,) = [one for one in found["findings"] if one["check"] == "routes"]
    assert (told["level"], told["hosts"]) == ("warning", ["r1"])
    assert told["what"] == "the route to p1 leads out of eth0, not of eth1"


def test_an_address_that_two_hosts_have(spoilt: Lab):
    lab = spoilt
    for host in ("p1", "r1"):
        # As docker0 has on every host.
        lab.spoil(host, "ip addr add 172.17.0.1/16 dev eth0", "ip addr del 172.17.0.1/16 dev eth0")
    found = errors(lab.report(own={"p1": {"sglang_data_address": "172.17.0.1"}}))
    assert any("p1: its data address 172.17.0.1 is on r1 too" in one for one in found)


TOOL = "#!/bin/sh\n{}\n"


def test_npus(spoilt: Lab):
    """Four hosts with tools that answer as real ones: an alarm, somebody's process, TLS that differs, half a device."""
    lab = spoilt
    smi = {
        "p1": "npu-smi_info_a3_v25.2.1_one_die_warning",
        "p2": "npu-smi_info_a3_v25.2.1_both_dies_critical",
        "d1": "npu-smi_info_a3_v25.2.1_idle",
        "d2": "npu-smi_info_a2_910b3_v25.2.1_one_npu_busy",
    }
    for host, sample in smi.items():
        count = 8 if host == "d2" else 16
        lab[host].run("mkdir -p /usr/local/sbin; cat >/root/smi.txt", (SAMPLES / f"{sample}.txt").read_text())
        switch = 1 if host == "p1" else 0
        answers = f'-link) echo "link status: UP";; -tls) echo "dev_id:$2, tls switch[{switch}](0:disable, 1:enable)";;'
        lab[host].write("/usr/local/sbin/npu-smi", TOOL.format("cat /root/smi.txt"))
        lab[host].write("/usr/local/sbin/hccn_tool", TOOL.format(f'case "$3" in {answers} esac'))
        lab.spoil(
            host,
            f"chmod 755 /usr/local/sbin/npu-smi /usr/local/sbin/hccn_tool; cd /dev;"
            f" touch davinci_manager hisi_hdc; for i in $(seq 0 {count - 1}); do touch davinci$i; done",
            "rm -r /usr/local/sbin/npu-smi /usr/local/sbin/hccn_tool /root/smi.txt /dev/davinci* /dev/hisi_hdc",
        )
    found = lab.report()
    told = errors(found)
    for text in (
        "npu-count d2: services need NPUs 0-15; npu-smi lists 8: 0-7 (910B3)",
        "npu-health p2: NPU 6 chip 0 (davinci12): health Critical",
        "npu-health p2: NPU 6 chip 1 (davinci13): health Critical",
        "npu-held d2: NPU 0 chip 0 is held by 60777 demo-train 36500 MB",
        "hccn-tls p1: TLS is on, and it is off on p2, d1, d2",
        "packages p1, p2, d1, d2: /usr/bin/python3 has no package torch-npu, which every server needs",
    ):
        assert any(one.startswith(text) for one in told), (text, told)
    assert found["hosts"]["p1"]["npu-health"] == "warning"
    assert found["hosts"]["d1"]["npu-health"] == "ok"
    assert not [one for one in told if one.startswith(("npu-driver", "npu-devices", "hccn-link"))]


def test_one_host_without_a_driver_among_others(spoilt: Lab):
    lab = spoilt
    lab["p1"].write(
        "/usr/local/sbin/npu-smi", TOOL.format("echo 'dcmi module initialize failed. ret is -8005'; exit 187")
    )
    lab.spoil("p1", "chmod 755 /usr/local/sbin/npu-smi", "rm /usr/local/sbin/npu-smi")
    told = errors(lab.report())
    assert any(one.startswith("npu-driver p2, d1, d2: there is no NPU driver, and other hosts") for one in told)
    assert any(
        "npu-driver p1: npu-smi: dcmi module initialize failed. ret is -8005 (the driver does not answer" in one
        for one in told
    )


def test_a_python_that_systemd_cannot_run(spoilt: Lab):
    """A virtual environment on a mount with noexec, and an account that may not enter its directory."""
    lab = spoilt
    for host in ("p2", "d1", "d2", "r1"):
        lab.spoil(host, "mkdir -p /data; cp /usr/bin/python3 /data/python3", "rm -r /data")
    mount = "mkdir /data; mount -t tmpfs -o size=64M none /data; cp /usr/bin/python3 /data"
    lab.spoil("p1", f"{mount}; mount -o remount,noexec /data", "umount /data; rmdir /data")
    told = errors(lab.report(sglang_python="/data/python3"))
    assert any(one.startswith("python p1:") for one in told), told
    assert not any(one.startswith("python p2") for one in told)


def test_an_account_that_cannot_read(spoilt: Lab):
    lab = spoilt
    for host in NUMBERS:
        lab.spoil(host, "useradd --system sglang", "userdel sglang")
    lab.spoil("d1", f"chmod 400 {SHARD.format(5)}", f"chmod 644 {SHARD.format(5)}")
    told = errors(lab.report(sglang_user="sglang"))
    assert [one for one in told if one.startswith("model-path")] == [
        f"model-path d1: sglang cannot read {pathlib.Path(SHARD.format(5)).name} in {MODEL}"
    ]


def test_who_is_not_root_on_one_host(spoilt: Lab):
    lab = spoilt
    key = "mkdir -p /home/guest/.ssh; cp /root/.ssh/authorized_keys /home/guest/.ssh; chown -R guest /home/guest/.ssh"
    lab.spoil("d1", f"useradd -m guest; {key}", "userdel -rf guest 2>/dev/null; test ! -e /home/guest")
    told = errors(lab.report(own={"d1": {"ansible_user": "guest"}}))
    assert told[0].startswith("become d1: tasks run there as user number ")
    assert len(told) == 1, told
    with_become = {"ansible_user": "guest", "ansible_become": True, "ansible_become_method": "sudo"}
    (told,) = errors(lab.report(own={"d1": with_become}))
    assert told.startswith("unreachable d1: it could not be asked")
    assert "password" in told


PARSER = "installed-parser"
NOBODY_ASKS = (
    "pgrep -f '[s]erver_args import'; systemctl list-units --no-legend --plain 'run-*.service' | grep -v mount"
)


def parser_says(report: Mapping[str, Any], host: str) -> str:
    """The level of the check of the installed parser on a host."""
    return report["hosts"][host][PARSER]


def test_the_installed_parser_has_the_last_word_and_is_asked_once(spoilt: Lab, tmp_path: pathlib.Path):
    """On d1 is an SGLang that calls itself as the plan wants it and has lost two flags."""
    lab = spoilt
    grammar = json.loads((hosts.PROJECT / "engines" / "sglang-0.5.13.post1.json").read_text())
    lost = {"--enable-dp-attention", "--moe-dense-tp-size"}
    grammar["flags"] = [one for one in grammar["flags"] if not lost & set(one["names"])]
    lab["d1"].write("/root/grammar.json", json.dumps(grammar))
    lab.undo.append((lab["d1"], "rm /root/grammar.json; echo '{}' >/etc/stand-in.json"))
    hosts.set_knobs(lab["d1"], {"grammar": "/root/grammar.json"})
    home = {"environment": {"ANSIBLE_HOME": str(tmp_path / "home")}}
    first = lab.report(**home)
    where = "installed-parser d1: sglang_decode_args, sglang-decode: SGLang 0.5.13.post1 there refuses"
    assert [one for one in errors(first) if one.startswith(PARSER)] == [
        f"{where} --enable-dp-attention: unrecognized arguments: --enable-dp-attention",
        f"{where} --moe-dense-tp-size 1: unrecognized arguments: --moe-dense-tp-size 1",
    ]
    assert {parser_says(first, host) for host in ("p1", "p2", "d2")} == {"ok"}
    assert PARSER not in first["hosts"]["r1"]
    # Nobody imports it again, however slow that has become.
    for host in ("p1", "d1"):
        hosts.set_knobs(lab[host], {"import_seconds": 300})
    lab.undo.append((lab["p1"], "echo '{}' >/etc/stand-in.json"))
    assert lab.report(sglang_preflight_parser_seconds=3, **home)["findings"] == first["findings"]


def test_a_parser_that_cannot_be_asked_is_said_and_the_engine_file_has_to_do(spoilt: Lab, tmp_path: pathlib.Path):
    """On p1 the import takes too long, on p2 it ends in an error, d1 has no such module, and d2 is as it should be."""
    lab = spoilt
    hosts.set_knobs(lab["p1"], {"import_seconds": 300})
    lab.undo.append((lab["p1"], "echo '{}' >/etc/stand-in.json"))
    srt = "/opt/sglang-stand-in/sglang/srt"
    mount = f"mount -t tmpfs -o size=1M none {srt}"
    broken = f"{mount}; echo 'import torch_npu_that_is_missing' >{srt}/server_args.py"
    lab.spoil("p2", broken, f"umount {srt}")
    lab.spoil("d1", mount, f"umount {srt}")
    before = state.exact(lab.hosts.values())
    report = lab.report(sglang_preflight_parser_seconds=3, environment={"ANSIBLE_HOME": str(tmp_path / "home")})
    assert report["errors"] == 0
    assert [parser_says(report, host) for host in ("p1", "p2", "d1", "d2")] == ["unknown", "unknown", "unknown", "ok"]
    said = {one["hosts"][0]: one["what"] for one in report["findings"] if one["check"] == PARSER}
    instead = ": taken from the engine file of 0.5.13.post1 instead"
    assert said == {
        "p1": f"importing it takes longer than 3 s{instead}",
        "p2": f"ModuleNotFoundError: No module named 'torch_npu_that_is_missing'{instead}",
        "d1": f"the SGLang there has no sglang.srt.server_args{instead}",
    }
    assert state.differences(before, state.exact(lab.hosts.values())) == []
    assert set(hosts.everywhere(lab.hosts.values(), f"{NOBODY_ASKS} || true").values()) == {""}


def test_a_parser_need_not_be_asked(lab: Lab):
    report = lab.report(sglang_preflight_parser_seconds=0)
    assert parser_says(report, "d1") == "unknown"
    assert parser_says(lab.report(sglang_preflight_skip=[PARSER]), "d1") == "skipped"


def test_rooms(spoilt: Lab):
    lab = spoilt
    lab.spoil(
        "d2",
        "mount -o remount,size=64M /dev/shm; head -c 60M /dev/zero >/dev/shm/psm_deadbeef",
        "rm /dev/shm/psm_deadbeef; mount -o remount,size=2G /dev/shm",
    )
    lab.spoil("p1", "mount -t tmpfs -o size=1M none /var/log", "umount /var/log")
    told = errors(lab.report())
    assert any(
        one.startswith("shared-memory d2: /dev/shm has 4 MiB free of 64 MiB; in it psm_deadbeef (60 MiB, root)")
        for one in told
    )
    assert any(one.startswith("disk p1: /var/log: 1 MiB are free") for one in told)


def test_a_host_that_does_not_answer_and_a_limit(lab: Lab):
    """The others are checked all the same; a limit asks and connects within it only."""
    told = errors(lab.report(own={"d2": {"ansible_host": "198.51.100.253"}}))
    assert len(told) == 1
    assert told[0].startswith("unreachable d2: it does not answer")
    assert lab.quiet()
    report = lab.report("--limit", "p1:d1")
    assert (report["errors"], set(report["hosts"])) == (0, {"p1", "d1"})
    assert report["hosts"]["d1"]["connections"] == "ok"


def test_listeners_end_also_when_the_run_is_killed(lab: Lab):
    """Killed between listening and connecting; the next run finds the ports free at once, or they become so."""
    inventory = lab.inventory()
    command = [playbooks.ANSIBLE_PLAYBOOK, "ascend.sglang.preflight", "-i", inventory]
    told = {"ANSIBLE_CONFIG": str(hosts.PROJECT / "ansible.cfg")}
    run = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=hosts.PROJECT,
        env=os.environ | told,
        start_new_session=True,
    )
    until = time.monotonic() + 60
    while lab["p1"].run("ss -Htln sport = :24670").strip() == "":
        assert time.monotonic() < until, "no listener was ever there"
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    if lab.quiet():
        pytest.fail("the run was over before it was killed")
    killed = time.monotonic()
    report = lab.report()
    assert report["errors"] == 0
    while not lab.quiet():
        assert time.monotonic() < killed + 25
        time.sleep(0.2)


def test_running_services_are_left_alone(lab: Lab):
    """After a deployment its ports are not busy, what can be connected to is, and nothing restarts."""
    inventory = lab.inventory()
    for host in lab.hosts.values():
        hosts.set_knobs(host, {"load_seconds": 0.3, "graph_seconds": 0, "warmup_seconds": 0})
    playbooks.run("deploy", inventory).passed()
    before = hosts.everywhere(lab.hosts.values(), "systemctl show -P MainPID -P NRestarts 'sglang-*.service'")
    report = lab.report()
    assert report["errors"] == 0
    assert {report["hosts"][host]["port-busy"] for host in NUMBERS} == {"ok"}
    left = [one["what"] for one in report["findings"] if one["check"] == "connections"]
    assert len(left) == 3
    assert all("rendezvous" in one for one in left)
    assert hosts.everywhere(lab.hosts.values(), "systemctl show -P MainPID -P NRestarts 'sglang-*.service'") == before
    again = playbooks.run("deploy", inventory).passed()
    assert again.count("changed") == 0
    playbooks.run("remove", inventory).passed()
