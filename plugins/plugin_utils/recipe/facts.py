# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The facts of a recipe: what the page's table says about it, and the published figures among them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.elements import Table

# The keys of the pages, as a profile spells them.
_KEYS = ("Model", "Hardware", "Cards", "Deploy Mode", "Quantization", "Dataset", "TPOT", "TTFT")
# Not a fact but what the copied page has between them: how the figures of the dataset are to be read.
_ASIDE = ("Format",)
_ONE = re.compile(
    r"\s*[-*+]?\s*(?:\*\*|__)?([A-Za-z][\w /()&-]{0,40}?)\s*(?:\*\*|__)?\s*[:\uff1a]\s*(?:\*\*|__)?\s*(.+?)\s*"
)
_FIGURES = {"TPOT": "tpot_ms", "TTFT": "ttft_ms"}


def _canonical(key: str) -> str:
    bare = re.sub(r"[^a-z]", "", key.lower())
    return next((known for known in (*_KEYS, *_ASIDE) if re.sub(r"[^a-z]", "", known.lower()) == bare), key.strip())


def begins_facts(line: str) -> bool:
    """Whether a line of copied text is the line of facts under a recipe's title."""
    found = _ONE.fullmatch(line)
    return bool(found) and _canonical(found[1] if found else "") in (*_KEYS, *_ASIDE)


def parse_line(line: str, columns: Iterable[str] = ()) -> Mapping[str, str]:
    """The facts on a line: ``**Model**: DeepSeek-R1``, or all of them one behind the other as browsers copy them.

    columns: further keys, from the heads of the page's tables.
    """
    keys = sorted({*_KEYS, *_ASIDE, *columns, "DeployMode"}, key=len, reverse=True)
    marks = list(
        re.finditer(rf"(?:^|\s)({'|'.join(map(re.escape, keys))})\s*[:\uff1a]\s*", re.sub(r"\*\*|__", "", line))
    )
    text = re.sub(r"\*\*|__", "", line)
    if len(marks) >= 2 and not text[: marks[0].start()].strip(" -*+"):
        ends = [*(mark.start() for mark in marks[1:]), len(text)]
        return {_canonical(mark[1]): text[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)}
    found = _ONE.fullmatch(line)
    return {_canonical(found[1]): re.sub(r"\*\*|__|`", "", found[2]).strip()} if found else {}


def parse_table(table: Table) -> list[tuple[Mapping[str, str], str | None]]:
    """The facts of each row (with the anchor that it links to), or of the one recipe of a table of keys and values."""
    if not table.rows:
        return []
    head = [_canonical(cell.text) for cell in table.rows[0]]
    if sum(key in _KEYS for key in head) >= 2:
        rows: list[tuple[Mapping[str, str], str | None]] = []
        for row in table.rows[1:]:
            pairs = [(key, cell) for key, cell in zip(head, row, strict=False) if key]
            link = next((cell.link for _unused, cell in pairs if cell.link), None)
            facts = {key: cell.text for key, cell in pairs if cell.text and key.lower() != "configuration"}
            rows.append((facts, link))
        return rows
    own = [(_canonical(row[0].text), row[1].text) for row in table.rows if len(row) == 2]
    if len(own) == len(table.rows) and sum(key in _KEYS for key, _unused in own) >= 2:
        return [({key: text for key, text in own if text and key.lower() != "configuration"}, None)]
    return []


def columns(tables: Sequence[Table]) -> set[str]:
    """The heads of the tables of facts."""
    return {
        cell.text
        for table in tables
        if table.rows and sum(_canonical(cell.text) in _KEYS for cell in table.rows[0]) >= 2
        for cell in table.rows[0]
        if cell.text and cell.text.lower() != "configuration"
    }


def without_asides(facts: Mapping[str, str]) -> dict[str, str]:
    """The facts that a profile holds."""
    return {key: text for key, text in facts.items() if key not in _ASIDE and text}


def matches_title(facts: Mapping[str, str], title: str) -> bool:
    """Whether a table's row can only be about the recipe with this title: cards, quantization and figure are in it."""
    words = set(re.split(r"[\s]+", title.lower()))
    wanted = []
    if "Cards" in facts:
        wanted.append(f"{facts['Cards']}p".lower())
    if "Quantization" in facts:
        wanted.append(facts["Quantization"].split()[0].lower())
    wanted.extend(facts[key].replace(" ", "").lower() for key in _FIGURES if key in facts)
    if "Dataset" in facts:
        wanted.extend(_dataset_words(facts["Dataset"].lower()))
    unwanted = {word for word in words if re.fullmatch(r"prefix\d+", word)} - set(wanted)
    return len(wanted) >= 2 and all(word in words for word in wanted) and not unwanted


def _dataset_words(dataset: str) -> Iterator[str]:
    """The words of a title for ``3.5k+1.5k``, ``64k+1k (90% prefix cache hit rate)``, ``1024x1024 (30)+1024``."""
    lengths = re.match(r"([\d.]+)k\+([\d.]+)k", dataset)
    if lengths:
        yield f"in{_length(lengths[1])}"
        yield f"out{_length(lengths[2])}"
    elif image := re.match(r"\d+x\d+|\d+p", dataset):
        yield f"in{image[0]}"
    if prefix := re.search(r"\((\d+)%", dataset):
        yield f"prefix{prefix[1]}"


def _length(text: str) -> str:
    whole, _unused, part = text.partition(".")
    return f"{whole}k{part}"


def published(facts: Mapping[str, str]) -> dict[str, int | float]:
    """The figures of the facts in milliseconds: ``TPOT: 18.9ms`` is ``tpot_ms: 18.9``."""
    found: dict[str, int | float] = {}
    for key, name in _FIGURES.items():
        figure = re.search(r"(\d+(?:\.\d+)?)\s*(ms|s|sec|seconds?)?\b", facts.get(key, ""), re.IGNORECASE)
        if figure:
            number = float(figure[1]) if "." in figure[1] else int(figure[1])
            if figure[2] and figure[2].lower() != "ms":
                number = round(number * 1000, 6)
                number = int(number) if number == int(number) else number
            found[name] = number
    return found


def is_about(facts: Mapping[str, str]) -> bool:
    """Whether these are facts about a recipe: prose with a colon in it is none."""
    return sum(key in facts for key in _KEYS) >= 2


def different_figures(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """The keys of figures that differ: cards and measured times. Names of models and modes are spelled variously."""
    figures = [key for key in ("Cards", *_FIGURES) if key in first and key in second]
    return [key for key in figures if re.findall(r"[\d.]+", first[key]) != re.findall(r"[\d.]+", second[key])]
