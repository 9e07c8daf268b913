# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which change a rollback undoes, from what the hosts have kept (module service_history)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, error

History = Mapping[str, Mapping[str, Mapping[str, Any]]]


def change_to_undo(history: History, asked: str) -> str:
    """The name of the change: the one asked for, or the cluster's last.

    history: host -> unit -> what is kept of it. CompileError where there is nothing to return to, or the change that
    was asked for is not the last one of any unit.
    """
    last = [unit["entries"][-1] for own in history.values() for unit in own.values() if unit["entries"]]
    if not last:
        what = "no host has kept an earlier configuration"
        raise CompileError([error("rollback", "the hosts", what, "Deploy the configuration that you want")])
    if asked and asked not in {entry["change"] for entry in last}:
        names = ", ".join(sorted({str(entry["change"]) or "(unnamed)" for entry in last}))
        what = f"no unit's last change is {asked}; the last ones are {names}"
        raise CompileError([error("rollback", "change", what, "Undo later changes first, or deploy what you want")])
    change = asked or str(max(last, key=lambda entry: str(entry["at"]))["change"])
    if not change:
        what = "the last change has no name, so that nobody can tell what belongs to it"
        do = "Deploy what you want; deploy.yml names its changes, and the roles do where <role>_change is given"
        raise CompileError([error("rollback", "the hosts", what, do)])
    return change


def lines(history: History, change: str) -> list[str]:
    """What a rollback of this change returns to, for people."""
    told = []
    for host, own in history.items():
        for unit, kept in own.items():
            entries = kept["entries"]
            if not entries or entries[-1]["change"] != change:
                continue
            entry = next(one for one in reversed(entries) if one["change"] == change)
            what = "as it was before" if entry["exists"] else "not there, as before"
            told.append(f"{host}: {unit} {what} the change of {entry['at']}")
    return told


def services_after(history: History) -> list[dict[str, Any]]:
    """The services that the hosts have when the change is undone, in the order of a plan."""
    order = ("store", "prefill", "decode", "mixed", "router")
    found = [dict(unit["after"]) for own in history.values() for unit in own.values() if unit["after"]]
    return sorted(found, key=lambda one: (order.index(one["role"]), one["instance"], one["rank"]))
