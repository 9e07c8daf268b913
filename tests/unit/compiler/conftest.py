# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from hypothesis import HealthCheck, settings

# How long an example takes says more about the machine than about the code.
settings.register_profile("compiler", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("compiler")
