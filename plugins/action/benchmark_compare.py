# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares two kept benchmarks on the controller. See modules/benchmark_compare.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking import history
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.comparison import compare
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.result import ResultError
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, error_text
from ansible_collections.ascend.sglang.plugins.plugin_utils.report import comparison_page


class ActionModule(ActionBase):
    """The action behind ascend.sglang.benchmark_compare. Connects to no host."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Compare, and write the pages if asked to."""
        result = super().run(tmp, task_vars)
        _validation, args = self.validate_argument_spec(
            {
                "before": {"type": "path", "required": True},
                "after": {"type": "path", "required": True},
                "dest": {"type": "path"},
            }
        )
        try:
            before, after = (history.read(Path(args[name]).absolute()) for name in ("before", "after"))
            compared = compare(before, after)
            pages = comparison_page.write(compared, Path(args["dest"]).absolute()) if args["dest"] else []
        except (history.HistoryError, ResultError) as problem:
            return {**result, "failed": True, "msg": str(problem)}
        except CompileError as problem:
            return {**result, "failed": True, "msg": error_text(problem.findings)}
        except OSError as problem:
            return {**result, "failed": True, "msg": f"{args['dest']}: the pages cannot be written there: {problem}"}
        told = {"comparison": compared.as_dict(), "summary": compared.lines, "pages": [str(page) for page in pages]}
        return {**result, "changed": False, **told}
