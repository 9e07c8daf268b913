# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the importer does not know is an error with page, line and a way out; and all errors come at once."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, error_text
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import parser

from .importing import PAGES, block, imported

LAUNCH = "python3 -m sglang.launch_server --model-path /m --tp-size 2"
ARRAYS = ["P_IP=('<your prefill ip1>' '<your prefill ip2>')", "MINE=`hostname -I`"]


def error_of(text: str) -> str:
    with pytest.raises(CompileError) as raised:
        imported(text)
    return error_text(raised.value.findings)


# Each begins in line 8 of the page.
UNKNOWN = {
    "a case statement": ['case "$1" in prefill) ;; esac'],
    "a while loop": ["while true; do sleep 1; done"],
    "a function": ["start() { echo; }"],
    "a subshell": ["(export A=1)"],
    "a here-document": ["cat <<EOF > file", "x", "EOF"],
    "a here-string": ["read A <<< x"],
    "a process substitution": ["source <(cat x)"],
    "a special variable": ["export A=$1"],
    "an expansion of this form": ["export A=${B%.*}"],
    "a string with $'…'": ["export A=$'x'"],
    "the command 'frobnicate'": ["frobnicate --now"],
    "the command 'numactl'": ["numactl --cpunodebind=0 python3 -m sglang.launch_server --tp-size 2"],
    "starts no module": ["python3 start.py"],
    "python -m vllm.entrypoints is none": ["python3 -m vllm.entrypoints --port 1"],
    "this pipe": ["seq 3 | sort"],
    "depends on the host": ["if [[ -f /opt/x ]]; then export A=1; fi"],
    "the variable A is what $(nproc) prints, which depends on the host": ["export A=$(nproc)"],
    "whether '$NODE' is 'a' depends on the host": ['if [ "$NODE" = a ]; then export A=1; fi'],
    "no array P_IP": ["echo x > ${P_IP[0]}"],
    "P_IP[3] is used, but P_IP has 2 elements": [*ARRAYS[:1], "export A=${P_IP[3]}"],
    "is no whole number": ["A=x", "export B=$((A + 1))"],
    "divides by zero": ["export B=$((1 / 0))"],
    "more than 1000 rounds": ["for ((i=0; i>=0; i++)); do :; done"],
    "sets no kernel setting": ["sysctl -p"],
    "sourced with arguments": ["source /x/set_env.sh --cxx_abi=0"],
    "which file $HOME/x.sh is depends": ["source $HOME/x.sh"],
    "this is not understood as shell": ["echo )"],
    "is used in a form that is not understood": ['test "$A" = b'],
    "no declaration that recipes": ["declare -A MAP"],
    "docker starts SGLang in a way that is not understood": [f'docker run image bash -c "{LAUNCH}"'],
    "ssh starts SGLang in a way": [f"ssh node1 '{LAUNCH}'"],
    "the command 'eval'": [f'eval "{LAUNCH}"'],
    "is an array, and an array cannot be exported": ["A=(1 2)", "export A"],
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_unknown_construct(what: str) -> None:
    lines = UNKNOWN[what]
    message = error_of(block(*lines, LAUNCH))
    assert what in message
    at = 8 + next((place for place, line in enumerate(lines) if line not in ARRAYS and not line.startswith("A=")), 0)
    assert message.startswith(f"page.md, line {at} (Test-1B BF16 1P IN1K OUT1K 9ms): ")
    # What to do about it comes last.
    assert message.count(". ") >= 1
    assert message.endswith(".")


WRONG_FLAGS = {
    "'extra' behind --tp-size belongs to no flag": "--tp-size 4 extra",
    "--device needs a value and has none": "--device --port 1",
    "--trust-remote-code takes no value, but 'true' follows it": "--trust-remote-code true",
    "-tp is no flag of sglang.launch_server": "-tp 4",
    '{"a": } stands unquoted and is no JSON': '--model-loader-extra-config {"a": }',
    "--served-model-name uses $NAME, which the page never sets": "--served-model-name $NAME",
    "--nnodes 0 of mixed is no number of nodes": "--nnodes 0",
    "--nnodes x of mixed is no number of nodes": "--nnodes x",
}


@pytest.mark.parametrize("what", WRONG_FLAGS)
def test_wrong_flag(what: str) -> None:
    assert f"page.md, line 8 (Test-1B BF16 1P IN1K OUT1K 9ms): {what}" in error_of(
        block(f"{LAUNCH} {WRONG_FLAGS[what]}")
    )


def loop(*inside: str) -> list[str]:
    return [*ARRAYS, 'for i in "${!P_IP[@]}"; do', 'if [[ $MINE == "${P_IP[$i]}" ]]; then', *inside, "fi", "done"]


PREFILL = f"{LAUNCH} --disaggregation-mode prefill --host ${{P_IP[$i]}}"
DIFFERENT = {
    "the variable X differs between the mixed hosts": loop("export X=$((i * i + 1))x", LAUNCH),
    "--max-running-requests differs between the mixed hosts": loop(f"{LAUNCH} --max-running-requests ${{i}}0x"),
    "not all of them have the flag device": loop(
        'if [ $i -eq 0 ]; then EXTRA="--device npu"; else EXTRA=; fi', f"{LAUNCH} $EXTRA"
    ),
    "not all of them have the variable ONE": loop("[ $i -eq 1 ] && export ONE=1", LAUNCH),
    "starts prefill servers and no decode server": loop(PREFILL),
    "a server without --disaggregation-mode stands beside": [*loop(PREFILL), LAUNCH],
}


@pytest.mark.parametrize("what", DIFFERENT)
def test_hosts_that_are_not_alike(what: str) -> None:
    assert what in error_of(block(*DIFFERENT[what]))


@pytest.mark.parametrize(
    ("lines", "what"),
    [
        ([f'eval "{LAUNCH}"'], "line 8 (Test-1B BF16 1P IN1K OUT1K 9ms): the command 'eval' is none"),
        ([f"docker exec box {LAUNCH}"], "line 8 (Test-1B BF16 1P IN1K OUT1K 9ms): docker starts SGLang in a way"),
        (["START=sglang.launch_server"], "line 1 (Test-1B BF16 1P IN1K OUT1K 9ms): no command of Test-1B"),
    ],
)
def test_a_recipe_of_which_no_server_is_left_is_no_profile(lines: list[str], what: str) -> None:
    assert what in error_of(block(*lines))


@pytest.mark.parametrize("line", ["pkill -9 -f sglang.launch_server", "# python3 -m sglang.launch_server --tp 8"])
def test_what_only_names_a_server_makes_no_recipe(line: str) -> None:
    page = block(LAUNCH) + block(line, title="Stop")
    assert [each.name for each in imported(page).profiles] == ["test-1b-bf16-1p-in1k-out1k-9ms"]


def test_all_errors_come_at_once() -> None:
    text = block("frobnicate", LAUNCH) + block(LAUNCH, "mangle", title="Other-2B BF16 1P IN1K OUT1K 8ms")
    lines = error_of(text).split("\n")
    assert len(lines) == 2
    assert "line 8 (Test-1B" in lines[0]
    assert "line 19 (Other-2B" in lines[1]


@pytest.mark.parametrize("text", ["", "# A page\n\nof prose\n", "```bash\npip install sglang\n```\n"])
def test_a_page_without_recipes(text: str) -> None:
    assert error_of(text) == (
        "page.md: no recipe is in it: no shell block starts sglang.launch_server. "
        "Give a page of SGLang's Ascend documentation, as Markdown or copied text."
    )


def test_without_the_parser_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "PARSER_ERROR", "No module named 'tree_sitter'")
    message = error_of((PAGES / "json.md").read_text())
    assert "the Python libraries that parse shell are missing on the controller" in message
    assert "pip install tree-sitter tree-sitter-bash" in message
