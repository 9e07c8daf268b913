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
