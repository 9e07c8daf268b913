# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base image's Python compiles an engine as the real one is compiled when it is installed, without its 3 GB."""

from __future__ import annotations

import pytest
from lab import engine, image
from lab.settings import PYTHON, LabError

BYTE_CODE = f"main.cpython-{PYTHON.replace('.', '')}.pyc"


@pytest.fixture
def installation(tmp_path):
    """An installation with a package of one module."""
    package = tmp_path / "engine" / "lib" / f"python{PYTHON}" / "site-packages" / "sglang"
    package.mkdir(parents=True)
    (package / "main.py").write_text("answer = 42\n")
    return tmp_path / "engine"


def written(root):
    """All below it, with the time of its last change."""
    return {str(path): path.lstat().st_mtime_ns for path in [root, *root.rglob("*")]}


def test_byte_code_is_where_the_hosts_look_for_it(installation, tmp_path, monkeypatch):
    """Wherever the environment keeps byte code, as `make` does; and the image that hosts stand on stays as it was."""
    monkeypatch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path / "pycache"))
    before = written(image.base_image())
    engine.compile_all(installation)
    (found,) = installation.rglob("*.pyc")
    assert (found.parent.name, found.name) == ("__pycache__", BYTE_CODE)
    assert f"{engine.PLACE}/lib/python{PYTHON}/site-packages/sglang/main.py".encode() in found.read_bytes()
    assert written(image.base_image()) == before


def test_a_python_that_compiles_nothing_is_quoted(installation):
    (module,) = installation.rglob("main.py")
    module.write_text("answer =\n")
    with pytest.raises(LabError, match=r"(?s)compiled nothing of the engine in .*; it ended with 1: .*SyntaxError"):
        engine.compile_all(installation)
