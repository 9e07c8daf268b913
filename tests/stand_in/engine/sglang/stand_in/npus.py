# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NPUs as files `davinci0` … in a directory of the host, each held by one process at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from sglang.stand_in import texts

_held = []


class NpuError(Exception):
    """An NPU that is not there or not free; the text is what the real engine's child dies with."""


def hold(settings, directory):
    """Hold this node's NPUs until the process ends; a host without the directory has none to hold."""
    if not Path(directory).is_dir() or not settings.is_npu:
        return []
    wanted = wanted_devices(settings)
    for logical, device in wanted:
        path = Path(directory, f"davinci{device}")
        try:
            handle = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            raise NpuError(texts.no_device(device)) from None
        except PermissionError:
            raise NpuError(texts.device_forbidden(path)) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise NpuError(texts.device_full(logical)) from None
        _held.append(handle)
    return [device for _unused, device in wanted]


def wanted_devices(settings):
    """(logical, physical) number of each NPU of this node."""
    visible = settings.env.get("ASCEND_RT_VISIBLE_DEVICES")
    physical = [int(word) for word in visible.split(",") if word.strip().isdigit()] if visible else None
    step = settings.args["gpu_id_step"]
    result = []
    for index in range(settings.npus_per_node):
        logical = settings.args["base_gpu_id"] + index * step
        if physical is not None and logical >= len(physical):
            raise NpuError(texts.no_device(logical))
        result.append((logical, logical if physical is None else physical[logical]))
    return result
