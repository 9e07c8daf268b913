# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A profile is refused with the place and the reason, and a name means the profile that a reader would expect."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.ascend.sglang.plugins.plugin_utils import profile as profiles
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile import load
from ansible_collections.ascend.sglang.plugins.plugin_utils.profile_files import catalogue, choose

from .cluster import PROFILES, ROOT

PD: dict[str, Any] = {
    "name": "mine",
    "engine": "0.5.13.post1",
    "roles": {
        "prefill": {
            "instances": 2,
            "nodes": 1,
            "env": {"ASCEND_MF_STORE_URL": "tcp://<store_address>:24670"},
            "args": {"model-path": "<model_path>", "host": "<data_address>", "port": 8000},
        },
        "decode": {"instances": 1, "nodes": 2, "args": {"dist-init-addr": "<head_address>:5000"}},
        "router": {"args": {"prefill": "<prefill_urls>", "decode": "<decode_urls>"}},
    },
}


def changed(*path: str, to: Any) -> dict[str, Any]:
    data = copy.deepcopy(PD)
    place = data
    for name in path[:-1]:
        place = place.setdefault(name, {})
    place[path[-1]] = to
    return data


def refusal(data: Any) -> str:
    with pytest.raises(CompileError) as caught:
        load(data, "mine.yml")
    return str(caught.value)


def test_what_a_profile_leaves_out_has_a_default():
    profile = load(PD, "mine.yml")
    assert (profile.title, profile.router_engine, profile.benchmark, profile.governor) == ("mine", "0.3.2", None, None)
    assert profile.roles["prefill"].module == "sglang.launch_server"
    assert profile.roles["router"].module == "sglang_router.launch_router"
    assert profile.roles["prefill"].per_instance == {"disaggregation-bootstrap-port": 1}
    assert profile.disaggregated


@pytest.mark.parametrize(
    ("data", "place", "what"),
    [
        (None, "top level", "None is not of type 'object'"),
        ([], "top level", "[] is not of type 'object'"),
        ({}, "top level", "'name' is a required property"),
        (changed("name", to="My Profile"), "name", "does not match"),
        (changed("colour", to="red"), "top level", "'colour' was unexpected"),
        (changed("roles", "prefill", "instances", to=0), "roles.prefill.instances", "0 is less than the minimum of 1"),
        (changed("roles", "prefill", "nodes", to="two"), "roles.prefill.nodes", "'two' is not of type 'integer'"),
        (changed("roles", "prefill", "env", "A", to=8), "roles.prefill.env.A", "8 is not of type 'string'"),
        (changed("roles", "prefill", "args", "port", to=None), "roles.prefill.args.port", "its value is missing"),
        (changed("roles", "prefill", "args", "--port", to=1), "roles.prefill.args", "'--port' does not match"),
        (changed("roles", "decode", "unset", to="A"), "roles.decode.unset", "'A' is not of type 'array'"),
        (changed("roles", "decode", "page", "tp-size", to={}), "roles.decode.page.tp-size", "{}"),
        (changed("roles", "router", "nodes", to=1), "roles.router", "'nodes' was unexpected"),
        (changed("benchmark", to={}), "benchmark", "'args' is a required property"),
    ],
)
def test_what_does_not_fit_the_schema_is_named_with_its_place(data, place, what):
    message = refusal(data)
    assert message.startswith(f"profile mine.yml, {place}: ")
    assert what in message
    assert message.endswith("See docs/profiles.md.")
    assert len(message) < 400


@pytest.mark.parametrize(
    ("roles", "given"),
    [
        ({}, "none"),
        ({"prefill": {}, "decode": {}}, "prefill, decode"),
        ({"router": {}}, "router"),
        ({"prefill": {}, "decode": {}, "router": {}, "mixed": {}}, "prefill, decode, router, mixed"),
    ],
)
def test_roles_that_make_no_cluster_are_refused_in_a_sentence(roles, given):
    full = {role: {"args": {}, **({} if role == "router" else {"instances": 1, "nodes": 1})} for role in roles}
    assert refusal(changed("roles", to=full)) == (
        "profile mine.yml, roles: a profile has the roles prefill, decode and router, or the role mixed, and this one "
        f"has {given}. See docs/profiles.md."
    )


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            changed("roles", "decode", "args", "host", to="<my_address>"),
            "roles.decode.args.host: <my_address> is no placeholder",
        ),
        (
            changed("roles", "decode", "env", "A", to="<network-interface>"),
            "roles.decode.env.A: <network-interface> is no",
        ),
        (changed("roles", "decode", "env", "A", to="<your ip>"), "roles.decode.env.A: <your ip> is no placeholder"),
        (changed("roles", "decode", "args", "x", to=["<Model>"]), "roles.decode.args.x: <Model> is no placeholder"),
        (
            changed("roles", "decode", "args", "x", to="<prefill_urls>"),
            "roles.decode.args.x: <prefill_urls> (the router's",
        ),
        (
            changed("roles", "router", "args", "x", to="<head_address>"),
            "roles.router.args.x: <head_address> (data address",
        ),
        (changed("roles", "router", "args", "x", to="a <decode_urls>"), "<decode_urls> must be the whole value"),
        (changed("roles", "decode", "source", to=["<model_path>/x"]), "roles.decode.source: <model_path> (directory"),
        (
            changed("benchmark", to={"args": {"host": "<data_address>"}}),
            "benchmark.args.host: <data_address> (this node",
        ),
    ],
)
def test_a_placeholder_that_nobody_fills_is_refused(data, message):
    assert message in refusal(data)


