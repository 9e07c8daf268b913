# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The scenario's hosts, and the benchmark as a user runs it."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import time

import pytest
from on_hosts.hosts import LabHost, set_knobs

INVENTORY = str(pathlib.Path(os.environ["MOLECULE_INVENTORY_FILE"]).parent)
KEPT = pathlib.Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"]) / "benchmarks"
NUMBERS = {"p1": 195, "d1": 196, "r1": 197}


class Bench:
    """Runs of benchmark.yml, and what they kept."""

    def __init__(self) -> None:
        self.hosts = {name: LabHost(name, f"benchmark-{name}", number) for name, number in NUMBERS.items()}

    def start(self, *options: str, playbook: str = "ascend.sglang.benchmark") -> subprocess.Popen[str]:
        command = ["ansible-playbook", playbook, "-i", INVENTORY, *options]
        environment = os.environ | {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0"}
        return subprocess.Popen(
            command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=environment, start_new_session=True,
        )  # fmt: skip

    def run(self, *options: str) -> tuple[int, str]:
        started = self.start(*options)
        output, _none = started.communicate(timeout=300)
        return started.returncode, output.replace("\\n", "\n").replace('\\"', '"')

    def until(self, running: subprocess.Popen[str], pattern: str) -> str:
        """What was said until a line matches."""
        said = ""
        assert running.stdout is not None
        for line in running.stdout:
            said += line
            if re.search(pattern, line):
                return said
        raise AssertionError(f"it never said {pattern}:\n{said}")

    def rest(self, running: subprocess.Popen[str]) -> str:
        output, _none = running.communicate(timeout=300)
        return output.replace("\\n", "\n").replace('\\"', '"')

    def kept(self) -> list[pathlib.Path]:
        """The runs with a verdict, in order."""
        return sorted((path.parent for path in KEPT.glob("*/*/*/verdict.json")), key=lambda path: path.name)

    def verdict(self, number: int = -1) -> dict:
        return json.loads((self.kept()[number] / "verdict.json").read_text())

    def decode(self, *actions: str) -> None:
        self.hosts["d1"].run("; ".join(f"systemctl {action} sglang-decode" for action in actions))

    def knobs(self, **knobs: object) -> None:
        for host in self.hosts.values():
            set_knobs(host, knobs)

    def wait_ready(self, limit: float = 90) -> None:
        """Until the router says that it has all its workers."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            ask = "curl --noproxy '*' -s -o /dev/null -w '%{http_code}' http://127.0.0.1:6688/readiness || true"
            if self.hosts["r1"].run(ask) == "200":
                return
            time.sleep(1)
        raise AssertionError("the router is not ready")

    def left(self) -> str:
        """What a benchmark would leave on its host: unit, processes, files."""
        look = "systemctl is-active sglang-benchmark; pgrep -af '[b]ench_serving|[r]unner.py'"
        return self.hosts["r1"].run(f"{look}; ls /var/lib | grep -i bench; true")


@pytest.fixture(scope="session")
def bench() -> Bench:
    return Bench()
