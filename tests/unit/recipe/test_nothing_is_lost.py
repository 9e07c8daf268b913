# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nothing of a page is lost in silence."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.emit import emit

from .importing import PAGES, block, imported, page, said

NAMES = sorted(path.name for path in PAGES.iterdir() if path.suffix in (".md", ".mdx", ".txt"))


def mentioned(text: str) -> Iterator[tuple[int, str]]:
    """Line and name of every export, unset, sourced file, kernel setting and flag, as a reader would spot them."""
    hidden = re.sub(r"\{/\*.*?\*/\}", lambda found: "\n" * found[0].count("\n"), text, flags=re.DOTALL)
    for number, text_of_line in enumerate(hidden.split("\n"), 1):
        line = re.sub(r"\$\(.*?\)+", "", text_of_line)
        for verb, names in re.findall(r"\b(export|unset|source|sysctl)\s+([^;&|<]*)", line):
            for name in names.split():
                bare = name.strip("'\"").split("=")[0]
                if re.fullmatch(r"[A-Za-z_/][\w./-]*", bare) and (verb != "source" or "/" in bare):
                    yield number, bare
        for flag in re.findall(r"(?<![\w-])--([a-z][\w-]+)", line):
            yield number, flag


def held(data: Any) -> set[str]:
    """Every name that a profile holds, also as the page spells it."""
    names = set(data["host"]["sysctl"])
    for body in [*data["roles"].values(), data["benchmark"] or {}]:
        names |= {*body.get("args", ()), *body.get("env", ()), *body.get("unset", ()), *body.get("source", ())}
        names |= {spelling["flag"] for spelling in body.get("page", {}).values() if "flag" in spelling}
    return names


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_in_a_profile_or_in_the_report_with_its_line(name: str) -> None:
    result = page(name)
    names = set().union(*(held(yaml.safe_load(emit(profile.data))) for profile in result.profiles))
    noted = said(result)
    for line, thing in mentioned((PAGES / name).read_text()):
        assert thing in names or any(at == line and thing in text for at, _x, text in noted), f"{name}:{line}: {thing}"


LAUNCH = "python3 -m sglang.launch_server --model-path /m --tp-size 2"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["export A=1", "export A=2", LAUNCH], (8, "warning", "export A: line 9 says it again, and that counts")),
        ([LAUNCH, "export A=1"], (9, "warning", "export A: nothing is started with it")),
        (
            ["A=1", "unset A", "export B=$C", LAUNCH],
            (10, "warning", "export B: the page never sets C: the host's own is used"),
        ),
        (["# export A=1", LAUNCH], (8, "note", "export A: it stands in a comment")),
        (["docker run --rm x", LAUNCH], (8, "note", "docker run --rm x: docker is no part of what a recipe starts")),
        (
            ["ulimit -l unlimited", LAUNCH],
            (8, "warning", "ulimit -l unlimited: ulimit is no part of what a recipe starts"),
        ),
        (
            [f"{LAUNCH} --tp-size 4"],
            (8, "warning", "--tp-size 2: line 8 gives it again, and the last one counts"),
        ),
        (
            [f"{LAUNCH} \\", "  # a remark", "  --device npu"],
            (
                10,
                "warning",
                "--device npu: the shell does not pass it to the command above: that ended with a comment or without a "
                "backslash",
            ),
        ),
        (
            [f"{LAUNCH} --frobnicate 3"],
            (8, "warning", "--frobnicate: SGLang 0.5.13.post1 has no such flag. The profile has it as it stands"),
        ),
        (
            [f"{LAUNCH} --chunked-prefil-size 3"],
            (
                8,
                "warning",
                "--chunked-prefil-size: SGLang 0.5.13.post1 has no such flag; did you mean --chunked-prefill-size or "
                "--disable-chunked-prefix-cache? "
                "The profile has it as it stands",
            ),
        ),
        (
            ["sysctl -w vm.swappiness=10", "sysctl -w vm.swappiness=0", LAUNCH],
            (
                8,
                "warning",
                "vm.swappiness 10: line 9 sets it to 0, and that counts: a host has one value for all services",
            ),
        ),
        (
            [f"{LAUNCH} --disaggregation-mode text"],
            (
                8,
                "warning",
                "--disaggregation-mode text: 'text' is no value that SGLang 0.5.13.post1 takes for "
                "--disaggregation-mode. The profile has it as it stands",
            ),
        ),
        (
            [f"{LAUNCH} --served-model-name \u201cmist\u201d"],
            (
                8,
                "warning",
                "--served-model-name \u201cmist\u201d: these quotation marks are none to a shell: "
                "they are part of the value",
            ),
        ),
        (["sysctl -w vm.drop_caches=3", LAUNCH], (8, "note", "sysctl vm.drop_caches=3: it acts once and sets nothing")),
        (
            ["echo never > /sys/kernel/mm/transparent_hugepage/enabled", LAUNCH],
            (
                8,
                "warning",
                "never > /sys/kernel/mm/transparent_hugepage/enabled: a profile has no place for what is in that file",
            ),
        ),
        (
            [f"{LAUNCH} --served-model-name <your-name>"],
            (8, "warning", "--served-model-name <your-name>: the page leaves it open: set it with sglang_mixed_args"),
        ),
    ],
)
def test_what_is_left_out_is_said(lines: list[str], expected: tuple[int, str, str]) -> None:
    result = imported(block(*lines))
    near = [note for note in said(result) if note[0] == expected[0]]
    assert expected in near


def test_blocks_outside_of_recipes_and_of_other_languages_are_said() -> None:
    text = "```bash\nexport EARLY=1\n```\n" + block(LAUNCH) + "```json\n--not-shell\n```\nUse `--spoken-of` too.\n"
    result = imported(text)
    texts = [text for _unused, _unused, text in said(result)]
    assert "export EARLY: 'page' starts no server" in texts
    assert "--not-shell: the block is no shell" in texts
    assert "--spoken-of: it is mentioned in the page's prose" in texts


def test_what_a_block_beside_the_recipe_does_is_said() -> None:
    text = block(LAUNCH) + "```bash\npython3 evaluate.py --shots 5\n```\n"
    (profile,) = imported(text).profiles
    assert profile.data["benchmark"] is None
    expected = (
        "'python3 evaluate.py --shots 5' starts no module (python3 -m module): "
        "the block starts and sets nothing that a recipe has"
    )
    assert (11, "warning", expected) in said(profile)


def test_a_benchmark_in_a_loop_is_taken_once() -> None:
    bench = "for c in 1 2; do python3 -m sglang.bench_serving --max-concurrency $c; done"
    (profile,) = imported(block(LAUNCH) + f"```bash\n{bench}\n```\n").profiles
    assert profile.data["benchmark"]["args"] == {"max-concurrency": 1}
    assert (11, "warning", "the benchmark runs several times: its first run is taken") in said(profile)
