# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Titles: which of a page's headings name recipes, and the names that profiles get from them."""

from __future__ import annotations

import re

# Headings inside a recipe, in any case.
_SECTION = re.compile(
    r"((model|server|service|router|prefill|decode|pd|mixed|node|host|cluster)\b.*\b)?"
    r"(model\s+)?(deploy\w*|launch\w*|start\w*|run\w*|serv(e|ing)\w*|command\w*|usage|setup|router\w*|prefill\w*|decode\w*|mixed"
    r"|mini-?lb|load\s?balanc\w*|environment\w*|prerequisites?|preparation|step|test\w*|benchmark\w*|bench|performance"
    r"|accuracy|evaluation|results?|configuration|parameters?|notes?|proxy|gateway|clients?|verif\w*|example\w*|scripts?)"
    r"(\b.*)?",
    re.IGNORECASE,
)
# What the titles of recipes hold and no section does: cards, quantization, a measured time, a topology, lengths.
_RECIPE = re.compile(
    r"\b(\d+\s?(p|cards?)|w\d+a\d+\w*|[\d.]+\s?ms|\d+p\d+d|[\d.]+b|in\d\w*|out\d\w*|(bf|fp|int)\d+|[\d.]+k[-+][\d._]+k)\b",
    re.IGNORECASE,
)


def is_section(text: str) -> bool:
    """Whether the heading names a part of a recipe ("Model Deployment", "BENCHMARK") and no recipe."""
    return bool(_SECTION.fullmatch(text.strip().rstrip(":"))) and not _RECIPE.search(text)


def slug(title: str) -> str:
    """A title as a profile's name: lower case, words joined by dashes."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def same_anchor(anchor: str, title: str) -> bool:
    """Whether a link leads to the title; sites differ in what they make of dots and blanks."""

    def bare(text: str) -> str:
        return re.sub(r"[^a-z0-9]", "", text.lower())

    return bare(anchor) == bare(title)
