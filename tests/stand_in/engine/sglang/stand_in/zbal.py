# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ZBAL's bootstrap: rank 0 of an instance serves SGLANG_ZBAL_BOOTSTRAP_URL, its other nodes must find it there."""

from __future__ import annotations

import time

from sglang.stand_in import store, wire


class ZbalError(Exception):
    """`[ZBAL] zbal init failed!`"""


def is_wanted(settings):
    """Whether the environment asks for it."""
    return (
        bool(settings.env.get("SGLANG_ZBAL_BOOTSTRAP_URL"))
        and settings.env.get("SGLANG_ZBAL_LOCAL_MEM_SIZE", "1") != "0"
    )


def start(settings, group, seconds):
    """Bring the instance's nodes together there, or raise ZbalError."""
    try:
        host, port = store.parse(settings.env["SGLANG_ZBAL_BOOTSTRAP_URL"])
    except store.StoreError:
        raise ZbalError from None
    if settings.rank == 0:
        try:
            server = wire.listen(host, port)
        except OSError:
            raise ZbalError from None
        wire.serve(server, lambda line: _answer(line, group.incarnation), "zbal")
        return
    deadline = time.monotonic() + seconds
    line = wire.connect_patiently(host, port, deadline)
    if line is None:
        raise ZbalError
    line.send(hello="zbal")
    line.socket.settimeout(5)
    answer = line.receive() or {}
    if answer.get("zbal") != group.incarnation:
        raise ZbalError


def _answer(line, incarnation):
    if (line.receive() or {}).get("hello") == "zbal":
        line.send(zbal=incarnation)
