# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The runner as a process, and what is made of each request's times."""

from __future__ import annotations

import base64
import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import (
    bench_runner,
    bench_samples,
    bench_unit,
    secret_launcher,
)
from ansible_collections.ascend.sglang.plugins.module_utils.commands import Answer

RUNNER = Path(bench_runner.__file__)


@pytest.fixture
def job(tmp_path):
    """Start the runner with a job."""
    started = []

    def start(code, *, deadline=30.0, lease=30.0, env=None, unset=(), secrets=None, argv=None):
        told = {
            "argv": argv or [sys.executable, "-c", code],
            "env": env or {},
            "unset": list(unset),
            "deadline": deadline,
            "lease": lease,
        }
        (tmp_path / bench_runner.JOB).write_text(json.dumps(told))
        (tmp_path / bench_runner.LEASE).write_text("")
        if secrets:
            told = {"values": secrets, "spellings": secret_launcher.spellings(secrets.values())}
            (tmp_path / bench_runner.SECRETS).write_text(json.dumps(told))
        environment = {**os.environ, "http_proxy": "http://proxy:1"}
        started.append(subprocess.Popen([sys.executable, str(RUNNER), str(tmp_path)], env=environment))
        return started[0]

    yield start
    for one in started:
        if one.poll() is None:
            one.kill()
            one.wait()


def status(directory):
    return json.loads((directory / bench_runner.STATUS).read_text())


def test_a_job_that_ends_is_told_with_its_status_and_output(tmp_path, job):
    job("import sys; print('hello'); sys.exit(3)").wait(20)
    assert (status(tmp_path)["reason"], status(tmp_path)["status"]) == ("exit", 3)
    assert (tmp_path / bench_runner.OUTPUT).read_text() == "hello\n"


def test_its_environment_is_the_jobs_and_the_secret_is_in_no_file(tmp_path, job):
    code = "import os, json; print(json.dumps(dict(os.environ, reversed=os.environ['OPENAI_API_KEY'][::-1])))"
    running = job(
        code, env={"A": "1", "OPENAI_API_KEY": {"secret": "api_key"}}, unset=["http_proxy"], secrets={"api_key": "wxyz"}
    )
    running.wait(20)
    found = json.loads((tmp_path / bench_runner.OUTPUT).read_text())
    assert (found["A"], found["reversed"], found["TORCH_DEVICE_BACKEND_AUTOLOAD"]) == ("1", "zyxw", "0")
    assert found["OPENAI_API_KEY"] == "<redacted>"
    assert "http_proxy" not in found
    assert not (tmp_path / bench_runner.SECRETS).exists()
    assert "wxyz" not in (tmp_path / bench_runner.JOB).read_text()


# What bench_serving leaves: the server's arguments, figures, and what is no line of JSON; and then it may stay.
LEAVES = """
import json, os, sys, time
key = os.environ["KEY"]
told = {"server_info": {"api_key": key, "tp_size": 16}, "itls": [[0.1234567, 1234.0], []], "duration": float("inf"),
        "generated_texts": [f"the key is {key!r}, is it?"]}
print("tokens", json.dumps(key), repr(key), flush=True)
with open(sys.argv[1] + ".part", "w") as stream:
    stream.write(json.dumps(told) + chr(10) + "torn {" + json.dumps(key))
os.replace(sys.argv[1] + ".part", sys.argv[1])
time.sleep(float(sys.argv[2]))
"""


@pytest.mark.parametrize("key", ["a key of its own", "q\"uo'te", "schlüssel\\n", "ab", "1234", "u00fc"])
@pytest.mark.parametrize(("seconds", "reason"), [(0, "exit"), (60, "stopped")])
def test_what_a_server_tells_of_its_key_is_in_no_result(tmp_path, job, key, seconds, reason):
    """bench_serving writes the server's arguments down. Figures stay what they are, whatever digits a key has."""
    written = tmp_path / bench_runner.WRITTEN
    argv = [sys.executable, "-c", LEAVES, str(written), str(seconds)]
    running = job("", argv=argv, env={"KEY": {"secret": "api_key"}}, secrets={"api_key": key})
    while seconds and not written.exists():
        time.sleep(0.05)
    if seconds:
        running.terminate()
    running.wait(20)
    assert status(tmp_path)["reason"] == reason
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [bench_runner.JOB, bench_runner.LEASE, bench_runner.OUTPUT, bench_runner.RESULT, bench_runner.STATUS]
    )
    first, second = (tmp_path / bench_runner.RESULT).read_text().splitlines()
    assert json.loads(first) == {
        "server_info": {"api_key": "<redacted>", "tp_size": 16},
        "itls": [[0.1234567, 1234.0], []],
        "duration": float("inf"),
        "generated_texts": ["the key is '<redacted>', is it?"],
    }
    assert second == 'torn {"<redacted>"'
    assert (tmp_path / bench_runner.OUTPUT).read_text() == "tokens \"<redacted>\" '<redacted>'\n"


