# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventories in YAML that Ansible does not take, in the user's words.

Ansible passes over such a file, or a part of it, with a warning about Python's types, and goes on without its hosts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, error, nearest

_KEYS = ("hosts", "children", "vars")
_SUFFIXES = (".yml", ".yaml", ".json")


class _Loader(yaml.SafeLoader):
    """YAML as it stands: what a tag (`!vault`) would make of a value does not matter here."""


def _as_it_stands(loader: _Loader, _tag: str, node: yaml.Node) -> Any:
    return loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else None


_Loader.add_multi_constructor("!", _as_it_stands)


def problems(sources: Iterable[str]) -> Iterator[Finding]:
    """What is wrong with the shape of the inventory's files in YAML. Other sources are not looked into."""
    for source in sources:
        for path in _files(Path(source)):
            try:
                text = path.read_text(encoding="utf-8")
                yield from shape(str(path), text)
            except (OSError, UnicodeDecodeError) as problem:
                yield error("inventory", str(path), f"it cannot be read: {problem}", "Mend the file or its permissions")


def _files(source: Path) -> list[Path]:
    if source.is_dir():
        return sorted(path for path in source.iterdir() if path.suffix in _SUFFIXES and path.is_file())
    return [source] if source.suffix in _SUFFIXES and source.is_file() else []


def shape(where: str, text: str) -> Iterator[Finding]:
    """What is wrong with one file."""
    try:
        content = yaml.load(text, _Loader)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        said = getattr(problem, "problem", None) or str(problem)
        yield error("inventory", where, f"{line}it is no YAML: {said}", "Mend that line, or one before it")
        return
    if content is None or (isinstance(content, Mapping) and "plugin" in content):
        return
    if not isinstance(content, Mapping):
        do = "Write a mapping: the group's name, a colon, and below it `hosts:` with a line `NAME:` for each host"
        yield error("inventory", where, f"it is {_kind(content)}, and an inventory is a mapping of groups", do)
        return
    for name, body in content.items():
        yield from _group(where, str(name), body)


def _group(where: str, name: str, body: Any) -> Iterator[Finding]:
    place = f"{where}, group {name}"
    if body is None:
        return
    if not isinstance(body, Mapping):
        do = f"Write `{name}:` and below it `hosts:` with a line `NAME:` for each host"
        yield error("inventory", place, f"it is {_kind(body)}, and a group is a mapping", do)
        return
    for key in map(str, body):
        if key not in _KEYS:
            do = nearest(key, _KEYS, 1) or f"A group has {', '.join(_KEYS)}; variables stand below vars"
            yield error("inventory", place, f"{key!r} is nothing that a group has", do)
    yield from _hosts(place, body.get("hosts"))
    if body.get("vars") is not None and not isinstance(body["vars"], Mapping):
        do = "Write each variable as a line `NAME: VALUE` below vars"
        yield error("inventory", place, f"vars is {_kind(body['vars'])}, and has to be a mapping", do)
    children = body.get("children")
    if isinstance(children, Mapping):
        for child, inner in children.items():
            yield from _group(where, str(child), inner)
    elif children is not None and not isinstance(children, str):
        do = "Write each group as a line `NAME:` below children"
        yield error("inventory", place, f"children is {_kind(children)}, and has to be a mapping", do)


def _hosts(place: str, hosts: Any) -> Iterator[Finding]:
    # One name alone is taken by Ansible.
    if hosts is None or isinstance(hosts, str):
        return
    if not isinstance(hosts, Mapping):
        names = (
            [str(one) for one in hosts] if isinstance(hosts, list) and all(_plain(one) for one in hosts) else ["NAME"]
        )
        do = f"Write each host as a line of its own with a colon: {' '.join(f'`{name}:`' for name in names[:4])}"
        yield error("inventory", place, f"hosts is {_kind(hosts)}, and has to be a mapping", do)
        return
    for name, variables in hosts.items():
        if variables is not None and not isinstance(variables, Mapping):
            do = f"Write the host's variables as a mapping: `{name}: {{ansible_host: {variables}}}`"
            yield error("inventory", f"{place}, host {name}", f"its value is {_kind(variables)}, not variables", do)


def _plain(value: Any) -> bool:
    return isinstance(value, (str, int, float))


def _kind(value: Any) -> str:
    if isinstance(value, list):
        listed = ", ".join(str(one) for one in value[:4]) if all(map(_plain, value)) else ""
        return f"a list ({listed}{', ...' if len(value) > 4 else ''})" if listed else "a list"
    if isinstance(value, Mapping):
        return "a mapping"
    return f"the text {value!r}" if isinstance(value, str) else f"the value {value!r}"
