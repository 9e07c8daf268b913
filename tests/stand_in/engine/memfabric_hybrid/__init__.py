# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-in for memfabric_hybrid: as much as it takes to serve the store of a PD group."""

from __future__ import annotations

from sglang.stand_in import store

_level = 0


def create_config_store(url):
    """Serve the store at `tcp://host:port`; 0, or -1 where that cannot be."""
    try:
        return 0 if store.create(url) else -1
    except store.StoreError:
        return -1


def set_log_level(level):
    """Accepted, without effect."""
    global _level
    _level = level