def test_a_result_that_cannot_be_stored_is_told_and_gone(tmp_path, job, monkeypatch):
    """Neither half of it nor what has the secret in it is left."""
    (tmp_path / (bench_runner.WRITTEN + ".new")).mkdir()
    argv = [sys.executable, "-c", LEAVES, str(tmp_path / bench_runner.WRITTEN), "0"]
    job("", argv=argv, env={"KEY": {"secret": "api_key"}}, secrets={"api_key": "a-key"}).wait(20)
    assert status(tmp_path)["reason"] == "store"
    assert "cannot store its result: [Errno 21] Is a directory" in status(tmp_path)["problem"]
    assert not (tmp_path / bench_runner.WRITTEN).exists()
    assert not (tmp_path / bench_runner.RESULT).exists()


def test_a_job_that_cannot_start_is_told(tmp_path, job):
    job("", argv=["/nonexistent/python3", "-m", "x"]).wait(20)
    assert status(tmp_path)["reason"] == "start"
    assert "cannot be started" in status(tmp_path)["problem"]


def test_a_job_that_takes_too_long_is_ended(tmp_path, job):
    began = time.monotonic()
    job("import time; time.sleep(60)", deadline=0.5).wait(20)
    assert status(tmp_path)["reason"] == "deadline"
    assert time.monotonic() - began < 15


def test_a_job_that_ignores_sigterm_is_killed(tmp_path, job, monkeypatch):
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('x', flush=True); time.sleep(60)"
    job(code, deadline=1.0).wait(25)
    assert (status(tmp_path)["reason"], status(tmp_path)["status"]) == ("deadline", -signal.SIGKILL)


@pytest.mark.parametrize("secrets", [{}, {"api_key": "a-key"}])
def test_a_job_that_nobody_looks_at_is_ended_and_its_files_go(tmp_path, job, capfd, secrets):
    """Nothing of it is stored, so that nothing can be in the way of it."""
    (tmp_path / (bench_runner.OUTPUT + ".new")).mkdir()
    job("import time; time.sleep(60)", lease=0.8, secrets=secrets).wait(20)
    assert not tmp_path.exists()
    assert capfd.readouterr().out == "The benchmark was ended: its playbook is gone\n"


def test_looking_keeps_it_alive(tmp_path, job):
    running = job("import time; time.sleep(2.5)", lease=1.2)
    for _unused in range(10):
        time.sleep(0.3)
        if running.poll() is None:
            os.utime(tmp_path / bench_runner.LEASE)
    running.wait(20)
    assert status(tmp_path)["reason"] == "exit"


def test_sigterm_ends_the_job_too(tmp_path, job, capfd):
    running = job("import os, time; print(os.getpid(), flush=True); time.sleep(60)")
    output = tmp_path / bench_runner.OUTPUT
    while not output.exists() or not output.read_text().strip():
        time.sleep(0.05)
    child = int(output.read_text())
    running.terminate()
    running.wait(20)
    assert status(tmp_path)["reason"] == "stopped"
    assert capfd.readouterr().out == "The benchmark was ended from outside, as an interrupted playbook does it\n"
    assert has_ended(child)


def has_ended(pid):
    """Gone, or dead and not yet collected by whatever process adopted it."""
    for _attempt in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return True
        if state == "Z":
            return True
        time.sleep(0.05)
    return False


# Each request's times


def detailed(**changes):
    result = {
        "completed": 3,
        "input_lens": [8, 8, 8, 8],
        "output_lens": [3, 3, 1, 0],
        "ttfts": [0.1, 0.3, 0.2, 0.0],
        "itls": [[0.01, 0.03], [0.02, 0.02], [], []],
        "generated_texts": ["a", "b", "c", ""],
        "errors": ["", "", "", "Traceback (most recent call last):\n  x\nConnectionError: gone\n"],
    }
    return {**result, **changes}


