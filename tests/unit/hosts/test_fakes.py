# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A host's own kernel settings, in the three kinds of kernel that host tuning meets."""

from __future__ import annotations

import pytest
from lab import fakes

GOVERNORS = ["schedutil", "performance"]


def places(folder):
    return dict(line.split() for line in (folder / "places").read_text().splitlines())


@pytest.mark.parametrize(
    ("kernel", "in_proc", "in_debugfs"), [("new", False, True), ("old", True, False), ("locked", False, False)]
)
def test_where_the_migration_cost_is(tmp_path, kernel, in_proc, in_debugfs):
    fakes.build(tmp_path, "h1", kernel, GOVERNORS)
    assert (tmp_path / "proc-sys-kernel/sched_migration_cost_ns").exists() is in_proc
    assert (tmp_path / "debug/sched/migration_cost_ns").exists() is in_debugfs
    assert ("debug" in places(tmp_path)) is in_debugfs


def test_every_tree_has_a_place(tmp_path):
    fakes.build(tmp_path, "h1", "new", GOVERNORS)
    assert {path.name for path in tmp_path.iterdir()} - {"places"} == set(places(tmp_path))


def test_the_values_are_a_fresh_kernels(tmp_path):
    fakes.build(tmp_path, "h1", "new", GOVERNORS)
    assert (tmp_path / "proc-sys-vm/swappiness").read_text() == "60\n"
    assert (tmp_path / "proc-sys-kernel/numa_balancing").read_text() == "1\n"
    assert (tmp_path / "proc-sys-kernel/hostname").read_text() == "h1\n"


def test_governors(tmp_path):
    fakes.build(tmp_path, "h1", "new", GOVERNORS, cpus=3)
    first = tmp_path / "cpu/cpu2/cpufreq"
    assert (first / "scaling_governor").read_text() == "schedutil\n"
    assert (first / "scaling_available_governors").read_text() == "schedutil performance\n"
    assert (tmp_path / "cpu/online").read_text() == "0-2\n"


def test_a_virtual_machine_has_no_governors(tmp_path):
    fakes.build(tmp_path, "h1", "new", [])
    assert not list(tmp_path.glob("cpu/**/cpufreq"))
    assert (tmp_path / "cpu/cpu1/online").exists()
