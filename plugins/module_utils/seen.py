# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a host shows of a unit as plain values, and back: digests instead of contents, so that no secret travels.

Enough to tell on the controller whether anything is to be done, not to tell what.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils.files import Found
from ansible_collections.ascend.sglang.plugins.module_utils.reconcile import Guard, Observed
from ansible_collections.ascend.sglang.plugins.module_utils.systemd import UnitState


@dataclass(frozen=True)
class Digested(Found):
    """A file of which only the digest is known."""

    digest: str = ""

    @property
    def sha256(self) -> str:
        return self.digest


def plain(there: Observed) -> dict[str, Any]:
    """As a module returns it."""
    guard = there.guard
    return {
        "state": asdict(there.state),
        "files": {
            path: {"digest": found.sha256, "mode": found.mode, "uid": found.uid, "gid": found.gid}
            for path, found in sorted(there.files.items())
        },
        "facts": None if there.facts is None else dict(there.facts),
        "launch": there.launch,
        "leftovers": list(there.leftovers),
        "guard": guard and {"state": asdict(guard.state), "ours": guard.ours, "launch": guard.launch},
    }


def observed(told: Mapping[str, Any]) -> Observed:
    """The same as the host saw it, without contents and earlier configurations."""
    guard = told["guard"]
    return Observed(
        state=UnitState(**told["state"]),
        files={path: Digested(b"", **one) for path, one in told["files"].items()},
        facts=told["facts"],
        launch=told["launch"],
        leftovers=tuple(told["leftovers"]),
        guard=guard and Guard(UnitState(**guard["state"]), guard["ours"], guard["launch"]),
    )
