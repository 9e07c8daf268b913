# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The annotated example of all settings: text for people to copy, made from the one list of settings."""

from __future__ import annotations

import textwrap

import yaml
from ansible_collections.ascend.sglang.plugins.plugin_utils.settings import SETTINGS, Setting

_HEAD = """\
---
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Every setting of ascend.sglang with its default. Copy what you need into the group_vars beside your inventory;
# no playbook reads this file. Made by `make settings` from plugins/plugin_utils/settings.py.
"""
_SCOPES = {
    "cluster": "For the whole cluster: one value, in group_vars/all.",
    "role": "For all hosts of a role: one value, in group_vars/all or in the role's group.",
    "host": "For each host: in the inventory, beside the host.",
}


def render() -> str:
    """The text of group_vars/all.example.yml."""
    parts = [_HEAD]
    for scope, title in _SCOPES.items():
        parts.append(f"# {title}\n")
        parts += [_entry(setting) for setting in SETTINGS if setting.scope == scope]
    return "\n".join(parts)


def _entry(setting: Setting) -> str:
    text = textwrap.fill(
        setting.meaning, width=116, break_on_hyphens=False, initial_indent="# ", subsequent_indent="# "
    )
    default = yaml.safe_dump(setting.default, default_flow_style=True).replace("\n...", "").strip()
    lines = [text]
    if setting.choices:
        lines.append(f"# One of: {', '.join(setting.choices)}.")
    if setting.example:
        lines.append(f"# Example: {setting.name}: {setting.example}")
    lines.append(f"# {setting.name}: {default}")
    return "\n".join(lines) + "\n"
