# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A finding reads as sentences on one line, and the errors alone end a run."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import (
    CompileError,
    error,
    error_text,
    nearest,
    stop_on_errors,
    warning,
)


@pytest.mark.parametrize(
    ("what", "do", "text"),
    [
        ("it is down", "Bring it up", "host p1: it is down. Bring it up."),
        ("it is down", "", "host p1: it is down."),
        ("no such flag", "did you mean tp-size?", "host p1: no such flag. Did you mean tp-size?"),
        ("it ended. ", "Install it.", "host p1: it ended. Install it."),
        ("line 1:\n  column 2", "Correct it", "host p1: line 1: column 2. Correct it."),
    ],
)
def test_a_finding_is_sentences_on_one_line(what, do, text):
    assert str(error("check", "host p1", what, do)) == text


def test_warnings_do_not_end_a_run_and_are_not_in_its_message():
    found = [warning("a", "p1", "odd"), error("b", "p2", "wrong", "Mend it"), error("c", "p3", "missing", "Add it")]
    stop_on_errors(found[:1])
    with pytest.raises(CompileError) as caught:
        stop_on_errors(found)
    assert str(caught.value) == error_text(found) == "p2: wrong. Mend it.\np3: missing. Add it."
    assert caught.value.findings == tuple(found)


def test_only_near_names_are_offered():
    assert nearest("decod", ["prefill", "decode"]) == "did you mean decode?"
    assert nearest("xyz", ["prefill", "decode"]) == ""
