# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The installed SGLang's own parser, whatever that package does when imported, and what is made of its answers."""

from __future__ import annotations

import json
import pathlib
import sys
import textwrap
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import commands, engine_parser, service_python
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight import parsers, registry

from .good import MIXED, Cluster

PARSER = """
class ServerArgs:
    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path", "--model", required=True)
        parser.add_argument("--tensor-parallel-size", "--tp-size", type=int)
        parser.add_argument("--quantization", choices=["modelslim", "fp8"])
        parser.add_argument("--moe-dense-tp-size", type=int)
        parser.add_argument("--cuda-graph-bs", type=int, nargs="+")
        parser.add_argument("--chunked-prefill-size", type=int)
        parser.add_argument("--api-key")
"""
SERVICE = {
    "host": "d1", "unit": "sglang-decode", "role": "decode", "instance": 0, "rank": 0, "nnodes": 1,
    "env": {"TOLD": "$HOME '1' \"2\""}, "unset": ["http_proxy"], "source": [], "url": "http://192.0.2.21:8001",
    "ports": {"http": 8001}, "port_ranges": {},
}  # fmt: skip
GOOD = ["--model-path", "/m", "--tp-size", "32", "--chunked-prefill-size", "-1", "--cuda-graph-bs", "1", "2"]


@pytest.fixture
def installed(tmp_path: pathlib.Path) -> Callable[[str], pathlib.Path]:
    """A package sglang whose parser's module is a text, and a python that finds it."""

    def install(text: str) -> pathlib.Path:
        folder = tmp_path / "site" / "sglang" / "srt"
        folder.mkdir(parents=True)
        (folder.parent / "__init__.py").write_text("")
        (folder / "__init__.py").write_text("")
        (folder / "server_args.py").write_text(textwrap.dedent(text))
        python = tmp_path / "python3"
        python.write_text(f'#!/bin/sh\nPYTHONPATH={tmp_path / "site"} exec {sys.executable} "$@"\n')
        python.chmod(0o755)
        return python

    return install


def without_systemd(argv: Sequence[str], limit: float) -> commands.Answer:
    """Run what systemd would run, as it would read it, and end it when it would."""
    (seconds,) = (word.partition("RuntimeMaxSec=")[2] for word in argv if "RuntimeMaxSec=" in word)
    assert limit > int(seconds)
    start = argv.index("/bin/bash")
    return commands.run([word.replace("$$", "$") for word in argv[start:]], int(seconds))


def look(python: pathlib.Path, words: Sequence[Any], seconds: int = 20, **more: Any) -> dict[str, Any]:
    service = {**SERVICE, "argv": [str(python), "-m", "sglang.launch_server", *words], **more}
    return engine_parser.look(str(python), [service], "root", seconds, ask=without_systemd)


def refused(told: dict[str, Any]) -> list[tuple[str, list[str], str]]:
    assert told["error"] == ""
    return [(one["flag"], one["words"], one["why"]) for one in told["answers"]["sglang-decode"]["refused"]]


def test_it_takes_what_it_knows(installed):
    told = look(installed(PARSER), [*GOOD, "--api-key", {"secret": "api_key"}])
    assert told == {"answers": {"sglang-decode": {"refused": [], "deprecated": []}}, "error": ""}


def test_each_flag_that_it_refuses_is_told_by_itself(installed):
    words = [*GOOD, "--quantization", "w8a8", "--moe-dense-tp", "1", "--disable-radix-cache", "--tp-size=x"]
    assert refused(look(installed(PARSER), words)) == [
        (
            "--quantization",
            ["w8a8"],
            "argument --quantization: invalid choice: 'w8a8' (choose from 'modelslim', 'fp8')",
        ),
        ("--moe-dense-tp", ["1"], "unrecognized arguments: --moe-dense-tp 1"),
        ("--disable-radix-cache", [], "unrecognized arguments: --disable-radix-cache"),
        ("--tp-size", [], "argument --tensor-parallel-size/--tp-size: invalid int value: 'x'"),
    ]


def test_names_that_are_near_are_told(installed):
    told = look(installed(PARSER), [*GOOD, "--moe-dense-tp", "1"])
    assert told["answers"]["sglang-decode"]["refused"][0]["near"][0] == "--moe-dense-tp-size"


def test_what_is_wrong_with_no_flag_alone_is_told(installed):
    assert refused(look(installed(PARSER), ["--tp-size", "1"])) == [
        ("", [], "the following arguments are required: --model-path/--model")
    ]


def test_a_type_that_fails_in_its_own_way_refuses(installed):
    parser = PARSER + "        parser.add_argument('--odd', type=lambda text: {}[text])\n"
    assert refused(look(installed(parser), [*GOOD, "--odd", "1"])) == [("--odd", ["1"], "KeyError: '1'")]


