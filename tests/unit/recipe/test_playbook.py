# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook: from a file to files, again without change, in check mode, and with nothing written on an error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from .importing import PAGES, ROOT

ANSIBLE = Path(sys.executable).with_name("ansible-playbook")


def play(directory: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    """Run the playbook in a directory; what the import's task returned."""
    environment = os.environ | {
        "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
        "ANSIBLE_STDOUT_CALLBACK": "ansible.builtin.default",
        "ANSIBLE_LOCALHOST_WARNING": "false",
        "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
        "ANSIBLE_NOCOLOR": "1",
    }
    command = [ANSIBLE, ROOT / "playbooks/import_recipes.yml", "-v", *arguments]
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    results: list[dict[str, Any]] = [
        json.loads(line.partition("=> ")[2])
        for line in done.stdout.split("\n")
        if line.startswith(("changed:", "ok:", "fatal:")) and line.endswith("}")
    ]
    (result,) = [each for each in results if "profiles" in each or (code and each["msg"] != "All assertions passed")]
    return {**result, "stderr": done.stderr, "stdout": done.stdout}


def test_import_twice_then_in_check_mode(tmp_path: Path) -> None:
    (tmp_path / "granite.md").write_text((PAGES / "separate-blocks.md").read_text())
    preview = play(tmp_path, "-e", "page=granite.md", "-e", "dest=mine", "--check", "--diff")
    assert preview["changed"]
    assert "+name: granite-lake-w8a8-1p1d-24p-in6k-out1k6-52ms" in preview["stdout"]
    assert not (tmp_path / "mine").exists()

    first = play(tmp_path, "-e", "page=granite.md", "-e", "dest=mine")
    assert first["changed"]
    assert first["profiles"] == ["granite-lake-w8a8-1p1d-24p-in6k-out1k6-52ms"]
    assert sorted(path.name for path in (tmp_path / "mine").iterdir()) == [
        "granite-lake-w8a8-1p1d-24p-in6k-out1k6-52ms.yml",
        "granite.report.md",
    ]
    profile = yaml.safe_load((tmp_path / "mine" / "granite-lake-w8a8-1p1d-24p-in6k-out1k6-52ms.yml").read_text())
    assert profile["roles"]["decode"]["nodes"] == 2
    report = (tmp_path / "mine" / "granite.report.md").read_text()
    assert "granite.md:16: `a block that starts nothing`: it is taken to run in the same shell" in report

    again = play(tmp_path, "-e", "page=granite.md", "-e", "dest=mine")
    assert not again["changed"]


def test_an_error_writes_nothing(tmp_path: Path) -> None:
    text = (PAGES / "separate-blocks.md").read_text()
    (tmp_path / "page.md").write_text(text.replace("unset ASCEND_LAUNCH_BLOCKING", "frobnicate"))
    failed = play(tmp_path, "-e", "page=page.md", "-e", "dest=mine", code=2)
    assert failed["msg"].startswith(
        "page.md, line 20 (Granite-Lake W8A8 1P1D 24P IN6K OUT1K6 52ms): the command 'frobnicate'"
    )
    assert not (tmp_path / "mine").exists()


def test_wrong_arguments(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text((PAGES / "json.md").read_text())
    (tmp_path / "latin.md").write_bytes("é".encode("latin-1"))
    (tmp_path / "file").write_text("")
    wrong = {
        ("-e", "page=page.md"): "Name the page and the directory for its profiles: -e page=PAGE -e dest=DIR",
        ("-e", "page=none.md", "-e", "dest=mine"): "none.md cannot be read (No such file or directory)",
        ("-e", "page=latin.md", "-e", "dest=mine"): "latin.md is no text in UTF-8",
        ("-e", "page=page.md", "-e", "dest=file"): "file is a file. Give a directory",
        (
            "-e",
            "page=page.md",
            "-e",
            "dest=mine",
            "-e",
            "engine=0.5.12",
        ): "no engine file for sglang.launch_server 0.5.12",
    }
    for arguments, message in wrong.items():
        assert message in play(tmp_path, *arguments, code=2)["msg"]
    assert not (tmp_path / "mine").exists()


def test_the_image_names_the_version(tmp_path: Path) -> None:
    text = (PAGES / "json.md").read_text()
    (tmp_path / "page.md").write_text(f"Use `quay.io/ascend/sglang:v0.5.23-cann9.0.0-a3`.\n\n{text}")
    done = play(tmp_path, "-e", "page=page.md", "-e", "dest=mine")
    assert done["engine"] == "0.5.23"
    assert yaml.safe_load((tmp_path / "mine" / f"{done['profiles'][0]}.yml").read_text())["engine"] == "0.5.23"

    (tmp_path / "page.md").write_text(f"Use `quay.io/ascend/sglang:v0.5.99-cann9.0.0-a3`.\n\n{text}")
    done = play(tmp_path, "-e", "page=page.md", "-e", "dest=other")
    assert done["engine"] == "0.5.13.post1"
    assert "The page names SGLang 0.5.99, for which there is no engine file" in " ".join(done["stderr"].split())
