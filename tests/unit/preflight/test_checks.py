# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every check: silent on a good cluster, and naming exactly the fault on a bad one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight import registry
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.situation import Problem

from .good import DRAFT, KIMI, MIXED, MODEL, PACKAGES, PD, Cluster, devices, npus, weights

Spoil = Callable[[Cluster], Any]


@dataclass(frozen=True)
class Bad:
    """What is wrong, which check says so of which hosts, how badly, and in which words."""

    check: str
    level: str
    hosts: tuple[str, ...]
    spoil: Spoil
    said: tuple[str, ...]
    profile: str = PD
    changes: Mapping[str, Any] = field(default_factory=dict)

    def cluster(self) -> Cluster:
        cluster = Cluster(self.profile, **self.changes)
        self.spoil(cluster)
        return cluster


def problems(cluster: Cluster) -> dict[str, list[Problem]]:
    """What each check says; those that say nothing are left out."""
    return {one.check.name: list(one.problems) for one in registry.run(cluster.situation()) if one.problems}


@pytest.mark.parametrize("profile", [PD, MIXED, KIMI])
def test_a_good_cluster(profile: str):
    assert problems(Cluster(profile)) == {}


def test_the_good_cluster_of_another_user():
    cluster = Cluster(given={"sglang_user": "sglang"})
    for host in cluster.engines():
        cluster.looked(host)["accounts"] = {"sglang": {"uid": 1201, "groups": [1201]}}
    assert problems(cluster) == {}


def listener(port: int, address: str = "0.0.0.0", unit: str | None = "foreign") -> dict[str, Any]:
    command = "/usr/bin/python3 -m http.server"
    return {"address": address, "port": port, "pid": 4711, "command": command, "unit": unit}


def update(host: str, *path: str, **values: Any) -> Spoil:
    """Set something in a host's facts."""

    def spoil(cluster: Cluster) -> None:
        place = cluster[host]
        for name in path:
            place = place[name]
        place.update(values)

    return spoil


def npu(host: str, number: int, **values: Any) -> Spoil:
    return lambda cluster: cluster.looked(host)["npu_smi"]["npus"][number].update(values)


def holder(host: str, card: int, chip: int, unit: str | None, name: str = "python3.1") -> Spoil:
    one = {"card": card, "chip": chip, "pid": 632268, "name": name, "megabytes": 59685, "unit": unit}
    return lambda cluster: cluster.looked(host)["npu_smi"].update(processes=[one])


def shards(host: str, *shards: tuple[str, str], path: str = MODEL) -> Spoil:
    told = [{"name": name, "size": 130, "problem": problem, "needed": 4096} for name, problem in shards]
    return lambda cluster: cluster.looked(host)["weights"][path].update(problems=told)


def nothing(cluster: Cluster) -> None:
    """No host has an NPU, or a tool to look at one."""
    for facts in cluster.each():
        facts["npu_smi"] = {
            "path": None,
            "error": "",
            "product": "",
            "npus": [],
            "processes": None,
            "incomplete": False,
        }
        facts["devices"] = {"npus": [], "managers": [], "files": {}, "group": None}
        facts["hccn"] = {"path": None, "error": "", "npus": []}


def bare(*hosts: str) -> Spoil:
    def spoil(cluster: Cluster) -> None:
        kept = {host: dict(cluster.looked(host)) for host in cluster.engines() if host not in hosts}
        nothing(cluster)
        for host, facts in kept.items():
            cluster.looked(host).update(facts)

    return spoil


def cann(host: str, check: str, level: str) -> Spoil:
    problem = {"level": level, "check": check, "where": "/opt/x/set_env.sh", "what": "It is broken.", "do": "Mend it."}
    return lambda cluster: cluster[host]["cann"]["problems"].append(problem)


def package(host: str, name: str, version: str | None) -> Spoil:
    def spoil(cluster: Cluster) -> None:
        packages = dict(PACKAGES)
        if version is None:
            del packages[name]
        else:
            packages[name] = version
        cluster[host]["python"]["packages"] = packages

    return spoil


def parser_refuses(host: str, flag: str, words: list[str]) -> Spoil:
    fault = {"flag": flag, "words": words, "why": f"unrecognized arguments: {flag} {' '.join(words)}", "near": []}
    answers = {"sglang-decode": {"refused": [fault], "deprecated": []}}
    return lambda cluster: cluster.parsers.update({host: {"answers": answers, "error": ""}})


def users(host: str, user: str, error: str = "", **closed: list[str]) -> Spoil:
    told = {user: {"error": error, "closed": {MODEL: closed.get("closed", [])}}}
    return lambda cluster: cluster[host]["python"].update(users=told)


def everywhere(spoil: Callable[[str], Spoil], *hosts: str) -> Spoil:
    return lambda cluster: [spoil(host)(cluster) for host in hosts]


def route(cluster: Cluster) -> None:
    for one in cluster.connections["d1"]:
        if one["host"] == "p1":
            one["route"] = cluster["d1"]["interfaces"]["eth0"]["addresses"][0]


def account(cluster: Cluster, found: Any, mode: int = 0o660, group: int | None = None) -> None:
    cluster.set(sglang_user="sglang")
    for host in cluster.engines():
        cluster.looked(host)["accounts"] = {"sglang": {"uid": 1201, "groups": [1201]}}
        cluster[host]["python"]["users"] = {"sglang": {"error": "", "closed": {}}}
    cluster.looked("p1").update(accounts={"sglang": found}, devices={**devices(mode=mode), "group": group})


def old_driver(cluster: Cluster, host: str, mode: int = 0o660) -> None:
    """Give a host the device file that drivers had before."""
    there = cluster.looked(host)["devices"]
    there["managers"].append("devmm_svm")
    there["files"]["devmm_svm"] = {"mode": mode, "uid": 1000, "gid": 1000}


def unit(active: str, role: str) -> dict[str, Any]:
    """A unit of ours on a host."""
    return {"active": active, "role": role, "ports": {}}


