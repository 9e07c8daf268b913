# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a benchmark's command asks for: how many requests, of how many tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# The parser's own defaults, the same in all known versions.
_NUM_PROMPTS, _GROUPS, _PROMPTS_PER_GROUP = 1000, 64, 16
_RANDOM_OUTPUT, _GSP_OUTPUT = 1024, 256
_PAGE_DATASET = "sharegpt"


@dataclass(frozen=True)
class Load:
    """requests: how many it means to send. output_len: tokens of every answer, where all are the same and none may end
    early; None otherwise. rate, concurrency: requests that are begun in a second, and under way at once."""

    dataset: str
    requests: int
    output_len: int | None
    rate: str
    concurrency: str

    def __str__(self) -> str:
        rate = "all at once" if self.rate == "inf" else f"{self.rate} requests/s"
        return f"dataset {self.dataset}, {rate}, {self.concurrency} under way at most"


def flags(argv: Sequence[Any]) -> dict[str, list[Any]]:
    """Flag with its dashes -> the words behind it, a repeated flag's one after the other. A secret is its mapping."""
    found: dict[str, list[Any]] = {}
    name = None
    for word in argv[3:]:
        if isinstance(word, str) and word.startswith("--"):
            name = word
            found.setdefault(name, [])
        elif name is not None:
            found[name].append(word)
    return found


def load(argv: Sequence[Any]) -> Load:
    """The load of a planned benchmark's command."""
    given = flags(argv)

    def text(name: str, default: str) -> str:
        words = given.get(name) or [default]
        return str(words[-1])

    def whole(name: str, default: int) -> int:
        try:
            return int(text(name, str(default)))
        except ValueError:
            return default

    dataset = text("--dataset-name", _PAGE_DATASET)
    shared = dataset == "generated-shared-prefix"
    requests = whole("--num-prompts", _NUM_PROMPTS)
    if shared:
        requests = whole("--gsp-num-groups", _GROUPS) * whole("--gsp-prompts-per-group", _PROMPTS_PER_GROUP)
    return Load(
        dataset=dataset,
        requests=requests,
        output_len=_output_len(given, text, whole, dataset),
        rate=text("--request-rate", "inf"),
        concurrency=text("--max-concurrency", "any number"),
    )


def _output_len(given: Mapping[str, Any], text: Any, whole: Any, dataset: str) -> int | None:
    if "--disable-ignore-eos" in given or "--extra-request-body" in given:
        return None
    if dataset == "generated-shared-prefix":
        return int(whole("--gsp-output-len", _GSP_OUTPUT)) if float(text("--gsp-range-ratio", "1")) == 1 else None
    if dataset in ("random", "random-ids", "image") and float(text("--random-range-ratio", "0")) == 1:
        return int(whole("--random-output-len", _RANDOM_OUTPUT))
    return None
