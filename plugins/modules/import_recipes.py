# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Import of a recipe page on the controller; the work is done by the action plugin of this name."""

from __future__ import annotations

DOCUMENTATION = r"""
---
module: import_recipes
short_description: Turn a recipe page of SGLang's Ascend documentation into profiles
version_added: 0.1.0
description:
  - Reads a page as people have it, Markdown or MDX with fenced blocks or text copied from the web site, and writes one
    profile for each recipe and a report.
  - The shell of the page is understood as shell. What depends on the node (address, rank, port, interface) becomes
    a placeholder that the plan fills in; what is stated becomes data.
  - Every export, unset, source, sysctl and flag of the page is in a profile, or in the report with its line and the
    reason. A construct that is not understood is an error that names page and line; nothing is written then.
  - The report lies beside the profiles as C(PAGE.report.md). What it marks with C(look at this) is worth reading before
    a profile is used.
  - Name the directory in C(sglang_profile_dirs) to use the profiles in it.
options:
  page:
    description: The page, a file on the controller.
    type: path
    required: true
  dest:
    description:
      - Directory on the controller that gets the profiles and the report. It is made where it does not exist.
      - A file of the same name is replaced.
    type: path
    required: true
  engine:
    description:
      - SGLang version that the page was written for. A profile has the full flag names of this version.
      - Not set, the version of the image that the page names (C(sglang:vX.Y.Z-...)), or else V(0.5.13.post1).
    type: str
  engine_dirs:
    description: Further directories of engine files, one for each version that the collection does not have.
    type: list
    elements: path
    default: []
attributes:
  check_mode:
    description: The page is read and everything is returned, but nothing is written.
    support: full
  diff_mode:
    description: Shows how the files change.
    support: full
author:
  - ascend.sglang contributors (@ascend-sglang)
requirements:
  - tree-sitter and tree-sitter-bash (on the controller)
"""

EXAMPLES = r"""
- name: Import a page
  hosts: localhost
  gather_facts: false
  tasks:
    - name: Make profiles of its recipes
      ascend.sglang.import_recipes:
        page: ./qwen3.md
        dest: ./profiles
      register: imported

    - name: Show what came of it
      ansible.builtin.debug:
        var: imported.summary
"""

RETURN = r"""
profiles:
  description: Names of the profiles, in the order of the page.
  type: list
  elements: str
  returned: success
  sample: [qwen3-32b-bf16-4p-in2k-out2k-30ms]
engine:
  description: SGLang version whose flag names the profiles have.
  type: str
  returned: success
  sample: 0.5.13.post1
notes:
  description: What is not, or not literally, in a profile.
  type: list
  elements: dict
  returned: success
  contains:
    profile:
      description: Name of the profile that it is about; null for the rest of the page.
      type: str
    line:
      description: Line of the page.
      type: int
    level:
      description: V(note) for how it should be, V(warning) for something to look at.
      type: str
    what:
      description: What stands there.
      type: str
    why:
      description: Why the profile has it differently, or not at all.
      type: str
report:
  description: The report.
  type: str
  returned: success
summary:
  description: One line for each profile, then each warning.
  type: list
  elements: str
  returned: success
"""
