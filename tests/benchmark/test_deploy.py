# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A deploy that finds nothing to do costs at most three times the gathering of the same hosts' facts."""

from __future__ import annotations

import os
import subprocess

from on_hosts import hosts, playbooks

LIMIT = 3
NUMBERS = {"p1": 241, "p2": 242, "d1": 243, "d2": 244, "r1": 245}
GATHER = """\
---
- name: Gather facts
  hosts: all
  gather_facts: true
"""


def test_nothing_to_do(tmp_path, best):
    with hosts.booted("benchmark", NUMBERS) as lab:
        groups = {
            group: {name: lab[name].inventory() for name in names}
            for group, names in {"prefill": ["p1", "p2"], "decode": ["d1", "d2"], "router": ["r1"]}.items()
        }
        variables = {"sglang_model_path": "/models/deepseek-r1", **hosts.CONNECTION}
        inventory = playbooks.write_inventory(tmp_path / "inventory.yml", variables, groups)
        profile = ("-e", "profile=deepseek-r1-w8a8-2p1d")
        playbooks.run("deploy", inventory, *profile).passed()
        gather = tmp_path / "gather.yml"
        gather.write_text(GATHER)

        def gather_facts() -> None:
            command = [playbooks.ANSIBLE_PLAYBOOK, gather, "-i", inventory]
            environment = os.environ | {"ANSIBLE_CONFIG": str(playbooks.PROJECT / "ansible.cfg")}
            subprocess.run(command, check=True, capture_output=True, env=environment)

        def deploy() -> None:
            again = playbooks.run("deploy", inventory, *profile).passed()
            assert again.count("changed") == 0, again.output

        facts = best("gathering the facts of 5 hosts", gather_facts)
        assert best("deploy that changes nothing on them", deploy) <= LIMIT * facts
