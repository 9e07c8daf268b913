# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was measured, under the keys of the version's result file."""

from __future__ import annotations

import math
import statistics

from sglang.stand_in import answers


def percentile(values, share):
    """Between the two nearest values, as numpy does by default."""
    ordered = sorted(values)
    place = (len(ordered) - 1) * share / 100
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low + (high - low) * (place - math.floor(place))


def spread(name, values, shares, empty):
    """mean, median, std and percentiles of times in seconds, as milliseconds; without any, `empty`."""
    if not values:
        return {f"{kind}_{name}_ms": empty for kind in ("mean", "median", "std", *(f"p{share}" for share in shares))}
    found = {
        f"mean_{name}_ms": statistics.fmean(values) * 1000,
        f"median_{name}_ms": statistics.median(values) * 1000,
        f"std_{name}_ms": statistics.pstdev(values) * 1000,
    }
    return {**found, **{f"p{share}_{name}_ms": percentile(values, share) * 1000 for share in shares}}


def result(args, prompts, outputs, seconds, server_info, newer):
    """The object that is appended to the result file, without details."""
    good = [(prompt, output) for prompt, output in zip(prompts, outputs) if output.success]
    made = sum(output.output_len for _prompt, output in good)
    read = sum(prompt.prompt_len for prompt, _output in good)
    vision = sum(prompt.vision_len for prompt, _output in good)
    tpots = [(one.latency - one.ttft) / (one.output_len - 1) for _prompt, one in good if one.output_len > 1]
    latencies = [one.latency for _prompt, one in good]
    tokens_per_s, concurrent = peaks([one for _prompt, one in good])
    return {
        "tag": args.tag,
        "backend": args.backend,
        "dataset_name": args.dataset_name,
        "request_rate": args.request_rate,
        "max_concurrency": args.max_concurrency,
        "sharegpt_output_len": args.sharegpt_output_len,
        "random_input_len": args.random_input_len,
        "random_output_len": args.random_output_len,
        "random_range_ratio": args.random_range_ratio,
        "server_info": server_info,
        "duration": seconds,
        "completed": len(good),
        "total_input_tokens": read,
        "total_input_text_tokens": read - vision,
        "total_input_vision_tokens": vision,
        "total_output_tokens": made,
        "total_output_tokens_retokenized": sum(len(answers.token_ids(one.text)) for _prompt, one in good),
        "request_throughput": len(good) / seconds,
        "input_throughput": read / seconds,
        "output_throughput": made / seconds,
        "total_throughput": (read + made) / seconds,
        # numpy's mean of nothing, which json writes as NaN.
        **spread("e2e_latency", latencies, (90, 95, 99) if newer else (90, 99), math.nan),
        **spread("ttft", [one.ttft for _prompt, one in good], (90, 95, 99) if newer else (99,), 0.0),
        **spread("tpot", tpots, (90, 95, 99) if newer else (99,), 0.0),
        **spread("itl", [gap for _prompt, one in good for gap in one.itl], (90, 95, 99) if newer else (95, 99), 0.0),
        "concurrency": sum(latencies) / seconds,
        "accept_length": None,
        "max_output_tokens_per_s": tokens_per_s,
        "max_concurrent_requests": concurrent,
    }


def details(outputs):
    """What --output-details adds."""
    return {
        "input_lens": [one.prompt_len for one in outputs],
        "output_lens": [one.output_len if one.success else 0 for one in outputs],
        "ttfts": [one.ttft for one in outputs],
        "itls": [one.itl for one in outputs],
        "generated_texts": [one.text for one in outputs],
        "errors": [one.error for one in outputs],
    }


def peaks(good):
    """The most tokens, and the most requests, in one second."""
    if not good:
        return 0.0, 0
    begin = min(one.start for one in good)
    end = max(one.start + one.latency for one in good)
    tokens = [0] * (math.ceil(end - begin) + 1)
    requests = list(tokens)
    for one in good:
        when = one.start + one.ttft
        for gap in (0.0, *one.itl):
            when += gap
            if 0 <= int(when - begin) < len(tokens):
                tokens[int(when - begin)] += 1
        for second in range(int(one.start - begin), min(int(one.start + one.latency - begin) + 1, len(requests))):
            requests[second] += 1
    return float(max(tokens)), max(requests)
