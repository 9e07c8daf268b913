# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In which order services become new processes: a list of waves, each applied as a whole before the next.

What serves nobody starts first, all at once. What serves restarts one instance after the other, out of the router
meanwhile, so that others of its role answer. What must restart together is one wave. The router is the last one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, warning
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.limit import Limit
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.restarts import NEW_PROCESS, halts
from ansible_collections.ascend.sglang.plugins.plugin_utils.operations.words import listed

Service = Mapping[str, Any]
Units = Mapping[str, Mapping[str, Mapping[str, Any]]]

# What the module ascend.sglang.service says of a service whose API key is another one.
SECRETS_CHANGE = "its secrets change"

# What waiting for a service needs to know of it.
_WATCHED = ("host", "unit", "role", "url")

_KINDS = {"prefill": "prefill", "decode": "decode", "mixed": "regular"}
_ORDER = ("store", "prefill", "decode", "mixed", "router")


@dataclass(frozen=True)
class Running:
    """What runs, as the hosts told.

    urls: host -> unit -> the URL that it runs with. workers: whether a router runs that can take workers out and in.
    """

    urls: Mapping[str, Mapping[str, str]]
    workers: bool


@dataclass(frozen=True)
class Wave:
    """What becomes new at the same time.

    services: its services; halt: those of them that are all down before one starts; leave: URLs of workers that the
    router lets go before, join: workers that it gets back after; spare: whether others of their kind must be healthy;
    interrupts: what clients lose meanwhile, empty when they lose nothing; ends: whether that is over with the wave, and
    not with a later one; advice: for the one who sees it fail.
    """

    title: str
    services: tuple[Service, ...]
    halt: tuple[Service, ...] = ()
    leave: tuple[str, ...] = ()
    join: tuple[Mapping[str, Any], ...] = ()
    spare: bool = False
    interrupts: str = ""
    ends: bool = True
    advice: str = ""

    def as_dict(
        self, entrance: Mapping[str, Any], ready: Mapping[str, Sequence[Service]], reachable: Collection[str]
    ) -> dict[str, Any]:
        """As the playbooks take it.

        entrance: `host`, `unit` and `url` of who is asked meanwhile, and whether it `answers` then, or nothing; ready:
        host -> its services that can become ready; reachable: their URLs.
        """
        hosts = list(
            dict.fromkeys([*(one["host"] for one in self.services), *([entrance["host"]] if entrance else [])])
        )
        # A router whose workers are out is not ready before they are back; as a wave of its own it has them.
        routers = all(one["role"] == "router" for one in self.services)
        mine = {(one["host"], one["unit"]) for one in self.services if routers or one["role"] != "router"}
        return {
            "title": self.title,
            "entrance": entrance,
            "hosts": hosts,
            "units": _by_host(self.services, lambda one: one["unit"]),
            "roles": {host: sorted(set(roles)) for host, roles in _by_host(self.services, _role).items()},
            "halt": _by_host(self.halt, lambda one: one["unit"]),
            "wait": {
                # As little as it takes: every host of a large cluster reads every wave.
                host: [{key: one[key] for key in _WATCHED} for one in own if (host, one["unit"]) in mine]
                for host, own in ready.items()
                if any((host, one["unit"]) in mine for one in own)
            },
            "leave": [{"url": url} for url in self.leave],
            "join": [one for one in self.join if one["url"] in reachable],
            "spare": self.spare,
            "interrupts": self.interrupts,
            "measure": bool(self.interrupts and self.ends and entrance and entrance["answers"]),
            "advice": self.advice,
        }


def waves(services: Sequence[Service], units: Units, also: Mapping[str, Mapping[str, str]], now: Running) -> list[Wave]:
    """The waves, in order.

    services: the plan's; units: host -> unit -> what would become of it (`action`, `reason`, `changed`, `state`); also:
    what restarts because of another one (restarts.restarts).
    """
    asked = [one for one in services if one["unit"] in units.get(one["host"], {})]
    rollout = _Rollout(services, asked, units, also, now)
    settled, started = list(rollout.settle()), list(rollout.start())
    if settled and started and started[0].interrupts:
        # What goes may be the store that clients still need.
        together = (*started[0].services, *settled[0].services)
        settled, started = [], [replace(started[0], services=together)]
    found = [*settled, *started, *rollout.roll(), *rollout.router()]
    leaving = rollout.leaving()
    if leaving and found:
        first = found[0]
        found[0] = replace(first, leave=(*leaving, *(url for url in first.leave if url not in leaving)))
    return found


