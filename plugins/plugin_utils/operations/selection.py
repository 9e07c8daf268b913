# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a person names on the command line to be restarted. Nothing named means everything, so no slip may mean that."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, Finding, error

# By option of the module ascend.sglang.rollout the variable of restart.yml.
VARIABLES = {"roles": "role", "instances": "instance"}

# Closer than `profile` is to `role`.
_CLOSE = 0.8


def names(words: Sequence[str] | None, option: str) -> list[str]:
    """The names in an option that was given. CompileError where it names nothing."""
    found = [word.strip() for word in words or () if word.strip()]
    if not found:
        what = "it is empty, which would restart everything"
        do = f"Name what is to restart, such as {'decode' if option == 'roles' else 'decode-0'}, or leave it out"
        raise CompileError([error("selection", f"{VARIABLES[option]}=", what, do)])
    return found


def misspelt(given: Iterable[str]) -> list[Finding]:
    """An error for each variable of the command line that looks like one that selects. given: their names."""
    wanted = list(VARIABLES.values())
    return [
        error(
            "selection", f"{name}=", "this variable selects nothing, so that everything would restart", f"Use {near}="
        )
        for name in given
        if name not in wanted
        for near in difflib.get_close_matches(name.lower(), wanted, 1, _CLOSE)
    ]
