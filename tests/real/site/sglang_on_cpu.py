# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lets the real SGLang be imported where no GPU is. Loaded by a .pth file at the start of every process of its Python.

torchvision's Python part tells torch about two operators that its library, which wants CUDA, would bring. SGLang
imports torchvision and never calls them: they are declared, and nothing stands behind them.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from typing import Any

OPERATORS = ("nms", "qnms")
SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


class DeclareOperators(MetaPathFinder):
    """Finds nothing; sees torchvision's import come, and goes."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        """Declare the operators before torchvision is looked for."""
        if fullname == "torchvision":
            sys.meta_path.remove(self)
            import torch

            # A library lives as long as what holds it.
            self.library = torch.library.Library("torchvision", "DEF")
            for name in OPERATORS:
                self.library.define(name + SIGNATURE)
            _KEPT.append(self)


_KEPT: list[DeclareOperators] = []
sys.meta_path.insert(0, DeclareOperators())
