# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line, as that version's parser reads it."""

from __future__ import annotations

import math

from sglang.stand_in import grammar
from sglang.stand_in.knobs import PACKAGE


def finite_positive_float(text):
    """A number above 0."""
    value = float(text)
    if not math.isfinite(value) or value <= 0:
        raise ValueError(text)
    return value


def find(version):
    """The path of the grammar of a version."""
    name = f"sglang-bench-serving-{version}.json"
    places = [PACKAGE.parent / "grammar" / name, *(parent / "engines" / name for parent in PACKAGE.parents)]
    for place in places:
        if place.is_file():
            return place
    raise grammar.GrammarNotFoundError(f"stand-in: no command grammar {name}; looked at {', '.join(map(str, places))}")


def parse(version, argv):
    """The arguments by their names. Ends the process as argparse does."""
    grammar.TYPES.update(_finite_positive_float=finite_positive_float, _goodput_slo=str)
    parser = grammar.build(grammar.load(find(version)))
    parser.prog, parser.description = "bench_serving.py", "Benchmark the online serving throughput."
    args = parser.parse_args(argv)
    if args.gsp_group_distribution == "zipf" and args.gsp_zipf_alpha is None:
        parser.error("--gsp-group-distribution=zipf requires --gsp-zipf-alpha (a finite float > 0)")
    if args.gsp_group_distribution == "uniform" and args.gsp_zipf_alpha is not None:
        parser.error("--gsp-zipf-alpha is only meaningful with --gsp-group-distribution=zipf")
    return args
