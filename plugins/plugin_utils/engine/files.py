# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where engine files are, and reading them. The only module of the package that touches files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.catalogue import Catalogue, load_catalogue
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import EngineError

# The collection's own engine files, beside its plugins.
OWN_DIRECTORY = Path(__file__).parents[3] / "engines"


def read_engine_file(path: Path) -> Any:
    """The parsed JSON of one file; raises `EngineError` that names the file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise EngineError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise EngineError(f"{path}: is no JSON ({error})") from error


def engine_files(directories: Iterable[Path]) -> list[Path]:
    """Every ``*.json`` of the directories, those of later directories last; a directory must exist."""
    files: list[Path] = []
    for directory in directories:
        if not directory.is_dir():
            raise EngineError(f"{directory}: is no directory, so no engine files are there")
        files.extend(sorted(directory.glob("*.json")))
    return files


def read_catalogue(directories: Sequence[Path] = ()) -> Catalogue:
    """The collection's engines and those of further directories, where a later file replaces an earlier version."""
    files = engine_files([OWN_DIRECTORY, *directories])
    return load_catalogue({str(path): read_engine_file(path) for path in files})