def test_a_discouraged_flag_is_told(installed):
    parser = """
        import argparse
        class DeprecatedThing(argparse.Action):
            new_flag = "--new"
            def __call__(self, parser, namespace, values, option_string=None):
                print("deprecated!")
    """ + textwrap.indent(PARSER + "        parser.add_argument('--old', action=DeprecatedThing)\n", " " * 8)
    told = look(installed(parser), [*GOOD, "--old", "1"])
    assert told["answers"]["sglang-decode"] == {
        "refused": [],
        "deprecated": [{"flag": "--old", "instead": "--new"}],
    }


NOISE = """
import atexit, os, sys
print("INFO loading ...")
print("@ascend.sglang parser@ {}")
os.write(1, b"from C, without a line's end")
atexit.register(print, "bye")
"""


def test_what_an_import_prints_does_not_matter(installed):
    told = look(installed(NOISE + PARSER), [*GOOD, "--nope"])
    assert refused(told) == [("--nope", [], "unrecognized arguments: --nope")]


@pytest.mark.parametrize(
    ("module", "said"),
    [
        ("import torch_npu_that_is_missing", "ModuleNotFoundError: No module named 'torch_npu_that_is_missing'"),
        ("raise ImportError('libhccl.so: cannot open shared object file')", "ImportError: libhccl.so: cannot open"),
        ("import sys; sys.exit('no NPU')", "SystemExit: no NPU"),
        ("class Other: pass", "ImportError: cannot import name 'ServerArgs'"),
        ("class ServerArgs: pass", "AttributeError: type object 'ServerArgs' has no attribute 'add_cli_args'"),
        ("this is no Python", "SyntaxError: "),
        ("import os; os.kill(os.getpid(), 11)", "it ended with status -11"),
        ("import os; os.write(2, b'core: bad\\n'); os._exit(3)", "core: bad"),
        ("import os, sys; sys.stdout.close(); os._exit(0)", "it ended with status 0"),
    ],
)
def test_a_package_that_cannot_be_imported_is_no_answer(installed, module: str, said: str):
    told = look(installed(module), GOOD)
    assert told["answers"] == {}
    assert told["error"].startswith(said)


@pytest.mark.parametrize("module", ["import time; time.sleep(600)", "while True: pass"])
def test_a_package_that_hangs_is_ended(installed, module: str):
    began = time.monotonic()
    told = look(installed(module), GOOD, seconds=1)
    assert told == {"answers": {}, "error": "importing it takes longer than 1 s"}
    assert time.monotonic() - began < 10


def test_it_is_imported_in_the_services_environment(installed, tmp_path):
    script = tmp_path / "own.sh"
    script.write_text("export SOURCED=yes\n")
    words = "import os; raise ImportError(repr([os.environ.get(name) for name in ('TOLD', 'SOURCED', 'http_proxy')]))"
    service = {"source": [str(script)], "unset": ["http_proxy"], "env": SERVICE["env"]}
    assert look(installed(words), GOOD, **service)["error"] == ("""ImportError: ['$HOME \\'1\\' "2"', 'yes', None]""")


def test_a_script_that_cannot_be_sourced_says_so(installed, tmp_path):
    told = look(installed(PARSER), GOOD, source=[str(tmp_path / "none" / "set_env.sh")])
    assert "set_env.sh is not a file that this user can read" in told["error"]


def test_it_leaves_nothing_beside_the_package(installed, tmp_path):
    look(installed(PARSER), GOOD)
    assert not list(tmp_path.rglob("__pycache__"))


def test_only_servers_are_asked_about():
    argv = ["python3", "-m", "sglang_router.launch_router"]
    assert engine_parser.look("python3", [{**SERVICE, "argv": argv}], "root", 1) == {"answers": {}, "error": ""}


def test_where_the_parser_is_is_told_without_importing_it(installed):
    python = installed("raise SystemExit")
    found = service_python.look(str(python), ["sglang"])
    assert found["parser"]["path"].endswith("/site/sglang/srt/server_args.py")
    before = found["parser"]["stamp"]
    pathlib.Path(found["parser"]["path"]).write_text("another")
    assert service_python.look(str(python), ["sglang"])["parser"]["stamp"] != before
    pathlib.Path(found["parser"]["path"]).unlink()
    assert service_python.look(str(python), ["sglang"])["parser"] is None


# On the controller


def good(units: Sequence[str]) -> dict[str, Any]:
    return {"answers": {unit: {"refused": [], "deprecated": []} for unit in units}, "error": ""}


def ask(found: Cluster, known: parsers.Known | None = None, seconds: int = 60) -> dict[str, dict[str, Any]]:
    return parsers.questions(found.plan.services, found.answers, "root", seconds, known or {})


