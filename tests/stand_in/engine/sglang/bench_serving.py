# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`python3 -m sglang.bench_serving ARGS`, as the real module is started."""

from __future__ import annotations

import sys

from sglang.bench_serving_parts.run import main

if __name__ == "__main__":
    main(sys.argv[1:])
