"""A guard of a plan is checked before anything is made of it, and what is made of it."""

from __future__ import annotations

import configparser
import json

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import guard_files, unit_file
from ansible_collections.ascend.sglang.plugins.module_utils.guard_plan import GuardPlan, Watched
from ansible_collections.ascend.sglang.plugins.module_utils.plan_service import PlanServiceError, parse

HEAD = Watched("d1", "http://192.0.2.21:29100", (8001, 5000))


def test_a_guard_is_read(guarded):
    assert parse(guarded).guard == GuardPlan("http://192.0.2.22:29100", 60, "head", HEAD)


def test_a_guard_of_rank_0_is_read(guarded):
    guarded["guard"].update(follows=None, ranks=[{"rank": 1, "host": "d2", "url": "http://[2001:db8::2]:29100"}])
    assert parse(guarded).guard == GuardPlan(
        "http://192.0.2.22:29100", 60, ranks=((1, Watched("d2", "http://[2001:db8::2]:29100", ())),)
    )


@pytest.mark.parametrize("guard", [None, "absent"])
def test_a_service_may_have_none(decode, guard):
    service = {**decode, "guard": None} if guard is None else decode
    assert parse(service).guard is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("nothing", "guard is 'nothing', but must be a mapping or null"),
        ({"url": None}, "guard.url is None, but must be a URL such as http://192.0.2.22:29100"),
        ({"url": "https://192.0.2.22:29100"}, "guard.url is 'https:"),
        ({"url": "http://192.0.2.22"}, "guard.url is"),
        ({"url": "http://192.0.2.22:29100\nExecStart=/bin/true"}, "guard.url is"),
        ({"gone_seconds": "60"}, "guard.gone_seconds is '60', but must be a whole number from 1 to 86400"),
        ({"gone_seconds": 0}, "guard.gone_seconds is 0"),
        ({"gone_seconds": True}, "guard.gone_seconds is True"),
        ({"follows": "d1"}, "guard.follows.what is 'd1', but must be head or store"),
        ({"follows": {"what": "router"}}, "guard.follows.what is 'router'"),
        ({"follows": {"what": "head", "host": "d1"}}, "guard.follows.url is None"),
        ({"follows": {"what": "head", "host": "a\nb", "url": "http://d1:1"}}, "guard.follows.host is"),
        ({"follows": {"what": "head", "host": "d1", "url": "http://d1:1", "ports": "8001"}}, "a list of port numbers"),
        ({"follows": {"what": "head", "host": "d1", "url": "http://d1:1", "ports": [0]}}, "guard.follows.ports is 0"),
        ({"ranks": 5}, "guard.ranks is 5, but must be a list"),
        ({"ranks": ["d2"]}, "guard.ranks is 'd2', but must be mappings"),
        ({"ranks": [{"rank": 0, "host": "d2", "url": "http://d2:1"}]}, "guard.ranks.rank is 0"),
    ],
)
def test_nonsense_is_refused_and_named(guarded, change, says):
    guarded["guard"] = {**guarded["guard"], **change} if isinstance(change, dict) else change
    with pytest.raises(PlanServiceError) as refusal:
        parse(guarded)
    assert str(refusal.value).startswith("sglang-decode: guard")
    assert says in str(refusal.value)


def test_its_configuration_is_what_the_program_reads(guarded):
    plan = parse(guarded).guard
    assert plan is not None
    assert json.loads(guard_files.config("sglang-decode", plan)) == {
        "unit": "sglang-decode",
        "url": "http://192.0.2.22:29100",
        "gone_seconds": 60,
        "follows": {"what": "head", "host": "d1", "url": "http://192.0.2.21:29100", "ports": [8001, 5000]},
        "ranks": [],
        "memory": "/run/ascend-sglang/sglang-decode-guard/memory.json",
    }


def unit_text(guarded, python: str = "/usr/bin/python3") -> str:
    plan = parse(guarded).guard
    assert plan is not None
    config = guard_files.config("sglang-decode", plan)
    return guard_files.unit_text("sglang-decode", "a title", python, config, guard_files.code())


@pytest.mark.parametrize(
    ("section", "line"),
    [
        ("Unit", ("before", "sglang-decode.service")),
        ("Service", ("execstart", "/usr/bin/python3 -s -m guard.main /etc/ascend-sglang/sglang-decode/guard.json")),
        ("Service", ("runtimedirectory", "ascend-sglang/sglang-decode-guard")),
        ("Service", ("runtimedirectorypreserve", "yes")),
        ("Service", ("capabilityboundingset", "")),
        ("Service", ("restart", "always")),
        ("Install", ("wantedby", "multi-user.target")),
        ("X-AscendSglang", ("guards", "sglang-decode")),
    ],
)
def test_its_unit(guarded, section, line):
    parser = configparser.RawConfigParser(strict=False)
    parser.read_string(unit_text(guarded))
    assert line in parser.items(section)


def test_its_unit_is_no_service_of_ours(guarded):
    text = unit_text(guarded)
    assert unit_file.facts(text) is None
    assert unit_file.guarded(text) == "sglang-decode"
    assert unit_file.guarded("[Service]\nGuards=sglang-decode\n") is None


def test_its_digest_tells_configuration_code_and_interpreter_apart(guarded):
    first = unit_file.launch_digest(unit_text(guarded))
    assert first == unit_file.launch_digest(unit_text(guarded))
    assert first != unit_file.launch_digest(unit_text(guarded, "/opt/python/bin/python3"))
    guarded["guard"]["gone_seconds"] = 61
    assert first != unit_file.launch_digest(unit_text(guarded))


def test_a_guard_may_answer_at_a_low_port(guarded):
    guarded["guard"]["url"] = "http://192.0.2.22:291"
    assert "CapabilityBoundingSet=CAP_NET_BIND_SERVICE" in unit_text(guarded).splitlines()


def test_its_code_imports_nothing_of_the_collection():
    for name, text in guard_files.code().items():
        assert "ansible" not in text, name
