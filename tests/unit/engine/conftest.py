# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.catalogue import ROUTER, Catalogue
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.files import read_catalogue
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import Engine


@pytest.fixture(scope="session")
def catalogue() -> Catalogue:
    return read_catalogue()


@pytest.fixture(scope="session")
def old(catalogue) -> Engine:
    return catalogue.get("0.5.13.post1")


@pytest.fixture(scope="session")
def new(catalogue) -> Engine:
    return catalogue.get("0.5.23")


@pytest.fixture(scope="session")
def router(catalogue) -> Engine:
    return catalogue.get("0.3.2", ROUTER)
