# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values come in as Ansible has them or as the command line has them, and leave as builtins of the declared type."""

from __future__ import annotations

import collections
import datetime
import types
from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import ValueTypeError, coerce, describe, plain
from hypothesis import given
from hypothesis import strategies as st


class TaggedStr(str):
    """Like ansible-core 2.19's: a subclass that gives itself back."""

    def itself(self):
        return self

    __str__ = itself


class TaggedInt(int):
    pass


class TaggedFloat(float):
    pass


class Vault(collections.UserString):
    """Like ansible-core 2.17's vault text: a sequence that is no str."""

    __ENCRYPTED__ = True


def types_in(value: Any) -> set[type]:
    if isinstance(value, dict):
        return {dict}.union(*(types_in(item) for pair in value.items() for item in pair))
    if isinstance(value, list):
        return {list}.union(*(types_in(item) for item in value))
    return {type(value)}


def test_plain_values_are_builtins_all_the_way_down():
    value = types.MappingProxyType(
        {TaggedStr("a"): (TaggedInt(1), TaggedFloat(0.5), TaggedStr("x"), None, True), "b": collections.UserList([])}
    )
    assert plain(value) == {"a": [1, 0.5, "x", None, True], "b": []}
    assert types_in(plain(value)) == {dict, list, int, float, str, bool, type(None)}


def test_vault_text_is_text_and_no_list_of_characters():
    assert plain(Vault("secret")) == "secret"


def test_a_date_of_yaml_becomes_its_text():
    assert plain(datetime.date(2026, 1, 2)) == "2026-01-02"


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_plain_changes_no_builtin(value):
    assert plain(value) == value


@pytest.mark.parametrize(
    ("kind", "value", "typed"),
    [
        ("int", 16, 16),
        ("int", "16", 16),
        ("int", " 16 ", 16),
        ("int", "-1", -1),
        ("bool", True, True),
        ("bool", "true", True),
        ("bool", "Yes", True),
        ("bool", "on", True),
        ("bool", 1, True),
        ("bool", "false", False),
        ("bool", "no", False),
        ("bool", 0, False),
        ("str", "x", "x"),
        ("str", 8000, "8000"),
        ("str", 0.5, "0.5"),
        ("list", ["a"], ["a"]),
        ("list", '["a", 1]', ["a", 1]),
        ("dict", {"a": 1}, {"a": 1}),
        ("dict", '{"prefill": 3}', {"prefill": 3}),
    ],
)
def test_the_command_lines_text_becomes_the_declared_type(kind, value, typed):
    assert coerce(value, kind) == typed
    assert type(coerce(value, kind)) is type(typed)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("int", "sixteen", "a whole number is needed, not the text 'sixteen'"),
        ("int", "16.0", "a whole number is needed, not the text '16.0'"),
        ("int", 16.5, "a whole number is needed, not the number 16.5"),
        ("int", True, "a whole number is needed, not true"),
        ("int", [16], "a whole number is needed, not a list"),
        ("bool", "maybe", "true or false is needed, not the text 'maybe'"),
        ("bool", 2, "true or false is needed, not the number 2"),
        ("bool", {}, "true or false is needed, not a mapping"),
        ("str", ["a"], "text is needed, not a list"),
        ("str", {"a": 1}, "text is needed, not a mapping"),
        ("str", True, "text is needed, not true"),
        ("list", "a,b", "a list is needed, not the text 'a,b' (on the command line write it as JSON)"),
        ("list", {"a": 1}, "a list is needed, not a mapping"),
        ("list", "5", "a list is needed, not the number 5"),
        (
            "dict",
            "host=1.2.3.4",
            "a mapping is needed, not the text 'host=1.2.3.4' (on the command line write it as JSON)",
        ),
        ("dict", "[1]", "a mapping is needed, not a list"),
        ("dict", ["a"], "a mapping is needed, not a list"),
    ],
)
def test_another_type_is_refused_in_words(kind, value, message):
    with pytest.raises(ValueTypeError) as caught:
        coerce(value, kind)
    assert str(caught.value) == message


def test_a_long_text_is_cut_in_messages():
    assert len(describe("x" * 5000)) < 200
