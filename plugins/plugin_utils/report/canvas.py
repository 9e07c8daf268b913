# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A sheet to draw on: boxes, lines and texts, out comes SVG. Colours are the page's, by class."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.report.libraries import require_libraries, svg

# A character of the page's monospaced font is 0.6 of its size wide; a little more is kept for other fonts.
_CHARACTER = 0.62


def fits(text: str, width: float, size: float) -> str:
    """The text, or as much of it as fits into a width, with an ellipsis."""
    most = int(width / (size * _CHARACTER))
    return text if len(text) <= most else text[: max(most - 1, 0)] + "…"


def width_of(text: str, size: float) -> float:
    """How wide a text is at most."""
    return len(text) * size * _CHARACTER


class Canvas:
    """Collects shapes in the order in which they lie on one another."""

    def __init__(self) -> None:
        require_libraries()
        self._elements: list[Any] = []
        self._width = self._height = 0.0

    def _reach(self, x: float, y: float) -> None:
        self._width, self._height = max(self._width, x), max(self._height, y)

    def box(self, x: float, y: float, width: float, height: float, *classes: str) -> None:
        self._reach(x + width, y + height)
        self._elements.append(svg.Rect(x=x, y=y, width=width, height=height, rx=5, class_=list(classes)))

    def text(
        self, x: float, y: float, text: str, size: float, *classes: str, room: float = 0, right: bool = False
    ) -> None:
        """A line of text from x on, or up to x; y is its baseline. Cut to `room`, and then told whole on hover."""
        shown = fits(text, room, size) if room else text
        element = svg.Text(
            x=x,
            y=y,
            text=escape(shown),
            font_size=size,
            text_anchor="end" if right else None,
            class_=list(classes),
        )
        whole = [svg.Title(text=escape(text))] if shown != text else []
        self._elements.append(svg.G(elements=[*whole, element]) if whole else element)
        self._reach(x if right else x + width_of(shown, size), y)

    def path(self, points: Sequence[tuple[float, float]], *classes: str, arrow: str = "", tip: str = "") -> None:
        """A line through points; arrow: the name of the marker at its end; tip: told on hover."""
        steps = [svg.M(*points[0]), *(svg.L(*point) for point in points[1:])]
        end = f"url(#{arrow})" if arrow else None
        elements = [svg.Title(text=escape(tip))] if tip else []
        self._elements.append(svg.Path(d=steps, marker_end=end, class_=["wire", *classes], elements=elements))
        for point in points:
            self._reach(*point)

    def dot(self, x: float, y: float, *classes: str) -> None:
        self._elements.append(svg.Circle(cx=x, cy=y, r=2.5, class_=["dot", *classes]))

    def render(self, label: str, arrows: Sequence[str]) -> str:
        """The SVG. arrows: classes of wires that have a marker of their own, named `arrow-CLASS`."""
        markers = [
            svg.Marker(
                id=f"arrow-{name}",
                viewBox="0 0 8 8",
                refX=7,
                refY=4,
                markerWidth=8,
                markerHeight=8,
                markerUnits="userSpaceOnUse",
                orient="auto",
                elements=[svg.Path(d=[svg.M(0, 0), svg.L(8, 4), svg.L(0, 8), svg.Z()], class_=["tip", name])],
            )
            for name in arrows
        ]
        width, height = round(self._width + 8), round(self._height + 8)
        drawing = svg.SVG(
            width=width,
            height=height,
            viewBox=svg.ViewBoxSpec(0, 0, width, height),
            class_=["cluster"],
            elements=[svg.Title(text=escape(label)), svg.Defs(elements=markers), *self._elements],
        )
        return str(drawing.as_str())
