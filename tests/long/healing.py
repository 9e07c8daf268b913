# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A deployed cluster under a stream of requests, to which things happen, and how long it is until it serves again."""

from __future__ import annotations

import json
import pathlib
import subprocess
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from on_hosts.hosts import LABHOSTS, LabHost

STREAM = (pathlib.Path(__file__).parent / "stream.py").read_text()
CLIENTS = 2
# It serves again when nothing has gone wrong for so long, in which no process was started anew either.
CALM_SECONDS = 4.0
# An answer that took longer was held up by what happened.
SLOW_SECONDS = 2.0
ASK = "no_proxy='*' python3 -c 'import urllib.request as u; print(u.urlopen(\"{url}\", timeout=5).read().decode())'"
STARTED = "journalctl --boot --output=cat --unit={0}.service | grep -c '^Started {0}.service' || [ $? = 1 ]"


class Cluster:
    """The hosts of a deployed plan, and the clients on the entrance's host."""

    def __init__(self, hosts: Mapping[str, LabHost], plan: Mapping[str, Any], inventory: pathlib.Path) -> None:
        self.hosts = hosts
        self.inventory = inventory
        self.services = [one for one in plan["services"] if one["guard"]]
        self._entrance = plan["entrances"][0]
        self._lines: list[dict[str, Any]] = []
        self._clients: subprocess.Popen[str] | None = None
        # The runs when it was whole last.
        self._before: dict[str, str] = {}

    def __enter__(self) -> Cluster:
        entrance = self.hosts[self._entrance["host"]]
        entrance.write("/run/stream.py", STREAM)
        self._clients = subprocess.Popen(
            [str(LABHOSTS), "exec", entrance.lab, "python3", "/run/stream.py", self._entrance["url"], str(CLIENTS)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        threading.Thread(target=self._read, args=(self._clients.stdout,), daemon=True).start()
        self.served_after(time.time(), 30)
        return self

    def __exit__(self, *_: object) -> None:
        if self._clients:
            self._clients.communicate(timeout=20)

    def _read(self, lines: Any) -> None:
        for line in lines:
            self._lines.append(json.loads(line))

    # What happens

    def lab(self, verb: str, name: str, *words: str) -> None:
        """kill, boot or link of a host."""
        if verb == "kill":
            # The connection would not notice.
            subprocess.run([*self.hosts[name].ssh("")[:-1], "-O", "exit"], check=False, stderr=subprocess.DEVNULL)
        subprocess.run([str(LABHOSTS), verb, self.hosts[name].lab, *words], check=True)

    def kill(self, name: str) -> None:
        """SIGKILL of the engine on a host."""
        self.hosts[name].run(f"systemctl kill --signal=SIGKILL {self.unit(name)}")

    def unit(self, name: str) -> str:
        return next(one["unit"] for one in self.services if one["host"] == name)

    # What is seen

    def runs(self) -> dict[str, str]:
        """Host -> the run of its service: its invocation; empty where it has no process, or there is no power."""
        with ThreadPoolExecutor(len(self.services)) as pool:
            return dict(zip(self.names, pool.map(self._run_of, self.names), strict=True))

    @property
    def names(self) -> list[str]:
        """The hosts of the services that are guarded."""
        return [one["host"] for one in self.services]

    def _run_of(self, name: str) -> str:
        show = f"systemctl show --property=InvocationID,ActiveState,SubState {self.unit(name)}"
        done = subprocess.run(self.hosts[name].ssh(show), capture_output=True, text=True, check=False)
        told = dict(line.partition("=")[::2] for line in done.stdout.splitlines())
        running = (told.get("ActiveState"), told.get("SubState")) == ("active", "running")
        return told["InvocationID"] if running else ""

    def starts(self) -> dict[str, int]:
        """How often the service of each host was started since the host's boot."""
        return {name: int(self.hosts[name].run(STARTED.format(self.unit(name)))) for name in self.names}

    def guard_log(self, name: str) -> list[str]:
        """What the guard of a host has said since the host's boot."""
        log = f"journalctl --boot --output=cat --no-pager --identifier={self.unit(name)}-guard"
        return self.hosts[name].run(log).splitlines()

    def told(self, name: str) -> dict[str, Any]:
        """What the guard of a host tells others."""
        url = next(one["guard"]["url"] for one in self.services if one["host"] == name)
        return json.loads(self.hosts[name].run(ASK.format(url=url)))

    def served_after(self, event: float, limit: float, anew: Iterable[str] = ()) -> float:
        """Seconds from an event until requests were answered again, and nothing went wrong any more.

        anew: hosts whose processes are others afterwards; what is calm before they are is not meant. AssertionError
        after `limit`.
        """
        before, runs, since = self._before, {}, time.time()
        while True:
            now, here = time.time(), self.runs()
            if here != runs or not all(here.values()) or any(here[name] == before.get(name) for name in anew):
                runs, since = here, now
            later = [one for one in self._lines if one["ended"] >= event]
            bad = [one for one in later if one["wrong"] or one["ended"] - one["began"] > SLOW_SECONDS]
            last = max((one["ended"] for one in bad), default=event)
            good = [one for one in later if one["began"] >= last]
            # Every client has been answered since, and no request hangs.
            if min(now - since, now - last) >= CALM_SECONDS and len(good) > 2 * CLIENTS:
                self._before = here
                return round(min(one["ended"] for one in good) - event, 1)
            wrong = [one["wrong"] for one in bad]
            assert now - event < limit, f"does not serve after {limit} s: runs {here}, last wrong {wrong[-1:]}"
            time.sleep(0.5)
