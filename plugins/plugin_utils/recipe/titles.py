# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Titles: which of a page's headings name recipes, and the names that profiles get from them."""

from __future__ import annotations

import re
import unicodedata

_PART = r"(prefill|decode|router|mixed|mini-?lb|proxy|gateway|load balancer|server|service|client|node|host|instance)s?"
# Headings inside a recipe, in any case.
_SECTIONS = [
    r"(model|server|service|online|online service)? ?deploy(ment|ing)?",
    r"(launch|start|run|serve|serving)(ing|ning)?( (the|a))?( (command|script|server|service|model|router|sglang))?s?",
    rf"{_PART}( ?(and|&|/) ?{_PART})?( (command|launch|deployment|side))?( ?[\d/]+)?",
    rf"{_PART} {_PART}( ?[\d/]+)?",
    r"(sglang )?(model )?(gateway|router)\b.*",
    r"(using |the |performance )?bench(mark(s|ing)?)?( .*)?",
    r"(shared |common )?environment( .*)?",
    r"(functional )?verif(y|ication)( .*)?|(accuracy|performance)( (evaluation|tests?|testing|tuning))?",
    r"test(s|ing)?( .*)?",
    r"commands?|usage|notes?|results?|parameters?|key parameters.*|configuration|prerequisites?|preparation|set-?up",
    r"scripts?|examples?|faq|step ?\d*.*|evaluation",
]
_SECTION = re.compile("|".join(f"({section})" for section in _SECTIONS), re.IGNORECASE)
# What the titles of recipes hold and no section does: cards, quantization, a measured time, a topology, lengths.
_RECIPE = re.compile(
    r"\b(\d+\s?(p|cards?)|w\d+a\d+\w*|[\d.]+\s?ms|\d+p\d+d|[\d.]+b|in\d\w*|out\d\w*|(bf|fp|int)\d+|[\d._]+k[-+][\d._]+k)\b",
    re.IGNORECASE,
)


def _bare(text: str) -> str:
    return re.sub(r"^\d+[.)]\s+", "", text.strip()).rstrip(":.").strip()


def is_section(text: str) -> bool:
    """Whether the heading names a part of a recipe ("Model Deployment", "BENCHMARK") and no recipe."""
    return bool(_SECTION.fullmatch(_bare(text))) and not _RECIPE.search(text)


def qualified(title: str, page_title: str | None) -> str:
    """A title that says which model it is about: the page's is put in front where a title leaves it to the page."""
    if not page_title or _RECIPE.search(title):
        return title
    model = page_title.split()[0].lower()
    return title if model in title.lower() else f"{page_title} {title}"


def slug(title: str) -> str:
    """A title as a profile's name: lower case, words joined by dashes; empty where no letter of it is a Latin one."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")


def same_anchor(anchor: str, title: str) -> bool:
    """Whether a link leads to the title; sites differ in what they make of dots and blanks."""

    def bare(text: str) -> str:
        return re.sub(r"[^a-z0-9]", "", text.lower())

    return bare(anchor) == bare(title)
