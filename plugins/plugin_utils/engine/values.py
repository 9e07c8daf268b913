# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that a parser accepts and an engine then dies of: ranges, and numbers that must fit one another.

The rules are SGLang's own assertions after parsing, the same in 0.5.13.post1 and in 0.5.23, and one rule that every
documented decode and mixed service keeps (`_dispatch_tokens`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.arguments import Args, ArgValue, is_list
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.problem import Problem
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.wordtypes import integer, number

DISPATCH_LIMIT = "SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK"
# SGLang's own default of that variable.
DEFAULT_DISPATCH_LIMIT = 128
# What DeepEP's dispatch can count: SGLang asserts it wherever the backend is deepep.
DEEPEP_MAX_DISPATCH = 1024
# Tokens in a page of the KV cache where --page-size does not say otherwise: SGLang's setting for NPUs.
NPU_PAGE_SIZE = 128


@dataclass(frozen=True)
class _Service:
    """A service's arguments and environment as the numbers that the rules speak of."""

    args: Args
    env: Mapping[str, str]
    where: str
    role: str

    def integer(self, *names: str) -> int | None:
        """The flag's value under any of its names as a whole number; None where it is absent or no number."""
        return integer(self._value(*names))

    def number(self, name: str) -> float | None:
        return number(self._value(name))

    def text(self, name: str) -> str | None:
        value = self._value(name)
        return value if isinstance(value, str) else None

    def _value(self, *names: str) -> ArgValue | None:
        value = next((self.args[name] for name in names if name in self.args), None)
        return value[0] if is_list(value) and len(value) == 1 else value

    @cached_property
    def tp(self) -> int:
        return self.integer("tp-size", "tensor-parallel-size") or 1

    @cached_property
    def pp(self) -> int:
        return self.integer("pp-size", "pipeline-parallel-size") or 1

    @cached_property
    def nnodes(self) -> int:
        return self.integer("nnodes") or 1

    @cached_property
    def dp_flag(self) -> str:
        """The flag that says how many groups share the requests."""
        return "attn-dp-size" if self.integer(*_ATTN_DP) is not None else "dp-size"

    @cached_property
    def dp(self) -> int:
        attention = self.integer(*_ATTN_DP)
        return attention if attention is not None else self.integer("dp-size", "data-parallel-size") or 1

    @cached_property
    def dp_attention(self) -> bool:
        return self.dp > 1 and (self.dp_flag == "attn-dp-size" or self.args.get("enable-dp-attention") is True)

    def error(self, check: str, flag: str, what: str, do: str) -> Problem:
        return Problem("error", check, self.where, what, do, flag)


_ATTN_DP = ("attn-dp-size", "attention-data-parallel-size")


def check_values(args: Args, env: Mapping[str, str], *, where: str, role: str) -> list[Problem]:
    """What is wrong with the values of one server, taken together. Needs all its arguments and its environment.

    A value that is no number where one is wanted is left to `check`, which knows the flag's type.
    """
    service = _Service(args, env, where, role)
    problems: list[Problem] = []
    for rule in _RULES:
        problems.extend(rule(service))
    return problems


def _memory_fraction(service: _Service) -> Iterator[Problem]:
    fraction = service.number("mem-fraction-static")
    if fraction is not None and not 0 < fraction < 1:
        yield service.error(
            "mem-fraction",
            "--mem-fraction-static",
            f"mem-fraction-static is {fraction:g}: it is the share of an NPU's memory for weights and KV cache",
            "give a number between 0 and 1, for instance 0.8",
        )


def _sizes_positive(service: _Service) -> Iterator[Problem]:
    for name in ("tp-size", "pp-size", "dp-size", "attn-dp-size", "nnodes", "max-running-requests"):
        size = service.integer(name)
        if size is not None and size < 1:
            yield service.error("size", f"--{name}", f"{name} is {size}", "give a whole number of at least 1")


def _nodes_share_ranks(service: _Service) -> Iterator[Problem]:
    tp, pp, nnodes = service.tp, service.pp, service.nnodes
    if min(tp, pp, nnodes) < 1 or tp * pp % nnodes == 0:
        return
    yield service.error(
        "ranks-per-node",
        "--tp-size",
        f"tp-size {tp} x pp-size {pp} = {tp * pp} ranks cannot be shared evenly by nnodes {nnodes} nodes",
        f"make tp-size x pp-size a multiple of {nnodes} (tp-size counts NPUs of all nodes together)",
    )


def _node_rank(service: _Service) -> Iterator[Problem]:
    rank = service.integer("node-rank")
    if rank is not None and not 0 <= rank < max(service.nnodes, 1):
        yield service.error(
            "node-rank",
            "--node-rank",
            f"node-rank is {rank}, but nnodes is {service.nnodes}",
            f"node ranks run from 0 to {service.nnodes - 1}",
        )


def _dp_attention(service: _Service) -> Iterator[Problem]:
    if service.dp_attention and service.tp % service.dp:
        yield service.error(
            "dp-attention",
            f"--{service.dp_flag}",
            f"tp-size {service.tp} cannot be shared evenly by {service.dp_flag} {service.dp} attention groups",
            f"make tp-size a multiple of {service.dp_flag}",
        )


def _moe_dense_tp(service: _Service) -> Iterator[Problem]:
    size = service.integer("moe-dense-tp-size")
    if size is not None and size not in (1, service.tp):
        yield service.error(
            "moe-dense-tp",
            "--moe-dense-tp-size",
            f"moe-dense-tp-size is {size}, but SGLang takes only 1 or tp-size, which is {service.tp}",
            f"give 1{f' or {service.tp}' if service.tp > 1 else ''}, or leave moe-dense-tp-size out",
        )


def _chunked_prefill(service: _Service) -> Iterator[Problem]:
    size = service.integer("chunked-prefill-size")
    page = service.integer("page-size") or NPU_PAGE_SIZE
    if size is None or size <= 0 or page < 1 or service.role == "decode":
        return
    if service.text("disaggregation-mode") == "decode":
        return
    # With DP attention the size is split among the groups before SGLang looks at it.
    share = size // service.dp if service.dp_attention else size
    if share % page == 0:
        return
    step = page * (service.dp if service.dp_attention else 1)
    divided = f"; divided by {service.dp_flag} {service.dp} it is {share}, which" if service.dp_attention else ", which"
    below, above = size // step * step, (size // step + 1) * step
    yield service.error(
        "chunked-prefill",
        "--chunked-prefill-size",
        f"chunked-prefill-size is {size}{divided} is no multiple of the page size {page}",
        f"give {f'{below} or ' if below else ''}{above}, or -1 to prefill unchunked",
    )


def _dispatch_limit(service: _Service) -> Iterator[Problem]:
    limit = integer(service.env.get(DISPATCH_LIMIT))
    if service.text("moe-a2a-backend") == "deepep" and limit is not None and limit > DEEPEP_MAX_DISPATCH:
        yield service.error(
            "dispatch-limit",
            DISPATCH_LIMIT,
            f"{DISPATCH_LIMIT} is {limit}, but with moe-a2a-backend deepep it may be {DEEPEP_MAX_DISPATCH} at most",
            f"give at most {DEEPEP_MAX_DISPATCH}",
        )


def _dispatch_tokens(service: _Service) -> Iterator[Problem]:
    backend = service.text("moe-a2a-backend")
    if service.role not in ("decode", "mixed") or backend not in ("deepep", "ascend_fuseep"):
        return
    if backend == "deepep" and service.text("deepep-mode") == "normal":
        return  # only low-latency dispatch has buffers of a fixed size
    limit = integer(service.env.get(DISPATCH_LIMIT, DEFAULT_DISPATCH_LIMIT))
    requests = service.integer("max-running-requests")
    drafts = service.integer("speculative-num-draft-tokens") if "speculative-algorithm" in service.args else None
    drafts = 1 if drafts is None else drafts
    if limit is None or requests is None or requests < 1 or drafts < 1 or service.dp < 1:
        return
    each = -(-requests // service.dp)
    tokens = each * drafts
    if tokens <= limit:
        return
    said = f"is {limit}" if DISPATCH_LIMIT in service.env else f"is not set, so {limit}"
    fitting = limit // drafts * service.dp
    lower = f", or max-running-requests to at most {fitting}" if fitting else ""
    yield service.error(
        "dispatch-tokens",
        DISPATCH_LIMIT,
        f"max-running-requests {requests} / {service.dp_flag} {service.dp} = {each} requests a rank x {drafts} draft "
        f"tokens = {tokens} tokens a rank, but {DISPATCH_LIMIT} {said}",
        f"set {DISPATCH_LIMIT} to at least {tokens}{lower}",
    )


_RULES = (
    _memory_fraction,
    _sizes_positive,
    _nodes_share_ranks,
    _node_rank,
    _dp_attention,
    _moe_dense_tp,
    _chunked_prefill,
    _dispatch_limit,
    _dispatch_tokens,
)
