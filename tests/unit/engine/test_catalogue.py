# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Engine files: found, read, and said to be wrong where they are."""

from __future__ import annotations

import json

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.catalogue import (
    ROUTER,
    Catalogue,
    load_catalogue,
    version_key,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.files import (
    OWN_DIRECTORY,
    engine_files,
    read_catalogue,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import EngineError, load_engine

from .oracle import NEW, OLD, raw
from .oracle import ROUTER as ROUTER_FILE


def engine(version="1.0", flags=None, **more):
    return {"program": "sglang.launch_server", "version": version, "flags": flags or [{"names": ["--x"]}], **more}


def test_the_collections_own_versions(catalogue):
    assert catalogue.versions() == ["0.5.13.post1", "0.5.23"]
    assert catalogue.versions(ROUTER) == ["0.3.2"]
    assert catalogue.get("0.5.23").label == "SGLang 0.5.23"
    assert catalogue.get("0.3.2", ROUTER).label == "sglang-router 0.3.2"


@pytest.mark.parametrize(("name", "count"), [(OLD, 406), (NEW, 531), (ROUTER_FILE, 98)])
def test_every_flag_of_a_file_is_a_flag_of_the_engine(catalogue, name, count):
    loaded = catalogue.get(raw(name)["version"], raw(name)["program"])
    assert len(loaded.flags) == count
    for flag in raw(name)["flags"]:
        for spelling in flag["names"]:
            found = loaded.flag(spelling.removeprefix("--"))
            assert (found.dest, found.action, found.type, found.nargs) == tuple(
                flag[key] for key in ("dest", "action", "type", "nargs")
            )


def test_an_unknown_version_names_the_known_ones_and_the_way_to_add_one(catalogue):
    with pytest.raises(EngineError, match=r"0\.5\.22.*did you mean 0\.5\.23\?.*0\.5\.13\.post1, 0\.5\.23.*dump_engine"):
        catalogue.get("0.5.22")
    with pytest.raises(EngineError, match=r"Known versions: none"):
        Catalogue(()).get("1")


def test_adding_a_version_is_adding_a_file(tmp_path, old):
    mapping = raw(NEW) | {"version": "0.5.24", "renames": [], "removed": [], "defaults": []}
    (tmp_path / "mine.json").write_text(json.dumps(mapping), encoding="utf-8")
    catalogue = read_catalogue([tmp_path])
    assert catalogue.versions() == ["0.5.13.post1", "0.5.23", "0.5.24"]
    added = catalogue.get("0.5.24")
    assert added.rules == catalogue.get("0.5.23").rules  # what changed between versions is known to all of them
    assert added.known_env >= {"HCCL_BUFFSIZE", "SGLANG_NPU_USE_MLAPO"}


def test_a_file_of_ones_own_replaces_the_collections(tmp_path):
    (tmp_path / "mine.json").write_text(json.dumps(engine("0.5.23")), encoding="utf-8")
    assert len(read_catalogue([tmp_path]).get("0.5.23").flags) == 1


@pytest.mark.parametrize(
    ("text", "says"),
    [("{", "is no JSON"), ("[]", "one JSON object, not list"), ('{"program": "p"}', "has no 'version'")],
)
def test_a_broken_file_is_named(tmp_path, text, says):
    (tmp_path / "broken.json").write_text(text, encoding="utf-8")
    with pytest.raises(EngineError, match=rf"broken\.json.*{says}"):
        read_catalogue([tmp_path])


def test_a_directory_that_is_not_there_is_named(tmp_path):
    with pytest.raises(EngineError, match="nowhere: is no directory"):
        engine_files([tmp_path / "nowhere"])
    assert OWN_DIRECTORY / "sglang-0.5.23.json" in engine_files([OWN_DIRECTORY])


@pytest.mark.parametrize(
    ("mapping", "says"),
    [
        ({}, "has no 'program'"),
        ({"program": "p"}, "has no 'version'"),
        ({"program": "p", "version": "1"}, "has no 'flags'"),
        (engine(flags={"--x": 1}), "'flags' must be a list"),
        (engine(flags=["--x"]), "a flag without 'names'"),
        (engine(flags=[{"names": ["-x"]}]), "is no list of long flags"),
        (engine(flags=[{"names": ["--x"]}, {"names": ["--y", "--x"]}]), "--x is there twice"),
        (engine(flags=[{"names": ["--x"], "name": "--y"}]), "'--y' is none of the spellings --x"),
        (engine(env=["A"]), "'env' must map readers"),
        (engine(unchecked={"json": {"--x": "yes"}}), "'yes' is no kind of JSON"),
        (engine(renames=[{"old": "--x"}]), "'new' must be a spelling"),
        (engine(renames=[{"old": "--x", "new": "--y"}]), "a 'why' is missing"),
        (engine(renames=[{"old": "--x", "new": {"--y": "$M"}, "why": "w"}]), r"nothing sets \$M"),
        (engine(renames=[{"old": "--x", "new": {"--y": "1"}, "why": "w"}]), r"nothing sets \$value from new-to-old"),
        (engine(renames=[{"old": "--x", "new": "--y", "why": "w", "only": "up"}]), "'only' must be"),
        (engine(renames=[{"old": {"--x": 1}, "new": "--y", "why": "w"}]), "1 is no pattern"),
        (engine(renames=["--x"]), "a rename must be an object"),
        (engine(removed=["--x"]), "a removal must be an object"),
        (engine(removed=[{"name": "--x"}]), "a 'why' is missing"),
        (engine(defaults=[{"when": "--x", "old": {"A": "$N"}, "new": {"--y": "2"}, "why": "w"}]), "one spelling with"),
    ],
)
def test_what_an_engine_file_must_say(mapping, says):
    with pytest.raises(EngineError, match=says):
        load_engine(mapping)


def test_the_layers_below_are_shared_and_their_files_are_no_engines():
    catalogue = load_catalogue({"a": engine(env={"sglang": ["A"]}), "b": {"environment": {"below": ["B"], "": ["C"]}}})
    (loaded,) = catalogue.engines
    assert loaded.own_env == {"A"}
    assert loaded.known_env == {"A", "B"}
    assert loaded.env[None] == {"C"}


def test_versions_are_ordered_as_releases():
    ordered = ["0.5.9", "0.5.13rc1", "0.5.13", "0.5.13.post1", "0.5.19", "0.5.23", "0.6", "1.0"]
    mixed = ordered[::2] + ordered[1::2]
    assert sorted(mixed, key=version_key) == ordered