def test_the_store_is_nothing_to_a_mixed_server():
    data = {"name": "mine", "engine": "1", "roles": {"mixed": {**PD["roles"]["prefill"]}}}
    assert "<store_address> (data address of the node that serves the store) means nothing here" in refusal(data)


def test_placeholders_where_they_mean_something_are_taken():
    for role, place, name in (
        ("decode", "args", "<node_rank>"),
        ("decode", "env", "<draft_model_path>/x"),
        ("decode", "env", "<env:LD_LIBRARY_PATH>"),
        ("router", "args", "<model_path>"),
    ):
        load(changed("roles", role, place, "x", to=name), "mine.yml")
    load(changed("benchmark", to={"args": {"model": "<model_path>"}}), "mine.yml")


def test_a_missing_jsonschema_is_an_error_in_words(monkeypatch):
    monkeypatch.setattr(profiles, "JSONSCHEMA_ERROR", "No module named 'jsonschema'")
    assert "the Python library jsonschema is missing (No module named 'jsonschema')" in refusal(PD)


# Files


def write(directory: Path, name: str, text: str) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(text)
    return directory


def own(directory: Path, *names: str) -> Path:
    for name in names:
        write(directory, f"{name}.yml", yaml.safe_dump({**PD, "name": name}))
    return directory


def reading(*directories: Path, name: str = "mine") -> str:
    with pytest.raises(CompileError) as caught:
        choose(catalogue([*directories, ROOT / "profiles"]), name)
    return str(caught.value)


def test_every_family_stands_for_one_member_and_knows_the_others():
    for family, member in PROFILES.aliases.items():
        choice = choose(PROFILES, family)
        assert choice.profile.name == member
        assert set(choice.siblings) == {
            name for name in PROFILES.files if name.startswith(f"{family}-") and name != member
        }
    note = choose(PROFILES, "deepseek-r1-w8a8-2p1d").note
    assert note.startswith("Profile deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms, the one that deepseek-r1-w8a8-2p1d ")
    assert note.count("ms") == 5


def test_every_profile_is_reached_by_its_own_name_and_belongs_to_a_family():
    for name in PROFILES.files:
        choice = choose(PROFILES, name)
        assert (choice.profile.name, choice.siblings, choice.note) == (name, (), f"Profile {name}.")
        assert any(name.startswith(f"{family}-") for family in PROFILES.aliases)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("deepseek-r1-w8a8", "Did you mean deepseek-r1-w8a8-2p1d, "),
        ("deepseek-r1-w8a8-2pld", "Did you mean deepseek-r1-w8a8-2p1d"),
        ("DeepSeek-R1-W8A8-2P1D", "Did you mean deepseek-r1-w8a8-2p1d"),
        ("kimi-k2.6-w4a8-16p", "Did you mean kimi-k2-6-w4a8-16p"),
        ("llama", "Known are: deepseek-r1-w4a8-1p1d, "),
    ],
)
def test_an_unknown_name_gets_the_nearest(name, hint):
    message = reading(name=name)
    assert message.startswith(f"sglang_profile: there is no profile '{name}'. ")
    assert hint in message


def test_no_name_gets_them_all():
    message = reading(name="")
    assert message.startswith("sglang_profile: no profile is named. ")
    assert all(name in message for name in (*PROFILES.files, *PROFILES.aliases))


def test_a_directory_of_ones_own_comes_first(tmp_path):
    name = "kimi-k2-6-w4a8-8p-in3k5-out1k5-20ms"
    own(tmp_path, name, "mine")
    write(tmp_path, "aliases.yml", "fast: mine\ntheirs: deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms\n")
    known = catalogue([tmp_path, ROOT / "profiles"])
    assert choose(known, name).profile.disaggregated
    assert choose(known, "fast").profile.name == "mine"
    assert choose(known, "fast").note == "Profile mine, the one that fast stands for. It is the only one of its family."
    assert choose(known, "theirs").profile.name == "deepseek-r1-w8a8-2p1d-32p-in3k5-out1k5-50ms"


def test_an_editors_left_overs_are_no_profiles(tmp_path):
    own(tmp_path, "mine", ".#mine", "notes")
    (tmp_path / "notes.yml").rename(tmp_path / "notes.txt")
    assert list(catalogue([tmp_path]).files) == ["mine"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("name: [", "cannot be read: while parsing"),
        ("name: mine\nname: other\n", "cannot be read: name stands twice"),
        ("roles: {decode: {args: {a: 1, a: 2}}}\n", "cannot be read: a stands twice"),
        ("", "None is not of type 'object'"),
        (yaml.safe_dump({**PD, "name": "other"}), "its name is 'other', not the file's"),
    ],
)
def test_a_file_that_is_no_profile_is_named_and_its_fault(tmp_path, text, what):
    message = reading(write(tmp_path, "mine.yml", text))
    assert message.startswith(f"profile {tmp_path}/mine.yml")
    assert what in message
    assert "\n" not in message


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "mine.yml").write_bytes(b"\xff\xfe")
    assert "cannot be read: 'utf-8' codec" in reading(tmp_path)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("- mine\n", "is no mapping of names to names"),
        ("a: [b]\n", "is no mapping"),
        ("fast: mien\n", "Did you mean mine?"),
    ],
)
def test_aliases_of_nothing_are_refused(tmp_path, text, what):
    message = reading(write(own(tmp_path, "mine"), "aliases.yml", text))
    assert message.startswith(f"{tmp_path}/aliases.yml: ")
    assert what in message


def test_a_directory_that_is_not_there_is_named(tmp_path):
    assert reading(tmp_path / "none") == (
        f"sglang_profile_dirs, {tmp_path}/none: no such directory on the controller. "
        "Give a directory that holds profiles, one YAML file each."
    )
