#!/usr/bin/python
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real completion, as the proof that a cluster works."""

from __future__ import annotations

DOCUMENTATION = r"""
module: completion
short_description: Ask a cluster's entrance for a real completion
version_added: "0.1.0"
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Sends a prompt to the entrance of a cluster, from this host, and expects text that ended as it should. Nothing less
    proves that the cluster works; a router is healthy without any worker.
  - Asks again until an answer comes or the limit passes. A router needs time to see its workers. A refused API key ends
    it at once.
  - Requests ignore proxies.
options:
  url:
    description:
      - The entrance, such as V(http://192.0.2.31:6688), as this host reaches it.
    type: str
    required: true
  endpoint:
    description:
      - V(generate) is SGLang's own C(/generate), V(chat) is C(/v1/chat/completions), V(completions) is
        C(/v1/completions).
    type: str
    choices: [generate, chat, completions]
    default: generate
  prompt:
    description:
      - What to ask.
    type: str
    default: The capital of France is
  max_new_tokens:
    description:
      - How many tokens to generate at most.
    type: int
    default: 8
  model:
    description:
      - The model's name for V(chat) and V(completions).
    type: str
    default: default
  timeout:
    description:
      - Seconds to go on asking.
    type: float
    default: 300
  request_timeout:
    description:
      - Seconds for one attempt. The first request of a cluster may compile kernels.
    type: float
    default: 120
  since:
    description:
      - A time of this host's clock, in seconds since 1970, such as RV(ascend.sglang.router_workers#module:at). When it
        is given, RV(interruption) says how long it was from then to the answer.
    type: float
  unit:
    description:
      - A unit of this collection on this host whose secret O(secret) is the API key to send. It is read on the host and
        appears nowhere. A unit without that secret sends none.
    type: str
  secret:
    description:
      - The name of that secret.
    type: str
    default: api_key
  advice:
    description:
      - Added to the message when no answer came, such as what the caller knows to be missing.
    type: str
    default: ""
attributes:
  check_mode:
    support: full
    description: Skipped, as nothing was started.
  diff_mode:
    support: none
    description: It changes nothing.
  platform:
    support: full
    description: Any host that reaches the entrance.
    platforms: posix
seealso:
  - module: ascend.sglang.wait_ready
"""

EXAMPLES = r"""
- name: Prove that the cluster answers
  ascend.sglang.completion:
    url: http://192.0.2.31:6688
    unit: sglang-router
  register: __completion
"""

RETURN = r"""
text:
  description: The text that was generated.
  returned: success
  type: str
  sample: " Paris. It is"
finish_reason:
  description: Why it ended, V(stop) or V(length).
  returned: success
  type: str
latency:
  description: Seconds that the last attempt took.
  returned: always
  type: float
seconds:
  description: Seconds from the first attempt to the end.
  returned: always
  type: float
interruption:
  description: Seconds from O(since) to the answer.
  returned: when O(since) is given
  type: float
attempts:
  description: How often it was asked.
  returned: always
  type: int
last_error:
  description: What the last attempt without an answer got; empty when the first one succeeded.
  returned: always
  type: str
"""

import time
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.ascend.sglang.plugins.module_utils import entrance, secrets_file
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout


def argument_spec() -> dict[str, Any]:
    """The options, as DOCUMENTATION describes them."""
    return {
        "url": {"type": "str", "required": True},
        "endpoint": {"type": "str", "choices": ["generate", "chat", "completions"], "default": "generate"},
        "prompt": {"type": "str", "default": "The capital of France is"},
        # Neither these tokens nor the name of a secret are secrets.
        "max_new_tokens": {"type": "int", "default": 8, "no_log": False},
        "model": {"type": "str", "default": "default"},
        "timeout": {"type": "float", "default": 300.0},
        "request_timeout": {"type": "float", "default": 120.0},
        "since": {"type": "float"},
        "unit": {"type": "str"},
        "secret": {"type": "str", "default": "api_key", "no_log": False},
        "advice": {"type": "str", "default": ""},
    }


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec=argument_spec(), supports_check_mode=True)
    params = module.params
    if module.check_mode:
        module.exit_json(changed=False, skipped=True, msg="check mode started nothing that could answer")
    url = params["url"].rstrip("/")
    try:
        key = secrets_file.value(Layout(), params["unit"], params["secret"])
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"cannot read the API key of {params['unit']}: {error}")
    if key:
        module.no_log_values.add(key)
    question = entrance.Question(
        url,
        params["endpoint"],
        params["prompt"],
        params["max_new_tokens"],
        params["model"],
        params["timeout"],
        params["request_timeout"],
    )
    outcome = entrance.ask_until(question, key)
    result = {
        "changed": False,
        "attempts": outcome.attempts,
        "latency": round(outcome.latency, 3),
        "seconds": round(outcome.seconds, 1),
        "last_error": outcome.last_error,
    }
    if not outcome.answered:
        result["msg"] = entrance.failure(question, outcome, entrance.router_view(url, key), params["advice"])
        module.fail_json(**result)
    if params["since"] is not None:
        result["interruption"] = round(time.time() - params["since"], 1)
    module.exit_json(text=outcome.text, finish_reason=outcome.finish_reason, **result)


if __name__ == "__main__":
    main()
