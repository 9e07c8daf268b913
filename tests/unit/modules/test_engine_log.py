# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How far a start has come, and why it died, from lines as engines print them."""

from __future__ import annotations

import re

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import known_failures
from ansible_collections.ascend.sglang.plugins.module_utils.engine_log import cause, lines_of, phase, without_usage

START = [
    "[2026-03-02 10:00:00] server_args=ServerArgs(model_path='/models/r1', port=8000)",
    "[2026-03-02 10:00:06 TP0] Init torch distributed begin.",
    "[2026-03-02 10:00:15 TP0] Init torch distributed ends. elapsed=9.12 s, mem usage=0.61 GB",
    "[2026-03-02 10:00:16 TP0] Load weight begin. avail mem=60.86 GB",
    "Loading safetensors checkpoint shards:  43% Completed | 70/163 [00:20<00:29,  3.10it/s]",
    "[2026-03-02 10:01:10 TP0] Load weight end. elapsed=54.10 s",
    "[2026-03-02 10:01:12 TP0] Capture npu graph begin. This can take up to several minutes.",
    "Capturing batches (bs=8 avail_mem=10.60 GB):   20%|##        | 1/5 [00:04<00:16,  4.00s/it]",
    "[2026-03-02 10:01:35 TP0] Capture npu graph end. Time elapsed: 22.40 s.",
    "INFO:     Uvicorn running on http://192.0.2.5:8000 (Press CTRL+C to quit)",
]


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "starting"),
        (1, "starting"),
        (2, "waiting for its other ranks"),
        (3, "starting"),
        (4, "loading"),
        (5, "loading 70/163 shards"),
        (6, "loaded"),
        (7, "capturing graphs"),
        (8, "capturing graphs 1/5"),
        (9, "loaded"),
        (10, "warming up"),
    ],
)
def test_how_far_a_start_has_come(count, expected):
    assert phase(START[:count]) == expected


def test_other_versions_leave_marks_out_and_spell_them_otherwise():
    assert phase(["Multi-thread loading shards:  50% Completed | 2/4 [00:00<?, ?it/s]"]) == "loading 2/4 shards"
    assert phase(["[10:01:12 TP0] Capture decode NPU graph begin."]) == "capturing graphs"
    assert phase(["[10:01:37] Start of pd disaggregation warmup ..."]) == "warming up"


def test_progress_bars_end_their_lines_with_carriage_returns():
    text = "a\n\rLoading x shards:   0% Completed | 0/4 [?]\rLoading x shards:  25% Completed | 1/4 [?]\n\n"
    assert lines_of(text)[-1] == "Loading x shards:  25% Completed | 1/4 [?]"
    assert phase(lines_of(text)) == "loading 1/4 shards"


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (["RuntimeError: Ascend Transfer Engine initialization failed."], "ASCEND_MF_STORE_URL"),
        (["[Errno 98] error while attempting to bind on address: address already in use"], "Port taken"),
        (["RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB"], "HBM exhausted"),
        (["[ERROR] (EI0006): getting socket times out"], "Socket set-up timed out"),
        (["EI0006: 2026-03-02 getting socket times out"], "Socket set-up timed out"),
        (["OSError: Repo id must use alphanumeric chars: '/models/nope'."], "model path does not exist"),
        (["DistStoreError: Timed out after 16 seconds waiting for clients. 1/2 clients joined."], "Not all nodes"),
        (["RuntimeError: Unable to find address for: enp189s0f0"], "GLOO_SOCKET_IFNAME"),
        (["RuntimeError: [gloo/pair.cc:553] Connection closed by peer [192.0.2.22]:33921"], "Another node"),
        (["ModuleNotFoundError: No module named 'sglang'"], "not installed for the python"),
    ],
)
def test_known_causes(lines, says):
    told = cause(["noise", *lines, "[10:02:10] Received sigquit from a child process."])
    assert says in told
    assert lines[0] in told
    assert "To do: " in told


def test_the_first_cause_counts_and_a_consequence_only_without_one():
    sigquit = "Received sigquit from a child process. It usually means the child failed."
    lines = ["[TP1] Scheduler hit an exception: Traceback", "NPU out of memory. Tried to allocate", "EI0015", sigquit]
    assert "HBM" in cause(lines)
    assert "parent saw a child die" in cause([sigquit])


def test_an_exception_that_nobody_knows_is_quoted():
    lines = ["Traceback (most recent call last):", "  File x", "ValueError: the moon is full", "Received sigquit from"]
    assert cause(lines) == "ValueError: the moon is full"


def test_what_launch_sh_refused_is_the_cause():
    chatter = "launch.sh: python3 has no torch to ask for its C++ ABI; ATB is told 1"
    refusal = "launch.sh: /x/set_env.sh left ASCEND_HOME_PATH='', which is not an existing directory."
    assert cause([chatter, refusal], 78) == refusal.partition(": ")[2]
    assert cause([chatter], 1) == ""


def test_arguments_that_are_not_accepted_are_quoted():
    lines = ["usage: sglang serve [-h]", "     [--port]", "sglang serve: error: unrecognized arguments: --no-such-flag"]
    assert without_usage(lines) == lines[-1:]
    assert cause(lines, 2) == "It does not accept its arguments: unrecognized arguments: --no-such-flag"


@pytest.mark.parametrize(
    "line",
    [
        "Ignore import error when loading sglang.srt.models.x: No module named 'flash_attn'",
        "[Gloo] Rank 0 is connected to 15 peer ranks. Expected number of connected peer ranks is : 15",
        *START,
    ],
)
def test_good_lines_are_no_cause(line):
    assert cause([line]) == ""


def test_the_table_of_failures_is_sound():
    everything = [*known_failures.CAUSES, *known_failures.CONSEQUENCES]
    names = [one.name for one in everything]
    assert len(set(names)) == len(names)
    for one in everything:
        re.compile(one.pattern)
        assert one.meaning
        # It is read alone: nothing may point to another line.
        assert one.remedy[:3] not in ("", "as ")


def test_a_line_of_code_in_a_traceback_is_not_what_is_quoted():
    lines = [
        '  File "/opt/x/huggingface_hub/utils/_validators.py", line 154, in validate_repo_id',
        "    raise HFValidationError(",
        "huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name': '/models/none'.",
    ]
    told = cause(lines, 1)
    assert "Repo id must be in the form" in told
    assert "raise HFValidationError(" not in told
    assert "raise HFValidationError(" in cause(lines[:2], 1)
