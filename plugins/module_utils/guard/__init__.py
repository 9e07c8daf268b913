# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard of one service: restarts it when the process that it belongs to is another one, or is lost.

A small program of its own on the hosts, beside the service that it guards. It tells the guards of other hosts which
run of its unit is alive (systemd's invocation id), and follows at most one other unit: ranks above 0 follow rank 0 of
their instance, rank 0 of a PD instance follows the holder of the store. Imports nothing of the collection.
"""

from __future__ import annotations
