# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan service as launch.sh: readable, runnable by hand, shaped as a recipe page.

It assumes neither systemd nor that it is not in a container. Equal services give equal texts.
"""

from __future__ import annotations

import re
import shlex

from ansible_collections.ascend.sglang.plugins.module_utils import secret_launcher, source_guard
from ansible_collections.ascend.sglang.plugins.module_utils.plan_service import PlanService, PlanServiceError, Secret

_HOSTS_OWN = re.compile(r"<env:([A-Za-z_][A-Za-z0-9_]*)>")
"""In a variable: the value that the environment of the starting service has (a page's ``export PATH=/x/bin:$PATH``)."""

_HEADER = """\
#!/bin/bash
# Ansible managed (ascend.sglang): the next deployment writes it again.
#
# {unit} on {host}: {title}
#
#   launch.sh              runs the service in the foreground
#   launch.sh --dry-run    prints the command line and runs nothing
set -euo pipefail

case "${{1:-}}" in
  '') ;;
  --dry-run)
    # bash finds functions before builtins: the last line prints its command in place of becoming it.
    exec() {{ printf '%q ' "$@"; echo; }}
    ;;
  *)
    echo "usage: $0 [--dry-run]" >&2
    exit 64
    ;;
esac
"""


def render(service: PlanService, directory: str, cxx_abi: str | None = None) -> str:
    """The text of launch.sh.

    :param service: what to start.
    :param directory: where launch.sh and, where there are secrets, launcher.py will be.
    :param cxx_abi: ``"0"`` or ``"1"`` pins ATB's C++ ABI where the plan does not; None lets the service's own python
        decide.
    """
    head = _HEADER.format(unit=service.unit, host=service.host, title=service.title)
    return "\n".join([head, *surroundings(service, cxx_abi), _command(service, directory)])


def surroundings(service: PlanService, cxx_abi: str | None = None) -> list[str]:
    """What launch.sh has in front of its command: the scripts to source, the variables to unset and to export."""
    parts = []
    guard = source_guard.render(list(service.source), service.python, service.cxx_abi or cxx_abi)
    if guard:
        # What vendor scripts print belongs to the log, not to the output of --dry-run.
        parts.append("{\n" + guard + "} >&2\n")
    if service.unset:
        parts.append("unset " + " ".join(service.unset) + "\n")
    if service.env:
        parts.append("".join(f"export {name}={_value(value)}\n" for name, value in service.env))
    return parts


def _value(text: str) -> str:
    """A variable's value as bash reads it: what ``<env:NAME>`` in it stands for is the host's own when it starts."""
    literal = _HOSTS_OWN.split(text)
    words = [
        f'"${{{word}:-}}"' if odd % 2 else shlex.quote(word) for odd, word in enumerate(literal) if word or odd % 2
    ]
    return "".join(words) or "''"


def _command(service: PlanService, directory: str) -> str:
    """The exec line, then one flag a line with its values."""
    if service.secrets:
        start = ["exec", service.python, f"{directory}/{secret_launcher.FILE_NAME}", service.module]
    else:
        start = ["exec", service.python, "-m", service.module]
    lines = [" ".join(shlex.quote(word) for word in start)]
    for word in service.arguments:
        text = shlex.quote(_spelled(word, service))
        # Where a line begins is for the reader only: a value that looks like a flag is as right on a line of its own.
        if len(lines) == 1 or (isinstance(word, str) and word.startswith("--")):
            lines.append("  " + text)
        else:
            lines[-1] += " " + text
    return " \\\n".join(lines) + "\n"


def _spelled(word: str | Secret, service: PlanService) -> str:
    if isinstance(word, Secret):
        return secret_launcher.PREFIX + word.name
    if service.secrets and word.startswith(secret_launcher.PREFIX):
        raise PlanServiceError(
            f"{service.unit}: the argument {word!r} begins with {secret_launcher.PREFIX!r}, which stands for a secret"
        )
    return word


def names(script: str) -> dict[str, str]:
    """What a launch.sh sets, for telling two of them apart: flag or variable -> its line."""
    found: dict[str, str] = {}
    for line in script.splitlines():
        match = re.match(r"  (--[A-Za-z0-9-]+)|export ([A-Za-z_][A-Za-z0-9_]*)=|(unset) |(exec) ", line)
        if match:
            name = next(group for group in match.groups() if group)
            # A flag may repeat (the router's --prefill); the last line of a command has no backslash.
            found[name] = found.get(name, "") + line.rstrip("\\").rstrip() + "\n"
    return found


def changes(old: str, new: str) -> str:
    """The flags and variables that differ between two launch.sh, for people; empty when only other lines do."""
    before, after = names(old), names(new)
    differing = [name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name)]
    words = {"unset": "the variables it unsets", "exec": "the program"}
    return ", ".join(words.get(name, name) for name in differing)
