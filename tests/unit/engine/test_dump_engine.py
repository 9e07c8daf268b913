# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tool that makes an engine file, run as people run it, inside an installation made for the purpose."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.check import check
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.files import OWN_DIRECTORY, read_catalogue
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import load_engine
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.translate import translate

TOOL = Path(__file__).resolve().parents[3] / "tools" / "dump_engine.py"

SERVER_ARGS = """
import argparse, dataclasses, enum, json, os

print("importing prints things")

class Backend(str, enum.Enum):
    ASCEND = "ascend"
    TRITON = "triton"

def human_readable_int(text):
    return int(text)

class DeprecatedAliasStoreAction(argparse.Action):
    def __init__(self, option_strings, dest, new_flag=None, **kwargs):
        self.new_flag = new_flag
        super().__init__(option_strings, dest, **kwargs)

class DeprecatedAction(argparse.Action):
    def __init__(self, option_strings, dest, nargs=0, **kwargs):
        super().__init__(option_strings, dest, nargs=nargs, **kwargs)

@dataclasses.dataclass
class ServerArgs:
    model_path: str
    tp_size: int = 1
    cuda_graph_bs_decode: list = None

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path", "--model", required=True, type=str)
        parser.add_argument("--tensor-parallel-size", "--tp-size", type=int, default=1)
        parser.add_argument("-q", "--quiet", action="store_true")
        parser.add_argument("--cuda-graph-bs-decode", type=int, nargs="+")
        parser.add_argument("--cuda-graph-bs", type=int, nargs="+", dest="cuda_graph_bs_decode",
                            action=DeprecatedAliasStoreAction, new_flag="--cuda-graph-bs-decode")
        parser.add_argument("--prefill-round-robin-balance", action=DeprecatedAction)
        parser.add_argument("--max-total-tokens", type=human_readable_int)
        parser.add_argument("--sampling-backend", choices=[each for each in Backend], default=Backend.ASCEND)
        parser.add_argument("--strict", action=argparse.BooleanOptionalAction, default=None)
        parser.add_argument("--labels", type=json.loads)
        parser.add_argument("--loader-config", type=str, default="{}")
        parser.add_argument("--cache-config", type=str, help="JSON, or a file: 100%")
        parser.add_argument("--tuning-config", type=str, help="Path to a JSON file")
        parser.add_argument("--json-pattern", type=str, help="How JSON may look")
        parser.add_argument("--backend", choices={"b", "c", "a"})
        parser.add_argument("--tokenizer-mode", default="auto")
        parser.add_argument("--store-password", type=str, default=os.getenv("STORE_PASSWORD"))
        parser.add_argument("--parts", type=str, nargs="*", default={"b", "a"})
        parser.add_argument("--hook", default=print)
"""