class _Rollout:
    """The questions that the waves are made of."""

    def __init__(
        self,
        services: Sequence[Service],
        asked: Sequence[Service],
        units: Units,
        also: Mapping[str, Mapping[str, str]],
        now: Running,
    ) -> None:
        self._services = services
        self._asked = asked
        self._units = units
        self._now = now
        self._new = [one for one in asked if self._is_new(one, also)]
        self._halt = {(one["host"], one["unit"]) for own in halts(services, units, also).values() for one in own}
        router = [one for one in asked if one["role"] == "router"]
        self._routed = bool(router) and all(self._serves(one) for one in router)
        # Requests come through the router; where there is none, an instance is its own entrance.
        self._clients = self._routed or not any(one["role"] == "router" for one in services)

    def _is_new(self, one: Service, also: Mapping[str, Mapping[str, str]]) -> bool:
        return self._unit(one).get("action") in NEW_PROCESS or one["unit"] in also.get(one["host"], {})

    def _unit(self, one: Service) -> Mapping[str, Any]:
        return self._units[one["host"]][one["unit"]]

    def _serves(self, one: Service) -> bool:
        return str(self._unit(one).get("state", "")).startswith("active (")

    def leaving(self) -> tuple[str, ...]:
        """URLs of workers that the plan no longer has on hosts that were asked."""
        urls = [self._now.urls.get(host, {}).get(unit, "") for host, unit in self._gone()]
        return tuple(url for url in urls if url.startswith("http")) if self._now.workers else ()

    def _gone(self) -> list[tuple[str, str]]:
        planned = {(one["host"], one["unit"]) for one in self._services}
        return [
            (host, unit)
            for host, own in self._units.items()
            for unit, what in own.items()
            if (host, unit) not in planned and what.get("action", "none") != "none"
        ]

    def settle(self) -> Iterator[Wave]:
        """What changes without a new process; units that the plan no longer has go with it."""
        new = {(one["host"], one["unit"]) for one in self._new}
        # A host with a part in a later wave loses them there.
        losing = {host for host, _unit in self._gone()} - {host for host, _unit in new}
        quiet = tuple(
            one
            for one in self._asked
            if (one["host"], one["unit"]) not in new and (self._unit(one).get("changed") or one["host"] in losing)
        )
        if quiet:
            yield Wave("what needs no restart", quiet)

    def start(self) -> Iterator[Wave]:
        """What serves nobody, and what can only restart together."""
        new = [one for one in self._new if one["role"] != "router"]
        group = [one for one in new if one["role"] in ("store", "prefill", "decode")]
        if self._rotates():
            why = (
                "the API key changes, and old and new keys cannot serve side by side: no request is answered until all "
            )
            wave = self._together(new, why + "instances and the router have started again")
            # With its old key this router would get no answer from them; the new one finds them by itself.
            yield replace(wave, join=(), ends=False)
        elif any("store" in one["ports"] for one in group) and any(map(self._serves, group)):
            (holder, *_others) = [one for one in group if "store" in one["ports"]]
            why = (
                f"{_of(holder)} holds the store, so that its whole PD group restarts: no request is answered meanwhile"
            )
            yield self._together(group, why if self._clients else "")
        else:
            idle = [one for one in new if not self._clients or not self._instance_serves(one)]
            if idle:
                yield self._together(idle, "")

    def roll(self) -> Iterator[Wave]:
        """What serves and can restart one after the other."""
        done = {(one["host"], one["unit"]) for wave in self.start() for one in wave.services}
        rest = [one for one in self._new if one["role"] != "router" and (one["host"], one["unit"]) not in done]
        single = {
            role for role in _KINDS if len({one["instance"] for one in self._services if one["role"] == role}) == 1
        }
        for group in _instances([one for one in rest if one["role"] not in single]):
            yield self._one(group)
        alone = [one for one in rest if one["role"] in single]
        if alone:
            names = _names(alone)
            verb = "are the only ones of their roles" if len(names) > 1 else f"is the only {alone[0]['role']} instance"
            yield self._together(alone, f"{listed(names)} {verb}: no request is answered meanwhile")

    def router(self) -> Iterator[Wave]:
        """The router itself: only when it changes, or does not run."""
        new = [one for one in self._new if one["role"] == "router"]
        if new:
            why = str(self._unit(new[0]).get("reason") or "it was asked for")
            lost = f"the router restarts because {why}: no request is accepted for some seconds"
            interrupts = lost if self._routed and not self._rotates() else ""
            advice = "The instances behind the router run on; clients get no answer until a router runs again."
            yield Wave("the router", tuple(new), interrupts=interrupts, advice=advice if self._routed else "")

    def _rotates(self) -> bool:
        return any(self._routed and SECRETS_CHANGE in str(self._unit(one).get("reason")) for one in self._new)

    def _instance_serves(self, one: Service) -> bool:
        mates = [two for two in self._asked if (two["role"], two["instance"]) == (one["role"], one["instance"])]
        return all(map(self._serves, mates))

    def _together(self, services: Sequence[Service], interrupts: str) -> Wave:
        """One wave of many instances."""
        return self._wave(services, interrupts, spare=False, advice="")

    def _one(self, services: Sequence[Service]) -> Wave:
        """One instance that others of its role stand in for."""
        name = listed(_names(services))
        interrupts = ""
        if not self._routed:
            interrupts = f"{name} is an entrance of its own: its clients get no answer meanwhile"
        elif not self._now.workers:
            interrupts = f"this router goes on sending requests to {name} meanwhile, and those fail"
        others = [
            other for other in dict.fromkeys(_names(self._asked)) if other != name and not other.startswith("store")
        ]
        out = "is out of the router" if self._now.workers else "does not serve"
        left = f"{listed(others) or 'nothing else'} {'was' if len(others) == 1 else 'were'} left to serve"
        advice = (
            f"Stopped here: {name} {out}, {left}. "
            "Nothing was restarted after it. Correct its settings and deploy again, or go back with rollback.yml."
        )
        return self._wave(services, interrupts, spare=self._now.workers, advice=advice)

    def _wave(self, services: Sequence[Service], interrupts: str, *, spare: bool, advice: str) -> Wave:
        title = listed(_names(services))
        heads = [one for one in services if one["rank"] == 0 and one["role"] in _KINDS]
        leave: list[str] = []
        join: list[Mapping[str, Any]] = []
        if self._now.workers:
            # A router that is new itself finds its workers by itself.
            for one in heads:
                if self._serves(one):
                    leave.append(self._now.urls.get(one["host"], {}).get(one["unit"]) or one["url"])
                join.append(worker(one))
        return Wave(
            title=title,
            services=tuple(services),
            halt=tuple(one for one in services if (one["host"], one["unit"]) in self._halt),
            leave=tuple(leave),
            join=tuple(join),
            spare=spare,
            interrupts=interrupts,
            advice=advice,
        )


