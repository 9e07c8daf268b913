# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print the engine file of the SGLang or sglang-router that is installed here.

Run it with the Python that runs SGLang; it needs nothing but that SGLang:

    python3 dump_engine.py > sglang-0.5.19.json
    python3 dump_engine.py --program sglang_router.launch_router > sglang-router-0.3.1.json
    python3 dump_engine.py --program sglang.bench_serving > sglang-bench-serving-0.5.19.json

The file goes into a directory of engine files. What changed between versions (renames) is not in it: a parser tells
only some of it, and the rules that the collection's own files hold apply to this version too.

Exit status: 0, or 1 with a message when the program or its parser is not to be found.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import dataclasses
import importlib
import importlib.metadata
import importlib.util
import json
import math
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SERVER = "sglang.launch_server"
ROUTER = "sglang_router.launch_router"
BENCHMARK = "sglang.bench_serving"

# Program -> the module and class whose add_cli_args fills its parser, and the distributions that may hold it.
PARSERS = {
    SERVER: ("sglang.srt.server_args", "ServerArgs", ("sglang", "sglang-npu")),
    ROUTER: ("sglang_router.router_args", "RouterArgs", ("sglang-router",)),
}
# Options that the program adds to its own parser beside add_cli_args. The router keeps its flags unprefixed there.
EXTRA = {ROUTER: {"use_router_prefix": False, "exclude_host_port": False}}

# Packages inside SGLang that no server loads.
NOT_SERVED = {"test", "tests", "benchmark", "profiler"}
ENV_NAME = re.compile(r"[A-Z][A-Z0-9]*_[A-Z0-9_]+")
JSON_HELP = re.compile(r"\bjson\b", re.IGNORECASE)
JSON_FILE_HELP = re.compile(r"\bpath (to|of) (a|the) json\b", re.IGNORECASE)
JSON_NAME = re.compile(r"-(config|args|kwargs|labels|json)$")
# A flag whose default may come from the environment of whoever runs this and is nobody else's business.
SECRET = re.compile(r"password|secret|api-key|-token$|wallet|dsn$|-url$")


class DumpError(Exception):
    """The engine file cannot be made, in words."""


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and print the file."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    programs = sorted((*PARSERS, BENCHMARK))
    options.add_argument("--program", choices=programs, default=SERVER, help="default: %(default)s")
    chosen = options.parse_args(arguments)
    try:
        # Importing SGLang prints things; only the file may go to standard output.
        with contextlib.redirect_stdout(sys.stderr):
            engine = dump(chosen.program)
    except DumpError as error:
        print(f"dump_engine.py: {error}", file=sys.stderr)
        return 1
    sys.stdout.write(render(engine))
    return 0


def dump(program: str) -> dict[str, Any]:
    """The engine file of a program that is installed here, as a mapping."""
    if program == BENCHMARK:
        return _benchmark()
    module_name, class_name, distributions = PARSERS[program]
    package = program.partition(".")[0]
    parser, owner = _parser(module_name, class_name, EXTRA.get(program, {}))
    fields = {each.name for each in dataclasses.fields(owner)} if dataclasses.is_dataclass(owner) else set()
    root = _root(package)
    engine: dict[str, Any] = {
        "program": program,
        "version": _version(package, distributions),
        "env": {package: sorted(env_names(root))},
        "unchecked": _unchecked(parser, root),
        "renames": [],
        "removed": [],
        "defaults": [],
        "flags": list(_flags(parser, fields)),
    }
    return engine


class _ParserFoundError(Exception):
    """Carries a program's parser out of it."""


def _benchmark() -> dict[str, Any]:
    """bench_serving builds its parser where it runs: run it, up to where it would read its command line."""

    def stop(parser: argparse.ArgumentParser, *_unused: Any) -> None:
        raise _ParserFoundError(parser)

    own, argparse.ArgumentParser.parse_args = argparse.ArgumentParser.parse_args, stop  # type: ignore[method-assign]
    try:
        runpy.run_module(BENCHMARK, run_name="__main__")
    except _ParserFoundError as found:
        parser = found.args[0]
    except Exception as error:  # whatever stops it is the answer
        why = f"{type(error).__name__}: {error}"
        raise DumpError(f"{BENCHMARK} cannot be run by {sys.executable}: {why}") from error
    else:
        raise DumpError(f"{BENCHMARK} builds no parser: this version reads its command line otherwise")
    finally:
        argparse.ArgumentParser.parse_args = own  # type: ignore[method-assign]
    engine: dict[str, Any] = {
        "program": BENCHMARK,
        "version": _version("sglang", PARSERS[SERVER][2]),
        "env": {},
        # What is appended to each request.
        "unchecked": {"json": {"--extra-request-body": "object"}},
        "renames": [],
        "removed": [],
        "defaults": [],
        "flags": list(_flags(parser, set())),
    }
    return engine


