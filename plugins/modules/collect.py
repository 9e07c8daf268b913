#!/usr/bin/python
# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bug report needs from this host, as an archive."""

from __future__ import annotations

DOCUMENTATION = r"""
module: collect
short_description: Put what a bug report needs from this host into an archive
version_added: "0.1.0"
author: ascend.sglang contributors (@ascend-sglang)
description:
  - Writes a gzipped tar archive with, for each unit of this collection and its guard, the end of the journal, what
    systemd says, the unit file, C(launch.sh) and the other files beside it, the packages of its python, and the newest
    of CANN's logs; and of the host its addresses, listeners, disks, memory and devices, the kernel's last messages, and
    what C(npu-smi) and C(hccn_tool) say.
  - C(secrets.env) is left out. The values of all secrets in it, earlier ones included, and what names itself a key,
    token or password are replaced by C(<redacted>) everywhere.
  - A tool that is missing, and a log that cannot be read, are told in the archive.
options:
  dest:
    description:
      - The file to write. It must not exist; it is readable by root only.
    type: path
    required: true
  lines:
    description:
      - Lines of each journal at most.
    type: int
    default: 20000
  megabytes:
    description:
      - Of each file and output that much at most, its end.
    type: int
    default: 8
  plog_megabytes:
    description:
      - Of CANN's logs that much for each service, the newest files.
    type: int
    default: 64
attributes:
  check_mode:
    support: full
    description: Writes nothing.
  diff_mode:
    support: none
    description: It changes nothing but O(dest).
  platform:
    support: full
    description: Linux with systemd 249 or later.
    platforms: posix
"""

EXAMPLES = r"""
- name: Gather what a bug report needs
  ascend.sglang.collect:
    dest: /var/tmp/report.tar.gz
"""

RETURN = r"""
files:
  description: The names of the files in the archive.
  returned: success
  type: list
  elements: str
size:
  description: Its size in bytes.
  returned: success
  type: int
"""

import os
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.ascend.sglang.plugins.module_utils import gathering
from ansible_collections.ascend.sglang.plugins.module_utils.host import Host
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout

_MEGABYTE = 1 << 20


def main() -> None:
    """Run the module."""
    spec: dict[str, Any] = {
        "dest": {"type": "path", "required": True},
        "lines": {"type": "int", "default": 20000},
        "megabytes": {"type": "int", "default": 8},
        "plog_megabytes": {"type": "int", "default": 64},
    }
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    params = module.params
    if module.check_mode:
        module.exit_json(changed=False, files=[], size=0)
    layout = Layout()
    limits = gathering.Limits(params["megabytes"] * _MEGABYTE, params["plog_megabytes"] * _MEGABYTE)
    top = os.path.basename(params["dest"]).partition(".")[0]
    try:
        items = gathering.gather(layout, Host(layout).own_units(), limits, params["lines"])
        # Exclusive: /var/tmp is everybody's.
        descriptor = os.open(params["dest"], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            files = gathering.pack(stream, top, items, gathering.secrets_of(layout))
    except OSError as error:
        module.fail_json(msg=f"cannot write {params['dest']}: {error}")
    module.exit_json(changed=True, files=files, size=os.path.getsize(params["dest"]))


if __name__ == "__main__":
    main()
