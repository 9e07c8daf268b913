# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The router's command as the router of a profile: which workers it has follows from the instances."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import options as op
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.commands import Launch
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.flags import BOOTSTRAP
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.folding import Folding, Paths, RoleText
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.places import Member, Places
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.roles import fold
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.seats import Seated
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.values import Word

# Flag of the router -> role of its workers.
_WORKERS = {"prefill": "prefill", "decode": "decode", "worker-urls": "mixed"}


def router(launch: Launch, engine: Engine, seated: Mapping[str, Seated], places: Places, paths: Paths) -> RoleText:
    """The router's role. A list of workers that does not fit the instances is noted, and derived all the same."""
    options, notes = op.parse(launch, engine)
    others = [option for option in options if option.name not in _WORKERS]
    member = Member(launch, None, 0, 0)
    within = Places({**places.members, "router": (member,)}, places.placeholders)
    text = fold(Folding("router", (member,), (tuple(others),), 1, within, engine, paths))
    text.notes.extend(notes)
    for flag, role in _WORKERS.items():
        lists = [option for option in options if option.name == flag]
        if lists:
            _workers(flag, role, lists, seated, within, text)
    # Flags stand in the page's order: the derived lists where the first of them stood.
    order = list(dict.fromkeys(option.name for option in options))
    text.args = {name: text.args[name] for name in order}
    return text


def _workers(
    flag: str, role: str, options: Sequence[op.Option], seated: Mapping[str, Seated], places: Places, text: RoleText
) -> None:
    text.used |= {(option.line, "flag", option.written) for option in options}
    text.args[flag] = "<worker_urls>" if flag == "worker-urls" else f"<{flag}_urls>"
    written = options[0].written
    if written != flag:
        text.page[flag] = {"flag": written}
    line = options[0].line
    seats = seated.get(role)
    if seats is None:
        text.notes.append(Note(line, f"--{written}", f"the recipe starts no {role} server", "warning"))
        return
    heads = [place for place, member in enumerate(seats.members) if member.rank == 0]
    given = [[word] for word in options[0].words] if flag == "worker-urls" else [list(each.words) for each in options]
    if len(given) != len(heads):
        what = f"the router has {len(given)} {role} workers, and the recipe starts {len(heads)} {role} instances"
        text.notes.append(Note(line, what, "the router gets every instance", "warning"))
    for place, (words, head) in enumerate(zip(given, heads, strict=False)):
        expected, found = _numbers(seats, head), _given(words, places)
        wrong = [
            f"{name} {found[name]} instead of {number}" for name, number in expected.items() if found[name] != number
        ]
        if wrong:
            what = f"the router's {role} worker has {', '.join(wrong)}"
            at = options[min(place, len(options) - 1)].line
            text.notes.append(Note(at, what, "the router gets what the server listens on", "warning"))


def _numbers(seats: Seated, place: int) -> dict[str, str | None]:
    values = {option.name: option.words[0].text for option in seats.options[place] if option.words}
    expected: dict[str, str | None] = {"port": values.get("port", "30000")}
    if BOOTSTRAP in values:
        expected["bootstrap port"] = values[BOOTSTRAP]
    return expected


def _given(words: Sequence[Word], places: Places) -> dict[str, str | None]:
    texts = [places.text(word.value) for word in words]
    port = re.search(r":(\d+)/?$", texts[0])
    return {"port": port[1] if port else None, "bootstrap port": texts[1] if len(texts) > 1 else None}
