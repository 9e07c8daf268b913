# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventories in shapes that Ansible does not take."""

from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.inventory_shapes import problems, shape

GOOD = """
all:
  vars: {sglang_model_path: /models/x, secret: !vault "xyz", other: !unsafe [a]}
  children:
    prefill: {hosts: {p1: {ansible_host: 192.0.2.1}, p2: , "p[3:4]": }}
    decode:
      hosts: d1
    router:
      children: {other: {}}
    empty:
"""

BAD = {
    "hosts as a list": (
        "prefill:\n  hosts: [p1, p2]\n",
        "inv.yml, group prefill: hosts is a list (p1, p2), and has to be a mapping. "
        "Write each host as a line of its own with a colon: `p1:` `p2:`.",
    ),
    "hosts as a list of mappings, in a group of groups": (
        "all:\n  children:\n    decode:\n      hosts:\n        - d1: {ansible_host: x}\n",
        "inv.yml, group decode: hosts is a list, and has to be a mapping. "
        "Write each host as a line of its own with a colon: `NAME:`.",
    ),
    "a group as a list": (
        "prefill: [p1]\n",
        "inv.yml, group prefill: it is a list (p1), and a group is a mapping. "
        "Write `prefill:` and below it `hosts:` with a line `NAME:` for each host.",
    ),
    "a list of groups": (
        "- prefill\n- decode\n",
        "inv.yml: it is a list (prefill, decode), and an inventory is a mapping of groups. Write a mapping: the "
        "group's name, a colon, and below it `hosts:` with a line `NAME:` for each host.",
    ),
    "a key that is misspelt": (
        "prefill:\n  host: {p1: }\n",
        "inv.yml, group prefill: 'host' is nothing that a group has. Did you mean hosts?",
    ),
    "a variable beside hosts": (
        "prefill:\n  hosts: {p1: }\n  sglang_npus: 8\n",
        "inv.yml, group prefill: 'sglang_npus' is nothing that a group has. "
        "A group has hosts, children, vars; variables stand below vars.",
    ),
    "an address in place of variables": (
        "prefill:\n  hosts:\n    p1: 192.0.2.1\n",
        "inv.yml, group prefill, host p1: its value is the text '192.0.2.1', not variables. "
        "Write the host's variables as a mapping: `p1: {ansible_host: 192.0.2.1}`.",
    ),
    "children as a list": (
        "all:\n  children: [prefill]\n",
        "inv.yml, group all: children is a list (prefill), and has to be a mapping. "
        "Write each group as a line `NAME:` below children.",
    ),
    "variables as a list": (
        "all:\n  vars: [sglang_npus]\n",
        "inv.yml, group all: vars is a list (sglang_npus), and has to be a mapping. "
        "Write each variable as a line `NAME: VALUE` below vars.",
    ),
    "no YAML": (
        "prefill:\n  hosts: {p1: \n",
        "inv.yml: line 3: it is no YAML: expected the node content, but found '<stream end>'. "
        "Mend that line, or one before it.",
    ),
}


@pytest.mark.parametrize("text", [GOOD, "", "plugin: constructed\nstrict: true\n", '{"all": {"hosts": {"p1": {}}}}'])
def test_what_ansible_takes(text: str):
    assert list(shape("inv.yml", text)) == []


@pytest.mark.parametrize("name", BAD)
def test_what_it_does_not_take(name: str):
    text, said = BAD[name]
    assert [str(one) for one in shape("inv.yml", text)] == [said]


def test_sources(tmp_path):
    (tmp_path / "hosts.yml").write_text("prefill: [p1]\n")
    (tmp_path / "hosts.ini").write_text("[prefill]\np1\n")
    (tmp_path / "binary.yml").write_bytes(b"\xff\xfe\x00")
    for sources in (
        [str(tmp_path)],
        [str(tmp_path / "hosts.yml"), str(tmp_path / "binary.yml"), "p1,p2", "/nowhere.yml"],
    ):
        found = [str(one) for one in problems(sources)]
        assert len(found) == 2
        assert any("hosts.yml, group prefill: it is a list" in one for one in found)
        assert any("binary.yml: it cannot be read" in one for one in found)