FILES = {
    "sglang/__init__.py": '__version__ = "0.5.19"\n',
    "sglang/srt/__init__.py": "",
    "sglang/srt/server_args.py": SERVER_ARGS,
    "sglang/srt/environ.py": """
import os
class EnvBool:
    def __init__(self, default, deprecated_name=None): pass
class Envs:
    SGLANG_REGISTERED = EnvBool(False)
    SGLANG_RENAMED: EnvBool = EnvBool(False, deprecated_name="SGLANG_BEFORE")
    NOT_A_VARIABLE = 3
""",
    "sglang/srt/reader.py": """
import os
from os import getenv
getenv("SGLANG_GETENV"), os.environ.get("SGLANG_GET", "x"), os.environ["SGLANG_INDEX"]
"SGLANG_IN" in os.environ
def get_bool_env_var(name, default="0"): ...
get_bool_env_var("SGLANG_HELPER")
os.environ["SGLANG_ONLY_WRITTEN"] = "1"
os.getenv("lower_case"), os.getenv(f"SGLANG_{os}"), print("SGLANG_PRINTED")
""",
    "sglang/srt/broken.py": "this is no Python(",
    "sglang/test/helper.py": 'import os\nos.getenv("SGLANG_TEST_ONLY")\n',
    "sglang/srt/speculative/spec_info.py": """
import enum
class SpeculativeAlgorithm(enum.Enum):
    EAGLE = enum.auto()
    NONE = enum.auto()
    def is_none(self): ...
""",
    "sglang/srt/speculative/spec_registry.py": '_RESERVED_ALIASES = frozenset({"NEXTN"})\n',
    "sglang_router/__init__.py": "",
    "sglang_router/version.py": "",
    "sglang_router/router_args.py": """
import dataclasses
@dataclasses.dataclass
class RouterArgs:
    policy: str = "cache_aware"
    @staticmethod
    def add_cli_args(parser, use_router_prefix=False, exclude_host_port=False):
        prefix = "router-" if use_router_prefix else ""
        if not exclude_host_port:
            parser.add_argument("--host", default="0.0.0.0")
        parser.add_argument(f"--{prefix}policy", choices=["random", "cache_aware"], default="cache_aware")
        parser.add_argument(f"--{prefix}prefill", nargs="+", action="append")
""",
    "sglang_router-0.3.9.dist-info/METADATA": "Metadata-Version: 2.1\nName: sglang-router\nVersion: 0.3.9\n",
}


@pytest.fixture
def installation(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def run(installation, *arguments, **env):
    return subprocess.run(
        [sys.executable, str(TOOL), *arguments],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(installation), **env},
        capture_output=True,
        text=True,
        check=False,
    )


