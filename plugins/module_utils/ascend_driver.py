# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The NPU driver of a host: its version, its firmware's, and whether it was installed to the end."""

from __future__ import annotations

import grp
import os
import re
import stat
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils.unit_file import NPU_GROUP

_RECORD = "etc/ascend_install.info"
_DEFAULT = "/usr/local/Ascend"
REQUIRED = ("davinci_manager", "hisi_hdc")
"""Device files besides those of the NPUs without which no process reaches one."""

# devmm_svm is not required: newer drivers have none. Where it is, processes open it.
_MANAGERS = (*REQUIRED, "devmm_svm")
_DEVICE = re.compile(r"davinci(\d+)\Z")


def values(text: str) -> dict[str, str]:
    """The pairs of a file of ``key=value`` lines."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line)
    return {key.strip(): value.strip() for key, _equals, value in pairs}


def look(root: str = "/") -> dict[str, str]:
    """``driver`` and ``firmware`` (versions, empty where there is none) and ``status`` (empty on old drivers)."""
    record = values(_read(os.path.join(root, _RECORD)))

    def version(part: str) -> str:
        prefix = record.get(f"{part.capitalize()}_Install_Path_Param") or _DEFAULT
        return values(_read(os.path.join(root, prefix.lstrip("/"), part, "version.info"))).get("Version", "")

    return {
        "driver": version("driver"),
        "firmware": version("firmware"),
        "status": record.get("Driver_Install_Status", ""),
    }


def devices(root: str = "/") -> dict[str, Any]:
    """The device files: ``npus`` (numbers), ``managers`` (names that are there), ``files`` and ``group``.

    files: by name ``mode`` (permission bits), ``uid`` and ``gid``; group: the gid of the NPU group, or None.
    """
    folder = os.path.join(root, "dev")
    try:
        # A link that leads nowhere is no device.
        names = [name for name in os.listdir(folder) if os.path.exists(os.path.join(folder, name))]
    except OSError:
        names = []
    numbers = sorted(int(hit.group(1)) for hit in map(_DEVICE.match, names) if hit)
    managers = [name for name in _MANAGERS if name in names]
    files = {}
    for name in [f"davinci{number}" for number in numbers] + managers:
        status = os.stat(os.path.join(folder, name))
        files[name] = {"mode": stat.S_IMODE(status.st_mode), "uid": status.st_uid, "gid": status.st_gid}
    return {"npus": numbers, "managers": managers, "files": files, "group": npu_group()}


def npu_group() -> int | None:
    """The gid of the group that owns the NPU device files, where the host has it."""
    try:
        return grp.getgrnam(NPU_GROUP).gr_gid
    except KeyError:
        return None


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""