def worker(head: Service) -> dict[str, Any]:
    """An instance as the router takes it, from the service of its rank 0."""
    ports = head["ports"]
    return {"url": head["url"], "kind": _KINDS[head["role"]], "bootstrap": ports.get("bootstrap")}


def change_of(services: Sequence[Service]) -> str:
    """The name of the change that makes the hosts run these services: the same for the same plan."""
    return hashlib.sha256(json.dumps(list(services), sort_keys=True).encode()).hexdigest()[:12]


def workers(services: Iterable[Service]) -> list[dict[str, Any]]:
    """All instances as a router should have them."""
    return [worker(one) for one in services if one["rank"] == 0 and one["role"] in _KINDS]


def strangers(listed: Iterable[Mapping[str, Any]], services: Iterable[Service], now: Running) -> list[Finding]:
    """Warnings about workers of the router that neither the plan nor any host that was asked knows."""
    known = {one["url"] for one in services} | {url for own in now.urls.values() for url in own.values()}
    return [
        warning(
            "router-worker",
            "router",
            f"it has the worker {one['url']}, which is neither in the plan nor on a host that was asked. A host that "
            "left the inventory goes on running its services, at boot too",
            "Stop or remove them with the inventory that has the host, or add it to --limit",
        )
        for one in listed
        if one["url"] not in known
    ]


def announce(found: Sequence[Wave]) -> list[str]:
    """What will happen in which order, and what clients notice of it, for people."""
    lines = []
    for number, wave in enumerate(found, 1):
        out = ", out of the router while it restarts" if wave.spare else ""
        lines.append(f"{number}. {wave.title}{out}")
        if wave.interrupts:
            lines.append(f"   INTERRUPTION: {wave.interrupts}")
    return lines


def as_dicts(found: Sequence[Wave], limit: Limit, now: Running) -> list[dict[str, Any]]:
    """The waves as the playbooks take them."""
    ready = limit.whole
    reachable = {one["url"] for own in ready.values() for one in own}
    routers = [one for one in limit.services if one["role"] == "router"]

    def entrance(wave: Wave) -> dict[str, Any]:
        heads = routers or [one for one in wave.services if one["role"] == "mixed" and one["rank"] == 0]
        there = [one for one in heads if one["host"] in limit.units]
        if not there:
            return {}
        host, unit = there[0]["host"], there[0]["unit"]
        # Before its own wave a router is where it was.
        old = "" if there[0] in wave.services else now.urls.get(host, {}).get(unit, "")
        return {
            "host": host,
            "unit": unit,
            "url": old or there[0]["url"],
            "answers": unit not in limit.unasked.get(host, ()),
        }

    return [one.as_dict(entrance(one), ready, reachable) for one in found]


def _role(one: Service) -> Any:
    return one["role"]


def _by_host(services: Iterable[Service], part: Callable[[Service], Any]) -> dict[str, list[Any]]:
    result: dict[str, list[Any]] = {}
    for one in services:
        result.setdefault(one["host"], []).append(part(one))
    return result


def _instances(services: Sequence[Service]) -> list[list[Service]]:
    """Services by instance, in the order in which instances start."""
    groups: dict[tuple[int, int], list[Service]] = {}
    for one in services:
        groups.setdefault((_ORDER.index(one["role"]), one["instance"]), []).append(one)
    return [groups[key] for key in sorted(groups)]


def _of(one: Service) -> str:
    return "the store" if one["role"] == "store" else f"{one['role']}-{one['instance']}"


def _names(services: Iterable[Service]) -> list[str]:
    ordered = sorted(services, key=lambda one: (_ORDER.index(one["role"]), one["instance"]))
    return list(dict.fromkeys(_of(one) for one in ordered if one["role"] != "router"))
