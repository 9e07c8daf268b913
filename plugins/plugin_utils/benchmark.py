# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page's benchmark, asked of this cluster's entrance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.ascend.sglang.plugins.module_utils import kept_out
from ansible_collections.ascend.sglang.plugins.plugin_utils import addresses
from ansible_collections.ascend.sglang.plugins.plugin_utils.cluster_settings import ClusterSettings
from ansible_collections.ascend.sglang.plugins.plugin_utils.command import argv, filled, page_side, planned_side
from ansible_collections.ascend.sglang.plugins.plugin_utils.deviations import Command, Deviation, Reasons, compare
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.catalogue import BENCHMARK, Catalogue
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine, EngineError
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import Finding, error, nearest
from ansible_collections.ascend.sglang.plugins.plugin_utils.placeholders import Context
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile import Benchmark
from ansible_collections.ascend.sglang.plugins.plugin_utils.role_launch import override_args, without_kept_out
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import SECRET_API_KEY, Service, Word

# Flags that the compiler or the run itself sets, and what to do instead.
_DERIVED: Mapping[str, str] = {
    "host": "It is the entrance of the plan; see sglang_router_args.host",
    "port": "It is the entrance of the plan; see sglang_router_args.port",
    "base-url": "The benchmark asks the entrance of the plan",
    "output-file": "The run stores its result in sglang_benchmark_dir",
    "output-details": "Set sglang_benchmark_details",
}
# Datasets that are made up as they are needed: no file plays a part.
_GENERATED = frozenset({"random-ids", "generated-shared-prefix", "image"})
_PAGE_DATASET = "sharegpt"
# Of these nothing, or less than nothing, is no load; the parser of bench_serving takes it all the same.
_AMOUNTS = (
    *("num-prompts", "max-concurrency", "request-rate", "random-output-len"),
    *("gsp-num-groups", "gsp-prompts-per-group", "gsp-output-len", "image-count"),
)


@dataclass(frozen=True)
class PlannedBenchmark:
    """The command, and the host that runs it."""

    host: str
    argv: tuple[Word, ...]
    env: Mapping[str, Any]
    unset: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return {"host": self.host, "argv": list(self.argv), "env": dict(self.env), "unset": list(self.unset)}


def grammar(engines: Catalogue, version: str) -> Engine:
    """bench_serving's command line in this SGLang version; without its file arguments are spelled as given."""
    try:
        return engines.get(version, BENCHMARK)
    except EngineError:
        return Engine(program=BENCHMARK, version=version, flags=(), env={})


def build(
    benchmark: Benchmark,
    entrances: Sequence[Service],
    services: Sequence[Service],
    engine: Engine,
    settings: ClusterSettings,
    hosts: Sequence[str],
    *,
    api_key: bool,
) -> tuple[PlannedBenchmark, list[Deviation], list[Finding]]:
    """The benchmark as it is run here, where it differs from the page's, and what is wrong with its settings.

    engine: bench_serving's grammar; hosts: all of the inventory, any of which may run it.
    """
    wanted = settings.text("sglang_benchmark_host")
    entrance = next((one for one in entrances if one.host == wanted), entrances[0])
    findings = list(_host(wanted, entrance, hosts))
    reasons = Reasons()
    paths = {name: settings.text(f"sglang_{name}") for name in ("model_path", "draft_model_path")}
    fill = Context(texts=paths, addresses={}, lists={})
    page_args = filled(benchmark.args, fill, {}, 0)
    args, found = override_args(
        page_args, settings.mapping("sglang_benchmark_args"), engine, "benchmark", reasons, _DERIVED
    )
    findings += [*found, *_amounts(args)]
    # bench_serving puts --host into a URL as it is, so an IPv6 address keeps its brackets.
    host, _colon, port = urlsplit(entrance.url).netloc.rpartition(":")
    for name, value in (("host", host), ("port", int(port))):
        if args.get(name) != value:
            args[name] = value
            reasons.note_flag(name, "benchmark-entrance")
    dataset = settings.text("sglang_benchmark_dataset")
    if dataset and "dataset-path" not in args and args.get("dataset-name", _PAGE_DATASET) not in _GENERATED:
        args["dataset-path"] = dataset
        reasons.note_flag("dataset-path", "override")
    if "tokenizer" not in args and "model" not in args and _renamed(services):
        args["tokenizer"] = paths["model_path"]
        reasons.note_flag("tokenizer", "benchmark-tokenizer")
    unset = tuple(dict.fromkeys((*benchmark.unset, *kept_out.PROXIES)))
    for name in unset[len(benchmark.unset) :]:
        reasons.note("unset", name, "environment-kept-out")
    page_env = filled(benchmark.env, fill, {}, 0)
    env: dict[str, Any] = without_kept_out(page_env, kept_out.PROXIES, reasons)
    if api_key:
        # bench_serving sends this variable as the bearer token.
        env["OPENAI_API_KEY"] = dict(SECRET_API_KEY)
        reasons.note("env", "OPENAI_API_KEY", "override")
    page = Command(page_side(page_args, {}, engine), page_env, benchmark.unset)
    side = planned_side(args, engine)
    planned = Command(side, env, unset)
    command = (settings.text("sglang_python"), "-m", benchmark.module, *argv(side))
    runner = wanted or entrance.host
    deviations = list(compare(page, planned, reasons, host=runner, role="benchmark"))
    return PlannedBenchmark(runner, command, env, unset), deviations, findings


def _host(wanted: str, entrance: Service, hosts: Sequence[str]) -> Iterator[Finding]:
    if not wanted or wanted == entrance.host:
        return
    where = "sglang_benchmark_host"
    if wanted not in hosts:
        yield error("benchmark-host", where, f"{wanted} is no host of the inventory", nearest(wanted, hosts))
        return
    address = urlsplit(entrance.url).hostname or ""
    if addresses.is_loopback(address):
        what = f"the entrance listens on {address} of {entrance.host}, where {wanted} cannot ask it"
        do = f"Let it listen on the data address (sglang_{entrance.role}_args.host), or leave {where} out"
        yield error("benchmark-host", where, what, do)


def _amounts(args: Mapping[str, Any]) -> Iterator[Finding]:
    for name in _AMOUNTS:
        try:
            amount = float(args.get(name, 1))
        except (TypeError, ValueError):
            # That it is no number is said elsewhere.
            continue
        if amount > 0:
            continue
        what = f"with --{name} {args[name]} nothing is measured"
        yield error("benchmark-load", f"sglang_benchmark_args.{name}", what, "Give it a number above 0, or null")


def _renamed(services: Sequence[Service]) -> bool:
    """Whether clients know the model by another name than its path."""
    return any("--served-model-name" in one.argv for one in services)
