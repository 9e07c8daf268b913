# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""NPUs as files `davinci0` … in a directory of the host, each held by one process at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

_held = []


class NpuError(Exception):
    """An NPU that is not there or not free; the text is what the real engine's child dies with."""


def hold(settings, directory):
    """Hold this node's NPUs until the process ends. Without the directory the host has no NPU files: nothing to hold."""
    if not Path(directory).is_dir() or not settings.is_npu:
        return []
    wanted = wanted_devices(settings)
    for logical, device in wanted:
        path = Path(directory, f"davinci{device}")
        try:
            handle = os.open(path, os.O_RDWR)
        except FileNotFoundError:
            raise NpuError(
                f"RuntimeError: SetDevice: NPU function error: aclrtSetDevice(device_id), error code is 107001\n[Error]: Invalid device ID. Check the device ID ({device})"
            ) from None
        except PermissionError:
            raise NpuError(
                f"RuntimeError: Initialize: NPU function error: aclInit, error code is 507899: drvErr=87, no permission to {path}"
            ) from None
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise NpuError(
                f"RuntimeError: NPU out of memory. Tried to allocate 1.50 GiB (NPU {logical}; 60.96 GiB total capacity; 59.00 GiB already allocated)"
            ) from None
        _held.append(handle)
    return [device for _, device in wanted]


def wanted_devices(settings):
    """(logical, physical) number of each NPU of this node."""
    visible = settings.env.get("ASCEND_RT_VISIBLE_DEVICES")
    physical = [int(word) for word in visible.split(",") if word.strip().isdigit()] if visible else None
    step = settings.args["gpu_id_step"]
    result = []
    for index in range(settings.npus_per_node):
        logical = settings.args["base_gpu_id"] + index * step
        if physical is not None and logical >= len(physical):
            raise NpuError(
                f"RuntimeError: SetDevice: NPU function error: aclrtSetDevice(device_id), error code is 107001\n[Error]: Invalid device ID. Check the device ID ({logical})"
            )
        result.append((logical, logical if physical is None else physical[logical]))
    return result
