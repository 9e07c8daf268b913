# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Distributions as plots: which share of the requests took at most how long."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.report.libraries import pygal, require_libraries

_KINDS = (
    ("ttft_ms", "TTFT: time to the first token", "requests"),
    ("tpot_ms", "TPOT: time per output token", "requests"),
    ("itl_ms", "ITL: time between tokens", "tokens"),
)
# What the library writes besides: the day, and settings for a script that the page does not have.
_BESIDES = re.compile(r"<!--.*?-->|<script.*?</script>", re.DOTALL)
_TICKS = 6


def distributions(runs: Sequence[tuple[str, Mapping[str, Any] | None]], published: Mapping[str, float]) -> list[str]:
    """A plot for each kind of time that the first run has samples of, as SVG.

    runs: name and samples (module_utils.bench_samples), the run that the page is about first; published: figures by
    name, drawn as an upright line. Raises CompileError where the library is not installed.
    """
    require_libraries()
    plots = []
    for key, title, what in _KINDS:
        series = [(name, samples[key]) for name, samples in runs if samples and len(samples.get(key) or []) > 1]
        if series and series[0][0] == runs[0][0]:
            plots.append(_plot(key, title, what, series, published.get(key)))
    return plots


def _plot(
    key: str, title: str, what: str, series: Sequence[tuple[str, Sequence[float]]], published: float | None
) -> str:
    largest = max(values[-1] for _name, values in series)
    step = nice(max(largest, published or 0.0) / _TICKS)
    most = step * (int(max(largest, published or 0.0) / step) + 1)
    chart = pygal.XY(
        # No script, no style of its own: the page's styles know dark from light.
        js=(),
        css=(),
        stroke=True,
        show_dots=False,
        width=600,
        height=340,
        title=title,
        x_title="ms",
        y_title=f"% of {what}",
        range=(0, 100),
        xrange=(0, most),
        x_labels=[step * number for number in range(round(most / step) + 1)],
        y_labels=[0, 25, 50, 75, 90, 100],
        legend_at_bottom=True,
        legend_at_bottom_columns=len(series) + (published is not None),
        truncate_legend=-1,
        margin=12,
        disable_xml_declaration=True,
        x_value_formatter=lambda value: f"{value:g}",
        value_formatter=lambda value: f"{value:g}",
    )
    chart.uuid = key
    for name, values in series:
        last = len(values) - 1
        chart.add(name, [(value, 100 * number / last) for number, value in enumerate(values)])
    if published is not None:
        chart.add("published", [(published, 0), (published, 100)])
    return _BESIDES.sub("", str(chart.render(is_unicode=True)))


def nice(step: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten, for the ticks of an axis."""
    power = 10.0**-6
    while power * 10 < step:
        power *= 10
    return next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= step)
