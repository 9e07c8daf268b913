# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A recipe page that no committed profile was made of: imported, planned, deployed and asked, as the others are.

Its prefill instance has two nodes, its words are those of another author (see tests/pages/marble-three-hosts.mdx).
"""

from __future__ import annotations

import json
import pathlib
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from deploy.three_hosts import Lab
from on_hosts import hosts, playbooks

PAGE = hosts.PROJECT / "tests" / "pages" / "marble-three-hosts.mdx"
PROFILE = "marble-70b-w8a8-1p1d-24p-in6k-out1k2-45ms"
ASK = (
    "curl --noproxy '*' -sS -m 20 -H 'Content-Type: application/json' "
    """-d '{"text": "Hello", "sampling_params": {"max_new_tokens": 4}}' """
)


@dataclass(frozen=True)
class Imported:
    """The profile as it was written, the deployment made of it, and where its plan is."""

    lab: Lab
    profile: dict[str, Any]
    report: str
    inventory: pathlib.Path
    run: playbooks.Run
    plan: dict[str, Any]

    def service(self, host: str, role: str) -> dict[str, Any]:
        (found,) = [one for one in self.plan["services"] if (one["host"], one["role"]) == (host, role)]
        return found

    def word(self, host: str, role: str, flag: str) -> str:
        argv = self.service(host, role)["argv"]
        return argv[argv.index(flag) + 1]


@pytest.fixture(scope="module")
def marble(lab, fresh, tmp_path_factory):
    """The page imported and deployed; nothing of it is left for the tests behind."""
    own, plan = tmp_path_factory.mktemp("profiles"), tmp_path_factory.mktemp("plan")
    lab.set_knobs()
    inventory = lab.inventory(
        sglang_profile=PROFILE, sglang_profile_dirs=[str(own)], sglang_instances={}, sglang_plan_dir=str(plan)
    )
    playbooks.run("import_recipes", inventory, "-e", f"page={PAGE}", "-e", f"dest={own}").passed()
    written = yaml.safe_load((own / f"{PROFILE}.yml").read_text())
    (report,) = own.glob("*.report.md")
    run = playbooks.run("deploy", inventory)
    yield Imported(lab, written, report.read_text(), inventory, run, json.loads((plan / "plan.json").read_text()))
    playbooks.run("remove", inventory).passed()
    playbooks.run("restore", inventory).passed()


def test_it_answers_a_completion(marble):
    marble.run.passed()
    (entrance,) = marble.plan["entrances"]
    told = json.loads(marble.lab[entrance["host"]].run(f"{ASK} {entrance['url']}/generate"))
    assert told["text"]
    assert told["meta_info"]["completion_tokens"] == 4


def test_both_nodes_of_its_prefill_instance_have_their_rank_and_one_meeting_place(marble):
    head = marble.lab["p1"].data
    assert [marble.word(host, "prefill", "--node-rank") for host in ("p1", "p2")] == ["0", "1"]
    assert {marble.word(host, "prefill", "--dist-init-addr") for host in ("p1", "p2")} == {f"{head}:5060"}
    assert {marble.service(host, "prefill")["env"]["SGLANG_ZBAL_BOOTSTRAP_URL"] for host in ("p1", "p2")} == {
        f"tcp://{head}:24691"
    }
    for host, role in (("p1", "prefill"), ("p2", "prefill"), ("d1", "decode")):
        service = marble.service(host, role)
        assert service["env"]["ASCEND_MF_STORE_URL"] == f"tcp://{head}:24680"
        assert service["env"]["HCCL_SOCKET_IFNAME"] == hosts.DATA_INTERFACE
    argv = marble.service("p1", "router")["argv"]
    assert argv[argv.index("--prefill") + 1 :][:2] == [f"http://{head}:8100", "9100"]


def test_what_runs_is_what_the_page_says_by_its_full_names(marble):
    """Read from the kernel, not from the plan: flags as the processes have them."""
    for host, role in (("p1", "prefill"), ("p2", "prefill"), ("d1", "decode")):
        unit = marble.service(host, role)["unit"]
        pid = marble.lab[host].run(f"systemctl show --value --property=MainPID {unit}").strip()
        line = marble.lab[host].run(f"tr '\\0' '\\n' </proc/{pid}/cmdline").splitlines()
        args = marble.profile["roles"][role]["args"]
        assert {f"--{name}" for name in args} <= set(line)
        assert line[line.index("--max-running-requests") + 1] == "64"
        path = marble.lab[host].run(f"tr '\\0' '\\n' </proc/{pid}/environ | grep ^PATH=")
        assert path.startswith("PATH=/usr/local/Ascend/8.5.0/compiler/bishengir/bin:/")
        assert "/usr/bin" in path
    (loaded,) = [
        json.loads(word) for word in marble.service("p1", "prefill")["argv"] if str(word).startswith('{"enable_multi')
    ]
    assert loaded == {"enable_multithread_load": True, "num_threads": 16}


def test_the_report_names_what_the_profile_says_otherwise(marble):
    for words in ("`--tp`: its full name is --tp-size", "the shell tears the JSON apart"):
        assert words in marble.report
    reasons = {(one["name"], one["reason"]) for one in marble.plan["deviations"]}
    assert {("--tp", "flag-in-full"), ("--tp-size", "flag-in-full")} <= reasons
    assert ("--model-loader-extra-config", "json-one-argument") in reasons


def test_a_second_import_and_a_second_deployment_change_nothing(marble):
    own = yaml.safe_load(marble.inventory.read_text())["all"]["vars"]["sglang_profile_dirs"][0]
    again = playbooks.run("import_recipes", marble.inventory, "-e", f"page={PAGE}", "-e", f"dest={own}")
    assert again.passed().count("changed") == 0
    assert playbooks.run("deploy", marble.inventory).passed().count("changed") == 0


def test_a_limit_that_leaves_out_a_node_is_said_and_nobody_waits_for_its_instance(marble):
    """It may come later: what is there then starts together, because a rank cannot join what has begun without it."""
    playbooks.run("stop", marble.inventory).passed()
    for then in ("starts on the others and is not waited for", "is not waited for"):
        run = playbooks.run("deploy", marble.inventory, "--limit", "p1,d1").passed()
        run.said(
            f"--limit leaves out p2 of prefill-0: it {then}",
            "sglang-router on p1 is not asked: it cannot answer without p2",
            "(nothing was asked)",
        )
    assert run.count("changed") == 0
    run = playbooks.run("deploy", marble.inventory).passed()
    run.said("p2: start sglang-prefill because it is not running", "p1: restart sglang-prefill because")
    (entrance,) = marble.plan["entrances"]
    assert json.loads(marble.lab[entrance["host"]].run(f"{ASK} {entrance['url']}/generate"))["text"]
