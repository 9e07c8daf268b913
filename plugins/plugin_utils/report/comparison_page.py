# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two benchmarks side by side, as files."""

from __future__ import annotations

import json
from pathlib import Path

from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.comparison import Comparison
from ansible_collections.ascend.sglang.plugins.plugin_utils.report.benchmark_page import comparison_lines
from ansible_collections.ascend.sglang.plugins.plugin_utils.report.pages import drawing, render
from ansible_collections.ascend.sglang.plugins.plugin_utils.report.plots import distributions


def write(compared: Comparison, directory: Path) -> list[Path]:
    """Write the pages; their paths, the HTML page first. Raises CompileError without the libraries, OSError."""
    title = f"# Two benchmarks: {compared.after.plan['profile']}"
    texts = {
        "comparison.html": html(compared),
        "comparison.md": "\n".join([title, "", *comparison_lines(compared), ""]),
        "comparison.json": json.dumps(compared.as_dict(), indent=1, ensure_ascii=False) + "\n",
    }
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
    return [directory / name for name in texts]


def html(compared: Comparison) -> str:
    """The page for a browser."""
    runs = [("after", compared.after.samples), ("before", compared.before.samples)]
    return render(
        "comparison.html.j2",
        title=f"Two benchmarks: {compared.after.plan['profile']}",
        compared=compared,
        plots=[drawing(plot) for plot in distributions(runs, compared.after.about["page"].get("published", {}))],
    )
