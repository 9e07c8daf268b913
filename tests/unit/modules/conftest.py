# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan service to vary, and vendor scripts with the manners of real ones."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DECODE: dict[str, Any] = {
    "host": "d2",
    "unit": "sglang-decode",
    "role": "decode",
    "instance": 0,
    "rank": 1,
    "nnodes": 2,
    "module": "sglang.launch_server",
    "argv": [
        *("python3", "-m", "sglang.launch_server", "--model-path", "/models/r1", "--host", "192.0.2.22"),
        *("--port", "8001", "--cuda-graph-bs", "2", "4", "6", "--trust-remote-code"),
    ],
    "env": {"HCCL_BUFFSIZE": "650", "GLOO_SOCKET_IFNAME": "eth1"},
    "unset": ["http_proxy", "https_proxy"],
    "source": [],
    "url": "http://192.0.2.22:8001",
    "ports": {"http": 8001},
    "port_ranges": {"hccl": [60000, 60015]},
    "npus": [0, 15],
}

GUARD: dict[str, Any] = {
    "url": "http://192.0.2.22:29100",
    "gone_seconds": 60,
    "follows": {
        "what": "head",
        "host": "d1",
        "unit": "sglang-decode",
        "url": "http://192.0.2.21:29100",
        "ports": [8001, 5000],
    },
    "ranks": [],
}

ROUTER: dict[str, Any] = {
    "host": "d2",
    "unit": "sglang-router",
    "role": "router",
    "instance": 0,
    "rank": 0,
    "nnodes": 1,
    "argv": [
        *("python3", "-m", "sglang_router.launch_router", "--pd-disaggregation"),
        *("--prefill", "http://192.0.2.11:8000", "8998", "--decode", "http://192.0.2.22:8001", "--port", "6688"),
    ],
    "env": {},
    "unset": [],
    "source": [],
    "url": "http://127.0.0.1:6688",
    "ports": {"http": 6688, "prometheus": 29000},
    "npus": None,
}

# Reads unset variables, returns non-zero halfway, looks at $1, prints.
TOOLKIT = """
echo sourcing the toolkit
if [ -n "$ZSH_VERSION" ]; then exit 3; fi
case "$1" in --dry-run) echo "saw the caller's arguments" >&2; exit 3 ;; esac
false
export ASCEND_HOME_PATH="{home}"
export LD_LIBRARY_PATH="{home}/lib64:$LD_LIBRARY_PATH"
export http_proxy=http://127.0.0.1:9
grep -q nothing /dev/null
return 1
"""

ATB = """
until [ -z "$1" ]; do
  case "$1" in --cxx_abi=*) abi=${{1#*=}} ;; esac
  shift
done
export ATB_HOME_PATH="{home}/cxx_abi_$abi"
"""


@pytest.fixture
def decode() -> dict[str, Any]:
    return copy.deepcopy(DECODE)


@pytest.fixture
def guarded() -> dict[str, Any]:
    """The same with a guard."""
    return {**copy.deepcopy(DECODE), "ports": {"http": 8001, "guard": 29100}, "guard": copy.deepcopy(GUARD)}


@pytest.fixture
def router() -> dict[str, Any]:
    return copy.deepcopy(ROUTER)


@pytest.fixture
def vendor(tmp_path: Path) -> Callable[[str], list[str]]:
    """Install the vendor's scripts below a directory of this name; returns their paths."""

    def install(name: str) -> list[str]:
        prefix = tmp_path / name
        toolkit, atb = prefix / "cann-9.0.0", prefix / "nnal" / "atb"
        (toolkit / "lib64").mkdir(parents=True)
        (atb / "cxx_abi_1").mkdir(parents=True)
        (atb / "cxx_abi_0").mkdir(parents=True)
        (toolkit / "set_env.sh").write_text(TOOLKIT.format(home=toolkit))
        (atb / "set_env.sh").write_text(ATB.format(home=atb))
        return [str(toolkit / "set_env.sh"), str(atb / "set_env.sh")]

    return install
