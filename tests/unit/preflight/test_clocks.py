# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far clocks are apart, from what host and controller read."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.clocks import offset

from .good import Cluster
from .test_checks import problems

# The way to the host and back takes a second each.
WAY = 1.0
BEFORE = 50_000.0


def read(ahead: float, look: float) -> tuple[float, float]:
    """What is known of a host whose clock is so far ahead, and whose look takes so long."""
    began = BEFORE + WAY + ahead
    return offset({"began": began, "time": began + look}, {"before": BEFORE, "after": BEFORE + 2 * WAY + look})


@pytest.mark.parametrize("ahead", [0.0, 6.5, -6.5])
@pytest.mark.parametrize("look", [0.0, 0.3, 20.0])
def test_a_long_look_blurs_nothing(ahead: float, look: float):
    assert read(ahead, look) == pytest.approx((ahead - WAY, ahead + WAY))


def test_one_reading_of_the_clock_stands_for_both():
    assert offset({"time": 110.0}, {"before": 100.0, "after": 112.0}) == (-2.0, 10.0)


@pytest.mark.parametrize("ahead", [6.5, -6.5])
def test_a_clock_is_told_however_long_the_look_at_its_host_took(ahead: float):
    cluster = Cluster()
    cluster.clocks.update({host: read(0.0, 0.5) for host in cluster.clocks}, d2=read(ahead, 20.0))
    (told,) = problems(cluster)["clock"]
    assert (told.level, told.hosts) == ("warning", ("d2",))
