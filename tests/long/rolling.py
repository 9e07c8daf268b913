# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster with several instances behind the real router, to be changed while clients ask it."""

from __future__ import annotations

import contextlib
import json
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from on_hosts import hosts, load, playbooks, state

KEY = "a-key-of-the-tests"
KNOBS = {
    "start_seconds": 0, "load_seconds": 1, "graph_seconds": 0, "warmup_seconds": 0.1, "health_seconds": 0.05,
    "token_seconds": 0.02, "drain_poll_seconds": 0.2, "drain_repeat_seconds": 0.2,
}  # fmt: skip


@dataclass
class Cluster:
    """The hosts, in which groups, with which variables, and a folder for inventory and results."""

    hosts: Mapping[str, hosts.LabHost]
    groups: Mapping[str, Sequence[str]]
    variables: Mapping[str, Any]
    folder: pathlib.Path
    before: dict[str, list[str]]

    @property
    def url(self) -> str:
        return f"http://{self.hosts['r1'].data}:6688"

    def run(self, name: str, *options: str, **changes: Any) -> playbooks.Run:
        """A playbook with the inventory as it would be after these changes."""
        variables = {
            **hosts.CONNECTION,
            "sglang_model_path": "/models/deepseek-r1",
            "sglang_store": "dedicated",
            "sglang_router_args": {"mini-lb": False, "host": self.hosts["r1"].data},
            "sglang_api_key": KEY,
            # Tuning stays when services go; restore.yml has tests of its own.
            "sglang_host_tuning": False,
            **self.variables,
            **changes,
        }
        groups = {group: {name: self.hosts[name].inventory() for name in names} for group, names in self.groups.items()}
        inventory = playbooks.write_inventory(self.folder / "inventory.yml", variables, groups)
        return playbooks.run(name, inventory, *options)

    def status(self, **changes: Any) -> dict[str, Any]:
        """What status.yml says."""
        path = self.folder / "status.json"
        self.run("status", "-e", f"status_file={path}", **changes).passed()
        return json.loads(path.read_text())

    def invocations(self) -> dict[str, str]:
        """Host and unit -> the run of it that is alive."""
        told = hosts.everywhere(
            self.hosts.values(),
            "for unit in $(cd /etc/ascend-sglang && ls -d sglang-*); do"
            ' echo "$unit $(systemctl show --value --property=InvocationID $unit)"; done',
        )
        return {f"{name} {line.split()[0]}": line for name, text in told.items() for line in text.splitlines()}

    def asked(self) -> Any:
        return load.asked(self.hosts["r1"], self.url, KEY)


@contextlib.contextmanager
def deployed(
    lab: str,
    numbers: Mapping[str, int],
    groups: Mapping[str, Sequence[str]],
    folder: pathlib.Path,
    **variables: Any,
) -> Iterator[Cluster]:
    """Hosts with the first deployment on them."""
    with hosts.booted(lab, numbers, KNOBS) as booted:
        there = Cluster(booted, groups, variables, folder, state.lasting(booted.values()))
        there.run("deploy").passed()
        yield there


def new_runs(before: dict[str, str], after: dict[str, str]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def not_as_planned(told: dict[str, Any]) -> list[str]:
    """What status.yml has to complain of."""
    rows = [(one, f"{one['host']} {one['unit']}: ") for one in told["services"]]
    found = [name + line for one, name in rows for line in one["differs"]]
    found += [f"{name}{one['state']}: {one['why']}" for one, name in rows if not one["ready"]]
    found += [*told["problems"], *told["router"]["missing"], *told["router"]["unknown"]]
    assert (not found) == (told["ready"] and not told["differs"])
    return found
