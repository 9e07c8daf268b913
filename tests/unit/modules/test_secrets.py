# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets reach the process and nothing else."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import guard_files, secret_launcher, secrets_file
from hypothesis import given
from hypothesis import strategies as st

MODULE = """
import json, multiprocessing, os, sys

def child(queue):
    import __main__
    queue.put([sys.argv[1:], __main__.__name__, __spec__.name if __spec__ else None])

def main():
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    found = {
        "argv": sys.argv[1:],
        "path": sys.path[0],
        "child": queue.get(),
        "command_lines": [open(f"/proc/{pid}/cmdline").read() for pid in ("self", process.pid)],
    }
    process.join()
    # What is printed would be without the secret.
    os.write(1, json.dumps(found).encode())

if __name__ == "__main__":
    main()
"""


# As SGLang does when it starts; and all other ways by which a Python program says something.
TALKATIVE = """
import argparse, dataclasses, json, logging, sys, warnings

@dataclasses.dataclass
class ServerArgs:
    api_key: str
    port: int = 8000

server_args = ServerArgs(sys.argv[2])
logging.basicConfig(level=logging.INFO, format="[%(asctime)s] %(message)s", force=True)
logging.info(f"{server_args=}")
print(json.dumps(dataclasses.asdict(server_args)), sys.argv[2])
sys.stdout.write("no newline " + sys.argv[2])
sys.__stdout__.write(sys.argv[2] + chr(10))
sys.stderr.writelines(["x" + sys.argv[2], chr(10)])
warnings.warn("known as " + sys.argv[2])
assert sys.stderr.fileno() == 2 and sys.stdout.encoding and not sys.stdout.isatty()
if sys.argv[1] == "--refused":
    argparse.ArgumentParser().parse_args()
raise ValueError(server_args)
"""


@pytest.fixture
def unit_directory(tmp_path) -> Path:
    """A directory as on a host, with a module to start in another one."""
    directory = tmp_path / "sglang-x"
    directory.mkdir()
    (directory / "launcher.py").write_text(guard_files.source(secret_launcher))
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "engine.py").write_text(MODULE)
    (tmp_path / "work" / "talkative.py").write_text(TALKATIVE)
    return directory


