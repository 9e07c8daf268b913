# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""HCCL, the NPUs' communication library: what it asks of the environment, and its ports on the host."""

from __future__ import annotations

import socket

from sglang.stand_in import texts, wire
from sglang.stand_in.settings import is_loopback

FIRST_PORT = 60000


class HcclError(Exception):
    """What HCCL fails with."""


def check_environment(settings):
    """Refuse a rank table: it would say who the ranks are in place of the rendezvous."""
    table = settings.env.get("RANK_TABLE_FILE")
    if settings.is_npu and table:
        raise HcclError(f"{texts.HCCL_FAILED}EI0004: The ranktable or rank is invalid: {table}")


def open_ports(settings):
    """Listen on one host port a rank of this node, from 60000 or where the environment moves them.

    A port that an outgoing connection of somebody's has for the moment is passed over.
    """
    if not settings.is_npu or settings.world == 1:
        return []
    first = first_port(settings.env)
    host = "127.0.0.1" if is_loopback(settings.host) else settings.host
    opened = []
    for port in range(first, first + settings.npus_per_node):
        try:
            opened.append(wire.listen(host, port, 1))
        except OSError:
            if _is_listening(host, port):
                raise HcclError(texts.hccl_port(host, port)) from None
    return opened


def first_port(env):
    """Where the range begins."""
    given = env.get("HCCL_HOST_SOCKET_PORT_RANGE") or env.get("HCCL_IF_BASE_PORT") or str(FIRST_PORT)
    text = given.split(",")[0].split("-")[0]
    return int(text) if text.isdigit() else FIRST_PORT


def _is_listening(host, port):
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True
