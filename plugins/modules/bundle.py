# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One archive on the controller of those of the hosts, made by the action plugin of this name."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: bundle
short_description: Make one archive of those that were fetched from hosts
version_added: 0.1.0
description:
  - Puts the files of all archives in a directory, as M(ascend.sglang.collect) wrote them, into one, each host's under
    its name, and removes those archives.
  - Runs on the controller, once for all hosts of the play.
options:
  src:
    description: Directory on the controller with the archives, each C(HOST.tar.gz).
    type: path
    required: true
  dest:
    description: The archive to write. It is readable by its owner only, and replaces one of that name.
    type: path
    required: true
  files:
    description: Files on the controller to put into it under C(plan/), those that exist.
    type: list
    elements: path
    default: []
  notes:
    description: Lines for its C(notes.txt), such as which hosts could not be asked.
    type: list
    elements: str
    default: []
attributes:
  check_mode:
    description: Writes nothing.
    support: full
  diff_mode:
    description: No diff is returned.
    support: none
author:
  - ascend.sglang contributors (@ascend-sglang)
"""

EXAMPLES = r"""
- name: Make one archive
  ascend.sglang.bundle:
    src: /tmp/report
    dest: report.tar.gz
  run_once: true
"""

RETURN = r"""
dest:
  description: The archive, as an absolute path.
  type: str
  returned: success
hosts:
  description: The hosts whose files are in it.
  type: list
  elements: str
  returned: success
size:
  description: Its size in bytes.
  type: int
  returned: when it was written
"""
