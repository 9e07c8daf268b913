# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What hosts have in common of CANN and ATB, as a filter."""

from __future__ import annotations

DOCUMENTATION = r"""
name: cann_report
short_description: Compare CANN and ATB on the hosts of a plan
version_added: 0.1.0
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Takes what the module M(ascend.sglang.cann) returned on each host and says what is not the same on all of them.
  - Hosts that have no service that sources CANN, such as a router's, are not compared.
positional: hosts
options:
  _input:
    description:
      - Results of M(ascend.sglang.cann), one for each host.
    type: list
    elements: dict
    required: true
  hosts:
    description:
      - The names of the hosts, in the same order.
    type: list
    elements: str
    required: true
seealso:
  - module: ascend.sglang.cann
"""

EXAMPLES = r"""
- name: Look at CANN
  ascend.sglang.cann:
  register: found

- name: Show what differs
  ansible.builtin.debug:
    msg: >-
      {{ ansible_play_hosts | map('extract', hostvars, 'found') | list
      | ascend.sglang.cann_report(ansible_play_hosts) }}
  run_once: true
"""

RETURN = r"""
_value:
  description:
    - C(differences), a sentence for each version that differs, and C(kept_out), a sentence for each variable in hosts'
      defaults that is kept out of services.
  type: dict
  sample:
    differences: ["ATB is not the same on all hosts: 9.0.0 on p1, p2; 8.5.0 on d1"]
    kept_out: ["http_proxy (/etc/environment) on p1 is kept out of services"]
"""

from typing import Any

from ansible.errors import AnsibleFilterError
from ansible_collections.ascend.sglang.plugins.plugin_utils.cann_report import by_host, differences, kept_out
from ansible_collections.ascend.sglang.plugins.plugin_utils.values import plain


def cann_report(results: Any, hosts: Any) -> dict[str, list[str]]:
    """Compare what the hosts said."""
    try:
        named = by_host([dict(plain(result)) for result in results], [str(host) for host in hosts])
        return {"differences": differences(named), "kept_out": kept_out(named)}
    except (TypeError, ValueError, KeyError) as error:
        raise AnsibleFilterError(f"cann_report: its input is not what ascend.sglang.cann returns: {error}") from error


class FilterModule:
    """The filter, for Ansible."""

    def filters(self) -> dict[str, Any]:
        """Names and functions."""
        return {"cann_report": cann_report}
