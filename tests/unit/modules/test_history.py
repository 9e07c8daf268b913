"""Earlier configurations: what is kept, what comes back, and what is never shown."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from ansible_collections.ascend.sglang.plugins.module_utils import history
from ansible_collections.ascend.sglang.plugins.module_utils.files import Found
from ansible_collections.ascend.sglang.plugins.module_utils.history import Entry
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout

UNIT = "sglang-decode"


@pytest.fixture
def layout(tmp_path) -> Layout:
    return Layout(str(tmp_path))


def found(text: str, mode: int = 0o644) -> Found:
    return Found(text.encode(), mode, 0, 0)


def entry(layout: Layout, number: int, change: str = "c", launch: str = "one") -> Entry:
    kept = {layout.launch(UNIT): found(launch, 0o755), layout.secrets(UNIT): found('api_key="s3cret"\n', 0o600)}
    return Entry(number, change, "2026-01-02T03:04:05Z", "f" * 64, "decode", kept)


def test_what_is_kept_comes_back(layout):
    nothing = Entry(1, "c0", "2026-01-01T00:00:00Z", "e" * 64, "decode")
    history.write(layout, UNIT, nothing)
    history.write(layout, UNIT, entry(layout, 2))
    assert history.load(layout, UNIT) == (nothing, entry(layout, 2))
    assert [one.is_nothing for one in history.load(layout, UNIT)] == [True, False]


def test_only_root_reads_it(layout):
    old = os.umask(0)
    try:
        history.write(layout, UNIT, entry(layout, 1))
    finally:
        os.umask(old)
    root = Path(layout.history(UNIT))
    modes = {path.relative_to(root).as_posix(): stat.S_IMODE(path.stat().st_mode) for path in [root, *root.rglob("*")]}
    assert modes == {".": 0o700, "1": 0o700, "1/entry.json": 0o600, "1/launch.sh": 0o600, "1/secrets.env": 0o600}


def test_the_last_five_stay(layout):
    for number in range(1, 9):
        history.write(layout, UNIT, entry(layout, number))
    assert [one.number for one in history.load(layout, UNIT)] == [4, 5, 6, 7, 8]


def test_what_a_power_cut_left_is_no_entry(layout):
    history.write(layout, UNIT, entry(layout, 1))
    Path(layout.history(UNIT), ".new").mkdir()
    Path(layout.history(UNIT), ".new", "launch.sh").write_text("half of")
    assert [one.number for one in history.load(layout, UNIT)] == [1]
    history.write(layout, UNIT, entry(layout, 2))
    assert [one.number for one in history.load(layout, UNIT)] == [1, 2]
    assert sorted(os.listdir(layout.history(UNIT))) == ["1", "2"]


def test_no_history(layout):
    assert history.load(layout, UNIT) == ()
    assert history.to_undo((), "") == ()


@pytest.mark.parametrize(
    ("change", "numbers"),
    [("", [4]), ("c2", [3, 4]), ("c1", []), ("other", [])],
)
def test_what_a_rollback_undoes(layout, change, numbers):
    entries = tuple(entry(layout, number, name) for number, name in enumerate(["c0", "c1", "c2", "c2"], 1))
    assert [one.number for one in history.to_undo(entries, change)] == numbers


def test_fingerprints():
    one = history.fingerprint({"/a/launch.sh": b"x", "/a/guard.json": b"y"})
    assert one == history.fingerprint({"/a/guard.json": b"y", "/a/launch.sh": b"x"})
    assert one != history.fingerprint({"/a/launch.sh": b"y", "/a/guard.json": b"x"})
    assert one != history.fingerprint({"/a/launch.sh": b"x"})
