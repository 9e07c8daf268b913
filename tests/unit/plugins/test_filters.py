# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters that are called with something else than an inventory say so, in words."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

NAMES = ("bootstrap_ports", "node_ranks", "service_env", "services", "topology")
GROUPS = {"all": ["p1"], "prefill": ["p1"]}


def called(name: str, *arguments: Any) -> Any:
    module = importlib.import_module(f"ansible_collections.ascend.sglang.plugins.filter.{name}")
    return module.FilterModule().filters()[name](*arguments)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((GROUPS,), "expected `groups | ascend.sglang.{0}(hostvars)`, not dict and NoneType"),
        (("prefill", {}), "expected `groups | ascend.sglang.{0}(hostvars)`, not str and dict"),
        ((GROUPS, GROUPS), "hostvars has no variables of p1, which is in group all"),
        ((GROUPS, {}), "hostvars has no variables of p1, which is in group all"),
        ((GROUPS, {"p1": None}), "hostvars has no variables of p1, which is in group all"),
        (({"prefill": "p1"}, {"p1": {}}), "group prefill must be a list of hosts, not the text 'p1'"),
        (({"prefill": None}, {}), "group prefill must be a list of hosts, not nothing"),
        (({"prefill": {"p1": {}}}, {"p1": {}}), "group prefill must be a list of hosts, not a mapping"),
    ],
)
def test_wrong_arguments(name: str, arguments: tuple[Any, ...], says: str) -> None:
    with pytest.raises(TypeError) as caught:
        called(name, *arguments)
    assert str(caught.value) == f"ascend.sglang.{name}: {says.format(name)}"
