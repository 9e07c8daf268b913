# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The plan of 1,000 hosts costs at most six times that of 4."""

from __future__ import annotations

import json

from on_hosts import playbooks

PROFILE = "deepseek-r1-w8a8-2p1d"
LIMIT = 6


def inventory(folder, prefills: int, decodes: int):
    """Prefill instances of one host and decode instances of two, the router on the first prefill's host."""
    address = (f"192.0.2.{last}" for last in range(1, 255)) if prefills + decodes < 254 else _many()
    hosts = {
        role: {f"{role}{number:04}": {"sglang_data_address": next(address)} for number in range(count)}
        for role, count in (("p", prefills), ("d", decodes))
    }
    variables = {
        "sglang_model_path": "/models/deepseek-r1",
        "sglang_interface": "eth1",
        "sglang_instances": {"prefill": prefills, "decode": decodes // 2},
    }
    groups = {"prefill": hosts["p"], "decode": hosts["d"], "router": {"p0000": {}}}
    return playbooks.write_inventory(folder / f"{prefills + decodes}.yml", variables, groups)


def _many():
    # Benchmarking's own network, since documentation's are too small; no host is contacted.
    return (f"198.18.{third}.{last}" for third in range(8) for last in range(1, 255))


def test_a_thousand_hosts(tmp_path, best):
    seconds = {}
    for prefills, decodes in ((2, 2), (500, 500)):
        hosts = inventory(tmp_path, prefills, decodes)
        folder = tmp_path / f"plan-{prefills}"
        options = (hosts, "-e", f"profile={PROFILE}", "-e", f"sglang_plan_dir={folder}")
        name = f"plan of {prefills + decodes} hosts"
        seconds[prefills] = best(name, lambda options=options: playbooks.run("plan", *options).passed())
        services = json.loads((folder / "plan.json").read_text())["services"]
        assert len(services) == prefills + decodes + 1
    assert seconds[500] <= LIMIT * seconds[2], seconds
