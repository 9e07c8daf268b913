# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real sglang-router and all it imports, downloaded once for the hosts' Python, whatever the machine's is."""

from __future__ import annotations

import os
import pathlib
import platform
import shutil
import subprocess
import sys

from lab.image import drop_old, key
from lab.settings import CACHE, HERE, PROJECT, PYTHON, LabError, run

REQUIREMENTS = HERE.parent / "router-requirements.txt"


def packages() -> pathlib.Path:
    """Where the packages are, downloaded or not."""
    return CACHE / f"router-{key(PYTHON, REQUIREMENTS.read_bytes())}"


def download() -> None:
    """Fetch the packages, unless they are there (about 10 s)."""
    target = packages()
    if (target / ".complete").exists():
        return
    CACHE.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target, ignore_errors=True)
    drop_old("router-*")
    print(f"labhosts: downloading the router into {target}", file=sys.stderr)
    machine = platform.machine()
    platforms = [f"--platform={tag}_{machine}" for tag in ("manylinux_2_28", "manylinux_2_17", "manylinux2014")]
    # Pinned whole and without looking at dependencies: markers would be read for this Python, not for the hosts'.
    options = ["--no-deps", "--only-binary=:all:", f"--python-version={PYTHON}", "--implementation=cp", *platforms]
    run(python_with_pip(), "-m", "pip", "install", "--quiet", *options, f"--target={target}", "-r", REQUIREMENTS)
    (target / ".complete").touch()


def python_with_pip() -> str:
    """The project's own, else this one."""
    for python in (str(PROJECT / ".venv/bin/python"), sys.executable):
        command = [python, "-m", "pip", "--version"]
        if os.path.exists(python) and not subprocess.run(command, capture_output=True, check=False).returncode:
            return python
    raise LabError("no pip to download the router with; run `make setup` first")
