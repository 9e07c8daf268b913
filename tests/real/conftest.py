# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three hosts with the real engine for all tests here, one shape of cluster after another on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from on_hosts import hosts, tables
from real.cluster import MIXED, Answers, Cluster

NUMBERS = {"h1": 64, "h2": 65, "h3": 66}


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The hosts, with nothing on them yet."""
    with hosts.booted("real", NUMBERS, real=True) as booted:
        yield Cluster(booted, tmp_path_factory.mktemp("real"))


@pytest.fixture(scope="session")
def expected(cluster: Cluster) -> Answers:
    """What one server alone answers: the truth for every other shape."""
    cluster.deploy(MIXED)
    return cluster.answers()


@pytest.fixture
def measured(record_property: Callable[[str, object], None]) -> Callable[[str], None]:
    """Note something for the table at the end."""
    return lambda text: record_property("measured", text)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What was measured."""
    tables.show(terminalreporter, "what was measured with the real engine", "measured")
