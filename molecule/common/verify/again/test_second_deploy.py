# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A second deploy finds nothing to do and touches no running service."""

from __future__ import annotations

import re

import pytest


@pytest.fixture(scope="module")
def output(playbook):
    done = playbook("deploy", "--diff")
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_changes_nothing(output):
    counts = re.findall(r"^(\S+) +: ok=\d+ +changed=(\d+)", output.rsplit("PLAY RECAP", 1)[1], re.MULTILINE)
    assert counts
    assert all(changed == "0" for _host, changed in counts), counts


def test_no_service_was_started_anew(cluster, output):
    assert cluster.incarnations() == cluster.remembered("incarnations")


def test_the_check_agrees(cluster, playbook, output):
    done = playbook("deploy", "--check", "--diff")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "changed: [" not in done.stdout
    cluster.remember("boots", cluster.everywhere("cat /proc/sys/kernel/random/boot_id"))
