# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From templates to HTML files that need nothing else: styles and drawings are in them, and no address is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

_TEMPLATES = Path(__file__).resolve().parent / "templates"


def render(template: str, **values: Any) -> str:
    """A page of a template. Values are escaped, but for drawings: see `drawing`."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["number"] = number
    return environment.get_template(template).render(**values)


def drawing(svg: str) -> Markup:
    """SVG that this collection has drawn itself, with every text in it escaped."""
    return Markup(svg)


def number(value: float | None, unit: str = "ms") -> str:
    """A figure for people: two places, a count (without unit) none; thousands apart; a dash for no figure."""
    if value is None:
        return "-"
    return f"{value:,.2f}" if unit and abs(value) < 10000 else f"{value:,.0f}"
