# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said while a benchmark runs, and of one that came to nothing."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.running import Progress, problem


def look(phase, done=0, total=0):
    return {"phase": phase, "done": done, "total": total, "ended": None}


def test_each_phase_is_said_once_and_progress_from_time_to_time():
    progress = Progress()
    told = [
        progress.line(look(*one), now)
        for now, one in (
            (0.0, ("preparing",)),
            (2.0, ("preparing",)),
            (4.0, ("warming up",)),
            (6.0, ("measuring", 0, 100)),
            (8.0, ("measuring", 10, 100)),
            (36.0, ("measuring", 60, 100)),
            (67.0, ("measuring", 60, 100)),
            (69.0, ("ended", 100, 100)),
        )
    ]
    assert told == [
        "the benchmark is preparing",
        "",
        "the benchmark is warming up",
        "0 of 100 requests answered",
        "",
        "60 of 100 requests answered",
        "",
        "",
    ]


def ended(reason="exit", status=0, why=""):
    return {"reason": reason, "status": status, "problem": why}


def found(result="", log=(), why=""):
    return {"result": result, "log": list(log), "problem": why}


def test_a_result_is_no_problem():
    assert problem(ended(), found("{}", ["a"]), 60) == ""


def test_a_result_that_cannot_be_read_is_said_with_the_last_lines():
    told = problem(ended(), found(why="Expecting value: line 1 column 2 (char 1)", log=["No space left on device"]), 60)
    assert told.startswith("wrote a result that cannot be read: Expecting value")
    assert "No space left on device" in told


@pytest.mark.parametrize(
    ("how", "log", "words"),
    [
        (ended("start", 127, "cannot be started: no such file"), [], "cannot be started: no such file."),
        (ended("deadline", 143), ["3/10"], "was ended after 60 s without a result. Set sglang_benchmark_timeout"),
        (ended("unattended", 143), [], "the controller had not looked at it for too long"),
        (ended("stopped", 143), [], "was ended from outside"),
        (ended("lost", 1), [], "was ended from outside"),
        (ended("exit", 0), [], "ended well, and wrote no result"),
        (ended("exit", 1), ["huggingface_hub.errors.LocalEntryNotFoundError: An error"], "sglang_benchmark_dataset"),
        (ended("exit", 1), ["/usr/bin/python3: No module named sglang"], "sglang_benchmark_host"),
        (ended("exit", 1), ["ValueError: Warmup failed - Please"], "status.yml"),
        (ended("exit", 1), ["Server at http://x is not ready. Exiting."], "list its models"),
        (ended("exit", 2), ["bench_serving.py: error: unrecognized arguments: --x"], "Correct sglang_benchmark_args"),
        (ended("exit", 7), ["something new"], "failed (exit status 7).\nIts last lines:\nsomething new"),
    ],
)
def test_why_there_is_no_measurement_is_said(how, log, words):
    told = problem(how, found(log=log), 60)
    assert words in told
    assert all(line in told for line in log)
