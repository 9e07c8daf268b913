# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the documentation of all filters over the compiler shares."""

from __future__ import annotations


class ModuleDocFragment:
    """Input, options and notes of a filter that compiles the inventory."""

    DOCUMENTATION = r"""
options:
  _input:
    description:
      - Ansible's C(groups). Hosts keep the order in which the groups have them.
    type: dict
    required: true
  hostvars:
    description:
      - Ansible's C(hostvars), with the collection's settings (variables C(sglang_*)) of the hosts.
    type: dict
    required: true
  profile:
    description:
      - Name of a profile or family. Not given, the setting C(sglang_profile) of the hosts decides.
    type: str
notes:
  - Contacts no host. Fails with the errors of the plan, if it has any.
  - The result is the same whatever C(--limit) says.
requirements:
  - netaddr
  - jsonschema
seealso:
  - module: ascend.sglang.plan
"""
