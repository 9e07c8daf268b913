# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preflight of a plan's hosts costs at most one and a half times the gathering of their facts."""

from __future__ import annotations

import os
import subprocess

from on_hosts import hosts, playbooks

LIMIT = 1.5
NUMBERS = {"p1": 140, "p2": 141, "d1": 142, "d2": 143, "r1": 144}
GROUPS = {"prefill": ["p1", "p2"], "decode": ["d1", "d2"], "router": ["r1"]}
GATHER = """\
---
- name: Gather facts
  hosts: all
  gather_facts: true
"""


def test_five_hosts(tmp_path, best):
    with hosts.booted("pre-bench", NUMBERS) as lab:
        groups = {group: {name: lab[name].inventory() for name in names} for group, names in GROUPS.items()}
        variables = {"sglang_model_path": "/models/deepseek-r1", **hosts.CONNECTION}
        inventory = playbooks.write_inventory(tmp_path / "inventory.yml", variables, groups)
        gather = tmp_path / "gather.yml"
        gather.write_text(GATHER)

        def gather_facts() -> None:
            command = [playbooks.ANSIBLE_PLAYBOOK, gather, "-i", inventory]
            environment = os.environ | {"ANSIBLE_CONFIG": str(playbooks.PROJECT / "ansible.cfg")}
            subprocess.run(command, check=True, capture_output=True, env=environment)

        def preflight() -> None:
            run = playbooks.run("preflight", inventory, "-e", "profile=deepseek-r1-w8a8-2p1d").passed()
            # All connections, not those only that running services leave.
            run.said("ok       connections", "all 5 hosts")

        # Connections of ssh are open, and what Python compiles is compiled.
        gather_facts()
        preflight()
        # In turn, so that what else the machine does meets both.
        facts, checks = zip(
            *((best("facts", gather_facts, 1), best("preflight", preflight, 1)) for _unused in range(4)), strict=True
        )
        ratio = min(checks) / min(facts)
        best(
            f"preflight of 5 hosts: {ratio:.2f} x gathering their facts ({min(facts):.2f} s), which took",
            lambda: None,
            1,
        )
        assert ratio <= LIMIT
