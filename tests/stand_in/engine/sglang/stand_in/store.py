# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The MemFabric store of a PD group: a TCP service at ASCEND_MF_STORE_URL that every PD rank must reach.

Every prefill rank 0 tries to create it; only the owner of the address can. The store lives as long as the process, and
each one is another: its number goes into the hand-over, so members of a dead store have nothing to say to those of the
next one.
"""

from __future__ import annotations

import re
import time
import uuid

from sglang.stand_in import wire


class StoreError(Exception):
    """The transfer engine cannot be set up; the engine says no more than that."""


def parse(url):
    """Host and port of `tcp://host:port`; StoreError for anything else, a placeholder included."""
    match = re.fullmatch(r"tcp://(\[[0-9a-fA-F:]+\]|[^:/\[\]<>\s]+):(\d+)", url or "")
    if not match or not 0 < int(match[2]) < 65536:
        raise StoreError(url)
    return match[1].strip("[]"), int(match[2])


def create(url):
    """Serve the store where this process may; False where it may not (the address is another's, or the port taken)."""
    host, port = parse(url)
    try:
        server = wire.listen(host, port)
    except OSError:
        return False
    number = uuid.uuid4().hex

    def answer(line):
        if (line.receive() or {}).get("hello") == "memfabric":
            line.send(store=number)
        while line.receive():
            pass
        line.close()

    wire.serve(server, answer, "store")
    return True


def join(url):
    """The number of the store there. Waits for ever for one that cannot be reached; StoreError where it is none."""
    host, port = parse(url)
    while True:
        line = wire.connect_patiently(host, port)
        try:
            line.send(hello="memfabric")
            line.socket.settimeout(5)
            answer = line.receive()
            line.socket.settimeout(None)
        except OSError:
            answer = None
        if answer and "store" in answer:
            _joined.append(line)
            return answer["store"]
        line.close()
        if answer is not None:
            raise StoreError(url)
        time.sleep(0.5)
        if not _is_silent(host, port):
            raise StoreError(url)


_joined = []


def _is_silent(host, port):
    """Whether nobody is there any more (a store that is just going), as against somebody who is no store."""
    try:
        wire.connect(host, port, 1.0).close()
    except OSError:
        return True
    return False