def test_samples_are_those_of_the_answered_requests():
    found = bench_samples.samples(detailed())
    assert found["sent"] == 4
    assert found["ttft_ms"] == [100.0, 200.0, 300.0]
    assert found["tpot_ms"] == [20.0, 20.0]
    assert found["itl_ms"] == [10.0, 20.0, 20.0, 30.0]
    assert found["output_lens"] == [1, 3]
    assert found["errors"] == {"ConnectionError: gone": 1}


def test_a_result_without_details_has_no_samples():
    assert bench_samples.samples({"completed": 3}) is None
    assert bench_samples.without_details(detailed()) == {"completed": 3}


def test_no_answer_gives_empty_samples():
    found = bench_samples.samples(detailed(output_lens=[0] * 4, errors=["x"] * 4, ttfts=[0.0] * 4, itls=[[]] * 4))
    assert (found["ttft_ms"], found["output_lens"], found["errors"]) == ([], [], {"x": 4})


def test_many_values_become_steps_and_keep_their_ends():
    found = bench_samples.quantiles([float(value) for value in range(10000, 0, -1)])
    assert len(found) == 201
    assert (found[0], found[100], found[-1]) == (1.0, 5001.0, 10000.0)
    assert found == sorted(found)


# What a look tells


class Systemd:
    """systemctl and systemd-run, as far as they are asked."""

    def __init__(self):
        self.active, self.asked = "inactive", []

    def __call__(self, argv, timeout):
        self.asked.append(list(argv))
        if argv[:2] == ["systemctl", "show"]:
            return Answer(0, f"Id=sglang-benchmark.service\nActiveState={self.active}\nStateChangeTimestamp=Mon\n", "")
        if argv[0] == "systemd-run":
            self.active = "active"
        elif argv[:2] == ["systemctl", "stop"]:
            self.active = "inactive"
        return Answer(0, "", "")


@pytest.fixture
def systemd(tmp_path, monkeypatch):
    monkeypatch.setattr(bench_unit, "DIRECTORY", str(tmp_path / "bench"))
    return Systemd()


def wanted(**changes):
    values = {
        "argv": ["python3", "-m", "sglang.bench_serving"],
        "env": {},
        "unset": [],
        "secrets": {},
        "user": "root",
        "deadline": 100.0,
        "lease": 60.0,
        "details": True,
    }
    return bench_unit.Wanted(**{**values, **changes})


def test_it_is_started_in_a_unit_with_a_limit(systemd, tmp_path):
    bench_unit.start(wanted(env={"OPENAI_API_KEY": {"secret": "k"}}, secrets={"k": "xyz"}), "/usr/bin/python3", systemd)
    command = systemd.asked[-1]
    assert command[0] == "systemd-run"
    assert "RuntimeMaxSec=160" in command
    assert "xyz" not in " ".join(command)
    job = json.loads((tmp_path / "bench" / bench_runner.JOB).read_text())
    assert job["argv"][3:] == ["--output-file", str(tmp_path / "bench" / "written.jsonl"), "--output-details"]
    assert (tmp_path / "bench").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "bench" / bench_runner.SECRETS).stat().st_mode & 0o777 == 0o600


