# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The NPUs: driver, number, health, free memory, device files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils.ascend_driver import REQUIRED
from ansible_collections.ascend.sglang.plugins.module_utils.unit_file import NPU_GROUP
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.questions import user_of
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.situation import (
    Facts,
    Problem,
    Situation,
    check,
    engine_hosts,
    error,
    numbers,
    unknown,
    warning,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.settings import ENGINE_ROLES

# An idle NPU of 64 GB was seen to use 2.8 to 3.4 GB, one of 32 GB 2.8 GB.
_IDLE_MB = 6144


def _signs(facts: Facts) -> list[str]:
    """What on a host speaks of NPUs, whether or not they work. Files of a driver alone do not: images have them."""
    devices, smi = facts.get("devices") or {}, facts.get("npu_smi") or {}
    return [
        *([smi["path"]] if smi.get("path") else []),
        *([f"/dev/davinci{numbers(devices['npus'])}"] if devices.get("npus") else []),
        *(f"/dev/{name}" for name in devices.get("managers", ())),
    ]


def _npus(facts: Facts) -> list[dict[str, Any]]:
    smi = facts.get("npu_smi") or {}
    return list(smi.get("npus") or [])


@check(
    "npu-driver",
    explains="Servers need the NPU driver and its device files; npu-smi is asked for number, health and memory.",
    remedy="Install the NPU driver and firmware and reboot, so that npu-smi info lists the NPUs.",
    scope=engine_hosts,
)
def driver(situation: Situation) -> Iterator[Problem]:
    """The driver is there, complete, and answers."""
    signs = {host: _signs(situation.looked(host)) for host in situation.engines}
    bare = [host for host, there in signs.items() if not there]
    # One host without a driver among hosts with one is broken. Where none has one, the machines are not meant to have
    # NPUs (test hosts, another engine in SGLang's place): a server that needs them says so in its first second.
    if bare and any(signs.values()):
        yield error(bare, "there is no NPU driver, and other hosts of the plan have one")
    elif bare:
        what = "there is no NPU driver on any of them: number, health and memory of NPUs were not looked at"
        yield warning(bare, what, "A server that needs NPUs ends at once here; install the driver where it is meant to")
    for host in (one for one in situation.engines if signs[one]):
        facts = situation.looked(host)
        smi = facts["npu_smi"]
        if smi["path"] is None:
            what = (
                f"npu-smi is missing: health and memory of its NPUs were not looked at (found {', '.join(signs[host])})"
            )
            yield warning(host, what, "Install the driver's tools, or map /usr/local/sbin into the container")
        elif smi["error"]:
            yield error(host, f"npu-smi: {smi['error']}")
        status = facts["driver"]["status"]
        if smi["incomplete"] or status not in ("", "complete"):
            yield error(host, "the driver is not completely installed", "Install the driver again and reboot")


@check(
    "npu-count",
    explains="The plan's services use NPUs by number: tensor parallel size over nodes, counted in dies, not cards.",
    remedy="Use a host with as many NPUs, lower the sizes in the services' arguments, or correct sglang_npus.",
    scope=engine_hosts,
)
def count(situation: Situation) -> Iterator[Problem]:
    """Every NPU that a service uses is there, by npu-smi and as a device file."""
    products: dict[str, list[str]] = {}
    for host in situation.engines:
        facts = situation.looked(host)
        wanted, seen = set(situation.npus(host)), {one["number"] for one in _npus(facts)}
        files = set((facts.get("devices") or {}).get("npus", ()))
        if not _signs(facts):
            yield unknown(host, "there is no NPU driver")
            continue
        if seen and wanted - seen:
            name = _npus(facts)[0]["name"]
            what = f"services need NPUs {numbers(wanted)}; npu-smi lists {len(seen)}: {numbers(seen)} ({name})"
            yield error(host, what)
        if wanted - files:
            there = f"only /dev/davinci{numbers(files)}" if files else "no /dev/davinci files"
            yield error(host, f"services need NPUs {numbers(wanted)}; there are {there}")
        if facts["npu_smi"]["product"]:
            products.setdefault(facts["npu_smi"]["product"], []).append(host)
    wanted_product = situation.recipe.get("Hardware", "").rpartition(" ")[2]
    for product, hosts in products.items():
        if wanted_product in ("A2", "A3") and product != wanted_product:
            what = f"their NPUs are Atlas {product}'s; the profile was published for {situation.recipe['Hardware']}"
            yield warning(hosts, what, "Choose a profile for this hardware, or use other hosts")


@check(
    "npu-health",
    explains="A die in alarm fails under load, when the model has long been loaded.",
    remedy="Look at npu-smi info -t health -i CARD -c CHIP; reset or replace the card, or move the service.",
    scope=engine_hosts,
)
def health(situation: Situation) -> Iterator[Problem]:
    """Every NPU that a service uses is healthy."""
    for host in situation.engines:
        npus = _npus(situation.looked(host))
        if not npus:
            yield unknown(host, "npu-smi lists no NPU")
        for one in npus:
            if one["number"] in situation.npus(host) and one["health"] != "OK":
                what = f"NPU {one['card']} chip {one['chip']} (davinci{one['number']}): health {one['health']}"
                # A warning (a fan, a temperature) lets it work; whatever else there is does not.
                yield (warning if one["health"] == "Warning" else error)(host, what)


@check(
    "npu-held",
    explains="A server that finds too little free memory ends after minutes, with advice to raise a fraction.",
    remedy="Stop that process where it may be stopped; what a container of others holds shows without a process.",
    scope=engine_hosts,
)
def held(situation: Situation) -> Iterator[Problem]:
    """Nobody else holds memory of an NPU that a service uses."""
    for host in situation.engines:
        facts, units = situation.looked(host), situation.answers[host]["units"]
        ours, about_to = _users(situation, host, _RUNNING), _users(situation, host, _STARTING)
        planned = {(one["card"], one["chip"]): one for one in _npus(facts) if one["number"] in situation.npus(host)}
        if not planned:
            yield unknown(host, "npu-smi lists no NPU")
            continue
        listed = facts["npu_smi"]["processes"]
        for one in listed or ():
            if (one["card"], one["chip"]) in planned and one["unit"] not in units:
                name = f"{one['name'] or 'a process without a name'}{_unit(one['unit'])}"
                what = f"NPU {one['card']} chip {one['chip']} is held by {one['pid']} {name} {one['megabytes']} MB"
                yield error(host, what)
        told = {(one["card"], one["chip"]) for one in listed or ()}
        for place, one in planned.items():
            if place in told or one["used"] <= _IDLE_MB or one["number"] in ours:
                continue
            what = f"NPU {one['card']} chip {one['chip']}: {one['used']} of {one['total']} MB are in use"
            starting = about_to.get(one["number"])
            if starting is None:
                yield error(host, f"{what}, and npu-smi names no process")
            else:
                what += f", npu-smi names no process, and {starting}, which uses it, is not running but starting"
                do = f"If {starting} starts again and again, it is held by another: look at journalctl -u {starting}"
                yield warning(host, what, do)


# With a process, which may hold memory.
_RUNNING = ("active", "reloading", "deactivating")
# Between two attempts, or before systemd has a process: one that dies for want of memory is here again and again.
_STARTING = ("activating",)


def _users(situation: Situation, host: str, states: tuple[str, ...]) -> dict[int, str]:
    """The NPUs of which servers of ours in one of these states may hold memory, and a unit of each."""
    planned = {one.unit: one for one in situation.own[host]}
    found: dict[int, str] = {}
    for unit, there in situation.answers[host]["units"].items():
        wanted = planned.get(unit)
        role = there.get("role") or (wanted.role if wanted else "")
        if there["active"] not in states or role not in ENGINE_ROLES:
            continue
        # Of one that runs otherwise than its record on the host says, nobody knows which: it may be any.
        span = there.get("npus", wanted.npus if wanted else None)
        numbers = range(span[0], span[1] + 1) if span else situation.npus(host)
        found.update((number, unit) for number in numbers if number not in found)
    return found


def _unit(name: str | None) -> str:
    return f" (unit {name})" if name else ""


@check(
    "npu-devices",
    explains="A service that cannot open the device files fails with -8005 or drvErr=87.",
    remedy=f"Add the account to the group {NPU_GROUP}: usermod -aG {NPU_GROUP} ACCOUNT",
    scope=engine_hosts,
)
def devices(situation: Situation) -> Iterator[Problem]:
    """The service's user can read and write the device files of its NPUs."""
    for host in situation.engines:
        facts = situation.looked(host)
        there = facts.get("devices") or {}
        if not there.get("files"):
            yield unknown(host, "there are no device files")
            continue
        missing = [f"/dev/{name}" for name in REQUIRED if name not in there["managers"]]
        if missing:
            what = f"there is no {' and no '.join(missing)}, which every process on NPUs opens"
            yield error(host, what, "Load the driver, or map the file into the container")
        for user in dict.fromkeys(user_of(one, situation.settings) for one in situation.own[host] if one.npus):
            account = facts["accounts"].get(user)
            if user == "root":
                continue
            if account is None:
                what = f"there is no account {user}"
                yield error(host, what, "Create it, or set sglang_user to one that is there")
                continue
            # Our units are members of the group where the host has it.
            groups = {*account["groups"], *([there["group"]] if there["group"] is not None else [])}
            closed = [name for name, file in there["files"].items() if not _may_use(file, account["uid"], groups)]
            if closed:
                yield error(host, f"{user} cannot open {_listed(closed, there['files'])}")


def _may_use(file: dict[str, int], uid: int, groups: set[int]) -> bool:
    shift = 6 if file["uid"] == uid else 3 if file["gid"] in groups else 0
    return file["mode"] >> shift & 6 == 6


def _listed(names: list[str], files: dict[str, dict[str, int]]) -> str:
    shown = ", ".join(f"/dev/{name}" for name in names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    first = files[names[0]]
    return f"{shown} (mode {first['mode']:04o}, group {first['gid']})"
