# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One role of a profile from its services."""

from __future__ import annotations

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.flags import flags
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.folding import Folding, RoleText
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.variables import surroundings, variables


def fold(what: Folding) -> RoleText:
    """The role. Raises `RecipeError` for what differs between hosts and cannot be derived."""
    role = RoleText()
    surroundings(what, role)
    variables(what, role)
    flags(what, role)
    return role
