# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real engine's part of a host, without its 3 GB."""

from __future__ import annotations

import re

import pytest
from lab import engine
from lab.settings import LabError


def test_every_package_is_pinned_once():
    lines = [line for line in engine.REQUIREMENTS.read_text().splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)
    names = [line.partition("==")[0].lower().replace("_", "-") for line in lines]
    assert sorted(set(names)) == sorted(names)
    assert {"sglang", "torch", "mooncake-transfer-engine-non-cuda"} <= set(names)


def test_a_host_gets_a_model_and_what_a_cpu_needs(tmp_path):
    binds = engine.furnish(tmp_path / "host", tmp_path / "upper")
    assert (tmp_path / "upper" / "models" / "tiny" / "model.safetensors").stat().st_size > 100_000
    assert (tmp_path / "host" / "on-cpu" / "sglang_on_cpu.py").exists()
    assert binds == [
        f"--bind-ro={engine.packages()}:/opt/sglang-engine",
        f"--bind-ro={tmp_path / 'host' / 'on-cpu'}:/opt/sglang-on-cpu",
    ]


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine whose pip finds what it is told to; the words that pip was called with."""
    called: list[list[str]] = []
    monkeypatch.setattr(engine, "CACHE", tmp_path)
    monkeypatch.setattr(engine.image, "drop_old", lambda pattern: None)
    monkeypatch.setattr(engine, "compile_all", lambda target: None)
    monkeypatch.setattr(engine, "python_with_pip", lambda: "python3")

    def run(*words, env):
        assert engine.pathlib.Path(env["TMPDIR"]).parent == tmp_path
        called.append([str(word) for word in words])

    monkeypatch.setattr(engine, "run", run)
    return called


def test_it_is_installed_once_for_the_hosts_python(machine):
    engine.install("/opt/sglang-router")
    engine.install("/opt/sglang-router")
    (words,) = machine
    # What it was unpacked in is gone.
    assert [path.name for path in engine.CACHE.iterdir()] == [engine.packages().name]
    assert {"--no-deps", "--only-binary=:all:", "--python-version=3.11"} <= set(words)
    target = engine.packages()
    assert (target / "pyvenv.cfg").read_text().startswith("home = /usr/bin\n")
    assert (target / "bin" / "python3").readlink().as_posix() == "/usr/bin/python3.11"
    paths = (target / "lib" / "python3.11" / "site-packages" / "test-hosts.pth").read_text().splitlines()
    assert paths[-1] == "/opt/sglang-router"


def test_a_build_for_gpus_is_refused_and_not_kept(machine, monkeypatch):
    def run(*words, env):
        (target,) = [str(word).partition("=")[2] for word in words if str(word).startswith("--target=")]
        library = engine.pathlib.Path(target) / "torch" / "lib" / "libtorch_cuda.so"
        library.parent.mkdir(parents=True)
        library.touch()

    monkeypatch.setattr(engine, "run", run)
    with pytest.raises(LabError, match="torch's build for CUDA"):
        engine.install("/opt/sglang-router")
    assert not (engine.packages() / ".complete").exists()