def test_every_host_with_servers_is_asked_once_for_a_plan_and_an_installation():
    found = Cluster()
    asked = ask(found)
    assert set(asked) == {"p1", "p2", "d1", "d2"}
    assert [one["unit"] for one in asked["p1"]["services"]] == ["sglang-prefill"]
    # Where CANN is on this host, not where the page has it.
    assert asked["p1"]["services"][0]["source"][0] == "/usr/local/Ascend/cann/set_env.sh"
    now = {host: good([one["unit"] for one in question["services"]]) for host, question in asked.items()}
    known = parsers.learnt(found.plan.services, found.answers, now, {})
    assert ask(found, known) == {}
    assert parsers.told(found.plan.services, found.answers, {}, known) == now
    found["d1"]["python"]["parser"]["stamp"] = "3 4"
    assert set(ask(found, known)) == {"d1"}
    other = Cluster(sglang_decode_args={"max-running-requests": 7})
    other.answers = found.answers
    found["d1"]["python"]["parser"]["stamp"] = "1 2"
    assert set(ask(other, known)) == {"d1", "d2"}


def test_nobody_is_asked_who_cannot_answer():
    found = Cluster()
    assert ask(found, seconds=0) == {}
    found["d1"]["python"]["parser"] = None
    found["d2"]["uid"] = 1000
    assert set(ask(found)) == {"p1", "p2"}


def test_a_parser_that_could_not_be_asked_is_asked_again():
    found = Cluster()
    failed = {"d1": {"answers": {}, "error": "ImportError: x"}}
    assert parsers.learnt(found.plan.services, found.answers, failed, {}) == {}


def test_what_is_known_is_kept_in_a_file(tmp_path):
    path = tmp_path / "home" / "ascend_sglang" / "parsers.json"
    assert parsers.load(path) == {}
    parsers.save(path, {"digest": {}})
    assert parsers.load(path) == {"digest": {}}
    assert [one.name for one in path.parent.iterdir()] == ["parsers.json"]
    for text in ("", "[1]", "{"):
        path.write_text(text)
        assert parsers.load(path) == {}


def outcome(found: Cluster) -> list[tuple[str, str, str, str, str]]:
    (one,) = [each for each in registry.run(found.situation()) if each.check.name == "installed-parser"]
    return [(each.level, ", ".join(each.hosts), each.where, each.what, each.do) for each in one.problems]


def test_servers_whose_parser_takes_them_are_right():
    found = Cluster()
    assert outcome(found) == []


def test_a_flag_that_is_refused_is_an_error_with_place_reason_and_remedy():
    found = Cluster()
    fault = {"flag": "--fuse", "words": ["1"], "why": "unrecognized arguments: --fuse 1", "near": ["--fuseep-mode"]}
    for host in ("d1", "d2"):
        found.parsers[host] = {"answers": {"sglang-decode": {"refused": [fault], "deprecated": []}}, "error": ""}
    assert outcome(found) == [
        (
            "error",
            "d1, d2",
            "sglang_decode_args, sglang-decode",
            "SGLang 0.5.13.post1 there refuses --fuse 1: unrecognized arguments: --fuse 1",
            "Did you mean --fuseep-mode? Otherwise leave it out, or set sglang_engine to 0.5.13.post1",
        )
    ]


def test_what_another_version_discourages_is_a_warning():
    found = Cluster(MIXED)
    (host,) = found.engines()
    old = [{"flag": "--old", "instead": "--new"}]
    found.parsers = {host: {"answers": {"sglang-mixed": {"refused": [], "deprecated": old}}, "error": ""}}
    assert outcome(found) == []
    found[host]["python"]["packages"] = {"sglang": "0.5.14"}
    ((level, _hosts, _where, what, do),) = outcome(found)
    assert (level, do) == ("warning", "Use --new instead")
    assert what == "--old is deprecated in SGLang 0.5.14, which is installed there"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda found: found.set(sglang_preflight_parser_seconds=0), "sglang_preflight_parser_seconds is 0"),
        (lambda found: found["m1"].update(uid=1000), "only root can ask systemd to run it"),
        (lambda found: found["m1"]["python"].update(parser=None), "the SGLang there has no sglang.srt.server_args"),
        (lambda found: found.parsers.update(m1={"answers": {}, "error": "ImportError: x"}), "ImportError: x"),
    ],
)
def test_where_it_cannot_be_asked_the_engine_file_has_to_do_and_that_is_said(change, said: str):
    found = Cluster(MIXED)
    found.parsers = {}
    change(found)
    ((level, hosts, _where, what, _do),) = outcome(found)
    assert (level, hosts) == ("unknown", "m1")
    assert what.startswith(said)
    assert what.endswith(": taken from the engine file of 0.5.13.post1 instead")


def test_answers_are_json(installed):
    told = look(installed(PARSER), [*GOOD, "--nope"])
    assert json.loads(json.dumps(told)) == told
