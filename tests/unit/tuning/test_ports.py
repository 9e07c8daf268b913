# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Sets of ports and the kernel's spelling of them."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import tuning_ports
from hypothesis import given
from hypothesis import strategies as st

PORTS = st.frozensets(st.integers(1, 65535), max_size=60)


@pytest.mark.parametrize(
    ("entries", "text"),
    [
        ([], ""),
        ([8000], "8000"),
        (["8000", 8001, [8002, 8003], (60000, 60015)], "8000-8003,60000-60015"),
        (["60000-60015", "60010-60020", 5000], "5000,60000-60020"),
        (["8000 - 8002"], "8000-8002"),
        ([[7, 7]], "7"),
    ],
)
def test_entries(entries, text):
    assert tuning_ports.format_ports(tuning_ports.ports_of(entries)) == text


@pytest.mark.parametrize(
    "entry", [0, 65536, "http", True, -5, "8000-", "-8000", [1, 2, 3], [], {"http": 8000}, 8000.5, None, "\u0668"]
)
def test_what_is_no_port(entry):
    with pytest.raises(ValueError, match="is neither a port") as raised:
        tuning_ports.ports_of([8000, entry])
    assert repr(entry) in str(raised.value)


def test_a_range_that_ends_before_it_begins():
    with pytest.raises(ValueError, match="'9000-8000' ends before it begins"):
        tuning_ports.ports_of(["9000-8000"])


@given(PORTS)
def test_the_text_says_the_set(ports):
    assert tuning_ports.parse(tuning_ports.format_ports(ports)) == ports


@given(others=PORTS, first=PORTS, second=PORTS)
def test_other_peoples_ports_outlive_ours(others, first, second):
    text, ours = tuning_ports.merge(others, frozenset(), first)
    assert tuning_ports.parse(text) == others | first
    text, ours = tuning_ports.merge(tuning_ports.parse(text), tuning_ports.parse(ours), second)
    assert tuning_ports.parse(text) == others | second
    assert tuning_ports.parse(text) - tuning_ports.parse(ours) == others


@given(others=PORTS, wanted=PORTS)
def test_a_second_run_changes_nothing(others, wanted):
    text, ours = tuning_ports.merge(others, frozenset(), wanted)
    assert tuning_ports.merge(tuning_ports.parse(text), tuning_ports.parse(ours), wanted) == (text, ours)
