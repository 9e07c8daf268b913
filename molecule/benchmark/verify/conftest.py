# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The benchmark as a user runs it, on the scenario's cluster."""

from __future__ import annotations

import pytest
from on_hosts.bench import Bench


@pytest.fixture(scope="session")
def bench() -> Bench:
    return Bench()
