# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the phases of a scenario share: its plan, its hosts, and what an earlier phase saw."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
import testinfra
from testinfra.host import Host

# A folder: molecule's own file, and links to the scenario's inventory and to what all scenarios share.
INVENTORY = str(pathlib.Path(os.environ["MOLECULE_INVENTORY_FILE"]).parent)
LAB = pathlib.Path(os.environ.get("LABHOSTS_ROOT", "/var/lib/ascend-sglang-test-hosts"))
SEEN = pathlib.Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"]) / "seen"
DEPLOYED = pathlib.Path(os.environ["MOLECULE_EPHEMERAL_DIRECTORY"]) / "plan" / "plan.json"


def run_playbook(name: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run one of the collection's playbooks on the scenario's inventory, as a user does."""
    command = ["ansible-playbook", f"ascend.sglang.{name}", "-i", INVENTORY, *options]
    environment = os.environ | {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_FORCE_COLOR": "0"}
    return subprocess.run(
        command, text=True, capture_output=True, check=False, env=environment, stdin=subprocess.DEVNULL
    )


def reach(address: str) -> Host:
    """A test host over ssh, with connections that labhosts ends when the host goes."""
    options = (
        "-F none -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
    )
    return testinfra.get_host(
        f"ssh://root@{address}",
        ssh_identity_file=str(LAB / "ssh_key"),
        ssh_extra_args=options,
        controlpath=str(LAB / "cp" / f"{address}-testinfra"),
    )


def addresses() -> dict[str, str]:
    """The hosts of the scenario's inventory, in its order."""
    listed = subprocess.run(
        ["ansible-inventory", "-i", INVENTORY, "--list"], text=True, capture_output=True, check=True
    )  # fmt: skip
    return {name: found["ansible_host"] for name, found in json.loads(listed.stdout)["_meta"]["hostvars"].items()}


class Cluster:
    """The scenario's hosts and its plan, and a place to remember things from one phase to the next."""

    def __init__(self, plan: dict) -> None:
        self.plan = plan
        self.services = plan["services"]
        self.hosts = {name: reach(address) for name, address in addresses().items()}

    def of_role(self, *roles: str) -> list[dict]:
        return [service for service in self.services if service["role"] in roles]

    @property
    def entrance(self) -> dict:
        """Where clients ask: the router; without one, the head of the mixed instance."""
        return (self.of_role("router") or [one for one in self.of_role("mixed") if one["rank"] == 0])[0]

    def ask(self, path: str, body: dict | None = None, limit: int = 30) -> str:
        """What the entrance answers to a client on its own host; fails on anything but 2xx."""
        url = self.entrance["url"] + path
        data = "" if body is None else f"-H 'Content-Type: application/json' -d '{json.dumps(body)}'"
        # --noproxy: a client of the test is not the place to try proxies.
        return self.hosts[self.entrance["host"]].check_output(
            f"curl --noproxy '*' -sS --fail-with-body -m {limit} {data} {url}"
        )

    def everywhere(self, command: str) -> dict[str, str]:
        """What a command prints on each host, run on all at the same time."""
        with ThreadPoolExecutor(len(self.hosts)) as pool:
            return dict(
                zip(self.hosts, pool.map(lambda host: host.check_output(command), self.hosts.values()), strict=True)
            )

    @property
    def units(self) -> list[tuple[Host, str]]:
        return [(self.hosts[one["host"]], one["unit"]) for one in self.services]

    def incarnations(self) -> dict[str, str]:
        """What changes when a service is started anew."""
        show = "systemctl show --property=InvocationID,MainPID,NRestarts,ActiveEnterTimestampMonotonic"
        return {
            f"{one['host']} {one['unit']}": self.hosts[one["host"]].check_output(f"{show} {one['unit']}")
            for one in self.services
        }

    def remember(self, name: str, value: object) -> None:
        SEEN.mkdir(exist_ok=True)
        (SEEN / f"{name}.json").write_text(json.dumps(value))

    def remembered(self, name: str) -> object:
        return json.loads((SEEN / f"{name}.json").read_text())


@pytest.fixture(scope="session")
def playbook():
    return run_playbook


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Cluster:
    """The plan is the one that was deployed; before that, the one that `plan` makes without asking the hosts."""
    if not DEPLOYED.exists():
        folder = tmp_path_factory.mktemp("plan")
        done = run_playbook("plan", "-e", f"sglang_plan_dir={folder}")
        assert done.returncode == 0, done.stdout + done.stderr
        return Cluster(json.loads((folder / "plan.json").read_text()))
    return Cluster(json.loads(DEPLOYED.read_text()))