def units(host: str, **found: dict[str, Any]) -> Spoil:
    return lambda cluster: cluster[host]["units"].update(found)


def limits(host: str, **values: Any) -> Spoil:
    return lambda cluster: cluster.looked(host)["limits"].update(values)


def links(host: str, number: int, product: str = "A3", **values: Any) -> Spoil:
    def spoil(cluster: Cluster) -> None:
        cluster.looked(host)["npu_smi"]["product"] = product
        cluster.looked(host)["hccn"]["npus"][number].update(values)

    return spoil


def tls(*hosts: str, **values: Any) -> Spoil:
    def spoil(cluster: Cluster) -> None:
        for host in hosts:
            for one in cluster.looked(host)["hccn"]["npus"]:
                one.update(tls=1, **values)

    return spoil


def outputs(host: str, sample: str, count: int = 16) -> Spoil:
    return lambda cluster: cluster.looked(host).update(npu_smi=npus(sample), devices=devices(count))


SHM = [{"name": "psm_deadbeef", "size": 60 << 20, "owner": "root"}]

BAD = {
    "no become": Bad("become", "error", ("d1",), update("d1", uid=1000), ("user number 1000",)),
    "one machine under two names": Bad(
        "host-identity", "error", ("p1", "d1"), update("d1", machine_id="id-of-p1"), ("same machine id",)
    ),
    "two hosts of one name": Bad(
        "host-identity", "warning", ("p2", "d2"), update("d2", hostname="p2"), ("same host name (p2)",)
    ),
    "a clock that is ahead": Bad(
        "clock", "warning", ("d2",), lambda c: c.clocks.update(d2=(599.7, 600.4)), ("600 s ahead",)
    ),
    "a clock that is behind": Bad(
        "clock", "warning", ("p1",), lambda c: c.clocks.update(p1=(-30.4, -29.7)), ("30 s behind",)
    ),
    "no clock": Bad("clock", "unknown", ("p1",), lambda c: c.clocks.pop("p1"), ("not read",)),
    "a busy port": Bad(
        "port-busy",
        "error",
        ("p2",),
        lambda c: c["p2"]["listeners"].append(listener(8000)),
        (
            "sglang-prefill needs port 8000 (http)",
            "process 4711 (/usr/bin/python3 -m http.server, unit foreign) has it",
        ),
    ),
    # The module ascend.sglang.service refuses this one too: what preflight passes, deploy must be able to start.
    "a busy port on an address that no service of ours uses": Bad(
        "port-busy",
        "error",
        ("p2",),
        lambda c: c["p2"]["listeners"].append(listener(8000, "198.51.100.12")),
        ("sglang-prefill needs port 8000 (http)", "on 198.51.100.12"),
    ),
    "a busy port of a range": Bad(
        "port-busy",
        "error",
        ("d1",),
        lambda c: c["d1"]["listeners"].append(listener(5003, "192.0.2.21", None)),
        ("port 5003 (dist_init)", "process 4711 (/usr/bin/python3 -m http.server) has it on 192.0.2.21"),
    ),
    "a busy port of nobody": Bad(
        "port-busy",
        "error",
        ("r1",),
        lambda c: c["r1"]["listeners"].append({**listener(6688, "127.0.0.1"), "pid": None}),
        ("an unknown process", "6688"),
    ),
    "a port that an outgoing connection has": Bad(
        "port-busy",
        "error",
        ("p1",),
        lambda c: c.shut("p1", 8998, "Address already in use"),
        (
            "sglang-prefill needs port 8998 (bootstrap), which cannot be opened there: Address already in use",
            "no process listens on it, so an outgoing connection or a socket that is only bound has it",
        ),
    ),
    "a port of a range that an outgoing connection has": Bad(
        "port-busy",
        "error",
        ("d1",),
        lambda c: c.shut("d1", 60000, "Address already in use"),
        ("port 60000 (hccl)",),
    ),
    "ports that cannot be opened for another reason": Bad(
        "port-busy",
        "error",
        ("p1",),
        lambda c: [c.shut("p1", port, "Cannot assign requested address") for port in (8998, 24670)],
        ("port 8998, 24670 cannot be opened at 192.0.2.11: Cannot assign requested address; nothing was tried on it",),
    ),
    "ports at an address that is not there, as data-address says": Bad(
        "port-busy",
        "unknown",
        ("p1",),
        lambda c: (
            c["p1"]["interfaces"]["bond0"].update(addresses=[]),
            c.shut("p1", 8998, "Cannot assign requested address"),
        ),
        ("port 8998 could not be opened",),
    ),
    "ports that only root may open, as become says": Bad(
        "port-busy",
        "unknown",
        ("p1",),
        lambda c: (c["p1"].update(uid=1000), c.shut("p1", 8998, "Permission denied")),
        ("Permission denied",),
    ),
    "a listener that could not be started": Bad(
        "connections",
        "unknown",
        ("p1",),
        # Somebody's random port among those from which the hand-over picks: no service needs just this one.
        lambda c: c.shut("p1", 20000, "Address already in use"),
        ("no listener could be started there: port 20000 (Address already in use)",),
    ),
    "ports to be given away": Bad(
        "ephemeral-ports",
        "warning",
        ("r1",),
        update("r1", "preflight", ports={"range": [1024, 65000], "reserved": []}),
        ("ports 6688", "1024-65000"),
    ),
    "ports that deploy is told not to reserve": Bad(
        "ephemeral-ports",
        "warning",
        ("d1",),
        update("d1", "tuning", reserved=[]),
        ("ports 60000-60015",),
    ),
    "a host that is not tuned": Bad(
        "ephemeral-ports", "warning", ("p1",), update("p1", tuning=None), ("ports 60000-60015",)
    ),
    "a value that no kernel takes": Bad(
        "host-tuning",
        "error",
        ("p2",),
        update("p2", "tuning", error="vm.swappiness is 900", variable=True),
        ("vm.swappiness is 900",),
    ),
    "no range of ports": Bad(
        "ephemeral-ports", "unknown", ("p1",), update("p1", "preflight", ports={"range": None, "reserved": []}), ()
    ),
    "a firewall that rejects": Bad(
        "connections",
        "error",
        ("d1",),
        lambda c: c.cut("d1", "p1", 24670, "rejected"),
        ("d1 cannot reach p1:24670 (store): no route to host (113)", "firewall"),
    ),
    "a firewall that drops": Bad(
        "connections",
        "error",
        ("d2",),
        lambda c: c.cut("d2", "d1", 5000, "timeout"),
        ("d2 cannot reach d1:5000 (dist_init): no answer", "drops"),
    ),
    "a port that is refused": Bad(
        "connections",
        "error",
        ("r1",),
        lambda c: c.cut("r1", "p1", 8000, "refused"),
        ("r1 cannot reach p1:8000", "connection refused (111)"),
    ),
    "an address that two hosts have": Bad(
        "connections",
        "error",
        ("d1",),
        lambda c: c.cut("d1", "p1", 8998, "stranger", "x9"),
        ("d1 cannot reach p1:8998 (bootstrap): x9 answers there",),
    ),
    "no route": Bad(
        "connections",
        "error",
        ("d1",),
        lambda c: c.cut("d1", "p1", 8998, "unreachable"),
        ("network unreachable (101)",),
    ),
    "something else": Bad(
        "connections",
        "error",
        ("d1",),
        lambda c: c.cut("d1", "p1", 8998, "error", "Protocol error"),
        ("Protocol error",),
    ),
    "another route": Bad("routes", "warning", ("d1",), route, ("the route to p1 leads out of eth0, not of bond0",)),
    "no driver on one host": Bad(
        "npu-driver", "error", ("d1",), bare("d1"), ("no NPU driver", "other hosts of the plan have one")
    ),
    "no driver at all": Bad("npu-driver", "warning", ("p1", "p2", "d1", "d2"), nothing, ("no NPU driver on any",)),
    "no npu-smi": Bad(
        "npu-driver",
        "warning",
        ("p1",),
        update("p1", "preflight", npu_smi={**npus(), "path": None, "npus": []}),
        ("npu-smi is missing", "/dev/davinci0-15"),
    ),
    "a driver that does not answer": Bad(
        "npu-driver", "error", ("p1",), update("p1", "preflight", "npu_smi", error="ret is -8005", npus=[]), ("-8005",)
    ),
    "half a driver": Bad(
        "npu-driver", "error", ("p1",), update("p1", "preflight", "driver", status="uncomplete"), ("not completely",)
    ),
    "half a driver, by npu-smi": Bad(
        "npu-driver", "error", ("p1",), update("p1", "preflight", "npu_smi", incomplete=True), ("not completely",)
    ),
    "an A2 among A3": Bad(
        "npu-count",
        "error",
        ("d2",),
        outputs("d2", "a2_910b3_v23.0.5_idle", 8),
        ("services need NPUs 0-15; npu-smi lists 8: 0-7 (910B3)",),
    ),
    "a die that is gone": Bad(
        "npu-count",
        "error",
        ("p1",),
        lambda c: c.looked("p1")["npu_smi"]["npus"].pop(5),
        ("services need NPUs 0-15; npu-smi lists 15: 0-4, 6-15 (Ascend910)",),
    ),
    "device files that are not there": Bad(
        "npu-count", "error", ("p1",), update("p1", "preflight", devices=devices(8)), ("only /dev/davinci0-7",)
    ),
    "a profile for other NPUs": Bad(
        "npu-count",
        "warning",
        ("d2",),
        outputs("d2", "a2_910b3_v23.0.5_idle", 8),
        ("their NPUs are Atlas A2's; the profile was published for Atlas 800I A3",),
    ),
    "a warning": Bad(
        "npu-health", "warning", ("p1",), outputs("p1", "a3_v25.2.1_one_die_warning"), ("NPU 4 chip 1 (davinci9)",)
    ),
    "an alarm": Bad(
        "npu-health",
        "error",
        ("d2",),
        outputs("d2", "a3_v25.2.1_one_die_alarm"),
        ("NPU 1 chip 1 (davinci3): health Alarm",),
    ),
    "a health that nobody knows": Bad(
        "npu-health", "error", ("d2",), npu("d2", 0, health="UNKNOWN"), ("health UNKNOWN",)
    ),
    "a held NPU": Bad(
        "npu-held", "error", ("p1",), holder("p1", 0, 0, None), ("NPU 0 chip 0 is held by 632268 python3.1 59685 MB",)
    ),
    "an NPU held by somebody's unit, without a name": Bad(
        "npu-held", "error", ("p1",), holder("p1", 3, 1, "train", ""), ("a process without a name (unit train)",)
    ),
    "memory that no process has": Bad(
        "npu-held", "error", ("p1",), npu("p1", 2, used=41231), ("41231 of 65536 MB", "names no process")
    ),
    "memory that no process has, beside a router that runs": Bad(
        "npu-held",
        "error",
        ("p1",),
        lambda c: (npu("p1", 2, used=41231)(c), units("p1", **{"sglang-router": unit("active", "router")})(c)),
        ("41231 of 65536 MB", "names no process"),
    ),
    "memory that no process has, beside a store that runs": Bad(
        "npu-held",
        "error",
        ("p1",),
        lambda c: (npu("p1", 2, used=41231)(c), units("p1", **{"sglang-store": unit("active", "store")})(c)),
        ("41231 of 65536 MB",),
    ),
    "memory that no process has, beside a server that failed": Bad(
        "npu-held",
        "error",
        ("p1",),
        lambda c: (npu("p1", 2, used=41231)(c), units("p1", **{"sglang-prefill": unit("failed", "prefill")})(c)),
        ("41231 of 65536 MB",),
    ),
    "a server that dies and starts again for want of memory": Bad(
        "npu-held",
        "warning",
        ("p1",),
        lambda c: (npu("p1", 2, used=41231)(c), units("p1", **{"sglang-prefill": unit("activating", "prefill")})(c)),
        ("41231 of 65536 MB", "sglang-prefill, which uses it, is not running but starting"),
    ),
    "device files of others": Bad(
        "npu-devices",
        "error",
        ("p1",),
        lambda c: account(c, {"uid": 1201, "groups": [1201]}),
        ("sglang cannot open /dev/davinci0, /dev/davinci1, /dev/davinci2 and 15 more (mode 0660, group 1000)",),
    ),
    "no such account": Bad(
        "npu-devices", "error", ("p1",), lambda c: account(c, None), ("there is no account sglang",)
    ),
    "no manager": Bad(
        "npu-devices",
        "error",
        ("p1",),
        update("p1", "preflight", "devices", managers=["hisi_hdc"]),
        ("there is no /dev/davinci_manager, which",),
    ),
    "no channel to the driver": Bad(
        "npu-devices",
        "error",
        ("p1",),
        update("p1", "preflight", "devices", managers=["davinci_manager", "devmm_svm"]),
        ("there is no /dev/hisi_hdc, which",),
    ),
    "a device of shared memory that is another's": Bad(
        "npu-devices",
        "error",
        ("p1",),
        lambda c: (account(c, {"uid": 1201, "groups": [1201]}, group=1000), old_driver(c, "p1", mode=0o600)),
        ("sglang cannot open /dev/devmm_svm (mode 0600, group 1000)",),
    ),
    "a link that is down, on A2": Bad(
        "hccn-link", "error", ("d1",), links("d1", 3, "A2", link="DOWN"), ("links of NPUs 3 are down",)
    ),
    "a link that is down, on A3": Bad("hccn-link", "warning", ("d1",), links("d1", 3, link="DOWN"), ("one superpod",)),
    "a link that is not told": Bad(
        "hccn-link", "warning", ("d1",), links("d1", 3, link=None, tls=None, error="is busy"), ("NPUs 3", "is busy")
    ),
    "no hccn_tool": Bad(
        "hccn-link",
        "warning",
        ("d1",),
        update("d1", "preflight", hccn={"path": None, "error": "", "npus": []}),
        ("hccn_tool is missing",),
    ),
    "a tool that fails": Bad(
        "hccn-link",
        "warning",
        ("d2",),
        update("d2", "preflight", "hccn", error="permission denied", npus=[]),
        ("permission denied",),
    ),
    "TLS on one host": Bad("hccn-tls", "error", ("p1",), tls("p1"), ("TLS is on, and it is off on p2, d1, d2",)),
    "TLS on one host that tells nothing of its links": Bad(
        "hccn-tls", "error", ("p1",), tls("p1", link=None, error="not supported"), ("TLS is on",)
    ),
    "TLS on one host whose links are down": Bad("hccn-tls", "warning", ("p1",), tls("p1", link="DOWN"), ("TLS is on",)),
    "TLS on one NPU": Bad(
        "hccn-tls", "error", ("p1",), links("p1", 7, tls=1), ("on for NPUs 7 and off for NPUs 0-6, 8-15",)
    ),
    "a TLS switch that is not told": Bad(
        "hccn-tls", "warning", ("p1",), links("p1", 7, tls=None, error="No certificate found"), ("No certificate",)
    ),
    "a limit of locked memory": Bad(
        "memory-lock", "error", ("p1",), limits("p1", raises=False, locks=False), ("limited to 8 MiB",)
    ),
    "few open files": Bad(
        "open-files", "warning", ("p1",), limits("p1", raises=False, nofile=1024), ("1024 open files",)
    ),
    "few open files by the kernel": Bad("open-files", "warning", ("p1",), limits("p1", nr_open=4096), ("4096",)),
    "a full /dev/shm": Bad(
        "shared-memory",
        "error",
        ("d1",),
        update("d1", "preflight", shm={"size": 64 << 20, "free": 4 << 20, "files": SHM}),
        ("4 MiB free of 64 MiB", "psm_deadbeef (60 MiB, root)"),
    ),
    "a small /dev/shm": Bad(
        "shared-memory",
        "warning",
        ("d1",),
        update("d1", "preflight", shm={"size": 1 << 30, "free": 1 << 30, "files": []}),
        ("1.0 GiB free",),
    ),
    "no /dev/shm": Bad("shared-memory", "error", ("d1",), update("d1", "preflight", shm=None), ("no /dev/shm",)),
    "a full disk": Bad(
        "disk",
        "error",
        ("r1",),
        lambda c: c.looked("r1")["disks"]["/var/log/ascend-sglang/sglang-router"].update(free=1 << 20),
        ("/var/log/ascend-sglang/sglang-router: 1 MiB",),
    ),
    "little disk": Bad(
        "disk", "warning", ("r1",), lambda c: c.looked("r1")["disks"]["/tmp"].update(free=512 << 20), ("/tmp: 512 MiB",)
    ),
    "no inodes": Bad(
        "disk", "error", ("p1",), lambda c: c.looked("p1")["disks"]["/tmp"].update(inodes=3), ("3 more files",)
    ),
    "a disk that nobody writes": Bad(
        "disk",
        "error",
        ("p1",),
        lambda c: c.looked("p1")["disks"]["/var/lib/ascend-sglang/sglang-prefill"].update(writable=False),
        ("/var/lib/ascend-sglang/sglang-prefill is on a file system that is mounted read-only",),
    ),
    "no model": Bad(
        "model-path",
        "error",
        ("d1",),
        lambda c: c["d1"]["paths"][MODEL].update(directory=False),
        (f"there is no directory {MODEL}",),
    ),
    "a mount that is missing": Bad(
        "model-path", "error", ("d1",), lambda c: c["d1"]["paths"][MODEL].update(empty=True), (f"{MODEL} is empty",)
    ),
    "a directory that is closed": Bad(
        "model-path", "error", ("d1",), lambda c: c["d1"]["paths"][MODEL].update(readable=False), ("cannot be listed",)
    ),
    "files that the account cannot read": Bad(
        "model-path",
        "error",
        ("d1",),
        users("d1", "sglang", closed=["mtp_float-1.safetensors"]),
        (f"sglang cannot read mtp_float-1.safetensors in {MODEL}",),
    ),
    "a tokenizer that the router cannot read": Bad(
        "model-path",
        "error",
        ("d1",),
        users("d1", "", closed=["tokenizer.json", "x.safetensors"]),
        ("the router's dynamic user cannot read tokenizer.json",),
    ),
    "a pointer": Bad(
        "weights",
        "error",
        ("d1",),
        shards("d1", ("m-2.safetensors", "pointer")),
        ("Git LFS pointers", "m-2.safetensors"),
    ),
    "a file that is cut off": Bad(
        "weights", "error", ("d1",), shards("d1", ("m-2.safetensors", "truncated")), ("has 130 bytes and needs 4096",)
    ),
    "a file with another one's content": Bad(
        "weights",
        "warning",
        ("d1",),
        lambda c: c.looked("d1")["weights"][MODEL].update(absent=["a.weight", "b.weight", "c.weight"]),
        ("3 tensors of x.safetensors.index.json are in none of the files: a.weight, b.weight and 1 more",),
    ),
    "a tokenizer that is a pointer": Bad(
        "weights",
        "error",
        ("d1",),
        lambda c: c.looked("d1")["weights"][MODEL].update(pointers=["tokenizer.json"]),
        ("Git LFS pointers: tokenizer.json",),
    ),
    "zeros": Bad("weights", "error", ("d1",), shards("d1", ("m-1.safetensors", "broken")), ("no whole safetensors",)),
    "a file that is missing": Bad(
        "weights",
        "error",
        ("d2",),
        lambda c: c.looked("d2")["weights"][MODEL].update(missing=["a", "b", "c"]),
        ("3 files of weights are missing: a, b and 1 more",),
    ),
    "no weights": Bad(
        "weights",
        "error",
        ("d2",),
        lambda c: c.looked("d2")["weights"][MODEL].update(files=0),
        ("no files of weights",),
    ),
    "no configuration": Bad(
        "weights", "error", ("d2",), lambda c: c.looked("d2")["weights"][MODEL].update(config=None), ("no config.json",)
    ),
    "a configuration that is none": Bad(
        "weights",
        "error",
        ("d2",),
        lambda c: c.looked("d2")["weights"][MODEL]["config"].update(error="it is no JSON"),
        ("config.json: it is no JSON",),
    ),
    "an index that is none": Bad(
        "weights",
        "error",
        ("d2",),
        lambda c: c.looked("d2")["weights"][MODEL]["index"].update(error="it is a Git LFS pointer"),
        ("index.json: it is a",),
    ),
    "a draft model that is damaged": Bad(
        "weights",
        "error",
        ("d2",),
        shards("d2", ("model.safetensors", "truncated"), path=DRAFT),
        (DRAFT, "truncated"),
        KIMI,
    ),
    "no description": Bad(
        "quantization",
        "error",
        ("p1", "p2"),
        everywhere(lambda host: lambda c: c.looked(host)["weights"].update({MODEL: weights(quant=None)}), "p1", "p2"),
        ("there is no quant_model_description.json",),
    ),
    "a description of MindIE": Bad(
        "quantization",
        "error",
        ("p1",),
        lambda c: c.looked("p1")["weights"][MODEL].update(
            quant=None, other_quant=["quant_model_description_w8a8.json"]
        ),
        ("quant_model_description_w8a8.json, which SGLang does not read",),
    ),
    "a description that is none": Bad(
        "quantization",
        "error",
        ("p1",),
        lambda c: c.looked("p1")["weights"][MODEL]["quant"].update(error="no JSON"),
        ("quant_model_description.json: no JSON",),
    ),
    "another quantisation": Bad(
        "quantization",
        "warning",
        ("p1",),
        lambda c: c.looked("p1")["weights"][MODEL]["quant"].update(type="W4A8_DYNAMIC"),
        ("W4A8_DYNAMIC", "published for W8A8"),
    ),
    "the original weights": Bad(
        "quantization",
        "error",
        ("p1",),
        lambda c: c.looked("p1")["weights"][MODEL]["config"].update(quant_method="fp8"),
        ("quant_method fp8",),
    ),
    "an export for MindIE": Bad(
        "quantization",
        "error",
        ("p1",),
        lambda c: c.looked("p1")["weights"][MODEL]["config"].update(quant_method="none", model_type="deepseekv2"),
        ("MindIE",),
    ),
    "another model": Bad(
        "model-family",
        "warning",
        ("p1",),
        lambda c: c.looked("p1")["weights"][MODEL]["config"].update(model_type="kimi_k25"),
        ("model_type kimi_k25", "the profile is for DeepSeek-R1"),
    ),
    "weights of another size": Bad(
        "weights-equal",
        "error",
        ("d2",),
        lambda c: c.looked("d2")["weights"][MODEL].update(size=5, files=2),
        ("the size of the weights differs from that on p1, p2, d1", "5 bytes in 2 files"),
    ),
    "another index": Bad(
        "weights-equal",
        "error",
        ("d2",),
        lambda c: c.looked("d2")["weights"][MODEL]["index"].update(sha256="f" * 64),
        ("the index differs",),
    ),
    "no Python": Bad(
        "python",
        "error",
        ("d1",),
        update("d1", "python", path=None, version="", users={}),
        ("no Python interpreter python3",),
    ),
    "a Python that systemd cannot run": Bad(
        "python",
        "error",
        ("d1",),
        users("d1", "sglang", "systemd cannot execute /data/python3 as sglang (203/EXEC): "),
        ("203/EXEC",),
    ),
    "another SGLang": Bad(
        "version",
        "error",
        ("d1",),
        package("d1", "sglang", "0.5.23"),
        ("sglang is 0.5.23 there, and the plan is spelled for 0.5.13.post1",),
    ),
    "no SGLang": Bad("version", "error", ("d1",), package("d1", "sglang", None), ("has no package sglang",)),
    "an SGLang without metadata": Bad(
        "version", "warning", ("d1",), package("d1", "sglang", ""), ("without metadata",)
    ),
    "another router": Bad(
        "version", "warning", ("r1",), package("r1", "sglang-router", "0.2"), ("sglang-router is 0.2",)
    ),
    "no router": Bad(
        "version", "error", ("r1",), package("r1", "sglang-router", None), ("has no package sglang-router",)
    ),
    "an SGLang that refuses a flag": Bad(
        "installed-parser",
        "error",
        ("d1",),
        parser_refuses("d1", "--attn-dp-size", ["32"]),
        ("sglang_decode_args, sglang-decode", "refuses --attn-dp-size 32: unrecognized arguments"),
    ),
    "an SGLang that cannot be imported": Bad(
        "installed-parser",
        "unknown",
        ("d1",),
        lambda cluster: cluster.parsers.update(d1={"answers": {}, "error": "ImportError: libhccl.so"}),
        ("ImportError: libhccl.so: taken from the engine file of 0.5.13.post1 instead",),
    ),
    "no memfabric": Bad(
        "packages",
        "error",
        ("d1",),
        package("d1", "memfabric-hybrid", None),
        ("memfabric-hybrid, which prefill and decode need for --disaggregation-transfer-backend ascend",),
    ),
    "no memfabric where the store is": Bad(
        "packages",
        "error",
        ("r1",),
        package("r1", "memfabric-hybrid", None),
        ("has no package memfabric-hybrid, which the store is a part of",),
        changes={"sglang_store": "dedicated"},
    ),
    "another memfabric where the store is": Bad(
        "versions-equal",
        "error",
        ("r1",),
        package("r1", "memfabric-hybrid", "0.9"),
        ("memfabric-hybrid is 0.9 there and 1.0.0 on p1, p2, d1, d2",),
        changes={"sglang_store": "dedicated"},
    ),
    "no torch_npu": Bad(
        "packages", "error", ("d1",), package("d1", "torch-npu", None), ("torch-npu", "every server needs")
    ),
    "no zbal": Bad(
        "packages",
        "error",
        ("d1",),
        lambda c: (package("d1", "memfabric-zbal", None)(c), c.add_env("d1", SGLANG_ZBAL_LOCAL_MEM_SIZE="1")),
        ("memfabric-zbal",),
    ),
    "no torch_npu where there are no NPUs": Bad(
        "packages", "unknown", ("d1",), lambda c: (nothing(c), package("d1", "torch-npu", None)(c)), ("torch-npu",)
    ),
    "a pair that is none": Bad("packages", "error", ("d1",), package("d1", "torch", "2.8.0"), ("torch is 2.8.0",)),
    "another memfabric on one host": Bad(
        "versions-equal",
        "error",
        ("p2",),
        package("p2", "memfabric-hybrid", "0.9"),
        ("memfabric-hybrid is 0.9 there and 1.0.0 on p1, d1, d2",),
    ),
    "another driver on one host": Bad(
        "versions-equal",
        "warning",
        ("p2",),
        update("p2", "preflight", "driver", driver="25.2.1"),
        ("the NPU driver is 25.2.1 there and 25.5.1 on p1, d1, d2",),
    ),
    "another CANN on one host": Bad(
        "versions-equal",
        "warning",
        ("p2",),
        update("p2", "cann", "toolkit", version="8.3.RC1"),
        ("CANN is 8.3.rc1 there",),
    ),
    "an old CANN everywhere": Bad(
        "versions-fit",
        "warning",
        ("p1", "p2", "d1", "d2"),
        everywhere(lambda host: update(host, "cann", "toolkit", version="8.3.RC1"), "p1", "p2", "d1", "d2"),
        ("CANN is 8.3.rc1; SGLang 0.5.13.post1 was documented with 9.0",),
    ),
    "a broken toolkit": Bad("cann-toolkit", "error", ("d1",), cann("d1", "cann-toolkit", "error"), ("It is broken",)),
    "two toolkits": Bad("cann-toolkit", "warning", ("d1",), cann("d1", "cann-toolkit", "warning"), ("It is broken",)),
    "no ATB": Bad("cann-atb", "error", ("d1",), cann("d1", "cann-atb", "error"), ("It is broken",)),
    "a toolkit and an ATB": Bad(
        "cann-versions", "warning", ("d1",), cann("d1", "cann-versions", "warning"), ("broken",)
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_cluster(name: str):
    bad = BAD[name]
    found = problems(bad.cluster())
    told = [one for one in found.get(bad.check, ()) if one.level == bad.level and one.hosts == bad.hosts]
    assert told, found
    text = " ".join(f"{one.where} {one.what}" for one in told)
    assert not [part for part in bad.said if part not in text], text


def test_every_check_can_fail():
    assert {one.check for one in BAD.values()} == {one.name for one in registry.host_checks()}


@pytest.mark.parametrize("name", [name for name, bad in BAD.items() if bad.level == "error"])
def test_what_is_wrong_on_one_host_is_said_of_no_other(name: str):
    bad = BAD[name]
    hosts = {
        host
        for found in problems(bad.cluster()).values()
        for one in found
        if one.level == "error"
        for host in one.hosts
    }
    assert hosts <= set(bad.hosts)


@pytest.mark.parametrize("unit", ["sglang-prefill", "sglang-prefill-guard"])
def test_who_is_not_in_the_way(unit: str):
    cluster = Cluster()
    cluster["p1"]["units"] = {"sglang-prefill": {"active": "active"}}
    cluster["p1"]["listeners"] = [listener(8000, "0.0.0.0", unit)]
    assert "port-busy" not in problems(cluster)


def test_a_port_that_is_taken_is_told_once():
    cluster = Cluster()
    cluster.shut("p1", 8998, "Address already in use")
    cluster["p1"]["listeners"].append(listener(8998))
    (told,) = problems(cluster)["port-busy"]
    assert "process 4711" in told.what


@pytest.mark.parametrize("ports", [{"bootstrap": 8998}, {}])
def test_a_port_that_a_service_of_ours_has_is_not_in_the_way(ports: dict[str, int]):
    """Listening, or as its unit says."""
    cluster = Cluster()
    cluster.shut("p1", 8998, "Address already in use")
    cluster["p1"]["units"] = {"sglang-prefill": {**unit("active", "prefill"), "ports": ports}}
    if not ports:
        cluster["p1"]["listeners"].append(listener(8998, unit="sglang-prefill"))
    assert "port-busy" not in problems(cluster)


def test_a_random_port_of_the_hand_over_that_is_taken_is_no_fault():
    cluster = Cluster()
    cluster.shut("p1", 20000, "Address already in use")
    assert list(problems(cluster)) == ["connections"]


def test_what_our_own_services_hold_is_not_missing():
    cluster = Cluster()
    for host in cluster.engines():
        (own,) = (one for one in cluster.plan.services if one.host == host and one.npus)
        cluster[host]["units"] = {own.unit: unit("active", own.role)}
        for one in cluster.looked(host)["npu_smi"]["npus"]:
            one["used"] = 60000
        cluster.looked(host)["shm"] = {"size": 64 << 30, "free": 4 << 30, "files": []}
    holder("p1", 0, 0, "sglang-prefill")(cluster)
    assert problems(cluster) == {}


def test_a_server_explains_the_memory_of_its_own_npus_alone():
    """Two prefills on a host; of one the memory is held by somebody else."""
    cluster = Cluster()
    (whole,) = [one for one in cluster.plan.services if one.host == "p1"]
    halves = [
        replace(whole, npus=(0, 7)),
        replace(whole, unit="sglang-prefill-1", instance=1, npus=(8, 15), ports={"http": 8002}, port_ranges={}),
    ]
    others = [one for one in cluster.plan.services if one is not whole]
    cluster.plan = replace(cluster.plan, services=(*halves, *others))
    units("p1", **{"sglang-prefill": unit("active", "prefill")})(cluster)
    for number in (0, 7, 8, 15):
        npu("p1", number, used=41231)(cluster)
    told = problems(cluster)["npu-held"]
    assert [(one.level, one.what.partition(":")[0]) for one in told] == [
        ("error", "NPU 4 chip 0"),
        ("error", "NPU 7 chip 1"),
    ]
    # What runs counts, not what will: it had all of them before this plan.
    cluster["p1"]["units"]["sglang-prefill"]["npus"] = [0, 15]
    assert "npu-held" not in problems(cluster)
    cluster["p1"]["units"]["sglang-prefill"]["npus"] = [0, 7]
    assert len(problems(cluster)["npu-held"]) == 2
    # A server that is no longer of the plan, and of which nobody knows, may have any.
    units("p1", **{"sglang-mixed": {**unit("active", "mixed"), "npus": None}})(cluster)
    assert "npu-held" not in problems(cluster)


@pytest.mark.parametrize("active", ["active", "reloading", "deactivating"])
def test_a_server_with_a_process_may_hold_memory(active: str):
    cluster = Cluster()
    npu("p1", 2, used=41231)(cluster)
    units("p1", **{"sglang-prefill": unit(active, "prefill")})(cluster)
    assert "npu-held" not in problems(cluster)


def test_npus_that_no_service_uses_may_be_as_they_are():
    cluster = Cluster()
    cluster.looked("p1")["npu_smi"]["npus"].append(
        {"number": 16, "card": 8, "chip": 0, "name": "Ascend910", "health": "Alarm", "used": 60000, "total": 65536}
    )
    holder("p1", 8, 0, None)(cluster)
    assert problems(cluster) == {}


def test_ports_that_deploy_will_reserve_are_not_at_risk():
    cluster = Cluster()
    for facts in cluster.each():
        facts["ports"] = {"range": [1024, 65000], "reserved": []}
    assert problems(cluster) == {}
    for host in cluster.engines():
        cluster[host]["tuning"]["reserved"] = []
    (told,) = problems(cluster)["ephemeral-ports"][:1]
    assert told.level == "warning"
    assert all(str(port) in told.what for port in (8000, 8998, 24670))
    for facts in cluster.each():
        facts["ports"]["reserved"] = [[1024, 65000]]
    assert problems(cluster) == {}


def test_a_full_disk_on_which_several_directories_will_be_is_told_once():
    cluster = Cluster()
    disks = cluster.looked("p1")["disks"]
    for path in disks:
        disks[path].update(at="/var" if path.startswith("/var") else path, free=0)
    assert [one.what for one in problems(cluster)["disk"]] == [
        "/var: 0 MiB are free on its file system",
        "/tmp: 0 MiB are free on its file system",
    ]


def test_weights_that_servers_are_told_to_make_up():
    cluster = Cluster(
        given={}, sglang_prefill_args={"load-format": "dummy"}, sglang_decode_args={"load-format": "dummy"}
    )
    for facts in cluster.each():
        facts["weights"] = {MODEL: weights(files=0, index=None, quant=None)}
    assert problems(cluster) == {}


def test_a_host_with_the_store_alone_needs_no_more_than_the_store_does():
    cluster = Cluster(sglang_store="dedicated")
    cluster["r1"]["python"]["packages"] = {"memfabric-hybrid": "1.0.0", "sglang-router": "0.3.2", "torch": "2.8.0"}
    assert problems(cluster) == {}
    # What the router's host has where no store is, is nobody's business.
    cluster = Cluster()
    package("r1", "memfabric-hybrid", "0.9")(cluster)
    assert problems(cluster) == {}


def test_memfabric_is_not_needed_where_the_cache_moves_by_something_else():
    by_mooncake = {"disaggregation-transfer-backend": "mooncake"}
    cluster = Cluster(sglang_prefill_args=by_mooncake, sglang_decode_args=by_mooncake)
    assert all("mooncake" in one.argv for one in cluster.plan.services if one.npus)
    for host in cluster.engines():
        package(host, "memfabric-hybrid", None)(cluster)
    assert problems(cluster) == {}


def test_damaged_weights_are_not_different_weights_as_well():
    cluster = Cluster()
    shards("d1", ("m-2.safetensors", "pointer"))(cluster)
    cluster.looked("d1")["weights"][MODEL]["size"] = 7
    assert list(problems(cluster)) == ["weights"]


def test_links_do_not_matter_on_one_host():
    cluster = Cluster(MIXED)
    for facts in cluster.each():
        facts["hccn"] = None
    assert problems(cluster) == {}


def test_members_of_the_device_group_reach_the_devices():
    for mode, group, open_to_all in ((0o660, 1000, False), (0o666, None, True)):
        cluster = Cluster()
        account(cluster, {"uid": 1201, "groups": [1201]}, mode, group)
        assert problems(cluster) == {}, (mode, open_to_all)


def test_the_device_of_old_drivers_is_as_good_as_the_others():
    cluster = Cluster()
    account(cluster, {"uid": 1201, "groups": [1201]}, group=1000)
    old_driver(cluster, "p1")
    assert problems(cluster) == {}


def test_a_host_that_reaches_another_nowhere_says_so_once():
    cluster = Cluster()
    for one in cluster.connections["d2"]:
        one["outcome"] = "timeout"
    told = problems(cluster)["connections"]
    assert {one.what.partition(":")[0] for one in told} == {
        "d2 cannot reach d1",
        "d2 cannot reach p1",
        "d2 cannot reach p2",
    }
    assert all("all that it needs there" in one.what for one in told)


def test_many_hosts_that_do_not_reach_a_port_share_a_line():
    decodes = [f"d{number + 1}" for number in range(40)]
    cluster = Cluster(
        groups={"prefill": ["p1", "p2"], "decode": decodes, "router": ["r1"]}, sglang_instances={"decode": 20}
    )
    for host in decodes:
        cluster.cut(host, "p1", 24670, "rejected")
    (told,) = problems(cluster)["connections"]
    assert told.hosts == tuple(decodes)
    assert told.what.startswith("d1, d2, d3, d4, d5, d6 and 34 more cannot reach p1:24670 (store)")


def test_a_rendezvous_that_was_left_alone_is_said():
    cluster = Cluster()
    cluster["d1"]["units"] = {"sglang-decode": {"active": "active"}}
    cluster["d1"]["listeners"] = [listener(port, "192.0.2.21", "sglang-decode") for port in (5000, 5001, 8001)]
    (told,) = problems(cluster)["connections"]
    assert (told.level, told.hosts) == ("unknown", ("d1",))
    assert told.what.endswith("port 5000-5001")


def test_hosts_that_did_not_answer_are_left_out():
    cluster = Cluster()
    del cluster.answers["d2"]
    assert problems(cluster) == {}


def limited(cluster: Cluster, *hosts: str) -> dict[str, list[Problem]]:
    """What is said where no other hosts are asked."""
    for host in [name for name in cluster.answers if name not in hosts]:
        del cluster.answers[host], cluster.connections[host], cluster.clocks[host]
    for host in hosts:
        cluster.connections[host] = [one for one in cluster.connections[host] if one["host"] in hosts]
    return problems(cluster)


def test_a_host_whose_peers_were_not_asked_is_not_taken_for_equal():
    found = limited(Cluster(), "d2")
    assert {(name, one.level, one.hosts) for name, told in found.items() for one in told} == {
        (name, "unknown", ("d2",))
        for name in (
            "host-identity",
            "clock",
            "connections",
            "routes",
            "hccn-tls",
            "weights-equal",
            "versions-equal",
        )
    }
    texts = {name: told[0].what for name, told in found.items()}
    assert texts["clock"] == "nothing to compare it with: p1, p2, d1, r1 were not asked (--limit), or gave no answer"
    assert texts["weights-equal"] == (
        "nothing to compare it with: p1, p2, d1 were not asked (--limit), or gave no answer"
    )
    assert texts["connections"].startswith("nothing was tried from there: p1, p2, d1 were not asked (--limit)")


def test_hosts_that_could_be_compared_with_some_are():
    assert limited(Cluster(), "p1", "d1") == {}
    # Of two, only one has servers.
    assert set(limited(Cluster(), "d2", "r1")) == {
        "connections",
        "routes",
        "hccn-tls",
        "weights-equal",
        "versions-equal",
    }


def test_one_host_needs_no_peers():
    assert problems(Cluster(MIXED)) == {}


def test_a_clock_is_not_compared_where_no_other_was_read():
    cluster = Cluster()
    assert "clock" not in limited(cluster, "p1", "p2")
    del cluster.clocks["p2"]
    assert {one.hosts: one.what for one in problems(cluster)["clock"]} == {
        ("p1",): "no other host's clock was read",
        ("p2",): "its clock was not read",
    }


def test_no_route_was_looked_at_where_connections_were_left_out():
    cluster = Cluster()
    cluster.connections = {}
    (told,) = problems(cluster)["routes"]
    assert (told.level, told.hosts, told.what) == (
        "unknown",
        ("p1", "p2", "d1", "d2", "r1"),
        "no connection was tried from there",
    )


def test_old_versions_of_which_nothing_is_known():
    cluster = Cluster()
    situation = cluster.situation()
    other = type(situation)(**{**vars(situation), "engine": "0.5.23"})
    told = next(one for one in registry.run(other) if one.check.name == "versions-fit")
    assert [one.level for one in told.problems] == ["unknown"]
