# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print group_vars/all.example.yml; `make settings` writes it."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "collections"))

from ansible_collections.ascend.sglang.plugins.plugin_utils.settings_page import render

sys.stdout.write(render())
