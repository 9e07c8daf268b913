# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stand-in beside the real engine: deployed by the same playbooks, asked the same things, broken in the same ways.

What is compared is listed in tests/stand_in/engine/COMPARED.md.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import replace

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import engine_log
from on_hosts import hosts
from real.cluster import MIXED, MIXED_2, R1, REAL, Cluster

COMPARE = (REAL / "compare.py").read_text()
NUMBERS = {"h1": 67, "h2": 68}
# Names, and values of /server_info, that a stand-in of another version would have, too.
KNOBS = {"load_seconds": 0.5, "start_seconds": 0, "graph_seconds": 0, "warmup_seconds": 0.2}


def on_stand_in(shape):
    """The same, on hosts whose own Python has the stand-in."""
    return replace(shape, settings={**shape.settings, "sglang_python": "python3"})


@pytest.fixture(scope="module")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Hosts with the stand-in and the same model."""
    with hosts.booted("real-stand-in", NUMBERS, KNOBS) as booted:
        for host in booted.values():
            host.run("cat >/run/model.py && python3 /run/model.py /models/tiny", (REAL / "model.py").read_text())
        yield Cluster(booted, tmp_path_factory.mktemp("stand-in"))


@pytest.fixture(scope="module")
def mixed(cluster, stand_in):
    """Both, as one server."""
    cluster.deploy(MIXED)
    stand_in.deploy(on_stand_in(MIXED))
    return cluster, stand_in


# Tests of one server come first: prefill and decode take their places on the hosts.


@pytest.fixture(scope="module")
def pd(cluster, stand_in):
    """Both, as prefill and decode, over the store."""
    cluster.deploy(R1)
    stand_in.deploy(on_stand_in(R1))
    return cluster, stand_in


@pytest.fixture(scope="module")
def ranks(cluster, stand_in):
    """Both, as one server of two ranks."""
    cluster.deploy(MIXED_2)
    stand_in.deploy(on_stand_in(MIXED_2))
    return cluster, stand_in


def shapes(one: Cluster, host: str, url: str, *names: str) -> dict[str, dict]:
    one[host].run("cat >/run/compare.py", COMPARE)
    words = " ".join(shlex.quote(name) for name in names)
    return json.loads(one[host].run(f"python3 /run/compare.py {url} {words}", limit=300))


def alike(real: dict[str, dict], other: dict[str, dict]) -> None:
    """AssertionError that shows each request whose answers differ, or that had none."""
    unanswered = {name: one[name] for one in (real, other) for name in one if "error" in one[name]}
    assert not unanswered
    differ = {name: (real[name], other[name]) for name in real if real[name] != other[name]}
    text = "\n".join(f"{name}\n  real     {a}\n  stand-in {b}" for name, (a, b) in differ.items())
    assert not differ, f"{len(differ)} of {len(real)} answers differ:\n{text}"


def test_the_answers_of_one_server(mixed):
    url = mixed[0].plan["entrances"][0]["url"]
    alike(*(shapes(one, "h1", url.replace(mixed[0]["h1"].data, one["h1"].data)) for one in mixed))


def health(one: Cluster, host: str, order: str, until: str) -> list[str]:
    """What /health says from an order to systemd on, each change once, up to `until`; 000 is a refused connection."""
    (url,) = [each["url"] for each in one.services if each["host"] == host and each["role"] == "mixed"]
    look = f"curl --noproxy '*' -s -m 5 -o /dev/null -w '%{{http_code}}' {url}/health"
    # No answer in time is none, and not a refusal (7).
    loop = f"systemctl --no-block {order}; end=$(($(date +%s) + 120)); while test $(date +%s) -lt $end"
    loop += (
        f"; do said=$({look}) || test $? = 7 || continue; echo $said; test $said != {until} || break; sleep 0.1; done"
    )
    said = one[host].run(loop, limit=200).split()
    return [each for number, each in enumerate(said) if number == 0 or each != said[number - 1]]


def test_health_while_it_starts_and_while_it_drains(mixed):
    """Refused while it loads, 503 while it warms up, and, once an unfinished request holds it, 503 to the end."""
    for one in mixed:
        one["h1"].run("systemctl stop sglang-mixed", limit=90)
        assert health(one, "h1", "start sglang-mixed", "200") in (["000", "503", "200"], ["000", "200"])
        one.hang_drain("mixed")
        # SIGTERM is seen after the request that is being answered.
        told = health(one, "h1", "stop sglang-mixed", "000")
        assert [each for each in told if each != "200"] == ["503", "000"]
        one["h1"].run("systemctl start sglang-mixed")
        one.status_when_ready()


def phases(one: Cluster, host: str, unit: str) -> list[str]:
    """What waiting for it would have shown, from the log of its last start."""
    log = one[host].run(f"journalctl --no-pager --output=cat --all --unit={unit}")
    lines = engine_log.lines_of(log)
    begin = max(number for number, line in enumerate(lines) if line.startswith("Started "))
    told = [engine_log.phase(lines[begin : end + 1]) for end in range(begin, len(lines))]
    return [phase for number, phase in enumerate(told) if number == 0 or phase != told[number - 1]]


def coarse(found: list[str]) -> list[str]:
    """Without the counts, each once."""
    return list(dict.fromkeys(re.sub(r" \d+/\d+.*", "", phase) for phase in found))


def test_the_phases_of_a_start(mixed):
    assert coarse(phases(mixed[0], "h1", "sglang-mixed")) == coarse(phases(mixed[1], "h1", "sglang-mixed"))


END = "systemctl show --property=ExecMainCode,ExecMainStatus,Result"
LAUNCH = "/etc/ascend-sglang/sglang-mixed/launch.sh"


def ended(one: Cluster, edit: str) -> tuple[str, str]:
    """How a start with an edited launch.sh ends, and the cause that the collection finds in its log."""
    host = one["h1"]
    host.run(f"systemctl stop sglang-mixed && sed '{edit}' {LAUNCH} >/run/other.sh && chmod 755 /run/other.sh", "", 90)
    assert host.run(f"cmp --quiet {LAUNCH} /run/other.sh || echo differs") == "differs\n"
    host.run("systemctl reset-failed other 2>/dev/null || true")
    host.run("systemd-run --quiet --unit=other --wait /run/other.sh || true", limit=150)
    state = host.run(f"{END} other")
    run = "_SYSTEMD_INVOCATION_ID=$(systemctl show --value --property=InvocationID other)"
    lines = engine_log.lines_of(host.run(f"journalctl --no-pager --output=cat {run}"))
    status = re.search(r"ExecMainStatus=(\d+)", state)
    cause = engine_log.cause(lines, int(status[1]) if status else None)
    host.run("systemctl stop other; systemctl reset-failed other 2>/dev/null || true")
    # What it found, without the line that it quotes.
    return " ".join(sorted(state.split())), cause.partition(" (")[0]


@pytest.mark.parametrize(
    ("edit", "status", "cause"),
    [
        ("s,--device cpu,--no-such-flag 1,", "2", "It does not accept its arguments"),
        ("s,--mem-fraction-static 0.05,--mem-fraction-static much,", "2", "It does not accept its arguments"),
        ("s,/models/tiny,/models/none,", "1", ""),
        ("s,GLOO_SOCKET_IFNAME=eth1,GLOO_SOCKET_IFNAME=nope0,", "9", ""),
    ],
    ids=["an unknown flag", "a value of the wrong type", "no model", "no such interface"],
)
def test_a_start_that_fails(mixed, edit, status, cause):
    real, other = (ended(one, edit) for one in mixed)
    assert real == other
    assert f"ExecMainStatus={status} " in real[0]
    assert real[1].startswith(cause)
    assert real[1]


RANK_1 = ("GET /", "GET /health", "GET /model_info", "GET /v1/models", "GET /server_info", "GET /nope")


def test_the_answers_of_a_rank_above_0(ranks):
    alike(*(shapes(one, "h2", f"http://{one['h2'].data}:8000", *RANK_1) for one in ranks))


@pytest.mark.parametrize("role", ["prefill", "decode", "router"])
def test_the_answers_of_prefill_decode_and_router(pd, role):
    found = []
    for one in pd:
        (service,) = [each for each in one.services if each["role"] == role]
        found.append(shapes(one, service["host"], service["url"]))
    alike(*found)


@pytest.mark.parametrize(("host", "role"), [("h1", "prefill"), ("h2", "decode")])
def test_the_phases_of_a_start_in_pd(pd, host, role):
    assert coarse(phases(pd[0], host, f"sglang-{role}")) == coarse(phases(pd[1], host, f"sglang-{role}"))
