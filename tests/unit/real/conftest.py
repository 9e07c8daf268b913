# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the real engine's hosts get from us, loaded under names that nothing else has."""

from __future__ import annotations

import importlib.util
import pathlib
import sys
from types import ModuleType

import pytest

REAL = pathlib.Path(__file__).resolve().parents[2] / "real"


def _load(name: str, path: pathlib.Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def memfabric() -> ModuleType:
    """The package that stands in for memfabric_hybrid. SGLang's stand-in has one of that name, too."""
    return _load("memfabric_over_tcp", REAL / "site" / "memfabric_hybrid" / "__init__.py")


@pytest.fixture(scope="session")
def tiny() -> ModuleType:
    """The script that makes the model."""
    return _load("tiny_model", REAL / "model.py")
