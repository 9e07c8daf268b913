# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The store as a process of its own: `python3 -m memfabric_hybrid.launch_ascend_mf_store`.

As the real one it has no arguments: ASCEND_MF_STORE_URL says where to serve (ASCEND_MF_LOG_LEVEL how much to log). It
ends with 0 on SIGTERM or SIGINT, with a status of its own where it cannot serve, and with ValueError without the URL.
"""

from __future__ import annotations

import os
import signal
import sys

from memfabric_hybrid import create_config_store, set_log_level


def main():
    """Serve until told to end."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    level = os.environ.get("ASCEND_MF_LOG_LEVEL", "")
    if level.isdigit():
        set_log_level(int(level))
    url = os.environ.get("ASCEND_MF_STORE_URL")
    if not url:
        raise ValueError("env ASCEND_MF_STORE_URL not exist")
    status = create_config_store(url)
    if status:
        sys.exit(status)
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
