# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stand-in for SGLang on machines without NPUs: the engine's ports, rendezvous, answers and bad manners, no model."""

from __future__ import annotations

from sglang.stand_in.knobs import engine_version

__version__ = engine_version()
