# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stands in for memfabric_hybrid where there is no NPU: the real SGLang's backend `ascend` moves its cache by it.

What is written really goes from the memory of one process into that of another, over TCP, between hosts or on one:
the receiver takes it only where its engine has registered memory. The store is a place that everyone has to reach, as
the real one; it keeps the members and answers how many there are, and nothing else is known of it.
"""

from __future__ import annotations

from .engine import TransferEngine
from .store import create_config_store

__all__ = ["TransferEngine", "create_config_store"]
