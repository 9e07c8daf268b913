# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hosts have registered, read for all of them."""

from __future__ import annotations

from ansible_collections.ascend.sglang.plugins.plugin_utils.registered import answers

HOSTVARS = {
    "asked": {"probe": {"facts": {"a": 1}}},
    "failed": {"probe": {"failed": True, "msg": "no"}},
    "outside": {},
}


def test_only_answers_that_have_the_key():
    assert answers(HOSTVARS, HOSTVARS, "probe", "facts") == {"asked": {"facts": {"a": 1}}}


def test_without_a_key_every_answer_and_nothing_of_a_host_that_gave_none():
    assert list(answers(HOSTVARS, HOSTVARS, "probe")) == ["asked", "failed"]