def dumped(installation, *arguments, **env):
    done = run(installation, *arguments, **env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_file_describes_the_parser(installation):
    engine = dumped(installation)
    assert (engine["program"], engine["version"]) == ("sglang.launch_server", "0.5.19")
    flags = {flag["names"][0]: flag for flag in engine["flags"]}
    assert flags["--model-path"] == {
        "names": ["--model-path", "--model"],
        "dest": "model_path",
        "action": "Store",
        "type": "str",
        "nargs": None,
        "choices": None,
        "default": None,
        "required": True,
    }
    assert flags["--tensor-parallel-size"]["name"] == "--tp-size"  # the field's name, as SGLang's own pages say it
    assert flags["--quiet"]["names"] == ["--quiet"]
    assert (flags["--cuda-graph-bs"]["deprecated"], flags["--cuda-graph-bs"]["new_flag"]) == (
        True,
        "--cuda-graph-bs-decode",
    )
    assert flags["--prefill-round-robin-balance"]["action"] == "Deprecated"
    assert flags["--sampling-backend"]["choices"] == ["ascend", "triton"]
    assert flags["--sampling-backend"]["default"] == "ascend"
    assert flags["--strict"]["names"] == ["--strict", "--no-strict"]
    assert flags["--max-total-tokens"]["type"] == "human_readable_int"
    assert flags["--parts"]["default"] == ["a", "b"]
    assert flags["--backend"]["choices"] == ["a", "b", "c"]
    assert flags["--tokenizer-mode"]["default"] == "auto"


def test_what_only_the_engine_checks_is_in_the_file(installation):
    assert dumped(installation)["unchecked"] == {
        "json": {"--loader-config": "object", "--cache-config": "text"},
        "values": {"--speculative-algorithm": ["EAGLE", "NEXTN"]},
    }


def test_the_variables_that_the_source_reads(installation):
    assert dumped(installation)["env"] == {
        "sglang": [
            "SGLANG_BEFORE",
            "SGLANG_GET",
            "SGLANG_GETENV",
            "SGLANG_HELPER",
            "SGLANG_IN",
            "SGLANG_INDEX",
            "SGLANG_REGISTERED",
            "SGLANG_RENAMED",
            "STORE_PASSWORD",
        ]
    }


def test_no_secret_of_the_one_who_runs_it_gets_into_the_file(installation):
    done = run(installation, STORE_PASSWORD="hunter2")
    assert done.returncode == 0
    assert "hunter2" not in done.stdout


def test_the_file_is_an_engine_and_equal_each_time(installation):
    first, second = run(installation), run(installation)
    assert first.stdout == second.stdout
    engine = load_engine(json.loads(first.stdout))
    assert engine.label == "SGLang 0.5.19"
    assert engine.flag("tensor-parallel-size").name == "tp-size"
    assert "importing prints things" in first.stderr


def test_profiles_can_be_spelled_for_the_dumped_version(installation, tmp_path):
    directory = tmp_path / "engines"
    directory.mkdir()
    (directory / "sglang-0.5.19.json").write_text(run(installation).stdout, encoding="utf-8")
    catalogue = read_catalogue([directory])
    args = {"tp-size": 16, "cuda-graph-bs": [1, 2], "prefill-round-robin-balance": True}
    target = catalogue.get("0.5.19")
    done = translate(args, {}, source=catalogue.get("0.5.13.post1"), target=target, role="decode")
    assert done.args == {"tp-size": 16, "cuda-graph-bs-decode": [1, 2]}
    assert check(target, done.args, where="w", role="decode") == []


def test_the_router(installation):
    engine = dumped(installation, "--program", "sglang_router.launch_router")
    assert engine["version"] == "0.3.9"  # of the distribution: the package itself does not tell
    assert [flag["names"] for flag in engine["flags"]] == [["--host"], ["--policy"], ["--prefill"]]
    assert engine["flags"][2]["action"] == "Append"


def test_without_sglang_it_says_so(tmp_path):
    done = run(tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "dump_engine.py: sglang.srt.server_args cannot be imported by" in done.stderr
    assert "ModuleNotFoundError: No module named 'sglang'" in done.stderr
    assert "Traceback" not in done.stderr


def test_another_way_to_build_the_parser_is_told(installation):
    (installation / "sglang/srt/server_args.py").write_text("class ServerArgs: pass\n", encoding="utf-8")
    done = run(installation)
    assert done.returncode == 1
    assert "has no ServerArgs.add_cli_args" in done.stderr


@pytest.mark.parametrize("name", ["sglang-0.5.13.post1", "sglang-0.5.23", "sglang-router-0.3.2"])
def test_the_committed_files_have_the_tools_form(name):
    """A file made by the tool and one of the collection's can be compared line by line."""
    text = (OWN_DIRECTORY / f"{name}.json").read_text(encoding="utf-8")
    code = f"import sys, json; sys.path.insert(0, {str(TOOL.parent)!r}); import dump_engine; "
    code += "sys.stdout.write(dump_engine.render(json.load(sys.stdin)))"
    done = subprocess.run([sys.executable, "-c", code], input=text, capture_output=True, text=True, check=True)
    assert done.stdout == text


BENCH_SERVING = """
import argparse

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Benchmark the online serving throughput.")
    parser.add_argument("--request-rate", type=float, default=float("inf"))
    parser.add_argument("--num-prompts", type=int, default=1000)
    parser.add_argument_group("more").add_argument("--gsp-ordered", action="store_true")
    parser.parse_args()
    raise SystemExit("it went on")
"""


def test_the_benchmarks_parser_is_dumped_where_it_is_built(tmp_path):
    for name, text in {**FILES, "sglang/bench_serving.py": BENCH_SERVING}.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(TOOL), "--program", "sglang.bench_serving"],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    engine = load_engine(json.loads(done.stdout))
    assert (engine.program, engine.version) == ("sglang.bench_serving", "0.5.19")
    assert [flag.name for flag in engine.flags] == ["request-rate", "num-prompts", "gsp-ordered"]
    assert engine.flag("request-rate").default == "inf"
    assert not check(
        engine, {"request-rate": "inf", "num-prompts": 3, "gsp-ordered": True}, where="w", role="benchmark"
    )
