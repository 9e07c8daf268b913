# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A good cluster: the plan of a profile, and what its hosts would answer if nothing were wrong with them."""

from __future__ import annotations

import copy
import pathlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils import npu_smi
from ansible_collections.ascend.sglang.plugins.plugin_utils.cluster_settings import ClusterSettings
from ansible_collections.ascend.sglang.plugins.plugin_utils.plan import Plan
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.edges import edges
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.parsers import servers
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.questions import directories
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.situation import Situation
from ansible_collections.ascend.sglang.plugins.plugin_utils.settings import CLUSTER_SETTINGS
from unit.compiler import cluster

SAMPLES = pathlib.Path(__file__).parent / "samples"
PD = "deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms"
MIXED = "deepseek-r1-w4a8-8p-in3k5-out1k5-50-36ms"
KIMI = "kimi-k2-6-w4a8-1p1d-24p-in64k-out1k5-prefix90-100ms"
MODEL, DRAFT = "/models/main", "/models/draft"

PACKAGES = {
    "sglang": "0.5.13.post1",
    "sglang-router": "0.3.2",
    "torch": "2.10.0",
    "torch-npu": "2.10.0.post1",
    "memfabric-hybrid": "1.0.0",
    "memfabric-zbal": "1.0.0",
}


def plan_of(profile: str = PD, **changes: Any) -> Plan:
    return cluster.planned(profile, sglang_model_path=MODEL, sglang_draft_model_path=DRAFT, **changes)


def settings(**given: Any) -> ClusterSettings:
    usual = {one.name: one.default for one in CLUSTER_SETTINGS}
    return ClusterSettings({**usual, "sglang_model_path": MODEL, "sglang_draft_model_path": DRAFT, **given})


def npus(sample: str = "a3_v25.2.1_idle") -> dict[str, Any]:
    """What the module tells of an output of npu-smi."""
    report = npu_smi.parse((SAMPLES / f"npu-smi_info_{sample}.txt").read_text())
    told = None if report.processes is None else [{**one._asdict(), "unit": None} for one in report.processes]
    return {
        "path": "/usr/local/sbin/npu-smi",
        "error": "",
        "version": report.version,
        "product": report.product,
        "npus": [one._asdict() for one in report.npus],
        "processes": told,
        "incomplete": report.incomplete,
    }


def devices(count: int = 16, mode: int = 0o660) -> dict[str, Any]:
    names = [*(f"davinci{number}" for number in range(count)), "davinci_manager", "hisi_hdc"]
    files = {name: {"mode": mode, "uid": 1000, "gid": 1000} for name in names}
    return {"npus": list(range(count)), "managers": names[count:], "files": files, "group": 1000}


def weights(**different: Any) -> dict[str, Any]:
    whole = {
        "exists": True,
        "empty": False,
        "error": "",
        "files": 163,
        "size": 650_000_000_000,
        "problems": [],
        "missing": [],
        "absent": [],
        "pointers": [],
        "index": {"name": "x.safetensors.index.json", "sha256": "a" * 64, "total_size": 1, "error": ""},
        "config": {"sha256": "b" * 64, "model_type": "deepseek_v3", "quant_method": "", "error": ""},
        "quant": {"sha256": "c" * 64, "type": "W8A8_DYNAMIC", "error": ""},
        "other_quant": [],
    }
    return {**whole, **different}


def tuning(host: str, plan: Plan) -> dict[str, Any]:
    """A host that is tuned, its services' ports kept for them."""
    own = [one for one in plan.services if one.host == host]
    ports = {port for one in own for port in one.ports.values()}
    ports |= {port for one in own for first, last in one.port_ranges.values() for port in range(first, last + 1)}
    return {"changed": False, "error": "", "variable": False, "warnings": [], "reserved": sorted(ports)}


