# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A profile as the text of its file: always the same text for the same profile, readable beside its page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

HEADER = """\
---
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""
_WIDTH = 110


class _Dumper(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        # Lists stand indented under their key, as yamllint and people expect.
        super().increase_indent(flow, False)

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _sequence(dumper: yaml.SafeDumper, data: list[Any]) -> yaml.Node:
    scalars = not any(isinstance(item, (list, dict)) for item in data)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", data, flow_style=scalars)


def _mapping(dumper: yaml.SafeDumper, data: dict[str, Any]) -> yaml.Node:
    return dumper.represent_mapping("tag:yaml.org,2002:map", data.items(), flow_style=not data)


_Dumper.add_representer(list, _sequence)
_Dumper.add_representer(dict, _mapping)


def emit(profile: Mapping[str, Any]) -> str:
    """The file's text."""
    return HEADER + yaml.dump(
        dict(profile), Dumper=_Dumper, sort_keys=False, width=_WIDTH, allow_unicode=True, default_flow_style=False
    )
