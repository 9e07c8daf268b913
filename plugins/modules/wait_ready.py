#!/usr/bin/python
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of the action wait_ready."""

from __future__ import annotations

DOCUMENTATION = r"""
module: wait_ready
short_description: Wait until the services of this host are ready
version_added: "0.1.0"
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Looks at this host's services every few seconds until all of them are ready, and says how far they are.
  - Fails as soon as one of them has died, with the cause as far as its log tells and its last lines; and as soon as
    one has died on another host that waits in the same task, with a pointer to it.
  - A rank above 0 of an instance is ready before rank 0 warms all of them up, and may yet die of that. So where rank 0
    is waited for in the same task, too, its ranks are looked at until it is ready.
  - Ready means what M(ascend.sglang.service_status) says of it. That proves that nothing is missing on this host;
    that the cluster answers is proved by M(ascend.sglang.completion).
  - The waiting is done on the controller, one worker per host. A host that cannot be reached for up to a minute is
    waited for. Not to be run with C(run_once). Of more hosts than Ansible's C(forks) the later ones are looked at when
    earlier ones are done.
options:
  services:
    description:
      - Services of a plan, as C(plan.json) has them; C(host), C(unit), C(role) and C(url) are read. Those whose C(host)
        is this host's inventory name are waited for.
    type: list
    elements: dict
    required: true
  roles:
    description:
      - Wait only for services of these roles. Empty means all.
    type: list
    elements: str
    default: []
  timeout:
    description:
      - Seconds to wait at most. Loading several hundred gigabytes takes tens of minutes.
    type: float
    default: 3600
  log_lines:
    description:
      - How many lines of its log a service that died is shown with.
    type: int
    default: 20
  advice:
    description:
      - What to tell in addition when the wait fails, such as what still serves.
    type: str
    default: ""
  rendezvous:
    description:
      - Directory on the controller by which hosts that wait together hear of a death. When left out, a temporary one of
        this task.
    type: path
attributes:
  check_mode:
    support: full
    description: Skipped, as nothing was started.
  diff_mode:
    support: none
    description: It changes nothing.
  platform:
    support: full
    description: Linux with systemd 249 or later.
    platforms: posix
seealso:
  - module: ascend.sglang.service_status
  - module: ascend.sglang.completion
notes:
  - Services must have been started; it starts none.
"""

EXAMPLES = r"""
- name: Wait until prefill and decode have loaded
  ascend.sglang.wait_ready:
    services: "{{ __plan.services }}"
    roles: [prefill, decode, mixed]
    timeout: 3600
"""

RETURN = r"""
services:
  description: The last look at each service, as M(ascend.sglang.service_status) returns it.
  returned: always
  type: list
  elements: dict
seconds:
  description: How long it waited.
  returned: always
  type: float
msg:
  description: How it ended.
  returned: always
  type: str
"""
