# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asking a service about its health; begun early where there is something else to do meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import NamedTuple

from ansible_collections.ascend.sglang.plugins.module_utils.http_probe import Reply, request

Answer = Callable[[], Reply]


class Begun(NamedTuple):
    """Requests on their way since `at`, in seconds since 1970: unit -> what waits for its answer."""

    at: float
    answers: Mapping[str, Answer]

    def of(self, started: Mapping[str, float]) -> dict[str, Answer]:
        """Those that the process of now answers. started: unit -> since when its process runs."""
        return {unit: answer for unit, answer in self.answers.items() if 0 < started.get(unit, 0) <= self.at}


SECONDS = 3.0
"""How long an answer may take. A healthy engine takes one second: it has a token made."""


def ask(role: str, url: str, timeout: float = SECONDS) -> Reply:
    """What a service answers. Not for a store, which speaks no HTTP.

    A router's own /health says nothing; mini-lb has no /readiness, so that its /health has to do.
    """
    reply = request(url + ("/readiness" if role == "router" else "/health"), timeout)
    if role == "router" and reply.status == 404:
        return request(url + "/health", timeout)
    return reply


def begin(services: Mapping[str, Mapping[str, str]], pool: Executor) -> Begun:
    """Ask all that can be asked, and go on.

    :param services: unit -> what its unit file says of it, with `role` and `url`.
    """
    at = time.time()
    answers = {
        unit: pool.submit(ask, one["role"], one["url"]).result
        for unit, one in services.items()
        if one.get("url", "").startswith("http")
    }
    return Begun(at, answers)
