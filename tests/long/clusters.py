# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A deployed cluster whose services can be started anew with other words, and asked whether it still answers."""

from __future__ import annotations

import json
import pathlib
import subprocess
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from long.flips import Flip, edit, read
from on_hosts.hosts import LabHost

Service = Mapping[str, Any]

# So many that not one of two prefills is left out: the router of the recipes picks at random.
PROMPTS = [f"Question {number} of a few" for number in range(24)]
PROBE = "/run/probe.py"
PROBE_TEXT = (pathlib.Path(__file__).parent / "probe.py").read_text()

# Starts a unit and returns as soon as it has died, or when nobody listens any more.
WATCH = """
systemctl start --no-block {unit}
while read -r -t 0.1; [ $? -gt 128 ]; do
  case $(systemctl show --property=ActiveState,SubState,NRestarts {unit} | sort | tr '\\n' ' ') in
    'ActiveState=active NRestarts=0 '* | 'ActiveState=activating NRestarts=0 SubState=start'*) ;;
    *) break ;;
  esac
done
journalctl --no-pager --output=cat "_SYSTEMD_INVOCATION_ID=$(systemctl show --value --property=InvocationID {unit})"
"""

ASKED = """
journalctl --no-pager --output=cat --unit={unit} | grep -c 'POST /v1/chat/completions HTTP/1.1" 200' || [ $? = 1 ]
"""

Answers = Mapping[str, str]


class Cluster:
    """Hosts, the plan that was deployed on them, and the launch.sh of each service."""

    def __init__(self, hosts: Mapping[str, LabHost], plan: Mapping[str, Any]) -> None:
        self.plan = plan
        self.services: Sequence[Service] = plan["services"]
        self._scripts = {at(one): hosts[one["host"]].run(f"cat {_launch(one)}") for one in self.services}
        self._hosts = hosts
        self._expected: Answers = {}
        # Seconds from the stop to the answers of a whole cluster, by what was started anew.
        self._took: dict[str, float] = {}
        self._flipped: Service | None = None
        hosts[plan["entrances"][0]["host"]].write(PROBE, PROBE_TEXT)
        for one in self.services:
            if self._group(one)[0] is one:
                self._start_as_planned(one)

    def started_with(self, service: Service) -> tuple[list[str], dict[str, str]]:
        """The command line and the exported variables in its launch.sh, as it was deployed."""
        return read(self._scripts[at(service)])

    def service_of(self, flip: Flip) -> Service:
        """The service whose value it is."""
        return next(one for one in self.services if (one["host"], one["unit"]) == (flip.host, flip.unit))

    def flip(self, flip: Flip) -> str | None:
        """Start its service anew with it, and what belongs to that; why there is no answer then, None where there is.

        The cluster is whole before. A service that starts anew alone is put right at once, one that takes others along
        when it is another's turn: what belongs to it starts anew with each flip.
        """
        service = self.service_of(flip)
        group = self._group(service)
        if self._flipped and at(self._flipped) != at(service):
            self.restore()
        self._flipped = service
        limit = 2 + 2 * self._took[at(group[0])]
        noticed = self._start_anew(group, {at(service): edit(self._scripts[at(service)], flip)}, limit)
        if len(group) == 1:
            self.restore()
        return noticed

    def restore(self) -> None:
        """Put right what was flipped last; AssertionError where the cluster does not answer as it always did."""
        if self._flipped:
            self._start_as_planned(self._flipped)
            self._flipped = None

    def _start_as_planned(self, service: Service) -> None:
        group = self._group(service)
        began = time.monotonic()
        failure = self._start_anew(group, {at(one): self._scripts[at(one)] for one in group}, 60)
        assert failure is None, f"the cluster is not whole after a restart of {at(service)}: {failure}"
        self._took[at(group[0])] = time.monotonic() - began

    def _group(self, service: Service) -> list[Service]:
        """The services that restart with this one: with the store's holder the PD group, else its instance."""
        if "store" in service["ports"]:
            return [one for one in self.services if one["role"] in ("prefill", "decode")]
        keys = ("role", "instance")
        return [one for one in self.services if all(one[key] == service[key] for key in keys)]

    def _start_anew(self, group: Sequence[Service], scripts: Mapping[str, str], limit: float) -> str | None:
        with ThreadPoolExecutor(len(group)) as pool:
            list(pool.map(lambda one: self._stop(one, scripts.get(at(one))), group))
        before = self._asked()
        result = self._start(group, limit)
        if isinstance(result, str):
            return result
        self._expected = self._expected or result
        wrong = [prompt for prompt in PROMPTS if result[prompt] != self._expected[prompt]]
        if wrong:
            return f"another answer than ever: {result[wrong[0]]!r} in place of {self._expected[wrong[0]]!r}"
        after = self._asked()
        idle = [name for name in before if after[name] == before[name]]
        return f"never asked: {', '.join(idle)}" if idle else None

    def _stop(self, service: Service, script: str | None) -> None:
        host, unit = self._hosts[service["host"]], service["unit"]
        host.run(f"systemctl stop {unit}; systemctl reset-failed {unit}")
        if script is not None:
            host.write(_launch(service), script)

    def _start(self, group: Sequence[Service], limit: float) -> Answers | str:
        """Start them all; what the cluster answers, or why it does not."""
        entrance = self.plan["entrances"][0]
        heads = [one["url"] for one in self._heads()]
        task = {"heads": heads, "entrance": entrance["url"], "prompts": PROMPTS, "limit": limit}
        watches = {at(one): self._open(one["host"], WATCH.format(unit=one["unit"])) for one in group}
        probe = self._open(entrance["host"], f"python3 {PROBE} '{json.dumps(task)}'")
        try:
            while probe.poll() is None:
                dead = [name for name, watch in watches.items() if watch.poll() is not None]
                if dead:
                    return f"{dead[0]} died: {_cause(watches[dead[0]].communicate()[0])}"
                time.sleep(0.02)
            said = probe.communicate()[0]
            assert probe.returncode == 0, said
            result = json.loads(said)
            return result["failure"] if "failure" in result else result["answers"]
        finally:
            for one in (*watches.values(), probe):
                one.kill()
                one.wait()

    def _open(self, host: str, command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self._hosts[host].ssh(command),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def _heads(self) -> list[Service]:
        return [one for one in self.services if one["rank"] == 0 and one["role"] in ("prefill", "decode", "mixed")]

    def _asked(self) -> dict[str, int]:
        """How many completions each head has had."""
        heads = self._heads()
        with ThreadPoolExecutor(len(heads)) as pool:
            counts = pool.map(lambda one: self._hosts[one["host"]].run(ASKED.format(unit=one["unit"])), heads)
            return {at(one): int(count) for one, count in zip(heads, counts, strict=True)}


def at(service: Service) -> str:
    """Names a service."""
    return f"{service['unit']} on {service['host']}"


def _launch(service: Service) -> str:
    return f"/etc/ascend-sglang/{service['unit']}/launch.sh"


def _cause(log: str) -> str:
    """The line of a log that tells most, with the one after it; a death in a child process is never the cause."""
    lines = [line.strip() for line in log.splitlines() if line.strip() and "sigquit" not in line.lower()]
    told = [number for number, line in enumerate(lines) if "Error" in line or "failed" in line]
    return " ".join(lines[told[-1] :][:2] if told else lines[-1:])[:160] or "its log is empty"
