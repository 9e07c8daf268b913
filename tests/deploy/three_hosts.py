# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is deployed here: on p1 a prefill and the router, on p2 another prefill, on d1 the decode."""

from __future__ import annotations

import json
import pathlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from on_hosts import hosts as lab
from on_hosts import playbooks, state

NUMBERS = {"p1": 187, "p2": 188, "d1": 189}
# Quick: these tests deploy often.
KNOBS = {
    "start_seconds": 0, "load_seconds": 0.2, "graph_seconds": 0, "warmup_seconds": 0, "health_seconds": 0.05,
    "token_seconds": 0, "drain_poll_seconds": 0.05, "drain_repeat_seconds": 0.05,
}  # fmt: skip
KEY = "a-key-that-nobody-else-has-5f1c"

# What others have on a host, as much like the collection's own as it gets: a unit, its process, and a file.
OTHERS = """
mkdir -p /etc/ascend-sglang
echo 'mine' >/etc/ascend-sglang/notes.txt
cat >/etc/systemd/system/sglang-notes.service <<'END'
[Service]
ExecStart=/usr/bin/python3 -c 'import time; time.sleep(86400)' -m sglang.launch_server --port 8765
[Install]
WantedBy=multi-user.target
END
systemctl enable --quiet --now sglang-notes
"""


@dataclass(frozen=True)
class Lab:
    """The hosts, and a folder for inventories and plans."""

    hosts: Mapping[str, lab.LabHost]
    folder: pathlib.Path

    def __getitem__(self, name: str) -> lab.LabHost:
        return self.hosts[name]

    def inventory(
        self,
        own: Mapping[str, Mapping[str, Any]] | None = None,
        **variables: Any,
    ) -> pathlib.Path:
        """An inventory: of each host's variables those that differ, and variables for all."""
        each = {name: host.inventory(**(own or {}).get(name, {})) for name, host in self.hosts.items()}
        members = {"prefill": ("p1", "p2"), "decode": ("d1",), "router": ("p1",)}
        cluster = {"sglang_profile": "deepseek-r1-w4a8-1p1d", "sglang_model_path": "/models/deepseek-r1"}
        path = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / "hosts.yml"
        return playbooks.write_inventory(
            path,
            {**lab.CONNECTION, **cluster, "sglang_instances": {"prefill": 2}, **variables},
            {group: {name: each[name] for name in names} for group, names in members.items()},
        )

    def set_knobs(self, **differing: Mapping[str, Any]) -> None:
        """What the engines on each host are to do, besides being quick."""
        for name, host in self.hosts.items():
            lab.set_knobs(host, {**KNOBS, **differing.get(name, {})})

    def everywhere(self, command: str) -> dict[str, str]:
        """What a command prints on each host."""
        return lab.everywhere(self.hosts.values(), command)

    def exact(self) -> dict[str, list[str]]:
        """The hosts' state; equal only where nothing was touched in between."""
        return state.exact(self.hosts.values())

    def lasting(self) -> dict[str, list[str]]:
        """The hosts' state; equal where all is as it was."""
        return state.lasting(self.hosts.values())


@dataclass(frozen=True)
class Deployed:
    """The deployment that most tests look at. Its run said all that it may say."""

    lab: Lab
    inventory: pathlib.Path
    run: playbooks.Run
    plan_folder: pathlib.Path

    @property
    def plan(self) -> dict[str, Any]:
        return json.loads((self.plan_folder / "plan.json").read_text())

    def show(self, properties: str) -> dict[str, str]:
        """Properties of each unit, as systemd has them, by `host unit`."""
        command = f"systemctl show --property={properties}"
        return {
            f"{one['host']} {one['unit']}": self.lab[one["host"]].run(f"{command} {one['unit']}")
            for one in self.plan["services"]
        }

    def ask(self, key: str) -> int:
        """The status that the entrance answers to a client with this key."""
        body = '{"text": "Hello", "sampling_params": {"max_new_tokens": 4}}'
        command = (
            "curl --noproxy '*' -sS -m 20 -o /dev/null -w '%{http_code}' -H @- -H 'Content-Type: application/json'"
        )
        entrance = self.plan["entrances"][0]
        # From standard input: a client's own command line is seen by all, too.
        header = f"Authorization: Bearer {key}\n"
        return int(self.lab[entrance["host"]].run(f"{command} -d '{body}' {entrance['url']}/generate", header))