def render(engine: dict[str, Any]) -> str:
    """The file's text: JSON, one flag a line, so that two versions can be compared line by line."""
    lines = []
    for key, value in engine.items():
        if key in ("flags", "renames", "removed", "defaults") and value:
            body = ",\n".join(f"  {json.dumps(each)}" for each in value)
            lines.append(f" {json.dumps(key)}: [\n{body}\n ]")
        elif key == "env" and value:
            body = ",\n".join(f"  {json.dumps(reader)}: [\n{_column(names)}\n  ]" for reader, names in value.items())
            lines.append(f" {json.dumps(key)}: {{\n{body}\n }}")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _column(names: list[str]) -> str:
    return ",\n".join(f"   {json.dumps(name)}" for name in names)


def _parser(module_name: str, class_name: str, extra: dict[str, Any]) -> tuple[argparse.ArgumentParser, type]:
    try:
        module = importlib.import_module(module_name)
    except Exception as error:  # whatever stops the import is the answer
        why = f"{type(error).__name__}: {error}"
        raise DumpError(f"{module_name} cannot be imported by {sys.executable}: {why}") from error
    owner = getattr(module, class_name, None)
    add = getattr(owner, "add_cli_args", None)
    if owner is None or add is None:
        raise DumpError(f"{module_name} has no {class_name}.add_cli_args: this version builds its parser otherwise")
    parser = argparse.ArgumentParser(add_help=False)
    try:
        add(parser, **extra)
    except TypeError:
        add(parser)  # a version whose method takes no such options
    return parser, owner


def _version(package: str, distributions: tuple[str, ...]) -> str:
    for distribution in distributions:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(distribution)
    version = getattr(importlib.import_module(package), "__version__", None)
    if not version:
        raise DumpError(f"{package} does not tell its version")
    return str(version)


def _root(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise DumpError(f"{package} is no package on this Python's path")
    return Path(next(iter(spec.submodule_search_locations)))


# Flags


def _flags(parser: argparse.ArgumentParser, fields: set[str]) -> Iterator[dict[str, Any]]:
    for action in parser._actions:
        names = [name for name in action.option_strings if name.startswith("--")]
        if not names or isinstance(action, argparse._HelpAction):
            continue
        flag: dict[str, Any] = {"names": names}
        own = next((name for name in names if name.lstrip("-").replace("-", "_") in fields), names[0])
        if own != names[0]:
            flag["name"] = own
        kind = type(action).__name__.lstrip("_").removesuffix("Action")
        flag.update(
            dest=action.dest,
            action=kind,
            type=_type_name(action.type),
            nargs=action.nargs,
            choices=None if action.choices is None else _plain(_listed(action.choices)),
            default=_default(action, own),
            required=bool(action.required),
        )
        if kind.startswith("Deprecated"):
            flag["deprecated"] = True
            new_flag = getattr(action, "new_flag", None)
            if new_flag:
                flag["new_flag"] = new_flag
        yield flag


def _default(action: argparse.Action, name: str) -> Any:
    if isinstance(action.default, str) and action.default and SECRET.search(name):
        return None
    return _plain(action.default)


def _type_name(kind: Any) -> str | None:
    return None if kind is None else getattr(kind, "__name__", type(kind).__name__)


def _listed(choices: Any) -> Any:
    """Choices as they are where JSON can say them, else as a list; a set has no order of its own."""
    return choices if isinstance(choices, (list, tuple, set, frozenset)) else list(choices)


def _plain(value: Any) -> Any:
    """A default or choice as JSON can say it; what it cannot say becomes its text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no infinity; the parser reads the word
    if value is None or isinstance(value, (bool, int, float, str)):
        return getattr(value, "value", value)  # an enumeration that is a text is its value
    if isinstance(value, (list, tuple, set, frozenset)):
        items = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
        return [_plain(each) for each in items]
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    return _plain(value.value) if hasattr(value, "value") else str(value)


def _unchecked(parser: argparse.ArgumentParser, root: Path) -> dict[str, Any]:
    """What the parser takes as plain text although only some texts will do."""
    json_flags = {}
    for action in parser._actions:
        name = next((each for each in action.option_strings if each.startswith("--")), None)
        if name is None or action.type not in (None, str) or action.nargs is not None or action.choices is not None:
            continue
        told = action.help or ""
        if isinstance(action.default, str) and action.default.startswith("{"):
            json_flags[name] = "object"
        elif JSON_NAME.search(name) and JSON_HELP.search(told) and not JSON_FILE_HELP.search(told):
            json_flags[name] = "text"  # JSON, but perhaps also a file's name
    unchecked: dict[str, Any] = {"json": json_flags}
    algorithms = speculative_algorithms(root)
    if algorithms:
        unchecked["values"] = {"--speculative-algorithm": algorithms}
    return unchecked


def speculative_algorithms(root: Path) -> list[str]:
    """The names that --speculative-algorithm knows: an enumeration in SGLang's source, and aliases beside it."""
    names: set[str] = set()
    for path in (root / "srt" / "speculative").glob("spec_*.py"):
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.ClassDef) and node.name == "SpeculativeAlgorithm":
                names.update(
                    target.id
                    for each in node.body
                    if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call)
                    for target in each.targets
                    if isinstance(target, ast.Name)
                )
            elif isinstance(node, ast.Assign) and "_RESERVED_ALIASES" in {getattr(t, "id", "") for t in node.targets}:
                names.update(
                    each.value
                    for each in ast.walk(node.value)
                    if isinstance(each, ast.Constant) and isinstance(each.value, str)
                )
    return sorted(names - {"NONE"})


