# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A configuration that was kept, put back: with the code that is no configuration and is not kept."""

from __future__ import annotations

from ansible_collections.ascend.sglang.plugins.module_utils import reconcile, unit_file
from ansible_collections.ascend.sglang.plugins.module_utils.files import Found
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout
from ansible_collections.ascend.sglang.plugins.module_utils.plan_service import parse


def kept(decode: dict, *paths: str) -> dict[str, Found]:
    layout, unit = Layout(), decode["unit"]
    text = unit_file.render(parse(decode), unit_file.UnitOptions(), "launch").text
    files = {layout.unit_file(unit): text, layout.launch(unit): "launch", **dict.fromkeys(paths, "{}")}
    return {path: Found(content.encode(), 0o644, 0, 0) for path, content in files.items()}


def names(desired: reconcile.Desired) -> list[str]:
    return [file.path.rpartition("/sglang-decode/")[2] for file in desired.files]


def test_a_guard_comes_back_with_its_code(decode):
    layout, unit = Layout(), decode["unit"]
    found = kept(decode, layout.guard_config(unit))
    assert "guard/__init__.py" in names(reconcile.restored(unit, found, layout))


def test_code_that_is_there_stays_as_it_is(decode):
    layout, unit = Layout(), decode["unit"]
    found = kept(decode, layout.guard_config(unit), f"{layout.guard_code(unit)}/__init__.py")
    assert names(reconcile.restored(unit, found, layout)).count("guard/__init__.py") == 1


def test_without_a_guard_there_is_no_code(decode):
    assert not any("guard" in name for name in names(reconcile.restored(decode["unit"], kept(decode), Layout())))