def answer(host: str, address: str, plan: Plan) -> dict[str, Any]:
    """One host's facts."""
    words = {str(word) for one in plan.services if one.host == host for word in one.argv}
    engine = any(one.npus for one in plan.services if one.host == host)
    paths = [path for path in (MODEL, DRAFT) if path in words]
    users = {"root" if engine else "": {"error": "", "closed": {path: [] for path in paths}}}
    kimi = weights(
        config={"sha256": "b" * 64, "model_type": "kimi_k25", "quant_method": "", "error": ""},
        quant={"sha256": "c" * 64, "type": "W4A8_DYNAMIC", "error": ""},
    )
    main = kimi if "kimi" in plan.profile else weights()
    if "w4a8" in plan.profile:
        main["quant"] = {"sha256": "c" * 64, "type": "W4A8_DYNAMIC", "error": ""}
    return copy.deepcopy(
        {
            "hostname": host,
            "machine_id": f"id-of-{host}",
            "uid": 0,
            "npu_group": engine,
            "time": 1000.0,
            "tuning": tuning(host, plan) if engine else None,
            "interfaces": {
                "lo": {"addresses": ["127.0.0.1"], "up": True, "loopback": True, "mtu": 65536},
                "bond0": {"addresses": [address], "up": True, "loopback": False, "mtu": 1500},
                "eth0": {
                    "addresses": [f"198.51.100.{address.rpartition('.')[2]}"],
                    "up": True,
                    "loopback": False,
                    "mtu": 1500,
                },
            },
            "resolved": {},
            "listeners": [],
            "units": {},
            "paths": {path: {"exists": True, "directory": True, "empty": False, "readable": True} for path in paths},
            "python": {
                "path": "/usr/bin/python3",
                "version": "3.11.9",
                "error": "",
                "packages": PACKAGES,
                "parser": {"path": "/usr/lib/python3/dist-packages/sglang/srt/server_args.py", "stamp": "1 2"},
                "users": users,
            },
            "cann": {
                "toolkit": {
                    "path": "/usr/local/Ascend/cann/set_env.sh",
                    "version": "9.0.0",
                    "home": "/usr/local/Ascend/cann",
                },
                "atb": {
                    "path": "/usr/local/Ascend/nnal/atb/set_env.sh",
                    "version": "9.0.0",
                    "home": "/usr/local/Ascend/nnal",
                },
                "problems": [],
            },
            "preflight": {
                "npu_smi": npus() if engine else None,
                "hccn": {
                    "path": "/usr/local/bin/hccn_tool",
                    "error": "",
                    "npus": [{"number": number, "link": "UP", "tls": 0, "error": ""} for number in range(16)],
                }
                if engine
                else None,
                "driver": {"driver": "25.5.1", "firmware": "7.8.0.6.201", "status": "complete"} if engine else None,
                "devices": devices() if engine else None,
                "accounts": {"root": {"uid": 0, "groups": [0]}} if engine else {},
                "weights": {path: main if path == MODEL else weights(quant=None) for path in paths},
                "shm": {"size": 1 << 36, "free": 1 << 36, "files": []},
                "disks": {
                    path: {"at": path, "free": 1 << 40, "inodes": 1_000_000, "writable": True}
                    for path in directories(one for one in plan.services if one.host == host)
                },
                "limits": {"memlock": 8 << 20, "nofile": 524288, "nr_open": 1048576, "raises": True, "locks": True},
                "ports": {"range": [32768, 60999], "reserved": []},
                "throwaway": {},
            },
        }
    )


class Cluster:
    """A plan with the answers of its hosts, to be spoilt."""

    def __init__(self, profile: str = PD, given: Mapping[str, Any] | None = None, **changes: Any) -> None:
        self.plan = plan_of(profile, **changes)
        self.settings = settings(**(given or {}))
        self.addresses = {one.host: _address(self.plan, one.host) for one in self.plan.services}
        self.answers = {host: answer(host, address, self.plan) for host, address in self.addresses.items()}
        self.clocks = dict.fromkeys(self.addresses, (-0.2, 0.3))
        said: dict[str, Any] = {"refused": [], "deprecated": []}
        units = {host: [one.unit for one in servers(self.plan.services, host)] for host in self.addresses}
        self.parsers: dict[str, dict[str, Any]] = {
            host: {"answers": dict.fromkeys(names, said), "error": ""} for host, names in units.items() if names
        }
        self.connections: dict[str, list[dict[str, Any]]] = {host: [] for host in self.addresses}
        for edge in edges(self.plan.services):
            self.answers[edge.target]["preflight"]["throwaway"][str(edge.port)] = ""
            self.connections[edge.source].append(
                {
                    "host": edge.target,
                    "port": edge.port,
                    "outcome": "ok",
                    "detail": "",
                    "route": self.addresses[edge.source],
                }
            )

    def __getitem__(self, host: str) -> dict[str, Any]:
        return self.answers[host]

    def looked(self, host: str) -> dict[str, Any]:
        found: dict[str, Any] = self.answers[host]["preflight"]
        return found

    def engines(self) -> list[str]:
        return list(dict.fromkeys(one.host for one in self.plan.services if one.npus))

    def each(self, hosts: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """What the preflight asked, of hosts with servers."""
        return [self.looked(host) for host in hosts or self.engines()]

    def cut(self, source: str, target: str, port: int, outcome: str, detail: str = "") -> None:
        """Let a connection come to something else."""
        (one,) = [one for one in self.connections[source] if (one["host"], one["port"]) == (target, port)]
        one.update(outcome=outcome, detail=detail)

    def shut(self, host: str, port: int, why: str) -> None:
        """Let a host fail to start a throw-away listener, so that nobody connects to it."""
        self.looked(host)["throwaway"][str(port)] = why
        for source, tried in self.connections.items():
            self.connections[source] = [one for one in tried if (one["host"], one["port"]) != (host, port)]

    def set(self, **given: Any) -> None:
        self.settings = ClusterSettings({**self.settings.values, **given})

    def add_env(self, host: str, **env: str) -> None:
        """Give the services of a host more variables."""
        services = [replace(one, env={**one.env, **env}) if one.host == host else one for one in self.plan.services]
        self.plan = replace(self.plan, services=tuple(services))

    def situation(self) -> Situation:
        return Situation(
            services=self.plan.services,
            answers=self.answers,
            settings=self.settings,
            addresses=self.addresses,
            engine="0.5.13.post1",
            router="0.3.2",
            recipe=cluster.profile(self.plan.profile).facts,
            clocks=self.clocks,
            connections={host: tuple(tried) for host, tried in self.connections.items()},
            parsers=self.parsers,
        )


def _address(plan: Plan, host: str) -> str:
    env = next((one.env for one in plan.services if one.host == host and "SGLANG_HOST_IP" in one.env), None)
    return str(env["SGLANG_HOST_IP"]) if env else "192.0.2.91"
