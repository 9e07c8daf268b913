# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The one module that imports the drawing libraries: svg.py for shapes, pygal for plots."""

from __future__ import annotations

import importlib
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, error

_MISSING: list[str] = []


def _library(module: str, name: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as missing:  # pragma: no cover - depends on the installation
        _MISSING.append(f"{name} ({missing})")
        return None


svg = _library("svg", "svg.py")
pygal = _library("pygal", "pygal")


def require_libraries() -> None:
    """Raise CompileError, in words, where a library is not installed."""
    if _MISSING:
        what = f"Python libraries that draw the pages are missing: {', '.join(_MISSING)}"
        do = "Install them for the Python that runs Ansible: pip install svg.py pygal"
        raise CompileError([error("library", "the controller", what, do)])
