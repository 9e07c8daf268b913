# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection as a user has it: built, installed into a folder, called by its full name, far from the clone."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess

import pytest

PROJECT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a user who has it installed, and nothing else."""
    folder = tmp_path_factory.mktemp("collections")
    archive = subprocess.run(
        [PROJECT / "tools" / "build-collection"], capture_output=True, text=True, check=True
    ).stdout.strip()
    # A user's configuration, with nothing in it.
    (folder / "ansible.cfg").touch()
    user = {
        "ANSIBLE_COLLECTIONS_PATH": str(folder),
        "ANSIBLE_CONFIG": str(folder / "ansible.cfg"),
        "ANSIBLE_HOME": str(folder / "home"),
    }
    _run("ansible-galaxy", "collection", "install", archive, "-p", str(folder), cwd=folder, env=user)
    return user


def _run(*command: str, cwd: pathlib.Path, env: dict[str, str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd, env=os.environ | env)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_plan(plan, installed):
    folder = plan("ansible-playbook", "ascend.sglang.plan", "deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms", **installed)
    services = json.loads((folder / "plan.json").read_text())["services"]
    assert [one["role"] for one in services].count("prefill") == 2
    assert {one["role"] for one in services} == {"prefill", "decode", "router"}


def test_its_playbooks_are_complete(tmp_path, installed):
    inventory = tmp_path / "hosts"
    inventory.write_text("localhost\n")
    folder = (
        pathlib.Path(installed["ANSIBLE_COLLECTIONS_PATH"]) / "ansible_collections" / "ascend" / "sglang" / "playbooks"
    )
    names = sorted(path.stem for path in folder.glob("*.yml"))
    assert {"plan", "deploy", "stop", "remove"} <= set(names)
    for name in names:
        _run(
            "ansible-playbook",
            "--syntax-check",
            "-i",
            str(inventory),
            f"ascend.sglang.{name}",
            cwd=tmp_path,
            env=installed,
        )


@pytest.mark.parametrize("kind", ["module", "filter", "role"])
def test_everything_public_is_documented(tmp_path, installed, kind):
    names = json.loads(
        _run("ansible-doc", "-t", kind, "--list", "--json", "ascend.sglang", cwd=tmp_path, env=installed)
    )
    assert names
    documented = json.loads(_run("ansible-doc", "-t", kind, "--json", *names, cwd=tmp_path, env=installed))
    assert set(documented) == set(names)


def test_nothing_but_the_collection_is_in_it(installed):
    folder = pathlib.Path(installed["ANSIBLE_COLLECTIONS_PATH"]) / "ansible_collections" / "ascend" / "sglang"
    assert {path.name for path in folder.iterdir()} == {
        "FILES.json",
        "LICENSE",
        "MANIFEST.json",
        "README.md",
        "changelogs",
        "docs",
        "engines",
        "group_vars",
        "inventories",
        "meta",
        "playbooks",
        "plugins",
        "profiles",
        "requirements.txt",
        "roles",
    }
