# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The service of one seat: the role's launch with this node's rank, addresses and ports in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.plugin_utils import addresses
from ansible_collections.ascend.sglang.plugins.plugin_utils.addresses import Address
from ansible_collections.ascend.sglang.plugins.plugin_utils.allocation import ServicePorts
from ansible_collections.ascend.sglang.plugins.plugin_utils.command import (
    argv,
    filled,
    page_side,
    planned_side,
    put_after,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.deviations import Command, Deviation, Reasons, compare
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, error
from ansible_collections.ascend.sglang.plugins.plugin_utils.placeholders import Context
from ansible_collections.ascend.sglang.plugins.plugin_utils.role_launch import check_launch, whole
from ansible_collections.ascend.sglang.plugins.plugin_utils.seats import (
    BOOTSTRAP_PORT,
    DIST_INIT_PORT,
    HCCL_PORT,
    HTTP_PORT,
    STORE_URL,
    TRANSFER_BACKEND,
    ZBAL_PORT,
    ZBAL_URL,
    Seat,
    names_no_backend,
    trailing_port,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import SECRET_API_KEY, Service
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import Plain


@dataclass(frozen=True)
class Surroundings:
    """What a seat needs to know of the rest of the cluster.

    ports: (host, owner) -> ports; npus: (host, owner) -> first and last; store: where the PD group meets;
    page_store: the node that the page gives the store to; router_host: name of the router's host;
    sources: host -> set_env.sh on the page -> its path on that host.
    """

    python: str
    model_path: str
    draft_model_path: str
    api_key: bool
    ports: Mapping[tuple[str, str], ServicePorts]
    npus: Mapping[tuple[str, str], tuple[int, int]]
    store: tuple[Address, int] | None
    page_store: Address | None
    router_host: str | None
    sources: Mapping[str, Mapping[str, str]]

    def of(self, seat: Seat) -> ServicePorts:
        return self.ports[(seat.host.name, seat.owner)]

    def of_head(self, seat: Seat) -> ServicePorts:
        return self.of(Seat(seat.launch, seat.instance, 0, seat.unit))


def build(seat: Seat, around: Surroundings) -> tuple[Service, list[Deviation], list[Finding]]:
    """The service of the seat, how it differs from the page, and what is wrong with the user's addresses."""
    launch, index = seat.launch, seat.instance.index
    fill = _context(seat, around)
    reasons = launch.reasons.copy()
    args, findings = _args(seat, around, fill, reasons)
    env = _env(seat, around, fill, reasons, args)
    findings += _users_zbal(seat, env)
    source = _source(seat, around, reasons)
    if seat.rank == 0 and index == 0:
        # What is wrong with one service of a role is wrong with all of them.
        checked = {name: value for name, value in args.items() if value != SECRET_API_KEY}
        findings += check_launch(launch.engine, checked, env, f"{launch.role} services", launch.role)
    growth = launch.profile.per_instance
    page = Command(
        page_side(filled(launch.profile.args, fill, growth, index), launch.profile.page, launch.page_engine, seat.rank),
        filled(launch.profile.env, fill, growth, index),
        launch.profile.unset,
        launch.profile.source,
    )
    side = planned_side(args, launch.engine)
    planned = Command(side, env, launch.unset, source)
    where = {"host": seat.host.name, "role": launch.role}
    deviations = list(compare(page, planned, reasons, **where, instance=index, rank=seat.rank))
    ports = around.of(seat)
    service = Service(
        host=seat.host.name,
        unit=seat.unit,
        role=launch.role,
        instance=index,
        rank=seat.rank,
        nnodes=len(seat.instance.nodes),
        module=launch.profile.module,
        argv=(around.python, "-m", launch.profile.module, *argv(side)),
        env=env,
        unset=launch.unset,
        source=source,
        url=_reachable(seat, args).url(ports.ports["http"]),
        ports=ports.ports,
        port_ranges=ports.ranges,
        npus=around.npus[(seat.host.name, seat.owner)],
    )
    return service, deviations, findings


def _context(seat: Seat, around: Surroundings) -> Context:
    known = {"data_address": seat.host.address, "head_address": seat.instance.head.address}
    if around.page_store is not None:
        known["store_address"] = around.page_store
    return Context(
        texts={
            "model_path": around.model_path,
            "draft_model_path": around.draft_model_path,
            "network_interface": seat.host.interface,
            "node_rank": str(seat.rank),
        },
        addresses=known,
        lists={"node_rank": seat.rank},
    )


def _args(seat: Seat, around: Surroundings, fill: Context, reasons: Reasons) -> tuple[dict[str, Plain], list[Finding]]:
    launch = seat.launch
    args = filled(launch.args, fill, launch.profile.per_instance, seat.instance.index)
    findings: list[Finding] = []
    ports = around.of(seat).ports
    _derive(args, "port", ports["http"], HTTP_PORT, "host", reasons, "port-moved")
    if launch.role == "prefill":
        _bootstrap(seat, around, args, reasons)
    if seat.multi_node or "dist-init-addr" in args:
        findings += _rendezvous(seat, around, args, reasons)
    findings += _host(seat, around, args, reasons)
    if launch.role in ("prefill", "decode") and names_no_backend(launch):
        put_after(args, "disaggregation-bootstrap-port", "disaggregation-transfer-backend", TRANSFER_BACKEND)
        reasons.note_flag("disaggregation-transfer-backend", "transfer-backend")
    first = around.npus[(seat.host.name, seat.owner)][0]
    _derive(args, "base-gpu-id", first, 0, "tp-size", reasons, "npu-range")
    if around.api_key:
        args["api-key"] = dict(SECRET_API_KEY)
        reasons.note_flag("api-key", "override")
    return args, findings


def _derive(
    args: dict[str, Plain], name: str, value: int, default: int, anchor: str, reasons: Reasons, reason: str
) -> None:
    """Set a number to its derived value, unless the program would take that value anyway."""
    if whole(args.get(name), default) != value:
        put_after(args, anchor, name, value)
        reasons.note_flag(name, reason)


def _bootstrap(seat: Seat, around: Surroundings, args: dict[str, Plain], reasons: Reasons) -> None:
    """Every rank names the port that the instance's rank 0 serves."""
    flag = "disaggregation-bootstrap-port"
    reason = "override" if seat.pinned_bootstrap is not None else "port-moved"
    _derive(args, flag, around.of_head(seat).ports["bootstrap"], BOOTSTRAP_PORT, "port", reasons, reason)
    spelling = seat.launch.profile.page.get(flag)
    if spelling is not None and spelling.per_rank and seat.rank:
        reasons.note_flag(flag, "multi-node-rendezvous")


def _rendezvous(seat: Seat, around: Surroundings, args: dict[str, Plain], reasons: Reasons) -> list[Finding]:
    port = around.of_head(seat).ports["dist_init"]
    if seat.multi_node:
        for name, value in (("nnodes", len(seat.instance.nodes)), ("node-rank", seat.rank)):
            if args.get(name) != value:
                put_after(args, "nnodes", name, value)
                reasons.note_flag(name, "multi-node-rank")
    here = args.get("dist-init-addr")
    head = seat.instance.head.address
    if here is None:
        put_after(args, "nnodes", "dist-init-addr", head.with_port(port))
        reasons.note_flag("dist-init-addr", "multi-node-rendezvous")
        return []
    if "dist-init-addr" in seat.launch.user_args:
        where = f"sglang_{seat.launch.role}_args.dist-init-addr"
        return _users_address(seat, where, str(here), f"{_HEAD}:{DIST_INIT_PORT}")
    if seat.multi_node and here != head.with_port(port):
        same_port = trailing_port(here, -1) == port
        args["dist-init-addr"] = head.with_port(port)
        reasons.note_flag("dist-init-addr", "multi-node-rendezvous" if same_port else "port-moved")
    elif not seat.multi_node and trailing_port(here, -1) != port:
        args["dist-init-addr"] = f"{str(here).rpartition(':')[0]}:{port}"
        reasons.note_flag("dist-init-addr", "port-moved")
    return []


_HEAD = "<head_address>"


def _users_address(seat: Seat, where: str, text: str, example: str) -> list[Finding]:
    """An error where an address that the user gave for all ranks to meet at is not rank 0's, or not written so."""
    head = seat.instance.head
    scheme, _head, _port = example.partition(_HEAD)
    host, _colon, port = text.rpartition("://")[2].rpartition(":")
    do = f"Leave it out, or write {example} with the port that you want"
    if host != head.address.in_url and (seat.multi_node or not addresses.is_loopback(host.strip("[]"))):
        what = f"{text} is not at rank 0 of {seat.instance.name}, {head.name} ({head.address.text})"
        return [error("rendezvous", where, what, do)]
    if text != f"{scheme}{host}:{port}" or not (port.isascii() and port.isdecimal()):
        return [
            error("rendezvous", where, f"{text!r} is not written as {scheme}ADDRESS:PORT, with a number as port", do)
        ]
    return []


def _needs_data_address(seat: Seat, around: Surroundings) -> bool:
    """Whether a process on another host must reach this one."""
    mixed_alone = seat.launch.role == "mixed" and around.router_host in (None, seat.host.name)
    return seat.multi_node or not mixed_alone


def _host(seat: Seat, around: Surroundings, args: dict[str, Plain], reasons: Reasons) -> list[Finding]:
    address = seat.host.address
    given = str(args.get("host", "127.0.0.1"))
    local = addresses.is_loopback(given)
    if "host" in seat.launch.user_args and "host" in args:
        return _users_host(seat, given, must_be_reachable=_needs_data_address(seat, around))
    if not _needs_data_address(seat, around):
        return []
    if local or addresses.is_wildcard(given):
        put_after(args, "model-path", "host", address.text)
        reasons.note_flag("host", "multi-node-address" if seat.multi_node else "clients-on-other-hosts")
    return []


def _users_host(seat: Seat, given: str, *, must_be_reachable: bool) -> list[Finding]:
    where = f"sglang_{seat.launch.role}_args.host"
    if addresses.is_wildcard(given) or given == seat.host.address.text:
        return []
    if addresses.is_loopback(given):
        if not must_be_reachable:
            return []
        what = f"{seat.owner} on {seat.host.name} must be reachable by other hosts, so not at {given}"
        return [error("host", where, what, "Leave it out: the service listens on the host's data address")]
    what = f"{given} is not the data address of {seat.host.name} ({seat.host.address.text})"
    return [error("host", where, what, "Leave it out, or correct sglang_data_address on the host")]


def _reachable(seat: Seat, args: Mapping[str, Plain]) -> Address:
    """The address at which this process answers HTTP."""
    given = str(args.get("host", "127.0.0.1"))
    try:
        return seat.host.address if addresses.is_wildcard(given) else addresses.parse(given)
    except addresses.AddressError:
        # Reported as the user's host, or the profile's, already.
        return seat.host.address


def _env(
    seat: Seat, around: Surroundings, fill: Context, reasons: Reasons, args: Mapping[str, Plain]
) -> dict[str, str]:
    launch, interface = seat.launch, seat.host.interface
    env: dict[str, str] = {
        name: str(value)
        for name, value in filled(launch.env, fill, launch.profile.per_instance, seat.instance.index).items()
    }

    def derive(name: str, value: str, reason: str) -> None:
        if env.get(name) != value:
            env[name] = value
            reasons.note("env", name, reason)

    if around.store is not None and (
        STORE_URL in env or args.get("disaggregation-transfer-backend") == TRANSFER_BACKEND
    ):
        address, port = around.store
        moved = address == around.page_store and STORE_URL in env
        reason = "port-moved" if moved else ("override" if STORE_URL in env else "transfer-backend")
        derive(STORE_URL, address.url(port, "tcp"), reason)
    for name in ("HCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"):
        derive(name, interface, "socket-interface")
    if launch.role != "mixed" or seat.multi_node:
        derive("SGLANG_HOST_IP", seat.host.address.text, "host-address")
    if ZBAL_URL in env:
        _zbal(seat, around, env, derive_to=lambda value, reason: derive(ZBAL_URL, value, reason))
    hccl = around.of(seat).ranges["hccl"][0]
    if env.get("HCCL_IF_BASE_PORT", str(HCCL_PORT)) != str(hccl):
        derive("HCCL_IF_BASE_PORT", str(hccl), "port-moved")
    return env


def _zbal(seat: Seat, around: Surroundings, env: Mapping[str, Plain], derive_to: Callable[[str, str], None]) -> None:
    """The store of an instance's ranks: on loopback for one node, at rank 0's address for several."""
    text = str(env[ZBAL_URL])
    port = around.of_head(seat).ports["zbal"]
    if ZBAL_URL in seat.launch.user_env:
        return  # a user's port does not move, and a wrong address is an error
    if seat.multi_node:
        wanted = seat.instance.head.address.url(port, "tcp")
        derive_to(wanted, "zbal-multi-node" if trailing_port(text, -1) == port else "port-moved")
    elif trailing_port(text, -1) != port:
        derive_to(f"{text.rpartition(':')[0]}:{port}", "port-moved")


def _users_zbal(seat: Seat, env: Mapping[str, str]) -> list[Finding]:
    if ZBAL_URL not in seat.launch.user_env or ZBAL_URL not in env:
        return []
    where = f"sglang_{seat.launch.role}_env.{ZBAL_URL}"
    return _users_address(seat, where, env[ZBAL_URL], f"tcp://{_HEAD}:{ZBAL_PORT}")


def local_sources(paths: tuple[str, ...], found: Mapping[str, str]) -> tuple[str, ...]:
    """The scripts to source where the host has them; `found` maps the page's paths to the host's."""
    return tuple(found.get(path, path) for path in paths)


def _source(seat: Seat, around: Surroundings, reasons: Reasons) -> tuple[str, ...]:
    paths = seat.launch.profile.source
    here = local_sources(paths, around.sources.get(seat.host.name, {}))
    for path, local in zip(paths, here, strict=True):
        if local != path:
            reasons.note("source", path, "cann-location")
            reasons.note("source", local, "cann-location")
    return here
