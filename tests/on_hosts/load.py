# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A load of requests on a cluster for the time of a with block, asked from one of its hosts."""

from __future__ import annotations

import contextlib
import json
import pathlib
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from on_hosts.hosts import LabHost

CLIENT = pathlib.Path(__file__).resolve().parent / "client.py"


@dataclass
class Account:
    """What became of every request; filled when the load has ended."""

    requests: list[dict[str, Any]] = field(default_factory=list)

    @property
    def failed(self) -> list[dict[str, Any]]:
        return [one for one in self.requests if one["status"] != 200 or one["wrong"]]

    @property
    def outage(self) -> float:
        """Seconds from the begin of the first request that failed to the end of the last one."""
        failed = self.failed
        return max(one["end"] for one in failed) - min(one["begin"] for one in failed) if failed else 0.0

    @property
    def longest(self) -> float:
        """Seconds of the slowest request that was answered."""
        return max(one["end"] - one["begin"] for one in self.requests if one not in self.failed)

    def __str__(self) -> str:
        streams = sum(one["stream"] for one in self.requests)
        reasons = sorted({f"{one['status']} {one['wrong'][:120]}" for one in self.failed})
        text = f"{len(self.requests)} requests ({streams} streams), {len(self.failed)} failed"
        return f"{text}: {self.outage:.1f} s, {reasons}" if reasons else f"{text}, slowest {self.longest:.1f} s"


@contextlib.contextmanager
def asked(host: LabHost, url: str, key: str = "", **more: Any) -> Iterator[Account]:
    """Requests from this host all the time; the account is whole after the block."""
    host.run("cat >/run/client.py", CLIENT.read_text())
    told = {"url": url, "key": key, "threads": 4, "tokens": 12, "pause": 0.1, **more}
    account = Account()
    client = subprocess.Popen(
        host.ssh("python3 /run/client.py"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert client.stdin is not None
        client.stdin.write(json.dumps(told) + "\n")
        client.stdin.flush()
        time.sleep(1)
        yield account
    finally:
        printed, _unused = client.communicate("\n", timeout=90)
    account.requests.extend(json.loads(printed)["requests"])
