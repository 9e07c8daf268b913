# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Earlier configurations of a unit, kept on its host before each change: what a rollback returns to.

One numbered directory each, the newest has the highest number. It holds the files as they were, secrets.env included,
and is closed to everybody but root. Code of ours (the launcher, the guard's package) is no configuration.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils import files
from ansible_collections.ascend.sglang.plugins.module_utils.files import Found
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout, guard_of

KEPT = 5
"""So many earlier configurations stay."""

_ABOUT = "entry.json"


@dataclass(frozen=True)
class Entry:
    """A configuration that was replaced.

    change: what the user calls the change that replaced it, possibly nothing; at: when, for people; becomes: the
    fingerprint of what replaced it, empty for a removal; files: by path; none where the unit did not exist.
    """

    number: int
    change: str
    at: str
    becomes: str
    role: str = ""
    files: Mapping[str, Found] = field(default_factory=dict)

    @property
    def is_nothing(self) -> bool:
        return not self.files


def config_paths(layout: Layout, unit: str) -> tuple[str, ...]:
    """The files that make up the configuration of a unit and its guard."""
    return (
        layout.launch(unit),
        layout.secrets(unit),
        layout.service(unit),
        layout.guard_config(unit),
        layout.unit_file(unit),
        layout.unit_file(guard_of(unit)),
    )


def fingerprint(contents: Mapping[str, bytes]) -> str:
    """Of a configuration, by path. Gives no secret away: it is only compared, and is readable by root alone."""
    digest = hashlib.sha256()
    for path, content in sorted(contents.items()):
        digest.update(os.path.basename(path).encode() + b"\0" + hashlib.sha256(content).digest())
    return digest.hexdigest()


def load(layout: Layout, unit: str) -> tuple[Entry, ...]:
    """The entries of a unit, oldest first."""
    directory = layout.history(unit)
    try:
        numbers = sorted(int(name) for name in os.listdir(directory) if name.isdigit())
    except FileNotFoundError:
        return ()
    return tuple(_load(layout, unit, os.path.join(directory, str(number)), number) for number in numbers)


def _load(layout: Layout, unit: str, directory: str, number: int) -> Entry:
    about = files.look(os.path.join(directory, _ABOUT))
    told: Any = json.loads(about.text) if about else {}
    modes = told.get("modes", {})
    found = {}
    for path in config_paths(layout, unit):
        name = os.path.basename(path)
        kept = files.look(os.path.join(directory, name)) if name in modes else None
        if kept is not None:
            found[path] = Found(kept.content, int(modes[name]), 0, 0)
    change, at, becomes, role = (str(told.get(key, "")) for key in ("change", "at", "becomes", "role"))
    return Entry(number, change, at, becomes, role, found)


def write(layout: Layout, unit: str, entry: Entry) -> None:
    """Keep an entry, and only the last KEPT ones."""
    parent = layout.history(unit)
    files.make_directory(parent, 0o700)
    temporary = os.path.join(parent, ".new")
    files.remove(temporary)
    os.mkdir(temporary, 0o700)
    names = {os.path.basename(path): found for path, found in entry.files.items()}
    for name, found in names.items():
        files.write(os.path.join(temporary, name), found.content, 0o600)
    about = {
        "change": entry.change,
        "at": entry.at,
        "becomes": entry.becomes,
        "role": entry.role,
        "modes": {name: found.mode for name, found in names.items()},
    }
    files.write(os.path.join(temporary, _ABOUT), (json.dumps(about, indent=1) + "\n").encode(), 0o600)
    os.rename(temporary, directory(layout, unit, entry.number))
    for old in load(layout, unit)[:-KEPT]:
        files.remove(directory(layout, unit, old.number))


def directory(layout: Layout, unit: str, number: int) -> str:
    """Where an entry is."""
    return os.path.join(layout.history(unit), str(number))


def to_undo(entries: tuple[Entry, ...], change: str) -> tuple[Entry, ...]:
    """The newest entries that a rollback of a change undoes, oldest first: it returns to the first of them.

    An empty change means whatever was last.
    """
    if not change:
        return entries[-1:]
    undone: list[Entry] = []
    for entry in reversed(entries):
        if entry.change != change:
            break
        undone.insert(0, entry)
    return tuple(undone)
