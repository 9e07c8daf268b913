# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filling the placeholders that a profile leaves to the node."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.plugin_utils.addresses import Address
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile import PLACEHOLDER, PLACEHOLDERS
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import Plain

_ANY_SPELLING = re.compile(r"<([A-Za-z_ -]+)>")


def misspelled(value: Plain) -> tuple[str, str] | None:
    """A placeholder in another spelling than ours, as pages have them (`<network-interface>`), and the right one.

    It would reach the service as it stands. Other words in angle brackets are nobody's placeholder.
    """
    if isinstance(value, dict):
        return next(filter(None, map(misspelled, value.values())), None)
    if isinstance(value, list):
        return next(filter(None, map(misspelled, value)), None)
    for hit in _ANY_SPELLING.finditer(value if isinstance(value, str) else ""):
        name = hit.group(1).strip().lower().replace("-", "_").replace(" ", "_")
        if name in PLACEHOLDERS and name != hit.group(1):
            return hit.group(), f"<{name}>"
    return None


@dataclass(frozen=True)
class Context:
    """What the placeholders stand for on one node. `lists` are placeholders that are a whole value (router URLs)."""

    texts: Mapping[str, str]
    addresses: Mapping[str, Address]
    lists: Mapping[str, Plain]

    def fill(self, value: Plain) -> Plain:
        """The value with every placeholder replaced; a value that is one placeholder keeps the replacement's type."""
        if isinstance(value, dict):
            return {key: self.fill(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if not isinstance(value, str) or "<" not in value:
            return value
        whole = PLACEHOLDER.fullmatch(value)
        if whole and whole.group(1) in self.lists:
            return self.lists[whole.group(1)]
        return self.text(value)

    def text(self, value: str) -> str:
        """The text with every placeholder replaced; an IPv6 address gets brackets where a port follows."""
        result, end = "", 0
        for hit in PLACEHOLDER.finditer(value):
            result += value[end : hit.start()] + self._one(hit.group(1), value[hit.end() : hit.end() + 1] == ":")
            end = hit.end()
        return result + value[end:]

    def _one(self, name: str, before_port: bool) -> str:
        if name in self.addresses:
            address = self.addresses[name]
            return address.in_url if before_port else address.text
        # A profile has been checked; in a user's own value (a chat template, say) `<tool_call>` is what it is.
        return self.texts.get(name, f"<{name}>")
