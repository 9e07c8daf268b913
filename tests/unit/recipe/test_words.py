# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words that the importer makes of shell are the words that bash makes of it."""

from __future__ import annotations

import re
import subprocess
from typing import Any

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import parser
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.arithmetic import NoArithmeticError, evaluate
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.machine import run
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import RecipeError
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.values import known
from hypothesis import given, settings
from hypothesis import strategies as st

SETUP = """\
A=one
B='two words'
C=
N=5
L=(first 'second word' third)
M=${#L[@]}
K="${L[*]}"
F=${L[@]:1:1}
export E=gone
unset E
"""
# Pieces of words. None of them names a file, and none depends on the host.
PIECES = [
    *("a", "-", "7", ".5", ":", ",", "=", "/x/y", "{", "}", "[", "]", "@", "%", "+", "é", "\\$", "\\\\", "\\{"),
    *("'single {a,b} $A'", '"double $A"', '"${B} and $N"', '""', "''", "'\"'", '"\'"', '"\\""', '"\\$A"', '"a  b"'),
    *("$M", "$K", '"$K"', "$F"),
    *("$A", "${A}", "$B", "$C", "${N}", "$E", "${L[0]}", "${L[1]}", '"${L[1]}"', "${L[N-3]}", "${L[$((N - 4))]}"),
    *('"${L[@]}"', "${L[@]}", '"${L[*]}"', "${#L[@]}", '"${!L[@]}"', '"${L[@]:1}"', '"${L[@]:0:2}"', "${C:-none}"),
    *('"${A:-none}"', "${C:+some}", "${A:+some}", "$((N + 2))", "$((N / 2 * 2))", "$(( (N - 1) % 3 ))", '"$((-N))"'),
    *(
        "{x,y}",
        "{1..3}",
        "{3..1}",
        "{0..6..3}",
        "{a,{b,c}}",
        "{a}",
        "{,z}",
        '{"a":1,"b":2}',
        '{"a": 1}',
        "$(seq 2)",
        "$(echo $A b)",
    ),
]
words = st.lists(st.sampled_from(PIECES), min_size=1, max_size=4).map("".join)
# Bash expands braces before it knows where a name ends: $A{x,y} is $Ax $Ay. No recipe wants that.
commands = st.lists(words, min_size=1, max_size=4).map(" ".join).filter(lambda text: not re.search(r"\$[A-Z]+{", text))


def by_bash(command: str) -> list[str] | None:
    script = f"{SETUP}python3() {{ shift 2; printf '%s\\0' \"$@\" end; }}\npython3 -m sglang.launch_server {command}\n"
    done = subprocess.run(
        ["/bin/bash", "-f", "-c", script], capture_output=True, env={"LC_ALL": "C.UTF-8"}, check=False
    )
    return done.stdout.decode().split("\0")[:-2] if done.returncode == 0 else None


def by_importer(command: str) -> list[str] | None:
    try:
        started = run([parser.parse(f"{SETUP}python3 -m sglang.launch_server {command}\n", 1)])
    except RecipeError:
        return None
    words = started.launches[0].words
    return [word.text for word in words] if all(known(word.value) for word in words) else None


@given(commands)
@settings(max_examples=300, deadline=None)
def test_words_are_those_of_bash(command: str) -> None:
    mine = by_importer(command)
    # What the importer refuses it refuses in words; what it accepts it must understand.
    if mine is not None:
        assert mine == by_bash(command), command


@pytest.mark.parametrize("piece", PIECES)
def test_every_piece_is_understood(piece: str) -> None:
    mine = by_importer(f"--x {piece} y")
    assert mine is not None
    assert mine == by_bash(f"--x {piece} y")


numbers = st.integers(0, 50).map(str)
expressions = st.recursive(
    st.one_of(numbers, st.sampled_from(["i", "$i", "${i}", "n"])),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*", "/", "%", "<", ">=", "==", "&&", "||"]), inner).map(
            lambda parts: f"({parts[0]} {parts[1]} {parts[2]})"
        ),
        inner.map(lambda text: f"-{text}" if not text.startswith("-") else text),
    ),
    max_leaves=8,
)


@given(expressions, st.integers(0, 9), st.integers(1, 4))
@settings(max_examples=300, deadline=None)
def test_arithmetic_is_that_of_bash(text: str, i: int, n: int) -> None:
    values = {"i": str(i), "n": str(n)}

    def lookup(name: str, _index: str | None) -> Any:
        return values[name]

    script = f"i={i}; n={n}; echo $(({text}))"
    done = subprocess.run(["/bin/bash", "-c", script], capture_output=True, text=True, check=False)
    try:
        mine = str(evaluate(text, lookup))
    except NoArithmeticError:
        assert done.returncode != 0 or "division" in done.stderr
        return
    assert done.stdout.strip() == mine, text