def launch(directory: Path, *words: str, credentials: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "CREDENTIALS_DIRECTORY": str(credentials)} if credentials else dict(os.environ)
    return subprocess.run(
        [sys.executable, str(directory / "launcher.py"), *words],
        cwd=directory.parent / "work",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_the_process_gets_the_value_and_no_command_line_does(unit_directory):
    (unit_directory / "secrets.env").write_text(secrets_file.render({"api_key": 's p"é$'}, "k"))
    done = launch(unit_directory, "engine", "--api-key", "@secret:api_key", "--port", "1")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["argv"] == ["--api-key", 's p"é$', "--port", "1"]
    # As under python -m: the working directory leads the path, and a spawned process is the module, not the launcher.
    assert found["path"] == str(unit_directory.parent / "work")
    assert found["child"][0] == found["argv"]
    assert found["child"][1:] == ["__mp_main__", "engine"]
    assert all("é" not in line for line in found["command_lines"])
    assert "@secret:api_key" in found["command_lines"][0]


@pytest.mark.parametrize("key", ["a-key-of-its-own", "q\"uo'te\\n", "schlüssel & co", "ab"])
@pytest.mark.parametrize(("option", "status"), [("--refused", 2), ("--api-key", 1)])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_what_the_process_prints_has_no_secret_in_it(unit_directory, monkeypatch, key, option, status, unbuffered):
    monkeypatch.setenv("PYTHONUNBUFFERED", unbuffered)
    (unit_directory / "secrets.env").write_text(secrets_file.render({"api_key": key}, "k"))
    done = launch(unit_directory, "talkative", option, "@secret:api_key")
    assert done.returncode == status, done.stderr
    said = done.stdout + done.stderr
    assert "server_args=ServerArgs(api_key='<redacted>', port=8000)" in said
    assert '{"api_key": "<redacted>", "port": 8000}' in said
    assert ("unrecognized arguments: --refused" if status == 2 else "ValueError: ServerArgs(api_key='<red") in said
    assert not [one for one, _instead in secret_launcher.spellings([key]) if one in said]


EARLY = """
import logging, runpy, sys
logging.basicConfig(level=logging.INFO)
held = sys.stdout
runpy.run_path(sys.argv[1])["redact_output"](["a-key-of-its-own"])
logging.info("a-key-of-its-own")
print("a-key-of-its-own", file=held)
"""


def test_who_has_the_streams_already_writes_no_secret_either():
    """As a vendor's .pth file does it, before the launcher begins."""
    words = [sys.executable, "-c", EARLY, secret_launcher.__file__]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("<redacted>\n", "INFO:root:<redacted>\n")


def test_a_process_without_standard_streams_starts_all_the_same(unit_directory):
    (unit_directory / "secrets.env").write_text(secrets_file.render({"api_key": "a-key"}, "k"))
    (unit_directory.parent / "work" / "quiet.py").write_text("import sys; sys.exit(5 if sys.argv[1] == 'a-key' else 1)")
    words = [sys.executable, str(unit_directory / "launcher.py"), "quiet", "@secret:api_key"]
    shell = ["sh", "-c", 'exec "$@" >&- 2>&-', "sh", *words]
    assert subprocess.run(shell, cwd=unit_directory.parent / "work", check=False, timeout=60).returncode == 5


@given(st.lists(st.text(min_size=1), max_size=3))
def test_no_spelling_survives(values):
    values = [value.encode("utf-8", "replace").decode() for value in values]
    spelled = secret_launcher.spellings(values)
    written = [spell(value) for value in values for spell in (json.dumps, repr)]
    written += [value for value in values if len(value) >= secret_launcher.SHORTEST]
    without = secret_launcher.redacted("\t".join(written), spelled)
    assert not [one for one, _instead in spelled if one in without and one not in secret_launcher.REDACTED]


def test_a_user_who_is_not_root_gets_them_from_systemd(unit_directory, tmp_path):
    given_by_systemd = tmp_path / "credentials"
    given_by_systemd.mkdir()
    (given_by_systemd / "secrets.env").write_text(secrets_file.render({"api_key": "from systemd"}, "k"))
    done = launch(unit_directory, "engine", "@secret:api_key", credentials=given_by_systemd)
    assert json.loads(done.stdout)["argv"] == ["from systemd"]


def test_a_secret_that_is_missing_is_named(unit_directory):
    (unit_directory / "secrets.env").write_text(secrets_file.render({"other": "x"}, "k"))
    done = launch(unit_directory, "engine", "@secret:api_key")
    assert done.returncode == 78
    assert "has no secret named api_key" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_is_missing_is_named(unit_directory):
    done = launch(unit_directory, "engine", "@secret:api_key")
    assert done.returncode == 78
    assert f"cannot read {unit_directory}/secrets.env" in done.stderr


@given(st.dictionaries(st.from_regex(r"[a-z_]{1,8}", fullmatch=True), st.text(), max_size=4))
def test_what_is_written_is_read(values):
    values = {name: value.encode("utf-8", "replace").decode() for name, value in values.items()}
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".env") as file:
        file.write(secrets_file.render(values, "key"))
        file.flush()
        assert secret_launcher.read_secrets(file.name) == values


def test_the_mark_changes_with_a_value_and_with_the_key_only():
    mark = secrets_file.mark({"a": "1", "b": "2"}, "key")
    assert mark == secrets_file.mark({"b": "2", "a": "1"}, "key")
    assert mark != secrets_file.mark({"a": "1", "b": "3"}, "key")
    # A short secret cannot be guessed from the mark without the key, which is where the secret is.
    assert mark != secrets_file.mark({"a": "1", "b": "2"}, "other")


def test_the_key_stays_with_the_file():
    text = secrets_file.render({"a": "1"}, secrets_file.key_of(""))
    assert secrets_file.key_of(text) == secrets_file.key_of(text)
    assert len(secrets_file.key_of("")) == 32
    assert secrets_file.key_of("") != secrets_file.key_of("")