def test_two_at_once_are_refused(systemd):
    systemd.active = "active"
    with pytest.raises(bench_unit.BenchmarkError, match=r"runs on this host already .*two would measure each other"):
        bench_unit.start(wanted(), "/usr/bin/python3", systemd)
    assert not any(one[0] == "systemd-run" for one in systemd.asked)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"user": "nobody-at-all"}, "the user 'nobody-at-all', who is to run it, does not exist"),
        ({"env": {"K": {"secret": "api_key"}}}, "needs the secret api_key, which was not given"),
    ],
)
def test_what_is_missing_is_said_before_it_starts(systemd, changes, words):
    with pytest.raises(bench_unit.BenchmarkError, match=words):
        bench_unit.start(wanted(**changes), "/usr/bin/python3", systemd)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("", ("preparing", 0, 0)),
        ("Generating:  50%|##  | 4/8 [00:00<00:00, 9it/s]\n", ("preparing", 0, 0)),
        ("Starting warmup with 1 sequences...\n", ("warming up", 0, 0)),
        ("Starting warmup with 1\nWarmup completed with 1 sequences. Go\n", ("measuring", 0, 0)),
        (
            "G: 4/8 [00:00<00:00]\nStarting warmup with 1\nWarmup completed with 1\n\r 0%| | 0/24 [00:00<?, ?it/s]"
            "\r 50%|##| 12/24 [00:01<00:01, 9.0it/s]",
            ("measuring", 12, 24),
        ),
    ],
)
def test_a_look_tells_how_far_it_is(systemd, tmp_path, output, expected):
    bench_unit.start(wanted(), "/usr/bin/python3", systemd)
    (tmp_path / "bench" / bench_runner.OUTPUT).write_text(output)
    found = bench_unit.look(systemd)
    assert (found["phase"], found["done"], found["total"]) == expected
    assert found["ended"] is None


@pytest.mark.parametrize(("env", "log"), [({}, ["killed"]), ({"OPENAI_API_KEY": {"secret": "api_key"}}, [])])
def test_one_that_was_killed_is_told(systemd, tmp_path, env, log):
    """Of one that knows a secret nothing is shown that its runner has not looked through."""
    bench_unit.start(wanted(env=env, secrets={"api_key": "k"}), "/usr/bin/python3", systemd)
    (tmp_path / "bench" / bench_runner.OUTPUT).write_text("killed\n")
    systemd.active = "inactive"
    assert bench_unit.look(systemd)["ended"]["reason"] == "lost"
    assert bench_unit.collect()["log"] == log


def test_a_result_is_collected_whole_and_small(systemd, tmp_path):
    bench_unit.start(wanted(), "/usr/bin/python3", systemd)
    (tmp_path / "bench" / bench_runner.RESULT).write_text(json.dumps(detailed(request_rate=float("inf"))) + "\n")
    (tmp_path / "bench" / bench_runner.OUTPUT).write_text("a\n\r 1/2 [0\r 2/2 [1]\nError: x\n")
    found = bench_unit.collect()
    assert json.loads(found["result"]) == {"completed": 3, "request_rate": float("inf")}
    assert found["samples"]["sent"] == 4
    assert found["log"] == ["a", "Error: x"]
    assert found["raw_size"] > 0
    assert bench_unit.read(0, 10)
    assert bench_unit.remove(systemd)
    assert not (tmp_path / "bench").exists()
    assert systemd.active == "inactive"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{\n", "Expecting property name"),
        (b'{"completed": 3}\n{"completed": 3, "dura', "Unterminated string"),
        (b"[1]\n", "a result is a JSON object"),
        (b"\xff\xfe\n", "can't decode byte"),
    ],
)
def test_a_file_that_is_no_result_is_said_and_brought_home_all_the_same(systemd, tmp_path, data, why):
    bench_unit.start(wanted(), "/usr/bin/python3", systemd)
    (tmp_path / "bench" / bench_runner.RESULT).write_bytes(data)
    found = bench_unit.collect()
    assert (found["result"], found["samples"]) == ("", None)
    assert why in found["problem"]
    assert gzip.decompress(base64.b64decode(bench_unit.read(0, found["raw_size"]))) == data


@pytest.mark.parametrize("text", ["", "\n\n"])
def test_an_empty_file_is_no_result(systemd, tmp_path, text):
    bench_unit.start(wanted(), "/usr/bin/python3", systemd)
    (tmp_path / "bench" / bench_runner.RESULT).write_text(text)
    found = bench_unit.collect()
    assert (found["result"], found["problem"]) == ("", "")


@pytest.mark.parametrize(
    "changes", [{"itls": None}, {"errors": [None, 5, {}, "x"]}, {"ttfts": ["a"] * 4}, {"output_lens": []}]
)
def test_details_of_another_shape_do_not_lose_the_result(systemd, tmp_path, changes):
    bench_unit.start(wanted(), "/usr/bin/python3", systemd)
    (tmp_path / "bench" / bench_runner.RESULT).write_text(json.dumps(detailed(**changes)) + "\n")
    found = bench_unit.collect()
    assert (json.loads(found["result"]), found["problem"]) == ({"completed": 3}, "")
