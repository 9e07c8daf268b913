# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""sysctl names, files and their order, as sysctl.d(5) has them."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import tuning_cpus, tuning_sysctl


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("vm.swappiness", "vm/swappiness"),
        ("vm/swappiness", "vm/swappiness"),
        ("net.ipv4.conf.eth0/100.rp_filter", "net/ipv4/conf/eth0.100/rp_filter"),
        ("net/ipv4/conf/eth0.100/rp_filter", "net/ipv4/conf/eth0.100/rp_filter"),
    ],
)
def test_a_name_and_its_file(name, path):
    assert tuning_sysctl.relative_path(name) == path
    assert tuning_sysctl.canonical(tuning_sysctl.canonical(name)) == tuning_sysctl.canonical(name)


@pytest.mark.parametrize("name", ["", "swappiness", "../etc/passwd", "vm./../x", "vm.*", "-vm.x", "vm.a b", "vm.x\n"])
def test_what_is_no_name(name):
    with pytest.raises(ValueError, match="is not the name of a sysctl"):
        tuning_sysctl.relative_path(name)


@pytest.mark.parametrize(("value", "text"), [(0, "0"), ("10", "10"), (" 4096\t87380 1 ", "4096 87380 1"), (True, "1")])
def test_values(value, text):
    assert tuning_sysctl.value_of("a.b", value) == text


@pytest.mark.parametrize("value", ["", " ", None, [1], {"a": 1}, "1\nkernel.panic = 1", 1.5])
def test_what_is_no_value(value):
    with pytest.raises(ValueError, match=r"a\.b"):
        tuning_sysctl.value_of("a.b", value)


def test_lines_of_a_file():
    text = """
    # vm.swappiness = 1
    ; vm.swappiness = 2
    vm.swappiness=3
    -vm/dirty_ratio =  4
    net.ipv4.conf.*.rp_filter = 1
    -net.ipv4.conf.lo.rp_filter
    !!! this is ours no more than yours
    = 5
    kernel.core_pattern = |/bin/x a=b
    """
    assert tuning_sysctl.parse("f", text) == [
        ("f", "vm.swappiness", "3"),
        ("f", "vm.dirty_ratio", "4"),
        ("f", "kernel.core_pattern", "|/bin/x a=b"),
    ]


def test_files_are_read_by_name_one_for_each_name():
    files = [
        "/usr/lib/sysctl.d/50-default.conf",
        "/usr/lib/sysctl.d/99-distro.conf",
        "/etc/sysctl.d/99-distro.conf",
        "/run/sysctl.d/98-run.conf",
        "/etc/sysctl.d/zz-local.conf",
        "/etc/sysctl.d/99-zz-local.conf",
    ]
    assert tuning_sysctl.in_order(files) == [
        "/usr/lib/sysctl.d/50-default.conf",
        "/run/sysctl.d/98-run.conf",
        "/etc/sysctl.d/99-distro.conf",
        "/etc/sysctl.d/99-zz-local.conf",
        "/etc/sysctl.d/zz-local.conf",
    ]


def test_the_last_assignment_holds():
    winners = tuning_sysctl.winners([("a", "vm.x = 1\nvm.y = 1\n"), ("b", "vm.x = 2\nvm.x = 3\n")])
    assert winners["vm.x"] == ("b", "vm.x", "3")
    assert winners["vm.y"].file == "a"


@pytest.mark.parametrize(
    ("cpus", "text"),
    [
        (["cpu0"], "cpu0"),
        (["cpu2", "cpu10", "cpu1", "cpu0"], "cpu0-2, cpu10"),
        ([f"cpu{number}" for number in range(192)], "cpu0-191"),
    ],
)
def test_lists_of_cpus(cpus, text):
    assert tuning_cpus.format_cpus(cpus) == text
