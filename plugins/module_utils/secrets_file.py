# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of secrets.env, and a mark of its content that gives nothing of it away."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets as random_source

from ansible_collections.ascend.sglang.plugins.module_utils import secret_launcher
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout

_KEY = "# key "


def key_of(text: str) -> str:
    """The key in an existing secrets.env, or a new one. It lives where the secrets live and says nothing."""
    for line in text.splitlines():
        if line.startswith(_KEY):
            return line[len(_KEY) :].strip()
    return random_source.token_hex(16)


def render(values: dict[str, str], key: str) -> str:
    """secrets.env, as secret_launcher reads it."""
    lines = ["# Ansible managed (ascend.sglang). Readable by root only.", _KEY + key]
    lines += [f"{name}={json.dumps(values[name])}" for name in sorted(values)]
    return "\n".join(lines) + "\n"


def mark(values: dict[str, str], key: str) -> str:
    """Changes whenever a value changes. Keyed, so that short secrets cannot be guessed from it."""
    text = json.dumps(values, sort_keys=True)
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


def value(layout: Layout, unit: str | None, secret: str) -> str | None:
    """A secret of a unit on this host; None where there is no unit, or it has no such secret."""
    if not unit:
        return None
    try:
        return secret_launcher.read_secrets(layout.secrets(unit)).get(secret)
    except FileNotFoundError:
        return None
