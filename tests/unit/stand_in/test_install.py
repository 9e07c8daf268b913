# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the installer leaves works on its own, and names itself as the real packages do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

INSTALL = Path(__file__).resolve().parents[2] / "stand_in" / "engine" / "install.py"


def run(*words, **env):
    return subprocess.run(
        [sys.executable, *map(str, words)], capture_output=True, text=True, cwd="/", env=env, timeout=30, check=False
    )


@pytest.mark.parametrize("version", ["0.5.13.post1", "0.5.23"])
def test_an_installation_stands_alone(tmp_path, version):
    dest = tmp_path / "opt"
    for _unused in range(2):
        done = run(INSTALL, dest, "--version", version, "--knob", "load_seconds=7")
        assert done.returncode == 0, done.stderr
    code = (
        "import importlib.metadata as m, sglang\n"
        "print(m.version('sglang'), sglang.__version__, m.version('memfabric-hybrid'))"
    )
    assert run("-c", code, PYTHONPATH=str(dest)).stdout.split() == [version, version, "1.0.0"]
    code = (
        "from sglang.stand_in import grammar, knobs\n"
        "own = knobs.Knobs()\n"
        "print(own.get('load_seconds'), grammar.find(own.get('version')))"
    )
    assert run("-c", code, PYTHONPATH=str(dest)).stdout.split() == [
        "7",
        str(dest / "grammar" / f"sglang-{version}.json"),
    ]
    unknown = run("-m", "sglang.launch_server", "--no-such-flag", PYTHONPATH=str(dest))
    assert unknown.returncode == 2
    assert "sglang serve: error: the following arguments are required" in unknown.stderr


def test_a_version_without_grammar_is_refused(tmp_path):
    done = run(INSTALL, tmp_path / "opt", "--version", "0.4.0")
    assert done.returncode == 1
    assert "no command grammar for SGLang 0.4.0" in done.stderr
    assert not (tmp_path / "opt").exists()
