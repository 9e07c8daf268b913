# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a server says of itself, ten times a second, until standard input has another line."""

from __future__ import annotations

import json
import re
import select
import sys
import time
import urllib.request

told = json.loads(sys.stdin.readline())
asked = urllib.request.Request(told["url"], headers={"Authorization": f"Bearer {told['key']}"})
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
while not select.select([sys.stdin], [], [], 0.1)[0]:
    text = opener.open(asked, timeout=30).read().decode()
    found = {name: float(re.search(rf"^sglang:{name}{{.*}} (\S+)$", text, re.MULTILINE)[1]) for name in (
        "num_running_reqs", "num_requests_total", "prompt_tokens_total", "generation_tokens_total"
    )}  # fmt: skip
    chats = re.search(r'http_responses_total{endpoint="/v1/chat/completions",.*status_code="200"} (\S+)', text)
    print(json.dumps({"at": time.monotonic(), "chats": float(chats[1]) if chats else 0.0, **found}), flush=True)