# Environment variables


def env_names(root: Path) -> set[str]:
    """Every environment variable that the package's source reads by a name that stands in it."""
    names: set[str] = set()
    for path in sorted(root.rglob("*.py")):
        if not NOT_SERVED.intersection(path.relative_to(root).parts[:-1]):
            names.update(_read_names(_tree(path)))
    return names


def _tree(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError):
        return ast.Module(body=[], type_ignores=[])  # a file that this Python cannot parse, it cannot load either


def _read_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        for each in _name_nodes(node):
            if isinstance(each, ast.Constant) and isinstance(each.value, str) and ENV_NAME.fullmatch(each.value):
                yield each.value
        # SGLang's registry: NAME = EnvBool(False) in a class body.
        if isinstance(node, ast.ClassDef):
            yield from _registered(node)


def _registered(node: ast.ClassDef) -> Iterator[str]:
    for each in node.body:
        if isinstance(each, ast.Assign):
            targets, value = each.targets, each.value
        elif isinstance(each, ast.AnnAssign) and each.value is not None:
            targets, value = [each.target], each.value
        else:
            continue
        if not isinstance(value, ast.Call) or not _called(value).startswith("Env"):
            continue
        yield from (target.id for target in targets if isinstance(target, ast.Name) and ENV_NAME.fullmatch(target.id))


def _name_nodes(node: ast.AST) -> Iterator[ast.expr]:
    """Where a variable's name stands: os.getenv(NAME), os.environ[NAME], NAME in os.environ, get_env_bool(NAME) ..."""
    if isinstance(node, ast.Call):
        # Beside os.getenv and os.environ.get also SGLang's helpers: get_bool_env_var, EnvBool ...
        if re.search(r"environ\.(get|pop|setdefault)$|(^|_)(get)?env(_|s?$)|^Env", _called(node)):
            yield from node.args[:1]
            yield from (each.value for each in node.keywords if each.arg in ("deprecated_name", "replacement"))
    elif isinstance(node, ast.Subscript) and _dotted(node.value).endswith("environ") and isinstance(node.ctx, ast.Load):
        yield node.slice
    elif isinstance(node, ast.Compare) and any(_dotted(each).endswith("environ") for each in node.comparators):
        yield node.left


def _called(node: ast.Call) -> str:
    """The last two parts of what is called: ``environ.get``, ``getenv``, ``EnvBool``."""
    parts = _dotted(node.func).split(".")
    return ".".join(parts[-2:]) if parts[-2:-1] == ["environ"] else parts[-1]


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


if __name__ == "__main__":
    sys.exit(main())
