# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Judges a kept benchmark on the controller, and writes its pages. See modules/benchmark_report.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking import history
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.comparison import Comparison, compare
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.result import ResultError, parse
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.verdict import Limits, judge
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, error_text
from ansible_collections.ascend.sglang.plugins.plugin_utils.report import benchmark_page


class ActionModule(ActionBase):
    """The action behind ascend.sglang.benchmark_report. Connects to no host."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Judge, keep the verdict, and write the pages."""
        result = super().run(tmp, task_vars)
        _validation, args = self.validate_argument_spec(
            {
                "directory": {"type": "path", "required": True},
                "tolerance": {"type": "int", "default": 10},
                "failed": {"type": "int", "default": 0},
            }
        )
        path = Path(args["directory"]).absolute()
        try:
            run = history.read(path)
            verdict = judge(
                run.plan, run.about["page"], parse(run.result), run.samples, Limits(args["tolerance"], args["failed"])
            )
            earlier = self._earlier(path, run)
            told = verdict.as_dict()
            history.write_verdict(path, {"plan_hash": run.about["plan_hash"], "at": run.about["at"], **told})
            pages = benchmark_page.write(run, verdict, earlier)
        except (history.HistoryError, ResultError) as problem:
            return {**result, "failed": True, "msg": str(problem)}
        except CompileError as problem:
            return {**result, "failed": True, "msg": error_text(problem.findings)}
        return {
            **result,
            "changed": False,
            "verdict": told,
            "summary": benchmark_page.summary(verdict, earlier),
            "pages": [str(page) for page in pages],
        }

    def _earlier(self, path: Path, run: history.Run) -> Comparison | None:
        """The run of this profile before this one, compared."""
        for one in reversed(history.runs_before(path, run.plan["profile"])):
            try:
                return compare(history.read(one), run)
            except (history.HistoryError, ResultError) as problem:
                self._display.warning(f"an earlier run cannot be compared with: {problem}")
        return None
