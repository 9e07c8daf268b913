# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The compiler: a profile and an inventory become a plan. Everything that anybody needs to know is decided here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils.source_guard import is_atb
from ansible_collections.ascend.sglang.plugins.plugin_utils import (
    addresses,
    benchmark,
    engine_service,
    guards,
    inventory,
    plan_checks,
    router_service,
    store_service,
    topology,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.allocation import place_npus, place_ports
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmark import PlannedBenchmark
from ansible_collections.ascend.sglang.plugins.plugin_utils.cluster_settings import ClusterSettings
from ansible_collections.ascend.sglang.plugins.plugin_utils.deviations import Deviation
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.catalogue import ROUTER, SERVER, Catalogue
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import EngineError
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import (
    CompileError,
    Finding,
    error,
    errors,
    warning,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.host_facts import HostFacts
from ansible_collections.ascend.sglang.plugins.plugin_utils.inventory import Cluster, Inventory
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile import Profile, npus_per_card
from ansible_collections.ascend.sglang.plugins.plugin_utils.role_launch import RoleLaunch, launch, whole
from ansible_collections.ascend.sglang.plugins.plugin_utils.seats import (
    BOOTSTRAP_PORT,
    HTTP_PORT,
    Seat,
    bootstrap_port,
    grown,
    npu_claim,
    port_claims,
    seats,
    store_port,
    uses_store,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import Service
from ansible_collections.ascend.sglang.plugins.plugin_utils.topology import Instance, Topology

_NO_STORE = warning(
    "store",
    "sglang_store",
    "it is dedicated, but the transfer backend of these services needs no store, so that none is planned",
    "Leave it out, or set --disaggregation-transfer-backend to ascend",
)

# Flags from which sizes, ranks, addresses and ports follow: under another name they would be passed over in silence.
_COUNTED_WITH = (
    "model-path",
    "tp-size",
    "pp-size",
    "dp-size",
    "base-gpu-id",
    "nnodes",
    "node-rank",
    "dist-init-addr",
    "host",
    "port",
    "disaggregation-mode",
    "disaggregation-bootstrap-port",
    "disaggregation-transfer-backend",
)


@dataclass(frozen=True)
class Inputs:
    """Everything that a plan depends on; equal inputs give equal plans.

    roles: hosts by role (see inventory.members); api_key: whether a key is set; facts: what the hosts said, empty
    offline.
    """

    profile: Profile
    engines: Catalogue
    inventory: Inventory
    roles: Mapping[str, tuple[str, ...]]
    settings: ClusterSettings
    api_key: bool = False
    facts: Mapping[str, HostFacts] = field(default_factory=dict)


@dataclass(frozen=True)
class PlannedInstance:
    """An instance in the plan: its nodes by rank, and where its rank 0 answers."""

    role: str
    index: int
    nodes: tuple[str, ...]
    url: str
    bootstrap_port: int | None

    def as_dict(self) -> dict[str, Any]:
        return {
            "name": f"{self.role}-{self.index}",
            "role": self.role,
            "instance": self.index,
            "nodes": list(self.nodes),
            "url": self.url,
            "bootstrap_port": self.bootstrap_port,
        }


@dataclass(frozen=True)
class Plan:
    """What is to run where. Services are in the order in which they start."""

    profile: str
    engine: str
    cards: int
    instances: tuple[PlannedInstance, ...]
    services: tuple[Service, ...]
    benchmark: PlannedBenchmark | None
    deviations: tuple[Deviation, ...]
    findings: tuple[Finding, ...]

    @property
    def entrances(self) -> tuple[Service, ...]:
        """Where clients ask: the router, else rank 0 of each mixed instance."""
        routers = tuple(one for one in self.services if one.role == "router")
        return routers or tuple(one for one in self.services if one.rank == 0 and one.role == "mixed")

    def as_dict(self) -> dict[str, Any]:
        return {
            "profile": self.profile,
            "engine": self.engine,
            "cards": self.cards,
            "instances": [one.as_dict() for one in self.instances],
            "services": [one.as_dict() for one in self.services],
            "entrances": [{"host": one.host, "unit": one.unit, "url": one.url} for one in self.entrances],
            "benchmark": self.benchmark.as_dict() if self.benchmark else None,
            "deviations": [one.as_dict() for one in self.deviations],
            "findings": [one.as_dict() for one in self.findings],
        }

    def as_json(self) -> str:
        """The text of plan.json: no times, no machine's name, a line feed at the end."""
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False) + "\n"


def compile_plan(inputs: Inputs) -> Plan:
    """Run all passes. Raises CompileError where the inputs do not allow a plan at all.

    A plan may still hold findings that are errors: such a plan can be read, and must not be applied.
    """
    addresses.require_library()
    found: list[Finding] = []
    launches, findings = _launches(inputs)
    found += findings
    cluster, findings = inventory.cluster(inputs.inventory, inputs.roles, inputs.facts)
    found += findings
    counts, findings = topology.instance_counts(inputs.profile, inputs.settings.mapping("sglang_instances"))
    found += findings
    layout, findings = topology.build(inputs.profile, counts, cluster)
    found += [*findings, *plan_checks.settings(inputs.profile, inputs.settings)]
    # A role without hosts is inventory.members' finding, and the caller's to report.
    if layout is None or errors(found):
        raise CompileError(found)
    return _plan(inputs, cluster, layout, launches, found)


def _launches(inputs: Inputs) -> tuple[dict[str, RoleLaunch], list[Finding]]:
    profile, settings = inputs.profile, inputs.settings
    try:
        page = inputs.engines.get(profile.engine, SERVER)
        engine = inputs.engines.get(settings.text("sglang_engine") or profile.engine, SERVER)
        router = inputs.engines.get(profile.router_engine, ROUTER)
    except EngineError as problem:
        raise CompileError([error("engine", "sglang_engine", str(problem), "")]) from problem
    strange = [name for name in _COUNTED_WITH if engine.flag(name) is None]
    if strange:
        what = f"{engine.label} has no {', '.join(f'--{name}' for name in strange)}, which a plan is counted with"
        do = f"Stay with a version that has it ({profile.engine} has), until the collection knows the new name"
        raise CompileError([error("engine", "sglang_engine", what, do)])
    bodies = dict(profile.roles)
    if "router" in inputs.roles:
        bodies.setdefault("router", router_service.MIXED_ROUTER)
    launches, found = {}, []
    for role, body in bodies.items():
        launches[role], findings = launch(
            body,
            router if role == "router" else page,
            router if role == "router" else engine,
            settings.mapping(f"sglang_{role}_args"),
            settings.mapping(f"sglang_{role}_env"),
        )
        found += findings
    return launches, found


def _plan(
    inputs: Inputs, cluster: Cluster, layout: Topology, launches: Mapping[str, RoleLaunch], found: list[Finding]
) -> Plan:
    settings, profile = inputs.settings, inputs.profile
    places = seats(layout, launches)
    found += plan_checks.transfer_backends(launches)
    python = settings.text("sglang_python")
    paths = {name: settings.text(f"sglang_{name}") for name in ("model_path", "draft_model_path")}
    group_store = profile.disaggregated and uses_store(launches["prefill"])
    dedicated = group_store and settings.text("sglang_store") == "dedicated" and layout.router is not None
    if profile.disaggregated and not group_store and settings.text("sglang_store") == "dedicated":
        found.append(_NO_STORE)
    guard_port = settings.number("sglang_guard_port") if settings.values["sglang_guard"] else None
    ports, npus = _allocate(places, layout, launches, cluster, found, guard_port, dedicated=dedicated)
    page_store = layout.of_role("prefill")[0].head.address if profile.disaggregated else None
    around = engine_service.Surroundings(
        python=python,
        model_path=settings.text("sglang_model_path"),
        draft_model_path=settings.text("sglang_draft_model_path"),
        api_key=inputs.api_key,
        ports=ports,
        npus=npus,
        store=_store_address(places, layout, ports, dedicated=dedicated),
        page_store=page_store,
        router_host=layout.router.name if layout.router else None,
        sources={name: facts.sources for name, facts in inputs.facts.items()},
    )
    services: list[Service] = []
    deviations: list[Deviation] = []
    for seat in places:
        service, differs, findings = engine_service.build(seat, around)
        services.append(service)
        deviations += differs
        found += findings
    instances = tuple(_planned(one, services) for one in layout.instances)
    if layout.router is not None:
        own = ports[(layout.router.name, router_service.OWNER)]
        service, differs, findings = router_service.build(
            launches["router"],
            layout.router,
            own,
            _workers(layout, places, instances),
            python=python,
            paths=paths,
            ready_timeout=settings.number("sglang_ready_timeout"),
            api_key=inputs.api_key,
        )
        services.append(service)
        deviations += differs
        found += findings
    if dedicated and layout.router is not None:
        own = ports[(layout.router.name, store_service.OWNER)]
        source = engine_service.local_sources(
            profile.roles["prefill"].source, around.sources.get(layout.router.name, {})
        )
        # Prefill and decode look for the store as soon as they start.
        services.insert(0, store_service.build(layout.router, own, python=python, source=source))
    pin = settings.text("sglang_cxx_abi")
    if pin:
        services = [replace(one, cxx_abi=pin) if any(map(is_atb, one.source)) else one for one in services]
    addresses_of = {name: host.address for name, host in cluster.hosts.items()}
    services = guards.attach(services, addresses_of, settings.number("sglang_guard_gone_seconds"))
    plan = Plan(
        profile=profile.name,
        engine=settings.text("sglang_engine") or profile.engine,
        cards=-(-sum(last - first + 1 for first, last in npus.values()) // npus_per_card(profile.facts)),
        instances=instances,
        services=tuple(services),
        benchmark=None,
        deviations=(),
        findings=(),
    )
    planned = None
    if profile.benchmark is not None:
        planned, differs, findings = benchmark.build(
            profile.benchmark,
            plan.entrances,
            services,
            benchmark.grammar(inputs.engines, plan.engine),
            settings,
            list(dict.fromkeys(host for members in inputs.inventory.groups.values() for host in members)),
            api_key=inputs.api_key,
        )
        deviations += differs
        found += findings
    found += plan_checks.entrances(services)
    return replace(
        plan,
        benchmark=planned,
        deviations=tuple(deviations),
        findings=tuple(sorted(dict.fromkeys(found), key=lambda one: one.level != "error")),
    )


def _allocate(
    places: Sequence[Seat],
    layout: Topology,
    launches: Mapping[str, RoleLaunch],
    cluster: Cluster,
    found: list[Finding],
    guard_port: int | None,
    *,
    dedicated: bool,
) -> tuple[dict[tuple[str, str], Any], dict[tuple[str, str], tuple[int, int]]]:
    """Ports and NPUs of every service. Raises CompileError when some service gets no NPUs."""
    wanted = [npu_claim(seat) for seat in places]
    found += dict.fromkeys(problem for _claim, problem in wanted if problem)
    npus, findings = place_npus(
        [claim for claim, _problem in wanted if claim], {name: host.npus for name, host in cluster.hosts.items()}
    )
    found += findings
    claims = [
        claim
        for seat in places
        for claim in port_claims(
            seat,
            holds_store=not dedicated
            and seat.launch.role == "prefill"
            and seat.instance.index == 0
            and uses_store(seat.launch),
        )
    ]
    if layout.router is not None:
        claims += router_service.port_claims(launches["router"], layout.router)
    store = None
    if layout.router is not None and dedicated:
        store = store_service.port_claim(layout.router, store_port(launches["prefill"]))
        claims.append(store)
    if guard_port is not None:
        claims += guards.port_claims(places, store, guard_port)
    ports, findings = place_ports(claims)
    found += findings
    if errors(found):
        raise CompileError(found)
    return ports, npus


def _store_address(
    places: Sequence[Seat], layout: Topology, ports: Mapping[tuple[str, str], Any], *, dedicated: bool
) -> tuple[Any, int] | None:
    if dedicated and layout.router is not None:
        return layout.router.address, ports[(layout.router.name, store_service.OWNER)].ports["store"]
    holder = next((seat for seat in places if seat.launch.role == "prefill"), None)
    if holder is None or not uses_store(holder.launch):
        return None
    return holder.host.address, ports[(holder.host.name, holder.owner)].ports["store"]


def _planned(instance: Instance, services: Sequence[Service]) -> PlannedInstance:
    head = next(one for one in services if (one.role, one.instance, one.rank) == (instance.role, instance.index, 0))
    return PlannedInstance(
        instance.role,
        instance.index,
        tuple(node.name for node in instance.nodes),
        head.url,
        head.ports.get("bootstrap"),
    )


def _workers(
    layout: Topology, places: Sequence[Seat], instances: Sequence[PlannedInstance]
) -> tuple[router_service.Worker, ...]:
    heads = {(seat.launch.role, seat.instance.index): seat for seat in places if seat.rank == 0}
    workers = []
    for one in instances:
        seat = heads[(one.role, one.index)]
        body = seat.launch.profile
        page_port = whole(body.args.get("port"), HTTP_PORT) + grown(seat.launch, "port", one.index)
        prefill = one.role == "prefill"
        base = whole(body.args.get("disaggregation-bootstrap-port"), BOOTSTRAP_PORT)
        workers.append(
            router_service.Worker(
                role=one.role,
                url=one.url,
                bootstrap=one.bootstrap_port,
                page_url=f"{one.url.rpartition(':')[0]}:{page_port}",
                page_bootstrap=base + grown(seat.launch, "disaggregation-bootstrap-port", one.index)
                if prefill
                else None,
                user_set="port" in seat.launch.user_args
                or (prefill and bootstrap_port(seat) == one.bootstrap_port and seat.pinned_bootstrap is not None)
                or "disaggregation-bootstrap-port" in seat.launch.user_args,
            )
        )
    return tuple(workers)
