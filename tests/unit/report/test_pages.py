# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the pages say, and what they must not: tests/browser looks at how they look."""

from __future__ import annotations

import re
from datetime import timedelta
from html.parser import HTMLParser

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking import history
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.comparison import compare
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.result import parse
from ansible_collections.ascend.sglang.plugins.plugin_utils.benchmarking.verdict import Limits, judge
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError
from ansible_collections.ascend.sglang.plugins.plugin_utils.report import (
    benchmark_page,
    canvas,
    comparison_page,
    libraries,
    plan_page,
    plots,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.report.cluster_drawing import KINDS, draw
from ansible_collections.ascend.sglang.plugins.plugin_utils.report.commands import commands
from unit.benchmarking.kept import NOW, R1, keep, recorded, samples
from unit.compiler.cluster import plan_of, planned

NASTY = "<script>alert('x')</script>&\"{{ 1 }}"
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Tags(HTMLParser):
    """Every tag is closed, in its order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.names = [], set()
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.names.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.names.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def judged(run):
    return judge(run.plan, run.about["page"], parse(run.result), run.samples, Limits())


@pytest.fixture
def run(tmp_path):
    return history.read(keep(tmp_path))


@pytest.fixture
def pair(tmp_path):
    before = keep(tmp_path)
    after = keep(tmp_path, now=NOW + timedelta(minutes=1), sglang_decode_args={"max-running-requests": 512})
    return compare(history.read(before), history.read(after))


def pages(run, pair):
    return [
        plan_page.html(plan_of(R1), "A note."),
        benchmark_page.html(run, judged(run), None),
        benchmark_page.html(pair.after, judged(pair.after), pair),
        comparison_page.html(pair),
    ]


def test_a_page_is_whole_and_asks_for_nothing(run, pair):
    for text in pages(run, pair):
        assert "script" not in Tags(text).names
        assert text.startswith("<!doctype html>")
        # The cluster's own URLs are text; the names of SVG and XLink are no addresses that are asked.
        assert not re.findall(r"""(?:src|href|url\()=?["']?(?:https?:)?//""", text)
        assert "prefers-color-scheme: dark" in text


def test_equal_inputs_give_equal_pages(run, pair):
    assert pages(run, pair) == pages(run, pair)


def test_what_people_write_stays_text(tmp_path):
    settings = {"sglang_decode_env": {"X": NASTY}}
    plan = plan_of(R1, **settings)
    text = plan_page.html(plan, NASTY)
    assert "script" not in Tags(text).names
    assert "&lt;script&gt;" in text
    run = history.read(keep(tmp_path, **settings))
    failed = history.Run(run.path, run.plan, run.about, run.result, samples(sent=9, errors={NASTY: 1}), {})
    assert "script" not in Tags(benchmark_page.html(failed, judged(failed), None)).names


def test_a_drawing_escapes_what_it_is_given():
    sheet = canvas.Canvas()
    sheet.text(0, 10, NASTY, 12)
    sheet.text(0, 30, NASTY, 12, room=50)
    sheet.path([(0, 0), (1, 1)], "requests", tip=NASTY)
    text = sheet.render(NASTY, ["requests"])
    assert "<script" not in text
    assert text.count("&lt;script&gt;") >= 4


def test_the_drawing_has_every_host_instance_and_port():
    plan = plan_of(R1).as_dict()
    text = draw(plan)
    for one in plan["services"]:
        assert f">{one['host']}</text>" in text
        assert f"rank {one['rank']}" in text
        for name, port in one["ports"].items():
            assert str(port) in text, (one["unit"], name)
    for instance in plan["instances"]:
        assert instance["name"] in text
    assert all(what in text for what in KINDS.values())


def test_a_kind_of_traffic_that_is_not_there_is_not_in_the_legend():
    text = draw(plan_of("deepseek-r1-w4a8-8p-in3k5-out1k5-50-36ms").as_dict())
    assert KINDS["requests"] in text
    assert KINDS["store"] not in text


# Commands


def lines_of(plan, role):
    found = next(one for one in commands(plan) if one.role == role)
    return found, {(line.kind, line.name): line for line in found.lines}


def test_a_cluster_without_a_store_is_drawn_without_one():
    named = {"disaggregation-transfer-backend": "mooncake"}
    text = draw(planned(R1, sglang_prefill_args=named, sglang_decode_args=named).as_dict())
    assert KINDS["bootstrap"] in text
    assert KINDS["store"] not in text
    assert "→ store" not in text


def test_what_is_not_as_on_the_page_is_marked_with_what_the_page_has():
    plan = plan_of(R1, sglang_decode_args={"max-running-requests": 512, "watchdog-timeout": None}).as_dict()
    _decode, lines = lines_of(plan, "decode")
    changed = lines["arg", "--max-running-requests"]
    assert (changed.value, changed.page, changed.mark) == ("512", "1024", "override")
    gone = lines["arg", "--watchdog-timeout"]
    assert (gone.gone, gone.page, gone.mark) == (True, "9000", "override")
    assert lines["env", "SGLANG_HOST_IP"].mark == "deviation"
    assert lines["arg", "--tp-size"].mark == ""


def test_every_deviation_of_a_plan_is_marked():
    plan = plan_of(R1, sglang_engine="0.5.23", sglang_prefill_env={"A": "b"}).as_dict()
    marked = {(one.role, line.kind, line.name) for one in commands(plan) for line in one.lines if line.mark}
    assert marked == {(one["role"], one["kind"], one["name"]) for one in plan["deviations"]}


def test_what_differs_between_services_is_a_column():
    decode, lines = lines_of(plan_of(R1).as_dict(), "decode")
    assert lines["arg", "--node-rank"].own
    assert decode.columns[-1] == "--node-rank" or "--node-rank" in decode.columns
    at = 3 + decode.columns.index("--node-rank")
    assert [row[at] for row in decode.rows] == ["0", "1"]
    router, _lines = lines_of(plan_of(R1).as_dict(), "router")
    assert (router.columns, router.rows) == ((), ())


def test_a_secret_is_shown_by_its_name(tmp_path):
    from unit.compiler.cluster import planned

    plan = planned(R1, api_key=True, sglang_router_args={"mini-lb": False}).as_dict()
    _router, lines = lines_of(plan, "router")
    assert lines["arg", "--api-key"].value == "<api_key>"
    assert lines_of(plan, "benchmark")[1]["env", "OPENAI_API_KEY"].value == "<api_key>"


# Benchmark pages


def test_the_page_says_the_verdict_and_the_figures(run):
    text = benchmark_page.markdown(run, judged(run), None)
    assert "# Benchmark: deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms" in text
    assert "Asked: dataset random, 40 requests/s, 1024 under way at most." in text
    assert "| mean TPOT | 6.01 ms  | 50.00 ms  | 0.12                 | at most 55.00 ms |" in text
    assert "python3 -m sglang.bench_serving" in text
    html = benchmark_page.html(run, judged(run), None)
    assert "ratio" in html
    assert html.count('class="pygal-chart"') == 3


def test_without_details_there_are_no_plots(tmp_path):
    kept = history.read(keep(tmp_path))
    bare = history.Run(kept.path, kept.plan, kept.about, kept.result, None, {})
    text = benchmark_page.html(bare, judged(bare), None)
    assert "Distributions" not in text
    assert 'pygal-chart"' not in text


def test_the_summary_names_overrides_and_counts_the_rest(run):
    lines = benchmark_page.summary(judged(run), None)
    assert lines[0].startswith("FAILED: mean TPOT")
    assert lines[0].endswith("0 of 8 requests failed")
    assert lines[1].startswith("answers broke off")
    assert any(
        line.startswith("and ") and line.endswith("deviations of the plan that it declares itself") for line in lines
    )


def test_both_runs_are_drawn_and_the_changes_said(pair, tmp_path):
    text = comparison_page.html(pair)
    assert "decode --max-running-requests: 1024 -&gt; 512 (on d1, d2)" in text
    assert text.count(">before</text>") == 3
    written = comparison_page.write(pair, tmp_path / "new" / "folder")
    assert [path.name for path in written] == ["comparison.html", "comparison.md", "comparison.json"]
    assert all(path.stat().st_size > 100 for path in written)


@pytest.mark.parametrize(
    ("values", "published"),
    [([1e-4, 2e-4], None), ([1.0, 1.0], 1.0), ([0.0, 0.0], None), ([3.0, 1e6], 41.0), ([5.0, 6.0], 5000.0)],
)
def test_plots_of_all_sizes(values, published):
    told = samples(ttft_ms=[], itl_ms=[], tpot_ms=values)
    (plot,) = plots.distributions([("this run", told)], {} if published is None else {"tpot_ms": published})
    assert ("published" in plot) is (published is not None)
    assert "nan" not in plot.lower().replace("nanum", "")


@pytest.mark.parametrize(
    ("step", "nice"), [(0.9, 1), (1, 1), (1.1, 2), (2.2, 2.5), (3, 5), (7, 10), (0.012, 0.02), (4e4, 5e4)]
)
def test_ticks_are_round_numbers(step, nice):
    assert plots.nice(step) == pytest.approx(nice)


def test_a_missing_library_is_said_in_words(monkeypatch):
    monkeypatch.setattr(libraries, "_MISSING", ["svg.py (No module named 'svg')"])
    with pytest.raises(CompileError, match=r"svg\.py \(No module named 'svg'\).*pip install svg\.py pygal"):
        plan_page.html(plan_of(R1), "")


def test_numbers_are_for_people():
    from ansible_collections.ascend.sglang.plugins.plugin_utils.report.pages import number

    assert [number(value) for value in (None, 0.0, 6.0129, 1234.5, 98765.4)] == [
        "-",
        "0.00",
        "6.01",
        "1,234.50",
        "98,765",
    ]


def test_a_recorded_run_of_either_version_makes_a_page(tmp_path):
    for name in ("0.5.13.post1-sglang", "0.5.13.post1-chat", "0.5.23-sglang"):
        kept = history.read(keep(tmp_path, recorded(name)))
        Tags(benchmark_page.html(kept, judged(kept), None))


def test_a_list_of_errors_ends_before_the_table_begins(run):
    failed = history.Run(run.path, run.plan, run.about, run.result, samples(sent=9, errors={"gone": 1}), {})
    assert "- 1 x gone\n\n| ms " in benchmark_page.markdown(failed, judged(failed), None)
    assert "1 x gone" in benchmark_page.summary(judged(failed), None)


def test_throughput_passes_from_its_limit_on_and_times_up_to_theirs(run):
    run.about["page"]["published"] = {"tpot_ms": 50, "output_throughput": 100}
    text = benchmark_page.markdown(run, judged(run), None)
    assert "| at most 55.00 ms " in text
    assert "| at least 90.00 tokens/s |" in text
    html = benchmark_page.html(run, judged(run), None)
    assert "at most 55.00" in html
    assert "at least 90.00" in html


def test_requests_are_counted_without_fractions(pair):
    assert "answered requests: 8 -> 8" in pair.lines
    assert re.search(r"\| answered requests +\| 8 +\| 8 +\|", "\n".join(benchmark_page.comparison_lines(pair)))
