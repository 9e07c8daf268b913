# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The router: one process that knows the URL of every instance's head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.plugin_utils import addresses
from ansible_collections.ascend.sglang.plugins.plugin_utils.allocation import Piece, PortClaim, ServicePorts
from ansible_collections.ascend.sglang.plugins.plugin_utils.command import (
    argv,
    filled,
    page_side,
    planned_side,
    put_after,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.deviations import Command, Deviation, Reasons, compare
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, error, warning
from ansible_collections.ascend.sglang.plugins.plugin_utils.inventory import Host
from ansible_collections.ascend.sglang.plugins.plugin_utils.placeholders import Context
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile import RoleProfile
from ansible_collections.ascend.sglang.plugins.plugin_utils.role_launch import RoleLaunch, check_launch, whole
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import SECRET_API_KEY, Service
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import Plain

UNIT = "sglang-router"
OWNER = "router"
# sglang-router's own defaults (its command grammar).
PORT = 30000
PROMETHEUS_PORT = 29000
WORKER_TIMEOUT = 1800

# What a router before mixed instances starts with; no page has one.
MIXED_ROUTER = RoleProfile(
    role="router",
    module="sglang_router.launch_router",
    args={"worker-urls": "<worker_urls>", "policy": "cache_aware", "host": "127.0.0.1", "port": PORT},
)


@dataclass(frozen=True)
class Worker:
    """One instance as the router sees it. The page's numbers stand beside, because a moved port is a deviation."""

    role: str
    url: str
    bootstrap: int | None
    page_url: str
    page_bootstrap: int | None
    user_set: bool


def mini_lb(launch: RoleLaunch) -> bool:
    """Whether the router is the small load balancer, which has neither metrics nor a waiting time for workers."""
    return launch.args.get("mini-lb") is True


def port_claims(launch: RoleLaunch, host: Host) -> Iterator[PortClaim]:
    """The router's own port and its metrics' port."""
    setting = "sglang_router_args"
    user_set = f"{setting}.port" if "port" in launch.user_args else ""
    yield PortClaim(host.name, OWNER, launch.integer("port", PORT), (Piece("http"),), user_set)
    if not mini_lb(launch):
        user_set = f"{setting}.prometheus-port" if "prometheus-port" in launch.user_args else ""
        base = launch.integer("prometheus-port", PROMETHEUS_PORT)
        yield PortClaim(host.name, OWNER, base, (Piece("prometheus"),), user_set)


def build(
    launch: RoleLaunch,
    host: Host,
    ports: ServicePorts,
    workers: tuple[Worker, ...],
    *,
    python: str,
    paths: Mapping[str, str],
    ready_timeout: int,
    api_key: bool,
) -> tuple[Service, list[Deviation], list[Finding]]:
    """The router's service, its deviations and what is worth knowing about where it listens.

    paths: model_path and draft_model_path, which a router's arguments may name (its tokenizer, say).
    """
    reasons = launch.reasons.copy()
    for role, flag in (("prefill", "prefill"), ("decode", "decode"), ("mixed", "worker-urls")):
        user_set = any(worker.user_set for worker in workers if worker.role == role)
        reasons.note_flag(flag, "override" if user_set else "port-moved")
    args = filled(launch.args, _context(host, workers, paths, page=False), {}, 0)
    if launch.integer("port", PORT) != ports.ports["http"]:
        put_after(args, "host", "port", ports.ports["http"])
        reasons.note_flag("port", "port-moved")
    findings = _host(launch, host, args)
    reach = _reachable(host, args)
    if not mini_lb(launch):
        _monitoring(args, reach, ports, reasons)
        if "worker-startup-timeout-secs" not in args and ready_timeout != WORKER_TIMEOUT:
            args["worker-startup-timeout-secs"] = ready_timeout
            reasons.note_flag("worker-startup-timeout-secs", "worker-start-limit")
    if api_key:
        args["api-key"] = dict(SECRET_API_KEY)
        reasons.note_flag("api-key", "override")
    env = filled(launch.env, _context(host, workers, paths, page=False), {}, 0)
    if "HF_HUB_OFFLINE" not in env and "HF_HUB_OFFLINE" not in launch.user_env:
        env["HF_HUB_OFFLINE"] = "1"
        reasons.note("env", "HF_HUB_OFFLINE", "tokenizer-offline")
    checked = {name: value for name, value in args.items() if value != SECRET_API_KEY}
    findings += check_launch(
        launch.engine, checked, {name: str(value) for name, value in env.items()}, "router", "router"
    )
    page = Command(
        page_side(
            filled(launch.profile.args, _context(host, workers, paths, page=True), {}, 0),
            launch.profile.page,
            launch.page_engine,
        ),
        filled(launch.profile.env, _context(host, workers, paths, page=True), {}, 0),
        launch.profile.unset,
        launch.profile.source,
    )
    side = planned_side(args, launch.engine)
    planned = Command(side, env, launch.unset, launch.profile.source)
    service = Service(
        host=host.name,
        unit=UNIT,
        role="router",
        instance=0,
        rank=0,
        nnodes=1,
        module=launch.profile.module,
        argv=(python, "-m", launch.profile.module, *argv(side)),
        env=env,
        unset=launch.unset,
        source=launch.profile.source,
        url=reach.url(ports.ports["http"]),
        ports=ports.ports,
        port_ranges=ports.ranges,
        npus=None,
    )
    deviations = list(compare(page, planned, reasons, host=host.name, role="router"))
    return service, deviations, [*findings, *_warnings(launch, host, reach, api_key=api_key)]


def _context(host: Host, workers: tuple[Worker, ...], paths: Mapping[str, str], *, page: bool) -> Context:
    def url(worker: Worker) -> str:
        return worker.page_url if page else worker.url

    def bootstrap(worker: Worker) -> str:
        return str(worker.page_bootstrap if page else worker.bootstrap)

    lists: Mapping[str, Plain] = {
        "prefill_urls": [[url(one), bootstrap(one)] for one in workers if one.role == "prefill"],
        "decode_urls": [[url(one)] for one in workers if one.role == "decode"],
        "worker_urls": [url(one) for one in workers if one.role == "mixed"],
    }
    texts = {**paths, "network_interface": host.interface}
    return Context(texts=texts, addresses={"data_address": host.address}, lists=lists)


def _host(launch: RoleLaunch, host: Host, args: Mapping[str, Plain]) -> list[Finding]:
    given = str(args.get("host", "0.0.0.0"))
    fits = addresses.is_loopback(given) or addresses.is_wildcard(given) or given == host.address.text
    if fits or "host" not in launch.user_args:
        return []
    what = f"{given} is not the data address of {host.name} ({host.address.text})"
    do = "Give that address, 127.0.0.1 for clients on the host itself, or 0.0.0.0 for every network of the host"
    return [error("host", "sglang_router_args.host", what, do)]


def _reachable(host: Host, args: Mapping[str, Plain]) -> addresses.Address:
    given = str(args.get("host", "0.0.0.0"))
    try:
        return host.address if addresses.is_wildcard(given) else addresses.parse(given)
    except addresses.AddressError:
        # Reported as the user's host already.
        return host.address


def _monitoring(args: dict[str, Plain], reach: addresses.Address, ports: ServicePorts, reasons: Reasons) -> None:
    if "prometheus-host" not in args:
        args["prometheus-host"] = reach.text
        reasons.note_flag("prometheus-host", "router-monitoring-address")
    if whole(args.get("prometheus-port"), PROMETHEUS_PORT) != ports.ports["prometheus"]:
        args["prometheus-port"] = ports.ports["prometheus"]
        reasons.note_flag("prometheus-port", "port-moved")


def _warnings(launch: RoleLaunch, host: Host, reach: addresses.Address, *, api_key: bool) -> Iterator[Finding]:
    if addresses.is_loopback(reach.text):
        what = f"the router listens on {reach.text}: it is reachable only from {host.name}"
        yield warning("local-entrance", "router", what, "Set sglang_router_args.host for clients on other hosts")
    if mini_lb(launch):
        yield from _small_balancer(launch, api_key=api_key)


def _small_balancer(launch: RoleLaunch, *, api_key: bool) -> Iterator[Finding]:
    """What is wrong with mini-lb here, and what it does not do."""
    if launch.args.get("pd-disaggregation") is not True:
        # Observed in sglang-router 0.3.2; the router starts when the models have been loaded.
        what = "mini-lb serves prefill and decode instances only: at its start, after the models have been loaded, it "
        what += "would end with 'MiniLB only supports PD disaggregation mode'"
        yield error("mini-lb", "router", what, _without_mini_lb(launch))
        return
    if api_key:
        # Observed: the small balancer sends its requests on without the header, and servers with a key answer 401.
        what = "mini-lb drops the Authorization header, so with sglang_api_key no server would answer"
        yield error("mini-lb", "router", what, "Set sglang_router_args: {mini-lb: false}, or leave sglang_api_key out")
    what = "mini-lb is for debugging only: its /health proves nothing, it has no metrics and drops Authorization"
    yield warning("mini-lb", "router", what, "Set sglang_router_args: {mini-lb: false} for the full router")
    policies = {
        name: value for name, value in launch.args.items() if name.endswith("policy") and value not in (None, "random")
    }
    if policies:
        asked: dict[str, list[str]] = {}
        for name, value in policies.items():
            by = "sglang_router_args" if name in launch.user_args else "the page"
            asked.setdefault(by, []).append(f"--{name} {value}")
        wishes = " and ".join(f"{by} asks for {' and '.join(flags)}" for by, flags in asked.items())
        what = f"{wishes}, and mini-lb always chooses at random"
        do = "The full router (sglang_router_args: {mini-lb: false}) keeps what is asked for"
        yield warning("mini-lb-policy", "router", what, do)


def _without_mini_lb(launch: RoleLaunch) -> str:
    if "mini-lb" in launch.user_args:
        return "Leave mini-lb out of sglang_router_args: the full router serves mixed instances"
    return (
        "Set sglang_router_args: {mini-lb: false}, or give the profile's router pd-disaggregation where it serves both"
    )
