# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Three test hosts for all tests here, and the deployment that most of them look at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from deploy.three_hosts import KEY, KNOBS, NUMBERS, OTHERS, Deployed, Lab
from on_hosts import hosts, playbooks


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The hosts."""
    with hosts.booted("wrong", NUMBERS, KNOBS) as booted:
        lab = Lab(booted, tmp_path_factory.mktemp("lab"))
        lab.everywhere(OTHERS)
        yield lab


@pytest.fixture(scope="session")
def fresh(lab: Lab) -> dict[str, list[str]]:
    """The hosts as they were before anything was deployed; to be asked for by every test that deploys."""
    return lab.lasting()


@pytest.fixture(scope="session")
def deployed(lab: Lab, fresh: dict[str, list[str]]) -> Deployed:
    """All services, with an API key."""
    lab.set_knobs()
    folder = lab.folder / "plan"
    inventory = lab.inventory(sglang_api_key=KEY, sglang_plan_dir=str(folder))
    return Deployed(lab, inventory, playbooks.run("deploy", inventory, "--diff", "-vvv").passed(), folder)
