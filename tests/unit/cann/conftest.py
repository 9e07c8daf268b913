# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from pathlib import Path

import pytest


class Host:
    """A made-up file system to install toolkits into, in the layouts that exist."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, text: str = "") -> Path:
        file = self.root / path.lstrip("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def link(self, path: str, target: str) -> None:
        link = self.root / path.lstrip("/")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)

    def toolkit_8(self, version: str = "8.2.RC1", prefix: str = "/usr/local/Ascend") -> None:
        home = f"{prefix}/ascend-toolkit/{version}"
        self.write(
            f"{home}/aarch64-linux/ascend_toolkit_install.info",
            f"package_name=Ascend-cann-toolkit\nversion={version}\narch=aarch64\npath={home}/aarch64-linux\n",
        )
        self.link(f"{prefix}/ascend-toolkit/latest", version)
        self.write(f"{prefix}/ascend-toolkit/set_env.sh", "export ASCEND_HOME_PATH=x\n")

    def toolkit_9(self, version: str = "9.0.0", prefix: str = "/usr/local/Ascend", link: bool = True) -> None:
        home = f"{prefix}/cann-{version}"
        self.write(f"{home}/aarch64-linux/ascend_toolkit_install.info", f"version={version}\npath={home}\n")
        self.write(f"{home}/set_env.sh", "export ASCEND_HOME_PATH=x\n")
        if link:
            self.link(f"{prefix}/cann", f"cann-{version}")

    def atb(self, version: str = "9.0.0", prefix: str = "/usr/local/Ascend") -> None:
        home = f"{prefix}/nnal/atb/{version}"
        self.write(f"{home}/version.info", f"    Ascend-cann-atb : {version}\n    Platform : aarch64\n")
        self.link(f"{prefix}/nnal/atb/latest", version)
        self.write(f"{prefix}/nnal/atb/set_env.sh", "export ATB_HOME_PATH=x\n")


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


# The vendor's scripts, reduced to their manners.
TOOLKIT = """
home=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export LD_LIBRARY_PATH="$home/lib64:$LD_LIBRARY_PATH"
export PYTHONPATH="$home/python/site-packages:$PYTHONPATH"
driver=$(grep -i '^No_Such_Key=' /etc/os-release | cut -d= -f2)
test -f "$home/opp/vendors/config.ini"
export ASCEND_HOME_PATH="$home"
test -d /nowhere
"""
ATB = """
[ -n "$ZSH_VERSION" ] && echo zsh
abi=1
[[ "$1" == --cxx_abi=* ]] && abi=${1#--cxx_abi=}
echo "given: $# $*"
export ATB_HOME_PATH="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/cxx_abi_$abi"
export LD_LIBRARY_PATH="$ATB_HOME_PATH/lib:$LD_LIBRARY_PATH"
false
"""


class Vendor:
    """A toolkit and an ATB that can be sourced, under a path with blanks and quotes."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.toolkit = self._write(root / "my ascend's" / "cann", TOOLKIT, "lib64/libascendcl.so", "lib64/libhccl.so")
        self.atb = self._write(
            root / "my ascend's" / "nnal" / "atb", ATB, "cxx_abi_0/lib/libatb.so", "cxx_abi_1/lib/libatb.so"
        )

    @staticmethod
    def _write(home: Path, script: str, *libraries: str) -> Path:
        for library in libraries:
            (home / library).parent.mkdir(parents=True, exist_ok=True)
            (home / library).touch()
        file = home / "set_env.sh"
        file.write_text(script, encoding="utf-8")
        return file

    @property
    def sources(self) -> list[str]:
        return [str(self.toolkit), str(self.atb)]

    def python(self, answer: str, status: int = 0) -> str:
        """A python that answers what it is asked about torch."""
        file = self.root / "the engine's" / "python"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"#!/bin/sh\necho noise\n{answer}\nexit {status}\n", encoding="utf-8")
        file.chmod(0o755)
        return str(file)


@pytest.fixture
def vendor(tmp_path: Path) -> Vendor:
    return Vendor(tmp_path)
