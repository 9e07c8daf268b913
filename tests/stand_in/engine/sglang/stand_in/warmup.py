# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The request that a server asks itself before it says that it is ready."""

from __future__ import annotations

import json
import time
import urllib.request

from sglang.stand_in import log, transfer

SAMPLING = {"temperature": 0.0, "max_new_tokens": 8, "ignore_eos": True}


def run(settings, knobs):
    """Warm up; what went wrong, or None. Like the real engine's `requests` this heeds http_proxy and its like."""
    headers = {"Content-Type": "application/json"}
    if settings.args["api_key"]:
        headers["Authorization"] = f"Bearer {settings.args['api_key']}"
    failure = _wait_for_model_info(settings, headers, knobs.seconds("warmup_retry_seconds"))
    if failure:
        return failure
    time.sleep(knobs.seconds("warmup_seconds"))
    if settings.mode == "null":
        body = {"sampling_params": SAMPLING, "text": "The capital city of France is"}
    else:
        log.line("Start of pd disaggregation warmup ...")
        body = {
            "sampling_params": SAMPLING,
            "bootstrap_host": [transfer.FAKE_HOST],
            "bootstrap_room": [0],
            "input_ids": [[10, 11, 12, 13]],
        }
    try:
        request = urllib.request.Request(f"{settings.url}/generate", json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=600 if settings.mode == "null" else 1800) as answer:
            text = json.load(answer)
    except (OSError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    if settings.mode != "null":
        log.line(f"Disaggregation warmup request completed with status 200, resp: {text}")
        log.line("End of disaggregation warmup")
    return None


def _wait_for_model_info(settings, headers, seconds):
    deadline = time.monotonic() + seconds
    while True:
        try:
            request = urllib.request.Request(f"{settings.url}/model_info", headers=headers)
            with urllib.request.urlopen(request, timeout=5):
                return None
        except (OSError, ValueError) as error:
            if time.monotonic() > deadline:
                return f"{type(error).__name__}: {error}"
            time.sleep(1)
