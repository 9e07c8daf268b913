# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection's playbooks, run as a user runs them, and what they said."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import yaml

from on_hosts.hosts import PROJECT

# Far more than any takes: what waits without an end is to be an error.
MOST_SECONDS = 1200
ANSIBLE_PLAYBOOK = pathlib.Path(sys.executable).parent / "ansible-playbook"


@dataclass(frozen=True)
class Run:
    """One run of a playbook."""

    status: int
    output: str

    @property
    def recap(self) -> dict[str, dict[str, int]]:
        """Host -> counter -> number; empty where Ansible did not get that far."""
        _unused, separator, text = self.output.rpartition("PLAY RECAP")
        lines = re.findall(r"^(\S+) +: (.*)$", text if separator else "", re.MULTILINE)
        return {host: {name: int(n) for name, n in re.findall(r"(\w+)=(\d+)", rest)} for host, rest in lines}

    def count(self, counter: str) -> int:
        """A counter of the recap, summed over the hosts."""
        return sum(host[counter] for host in self.recap.values())

    def passed(self) -> Run:
        """Itself; AssertionError where it failed."""
        assert self.status == 0, self.output
        return self

    def refused(self) -> Run:
        """Itself; AssertionError where it passed, or failed by accident."""
        assert self.status != 0, self.output
        assert "Traceback" not in self.output, self.output
        assert "PLAY RECAP" in self.output, self.output
        return self

    def said(self, *parts: str) -> Run:
        """Itself; AssertionError where one of these is not in what it said."""
        missing = [part for part in parts if part not in _unfolded(self.output)]
        assert not missing, f"not said: {missing}\n{self.output}"
        return self


def _unfolded(output: str) -> str:
    r"""A text as people read it: Ansible prints messages as JSON, with \n and \" in them."""
    return output.replace("\\n", "\n").replace('\\"', '"')


def run(name: str, inventory: pathlib.Path, *options: str, **environment: str) -> Run:
    """Run a playbook of the collection. It is killed where it does not come to its end in `MOST_SECONDS`."""
    told = {"ANSIBLE_CONFIG": str(PROJECT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0"}
    done = subprocess.run(
        [ANSIBLE_PLAYBOOK, f"ascend.sglang.{name}", "-i", inventory, *options],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        cwd=PROJECT, env=os.environ | told | environment, timeout=MOST_SECONDS,
    )  # fmt: skip
    return Run(done.returncode, done.stdout)


def write_inventory(path: pathlib.Path, variables: dict[str, Any], groups: dict[str, dict[str, Any]]) -> pathlib.Path:
    """An inventory of groups of hosts, and its path."""
    children = {group: {"hosts": hosts} for group, hosts in groups.items()}
    text = yaml.safe_dump({"all": {"vars": variables, "children": children}}, sort_keys=False)
    path.write_text(text)
    return path
