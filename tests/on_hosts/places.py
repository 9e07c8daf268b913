# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where on a host others can read what a process was told or has said: no secret may stand there."""

from __future__ import annotations

_PRINTABLE = "tr -c '[:print:]' '\\n'"
# Place -> the command that prints all of it.
PLACES = {
    "the journal": f"journalctl --sync; journalctl --all --output=export | {_PRINTABLE}",
    "a command line": f"cat /proc/[0-9]*/cmdline 2>/dev/null | {_PRINTABLE}",
    "an environment": f"cat /proc/[0-9]*/environ 2>/dev/null | {_PRINTABLE}",
}
