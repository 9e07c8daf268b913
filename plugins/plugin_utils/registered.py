# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the hosts of a play have registered, read on the controller by the actions that run once for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.values import plain


def answers(hostvars: Mapping[str, Any], hosts: Iterable[str], register: str, key: str = "") -> dict[str, Any]:
    """Host -> its registered answer as plain values; with `key`, only of hosts whose answer has it.

    A host outside of --limit has registered nothing, and one that failed or was skipped has no `key`.
    """
    found: dict[str, Any] = {}
    for host in hosts:
        answer: Any = plain(hostvars[host].get(register) or {})
        if answer and (not key or key in answer):
            found[host] = answer
    return found
