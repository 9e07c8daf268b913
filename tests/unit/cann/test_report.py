# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the hosts of a plan have in common, and what not."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.ascend.sglang.plugins.filter.cann_report import FilterModule
from ansible_collections.ascend.sglang.plugins.plugin_utils import cann_report


def result(toolkit="9.0.0", atb="9.0.0", abi="1", **more):
    variables = {"ASCEND_HOME_PATH": "/a/cann", "ATB_HOME_PATH": f"/a/nnal/atb/latest/atb/cxx_abi_{abi}"}
    return {
        "toolkit": {"path": "/a/cann/set_env.sh", "version": toolkit},
        "atb": {"path": "/a/nnal/atb/set_env.sh", "version": atb},
        "proofs": [{"variables": variables}],
        "kept_out": [],
        **more,
    }


def test_equal_hosts():
    assert cann_report.differences({"p1": result("8.2.RC1"), "d1": result("8.2.rc1")}) == []


def test_versions_that_differ_name_their_hosts():
    hosts = {"p1": result(), "p2": result(atb="8.5.0"), "d1": result("8.5.0", "8.5.0", abi="0"), "d2": result(None)}
    assert cann_report.differences(hosts) == [
        "the CANN toolkit is not the same on all hosts: 9.0.0 on p1, p2; 8.5.0 on d1; of unknown version on d2",
        "ATB is not the same on all hosts: 9.0.0 on p1, d2; 8.5.0 on p2, d1",
        "ATB's C++ ABI is not the same on all hosts: cxx_abi_1 on p1, p2, d2; cxx_abi_0 on d1",
    ]


def test_a_host_that_needs_no_cann_is_not_compared():
    router = {"toolkit": {"version": "8.0.0"}, "atb": None, "proofs": [], "kept_out": []}
    assert cann_report.differences({"p1": result(), "r1": router}) == []


def test_a_path_may_differ():
    other = result()
    other["toolkit"]["path"] = "/opt/cann/set_env.sh"
    assert cann_report.differences({"p1": result(), "p2": other}) == []


def test_many_hosts_are_counted():
    hosts = {f"h{number}": result("8.5.0" if number else "9.0.0") for number in range(64)}
    assert "h7, h8 and 55 more" in cann_report.differences(hosts)[0]


def test_kept_out():
    hosts = {"p1": result(kept_out=["http_proxy (/etc/environment)"]), "p2": result(), "d1": result()}
    hosts["d1"]["kept_out"] = hosts["p1"]["kept_out"]
    assert cann_report.kept_out(hosts) == ["http_proxy (/etc/environment) on p1, d1 is kept out of services"]


def test_the_filter():
    cann = FilterModule().filters()["cann_report"]
    assert cann([result(), result("8.5.0")], ["p1", "d1"]) == {
        "differences": ["the CANN toolkit is not the same on all hosts: 9.0.0 on p1; 8.5.0 on d1"],
        "kept_out": [],
    }


@pytest.mark.parametrize("results", [[result()], [1, 2], None, [{"proofs": [{}]}, {"proofs": [{}]}]])
def test_the_filter_with_something_else(results):
    with pytest.raises(AnsibleFilterError, match="cann_report: its input is not what"):
        FilterModule().filters()["cann_report"](results, ["p1", "d1"])
