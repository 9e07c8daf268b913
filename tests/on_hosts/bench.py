# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hosts of the scenario `benchmark`, and the benchmark as a user runs it."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from on_hosts.hosts import PROJECT, LabHost, set_knobs

INVENTORY = str(pathlib.Path(os.environ["MOLECULE_INVENTORY_FILE"]).parent)
KEPT = pathlib.Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"]) / "benchmarks"
PLAN = pathlib.Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"]) / "plan" / "plan.json"
NUMBERS = {"p1": 195, "d1": 196, "r1": 197, "b1": 198}
KEY = "a-key-for-the-benchmark"
ENTRANCE = "http://203.0.113.197:6688"
# Limits of waits, not their length: a machine may be busy with other things.
RUN_SECONDS, WAIT_SECONDS = 600, 180
# The role alone, without the look at the cluster before it.
MEASURE = str(PROJECT / "molecule" / "benchmark" / "verify" / "measure.yml")
SAMPLER = pathlib.Path(__file__).with_name("sampler.py")


class Bench:
    """Runs of benchmark.yml, and what they kept."""

    def __init__(self) -> None:
        self.hosts = {name: LabHost(name, f"benchmark-{name}", number) for name, number in NUMBERS.items()}
        self._outputs: dict[int, pathlib.Path] = {}
        # Texts for the dataset `random`, which would come from a hub.
        turns = [{"from": "human", "value": f"What is the number after {number}?"} for number in range(500)]
        texts = json.dumps([{"conversations": [turn, {"from": "gpt", "value": "Another number."}]} for turn in turns])
        for name in ("r1", "b1"):
            self.hosts[name].run("cat >/root/conversations.json", texts)

    def start(self, *options: str, playbook: str = "ascend.sglang.benchmark") -> subprocess.Popen[str]:
        command = ["ansible-playbook", playbook, "-i", INVENTORY, *options]
        # Line by line, as on a terminal: into a file Ansible's own process writes when its buffer is full.
        lines = {"PYTHONUNBUFFERED": "1"}
        environment = os.environ | {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0"} | lines
        with tempfile.NamedTemporaryFile("w", delete=False) as output:
            started = subprocess.Popen(
                command, text=True, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                env=environment, start_new_session=True,
            )  # fmt: skip
        self._outputs[started.pid] = pathlib.Path(output.name)
        return started

    def run(self, *options: str, playbook: str = "ascend.sglang.benchmark") -> tuple[int, str]:
        started = self.start(*options, playbook=playbook)
        output = self.rest(started)
        return started.returncode, output

    def rest(self, running: subprocess.Popen[str]) -> str:
        """What it says until its end, as people read it."""
        running.wait(timeout=RUN_SECONDS)
        output = self.said(running)
        self._outputs.pop(running.pid).unlink()
        return output

    def said(self, running: subprocess.Popen[str]) -> str:
        """What it has said so far."""
        return self._outputs[running.pid].read_text().replace("\\n", "\n").replace('\\"', '"')

    def wait_said(self, running: subprocess.Popen[str], words: str) -> None:
        until(lambda: words in self.said(running), f"it says: {words}")

    def kept(self) -> list[pathlib.Path]:
        """The runs with a verdict, in order."""
        return sorted((path.parent for path in KEPT.glob("*/*/*/verdict.json")), key=lambda path: path.name)

    def begun(self) -> list[pathlib.Path]:
        """All runs, those without a verdict too."""
        return sorted(KEPT.glob("*/*/*"))

    def verdict(self, number: int = -1) -> dict[str, Any]:
        return json.loads((self.kept()[number] / "verdict.json").read_text())

    def decode(self, *actions: str) -> None:
        self.hosts["d1"].run("; ".join(f"systemctl {action} sglang-decode" for action in actions))

    def knobs(self, **knobs: object) -> None:
        for host in self.hosts.values():
            set_knobs(host, knobs)

    def answered(self, host: str = "r1") -> int:
        """How many requests of the running benchmark have been answered, as its bar of progress says."""
        log = self.hosts[host].run("cat /var/lib/ascend-sglang-benchmark/output.log 2>/dev/null || true")
        _before, began, measured = log.partition("Warmup completed with")
        bars = re.findall(r"(\d+)/\d+ \[", measured)
        return int(bars[-1]) if began and bars else 0

    def wait_answered(self, number: int) -> None:
        until(lambda: self.answered() >= number, f"{number} requests are answered")

    def wait_answering(self) -> None:
        """Until the entrance answers a completion: the router asks its workers again some time after a failure."""
        body = json.dumps({"model": "/models/deepseek-r1", "prompt": "a b c", "max_tokens": 2})
        ask = f"curl --noproxy '*' -s -o /dev/null -w '%{{http_code}}' -K - {ENTRANCE}/v1/completions || true"
        config = f'header = "Authorization: Bearer {KEY}"\njson = "{body.translate(_QUOTED)}"\n'
        until(lambda: self.hosts["r1"].run(ask, config) == "200", "the entrance answers")

    def left(self, host: str = "r1") -> str:
        """What a benchmark would leave on its host: unit, processes, files."""
        look = "systemctl is-active sglang-benchmark; pgrep -af '[b]ench_serving|[r]unner.py'"
        return self.hosts[host].run(f"{look}; ls /var/lib | grep -i bench; true")

    @contextlib.contextmanager
    def watched(self, host: str = "d1") -> Iterator[list[dict[str, float]]]:
        """Samples of what the server on a host says of itself, for the time of the block."""
        (server,) = [one for one in json.loads(PLAN.read_text())["services"] if one["host"] == host]
        code = f"python3 -c {_quoted(SAMPLER.read_text())}"
        running = subprocess.Popen(self.hosts[host].ssh(code), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert running.stdin is not None
        running.stdin.write(json.dumps({"url": f"{server['url']}/metrics", "key": KEY}) + "\n")
        running.stdin.flush()
        samples: list[dict[str, float]] = []
        try:
            yield samples
        finally:
            output, _none = running.communicate("end\n", timeout=WAIT_SECONDS)
            samples += [json.loads(line) for line in output.splitlines()]


_QUOTED = str.maketrans({'"': '\\"', "\\": "\\\\"})


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def until(there: Any, what: str) -> None:
    """Wait until something is so."""
    end = time.monotonic() + WAIT_SECONDS
    while not there():
        assert time.monotonic() < end, f"not within {WAIT_SECONDS} s: {what}"
        time.sleep(0.5)
