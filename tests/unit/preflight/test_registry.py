# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The registry of checks, and what is said of them."""

from __future__ import annotations

import ast
import pathlib
import re

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import warning
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight import registry
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.plan_stage import PLAN_CHECKS
from ansible_collections.ascend.sglang.plugins.plugin_utils.preflight.situation import numbers, odd_ones, some

from .good import Cluster

PROJECT = pathlib.Path(__file__).resolve().parents[3]
PLUGIN_UTILS = PROJECT / "plugins" / "plugin_utils"
NAME = re.compile(r"[a-z]+(-[a-z]+)*\Z")


def imported(module: pathlib.Path, found: set[pathlib.Path]) -> set[pathlib.Path]:
    """A module of plugin_utils and all that it imports of it, but for the preflight."""
    found.add(module)
    for word in re.findall(r"plugin_utils[.\w]*(?: import \(?[\w,\s]+)?", module.read_text()):
        place, _import, names = word.partition(" import ")
        folder = PLUGIN_UTILS.joinpath(*place.split(".")[1:])
        paths = [folder.with_suffix(".py"), *(folder / f"{name}.py" for name in re.findall(r"\w+", names))]
        for path in paths:
            if path.is_file() and path not in found and "preflight" not in path.parts:
                imported(path, found)
    return found


def compiler_names() -> set[str]:
    """Names of checks in calls of `error`, `warning`, `Finding` and `Problem`."""
    found = set()
    for path in imported(PLUGIN_UTILS / "from_ansible.py", set()):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            function = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            place = {"error": 0, "warning": 0, "Finding": 1, "Problem": 1}.get(function)
            if place is None or len(node.args) <= place:
                continue
            word = node.args[place]
            if isinstance(word, ast.Constant) and isinstance(word.value, str) and NAME.match(word.value):
                found.add(word.value)
    return found


def test_every_check_of_the_compiler_is_listed():
    assert compiler_names() <= set(PLAN_CHECKS)
    assert len(compiler_names()) > 30


@pytest.mark.parametrize("one", registry.host_checks(), ids=lambda one: one.name)
def test_every_check_says_what_it_is_for_and_what_to_do(one):
    assert NAME.match(one.name)
    assert one.explains.endswith(".")
    assert len(one.explains.split()) > 4
    assert len(one.remedy.split()) > 3
    assert one.judge.__doc__


def test_names_are_unique():
    names = [one.name for one in registry.host_checks()]
    assert len(names) == len(set(names))
    assert len(names) > 25


def test_a_skipped_check_says_nothing():
    cluster = Cluster()
    cluster.clocks["d2"] = (600.0, 601.0)
    by_name = {one.check.name: one for one in registry.run(cluster.situation(), ["clock"])}
    assert by_name["clock"].skipped
    assert by_name["clock"].problems == ()
    assert not by_name["disk"].skipped


def test_unknown_names_are_refused_with_the_nearest():
    (one,) = registry.unknown_names(["clock", "weigths", "weigths"])
    assert str(one) == "sglang_preflight_skip: 'weigths' is no check. Did you mean weights or weights-equal?"
    (one,) = registry.unknown_names(["qqqq"])
    assert "Checks: " in str(one)
    assert not list(registry.unknown_names(registry.names()))


def test_findings_are_worded_as_the_compilers():
    cluster = Cluster()
    cluster["d1"]["uid"] = cluster["d2"]["uid"] = 1000
    (one,) = registry.findings(registry.run(cluster.situation()))
    assert (one.level, one.check, one.where) == ("error", "become", "hosts d1, d2")
    assert "Connect as root" in str(one)


def test_what_could_not_be_looked_at_is_no_finding():
    cluster = Cluster()
    cluster.clocks.clear()
    assert registry.findings(registry.run(cluster.situation())) == ()


def test_findings_of_skipped_checks_of_the_plan_go():
    found = [warning("mini-lb", "router", "x"), warning("interface", "host p1", "y")]
    assert [one.check for one in registry.without(found, ["mini-lb"])] == ["interface"]


def test_some_numbers_and_odd_ones():
    assert some(["a", "b"]) == "a, b"
    assert some([f"h{number}" for number in range(64)]) == "h0, h1, h2, h3, h4, h5 and 58 more"
    assert numbers([3, 1, 2, 8, 8]) == "1-3, 8"
    assert numbers([]) == ""
    assert odd_ones({"a": ["x"], "b": ["y", "z"]}) == ("b", [("a", ["x"])])
    assert odd_ones({"a": ["x"], "b": ["y"]}) == ("a", [("b", ["y"])])
    assert odd_ones({}) == (None, [])


def test_what_the_documentation_names_exists():
    text = (PROJECT / "docs" / "field-cases.md").read_text()
    named = {
        name
        for part in re.findall(r"checks? ((?:`[a-z-]+`(?:, | and )?)+)", text)
        for name in re.findall(r"[a-z-]+", part)
    }
    assert named - {"and"} <= set(registry.names())
    assert {one.name for one in registry.host_checks()} - named <= {"cann-versions", "host-identity", "versions-fit"}
    # One row for each situation.
    assert len(re.findall(r"^\| (?!situation)[^-|]", text, re.MULTILINE)) == 55
