# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The NPUs' own network between hosts, as hccn_tool tells it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.situation import (
    Problem,
    Situation,
    check,
    engine_hosts,
    error,
    numbers,
    odd_ones,
    some,
    unknown,
    warning,
)

_SWITCH = {1: "on", 0: "off"}


def spread(situation: Situation) -> tuple[str, ...]:
    """The scope of these checks: the hosts with servers, where there are several."""
    return engine_hosts(situation) if len(situation.planned_engines) > 1 else ()


def _told(situation: Situation, host: str) -> list[dict[str, Any]]:
    return list((situation.looked(host).get("hccn") or {}).get("npus", ()))


def _silent(situation: Situation, host: str) -> Problem | None:
    """Why a host tells nothing of its links, where it does not."""
    facts = situation.looked(host)
    tool = facts.get("hccn") or {}
    if not tool.get("path"):
        if not (facts.get("devices") or {}).get("npus"):
            return unknown(host, "there are no NPUs")
        return warning(
            host, "hccn_tool is missing: links between NPUs were not looked at", "Install the driver's tools"
        )
    if tool["error"] or not tool["npus"]:
        return warning(
            host, f"hccn_tool: {tool['error'] or 'it was asked for no NPU'}", "Run it there by hand, as root"
        )
    return None


def _is_a3(situation: Situation, host: str) -> bool:
    smi = situation.looked(host).get("npu_smi") or {}
    return bool(smi.get("product") != "A2")


@check(
    "hccn-link",
    explains="Servers on several hosts exchange data between NPUs directly. Within one superpod of Atlas A3 that goes "
    "over HCCS, and these ports may rightly be down.",
    remedy="Look at cable, optical module and switch port: hccn_tool -i NPU -link_stat -g, -optical -g",
    scope=spread,
)
def link(situation: Situation) -> Iterator[Problem]:
    """The links of all NPUs in use are up."""
    for host in spread(situation):
        silent = _silent(situation, host)
        if silent:
            yield silent
            continue
        down = [one["number"] for one in _told(situation, host) if one["link"] == "DOWN"]
        mute = [one for one in _told(situation, host) if one["link"] is None]
        if down and _is_a3(situation, host):
            what = f"links of NPUs {numbers(down)} are down, which is in order within one superpod only"
            yield warning(host, what)
        elif down:
            yield error(host, f"links of NPUs {numbers(down)} are down")
        if mute:
            what = f"hccn_tool tells nothing of the links of NPUs {numbers(one['number'] for one in mute)}"
            yield warning(host, f"{what} ({mute[0]['error']})", "Run it there by hand, as root")


@check(
    "hccn-tls",
    explains="NPUs whose TLS switch differs do not connect: HCCL then ends with a timeout.",
    remedy="Give all the same: hccn_tool -i NPU -tls -s enable 0 (or 1, with certificates)",
    scope=spread,
)
def tls(situation: Situation) -> Iterator[Problem]:
    """TLS is on for all NPUs of the plan, or off for all."""
    switches: dict[int, list[str]] = {}
    for host in spread(situation):
        told = _told(situation, host)
        known = {one["tls"] for one in told if one["tls"] is not None}
        if len(known) == 2:
            on = numbers(one["number"] for one in told if one["tls"] == 1)
            off = numbers(one["number"] for one in told if one["tls"] == 0)
            yield error(host, f"TLS is on for NPUs {on} and off for NPUs {off}")
        elif known:
            switches.setdefault(known.pop(), []).append(host)
        mute = [one for one in told if one["tls"] is None and one["link"] is not None]
        if mute:
            yield warning(host, f"hccn_tool tells no TLS switch of NPU {mute[0]['number']}: {mute[0]['error']}")
        elif not told:
            # hccn-link says why.
            yield unknown(host, "hccn_tool tells nothing")
    if switches:
        yield from situation.alone(situation.planned_engines)
    usual, others = odd_ones(switches)
    for value, hosts in others:
        what = f"TLS is {_SWITCH[value]}, and it is {_SWITCH[1 - value]} on {some(switches[usual or 0])}"
        # Where the links are down, the hosts do not use them.
        used = any(one["link"] != "DOWN" for host in hosts for one in _told(situation, host))
        yield (error if used else warning)(hosts, what)
