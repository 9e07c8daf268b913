# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A flag is recognised however it was written."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.naming import (
    Candidates,
    canonical,
    full_name,
    nearest_flags,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from .oracle import NEW, OLD, RefusedError, parser, raw


@pytest.mark.parametrize(
    ("written", "full"),
    [
        ("--tp-size", "tp-size"),
        ("--tp", "tp-size"),
        ("--ep", "ep-size"),
        ("--dp", "dp-size"),
        ("--pp-s", "pp-size"),
        ("tensor-parallel-size", "tp-size"),
        ("--tp_size", "tp-size"),
        ("--moe-dense-tp", "moe-dense-tp-size"),
        ("--model", "model-path"),
        ("--mem-fraction-static=0.8", "mem-fraction-static"),
        ("-tp-size", "tp-size"),
        ("Disable_Radix_Cache", "disable-radix-cache"),
        ("--no-lora-strict", "no-lora-strict-loading"),
        ("--nccl-init-addr", "dist-init-addr"),
    ],
)
def test_full_names_are_the_same_in_both_versions(old, new, written, full):
    assert full_name(old, written) == full
    assert full_name(new, written) == full


def test_an_abbreviation_of_two_flags_is_ambiguous(old, new):
    assert full_name(old, "--cuda-graph-bs") == "cuda-graph-bs"
    assert full_name(new, "--cuda-graph-bs") == Candidates(
        "ambiguous", ("cuda-graph-bs-decode", "cuda-graph-bs-prefill")
    )


@pytest.mark.parametrize("written", ["--tp-sizee", "--disable-radix-cahce", "--size-tp", "--mem_fracton_static"])
def test_an_unknown_flag_has_its_nearest_first(old, written):
    found = full_name(old, written)
    assert isinstance(found, Candidates)
    assert found.kind == "unknown"
    assert found.names[0] in ("tp-size", "disable-radix-cache", "mem-fraction-static")


def test_nothing_is_near_a_name_that_means_nothing(old):
    assert full_name(old, "--zzqq") == Candidates("unknown", ())
    assert full_name(old, "--") == Candidates("unknown", ())
    assert nearest_flags(old, "") == ()


@pytest.mark.parametrize("version", [OLD, NEW])
def test_every_spelling_of_the_parser_leads_to_one_of_its_spellings(catalogue, version):
    engine = catalogue.get(version.removeprefix("sglang-"))
    for flag in raw(version)["flags"]:
        for name in flag["names"]:
            full = full_name(engine, name)
            assert f"--{full}" in flag["names"]
            assert canonical(engine, full) == full


@settings(deadline=None)
@given(data=st.data())
def test_an_abbreviation_means_what_argparse_takes_it_for(data, old):
    """Cut a spelling short: a parser that allows abbreviations must agree on what was meant."""
    flags = raw(OLD)["flags"]
    name = data.draw(st.sampled_from([name for flag in flags for name in flag["names"]]))
    short = name[: data.draw(st.integers(min_value=3, max_value=len(name)))]
    made = parser(OLD)
    made.allow_abbrev = True
    meant = {option for option in made._option_string_actions if option == short}
    meant = meant or {option for option in made._option_string_actions if option.startswith(short)}
    found = full_name(old, short)
    if len(meant) == 1:
        assert f"--{found}" in made._option_string_actions[meant.pop()].option_strings
    elif isinstance(found, Candidates):
        assert found.kind == "ambiguous"
        assert {canonical(old, each.removeprefix("--")) for each in meant} == set(found.names)
    else:
        with pytest.raises(RefusedError):  # argparse refuses several names even of one flag
            made.parse_args(["--model-path", "m", short])
