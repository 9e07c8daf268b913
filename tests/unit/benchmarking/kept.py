# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plans, results and runs to judge."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking import history
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.result import parse
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.verdict import Limits, Verdict, judge
from unit.compiler.cluster import plan_of, profile

RESULTS = Path(__file__).parent / "results"
R1 = "deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms"
MIXED = "deepseek-r1-w4a8-8p-in3k5-out1k5-50-36ms"
NOW = datetime(2026, 11, 30, 11, 15, 0, tzinfo=timezone.utc)


def recorded(name: str = "0.5.13.post1-sglang", **changes: Any) -> str:
    """The text of a result file with some values changed (null takes a key away)."""
    result = json.loads((RESULTS / f"{name}.jsonl").read_text())
    merged = {**result, **changes}
    return json.dumps({key: value for key, value in merged.items() if value is not ...}) + "\n"


def plan(name: str = R1, **settings: Any) -> dict[str, Any]:
    """A plan as plan.json has it."""
    return json.loads(plan_of(name, **settings).as_json())


def page(name: str = R1) -> dict[str, Any]:
    """What the plan action says of the profile's page."""
    wanted = profile(name)
    return {
        "engine": wanted.engine,
        "published": dict(wanted.published),
        "facts": dict(wanted.facts),
        "instances": {role: body.instances for role, body in wanted.roles.items()},
    }


def judged(
    text: str | None = None,
    *,
    name: str = R1,
    published: dict[str, float] | None = None,
    samples: dict[str, Any] | None = None,
    tolerance: int = 10,
    failed: int = 0,
    args: dict[str, Any] | None = None,
    **settings: Any,
) -> Verdict:
    """A verdict on the recorded run of eight requests of eight tokens."""
    told = page(name)
    if published is not None:
        told["published"] = published
    asked = {"num-prompts": 8, "random-output-len": 8, "random-input-len": 32, **(args or {})}
    measured = plan(name, sglang_benchmark_args=asked, **settings)
    return judge(measured, told, parse(text or recorded()), samples, Limits(tolerance, failed))


def keep(root: Path, text: str | None = None, *, name: str = R1, now: datetime = NOW, **settings: Any) -> Path:
    """A run that is kept, with a verdict."""
    measured = plan(name, **settings)
    path = history.directory(root, measured, now)
    history.begin(path, measured, page(name), now)
    history.keep(path, result=text or recorded(), samples=samples(), log="a line\n")
    history.write_verdict(path, {"passed": True})
    return path


def samples(**changes: Any) -> dict[str, Any]:
    """Samples of a run of eight requests."""
    times = [10.0 + number for number in range(8)]
    return {
        "sent": 8,
        "ttft_ms": times,
        "tpot_ms": [value / 2 for value in times],
        "itl_ms": times,
        "output_lens": [8, 8],
        "short": 0,
        "errors": {},
        **changes,
    }
