# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page's benchmark, asked of this cluster's entrance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.ascend.sglang.plugins.plugin_utils.command import argv, filled, page_side, planned_side
from ansible_collections.ascend.sglang.plugins.plugin_utils.deviations import Command, Deviation, Reasons, compare
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine
from ansible_collections.ascend.sglang.plugins.plugin_utils.placeholders import Context
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile import Benchmark
from ansible_collections.ascend.sglang.plugins.plugin_utils.role_launch import KEPT_OUT
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import SECRET_API_KEY, Service, Word
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import Plain

# bench_serving's parser is in no engine file: its arguments are spelled as given and not checked.
_NO_GRAMMAR = Engine(program="sglang.bench_serving", version="", flags=(), env={})


@dataclass(frozen=True)
class PlannedBenchmark:
    """The command, and the host that runs it."""

    host: str
    argv: tuple[Word, ...]
    env: Mapping[str, Any]
    unset: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return {"host": self.host, "argv": list(self.argv), "env": dict(self.env), "unset": list(self.unset)}


def build(
    benchmark: Benchmark, entrance: Service, *, python: str, paths: Mapping[str, str], api_key: bool
) -> tuple[PlannedBenchmark, list[Deviation]]:
    """The benchmark on the entrance's own host, and where it differs from the page's.

    paths: model_path and draft_model_path.
    """
    reasons = Reasons()
    fill = Context(texts=paths, addresses={}, lists={})
    given = filled(benchmark.args, fill, {}, 0)
    args: dict[str, Plain] = dict(given)
    # bench_serving puts --host into a URL as it is, so an IPv6 address keeps its brackets.
    host, _colon, port = urlsplit(entrance.url).netloc.rpartition(":")
    for name, value in (("host", host), ("port", int(port))):
        if args.get(name) != value:
            args[name] = value
            reasons.note_flag(name, "benchmark-entrance")
    unset = tuple(dict.fromkeys((*benchmark.unset, *KEPT_OUT)))
    for name in unset[len(benchmark.unset) :]:
        reasons.note("unset", name, "environment-kept-out")
    given_env = filled(benchmark.env, fill, {}, 0)
    env: dict[str, Any] = dict(given_env)
    if api_key:
        # bench_serving sends this variable as the bearer token.
        env["OPENAI_API_KEY"] = dict(SECRET_API_KEY)
        reasons.note("env", "OPENAI_API_KEY", "override")
    page = Command(page_side(given, {}, _NO_GRAMMAR), given_env, benchmark.unset)
    planned = Command(planned_side(args, _NO_GRAMMAR), env, unset)
    command = (python, "-m", benchmark.module, *argv(args, _NO_GRAMMAR))
    deviations = list(compare(page, planned, reasons, host=entrance.host, role="benchmark"))
    return PlannedBenchmark(entrance.host, command, env, unset), deviations
