# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program: python3 -m guard.main CONFIGURATION."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Mapping
from typing import Any

from . import answers, memory_file, own_unit, peers, rules

_LOOKS_PER_LINE = 60


def log(text: str) -> None:
    """A line in the journal."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Guard:
    """One unit, the unit that it follows and, of a rank 0, the other ranks.

    :param config: guard.json. unit: the guarded unit; url: where this guard answers; gone_seconds: see rules.Duty;
        follows: null, or what ("head" or "store"), url and ports of the followed one; ranks: rank, url and ports of
        the other ranks; memory: path of the memory.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._unit = str(config["unit"])
        self._url = str(config["url"])
        self._path = str(config["memory"])
        follows = config["follows"]
        self._duty = rules.Duty(follows["what"] if follows else None, float(config["gone_seconds"]))
        self._memory = memory_file.load(self._path)
        self._told: dict[str, Any] = {}
        self._last = ""
        self._followed = peers.Peer(follows["url"], follows["ports"]) if follows else None
        self._ranks = {int(one["rank"]): peers.Peer(one["url"], one["ports"]) for one in config["ranks"]}
        self._silent = 0

    def run(self) -> None:
        """Guard, until somebody ends this process."""
        answers.serve(self._url, self._tell, log)
        while True:
            began = time.monotonic()
            self._look(began)
            time.sleep(max(0.1, peers.PERIOD_SECONDS - (time.monotonic() - began)))

    def _look(self, now: float) -> None:
        try:
            own = own_unit.look(self._unit)
        except own_unit.SystemctlError as error:
            if self._silent % _LOOKS_PER_LINE == 0:
                log(f"cannot ask systemd for {self._unit}: {error}")
            self._silent += 1
            return
        self._silent = 0
        followed = self._followed.look(now) if self._followed else None
        ranks = {rank: peer.look(now) for rank, peer in self._ranks.items()}
        memory, act = rules.step(self._duty, self._memory, now, own, followed, ranks)
        if memory != self._memory:
            # Before anything is done: what was asked for once must not be asked for by the next guard as well.
            memory_file.save(self._path, memory)
        self._memory = memory
        told = rules.told(memory, own)
        self._told = {**dataclasses.asdict(told), "restarts": memory.restarts, "last": self._last}
        if act is not None:
            self._do(act)

    def _do(self, act: rules.Act) -> None:
        self._last = f"restart {self._unit} because {act.why}"
        log(self._last)
        try:
            own_unit.restart(self._unit)
            if not act.drains:
                own_unit.kill(self._unit)
        except own_unit.SystemctlError as error:
            log(f"could not restart {self._unit}: {error}")

    def _tell(self) -> dict[str, Any]:
        return {"unit": self._unit, **self._told}


def main() -> None:
    """Read the configuration and guard."""
    with open(sys.argv[1], encoding="utf-8") as stream:
        config = json.load(stream)
    Guard(config).run()


if __name__ == "__main__":
    main()
