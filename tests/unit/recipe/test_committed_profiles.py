# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The committed profiles are what the importer makes of the two pages, byte for byte."""

from __future__ import annotations

import pytest
import yaml
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.emit import emit

from .importing import ROOT, page, said

PROFILES = ROOT / "profiles"
RECIPE_PAGES = ("deepseek-r1.md", "kimi-k2.6.txt")
MADE = {profile.name: emit(profile.data) for name in RECIPE_PAGES for profile in page(name).profiles}


def test_all_profiles_come_from_the_pages() -> None:
    committed = {path.stem for path in PROFILES.glob("*.yml")} - {"aliases"}
    assert committed == set(MADE)
    assert len(MADE) == 18


@pytest.mark.parametrize("name", sorted(MADE))
def test_profile_is_what_the_importer_makes(name: str) -> None:
    assert (PROFILES / f"{name}.yml").read_bytes() == MADE[name].encode()


def test_each_alias_names_a_member_of_its_family() -> None:
    aliases = yaml.safe_load((PROFILES / "aliases.yml").read_text())
    for family, member in aliases.items():
        assert member in MADE
        assert member.startswith(f"{family}-")
    # Every profile has a family.
    assert all(any(name.startswith(f"{family}-") for family in aliases) for name in MADE)


def test_report_of_the_pages_says_what_is_spelled_otherwise() -> None:
    first, second = (said(page(name)) for name in RECIPE_PAGES)
    assert {text for _unused, _unused, text in first} == {
        "--moe-dense-tp: its full name is --moe-dense-tp-size",
        "\\: nothing follows this backslash",
    }
    torn = "--model-loader-extra-config {enable_multithread_load: true}"
    assert [text for _unused, _unused, text in second if text.startswith(torn)] == [
        f"{torn}: the shell tears the JSON apart; it is kept whole"
    ] * 4
    assert {level for _unused, level, _unused in first + second} == {"note"}
