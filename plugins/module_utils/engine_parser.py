# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the installed SGLang's own parser whether it takes the command lines of a plan.

Importing that parser takes SGLang tens of seconds (torch, torch_npu), so there is a limit. It is imported by the
service's python, as the service's user, in the service's environment, where it can write nothing but into a /tmp of
its own.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Callable, Sequence
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils import commands, launch_script, plan_service, service_python

MODULE = "sglang.launch_server"

# Its last line of output: whatever else is printed while SGLang is imported does not matter.
_MARK = "@ascend.sglang parser@ "
# systemd ends it; this is for a systemd that does not answer.
_MARGIN_SECONDS = 10.0

# Each flag by itself, so that one that is refused does not hide the next. Abbreviations are off: what is one in this
# version may be an ambiguity, or another flag, in the next.
_PROBE = """
import argparse, difflib, json, os, sys
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
asked = json.loads(sys.argv[1])


class Refused(Exception):
    pass


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Refused(message)

    def exit(self, status=0, message=None):
        raise Refused(message or "it ends the program")


def tell(answer):
    answers.write("\\n" + asked["mark"] + json.dumps(answer) + "\\n")
    answers.flush()
    os._exit(0)


try:
    from sglang.srt.server_args import ServerArgs
    parser = Parser(prog="sglang", allow_abbrev=False)
    ServerArgs.add_cli_args(parser)
except BaseException as problem:
    tell({"error": (type(problem).__name__ + ": " + str(problem)).strip(": ")})
known = parser._option_string_actions


def fault(words):
    try:
        parser.parse_args(words)
    except Refused as problem:
        return str(problem)
    except BaseException as problem:
        return type(problem).__name__ + ": " + str(problem)
    return ""


def groups(words):
    found = []
    for word in words:
        if word.startswith("--") and len(word) > 2 or not found:
            found.append([word])
        else:
            found[-1].append(word)
    return found


def look(words):
    parts = groups(words)
    refused, deprecated = [], []
    whole = fault(words)
    needed = [action for action in parser._actions if action.required]
    for action in needed:
        action.required = False
    for part in parts if whole else []:
        why = fault(part)
        if why:
            flag = part[0].partition("=")[0]
            near = [] if flag in known else difflib.get_close_matches(flag, known, 3, 0.6)
            refused.append({"flag": flag, "words": part[1:], "why": why, "near": near})
    for action in needed:
        action.required = True
    if whole and not refused:
        refused.append({"flag": "", "words": [], "why": whole, "near": []})
    for part in parts:
        action = known.get(part[0].partition("=")[0])
        if "deprecated" in type(action).__name__.lower():
            instead = str(getattr(action, "new_flag", None) or "")
            deprecated.append({"flag": part[0].partition("=")[0], "instead": instead})
    return {"refused": refused, "deprecated": deprecated}


tell({"error": "", "answers": {unit: look(words) for unit, words in asked["commands"].items()}})
"""


def look(
    python: str,
    services: Sequence[Any],
    user: str,
    seconds: int,
    *,
    npu_group: bool = False,
    ask: commands.Run = commands.run,
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """Ask it about each server among the services of a host.

    :param python: path of the services' python.
    :param services: the plan's, as mappings; those that are no server are left out.
    :param user: who runs the servers.
    :param seconds: limit for all of it.
    :returns: ``answers``, by unit ``refused`` (each ``flag``, ``words``, ``why``, ``near``) and ``deprecated``
        (``flag``, ``instead``); ``error``, why it could not be asked, or empty.
    :raises plan_service.PlanServiceError: a service that is none.
    """
    servers = [one for one in plan_service.parse_all(services) if one.module == MODULE]
    if not servers:
        return {"answers": {}, "error": ""}
    argv = service_python.as_service(user, npu_group=npu_group, seconds=seconds, sealed=True)
    # systemd reads $NAME in a command line; bash is to.
    argv += [word.replace("$", "$$") for word in command(servers, python)]
    began = clock()
    answer = ask(argv, seconds + _MARGIN_SECONDS)
    told = [line[len(_MARK) :] for line in answer.out.splitlines() if line.startswith(_MARK)]
    if told:
        try:
            return {"answers": {}, **json.loads(told[-1])}
        except ValueError:
            return {"answers": {}, "error": f"it answered {told[-1][:200]!r}"}
    late = clock() - began >= seconds
    return {"answers": {}, "error": f"importing it takes longer than {seconds} s" if late else _explain(answer)}


def command(servers: Sequence[plan_service.PlanService], python: str) -> list[str]:
    """The command that asks about all of them at once, in the environment of the first."""
    asked = {"mark": _MARK, "commands": {one.unit: [_text(word) for word in one.arguments] for one in servers}}
    # Byte code that it would write beside SGLang's modules would be a change of the host.
    words = ["exec", python, "-B", "-c", _PROBE, json.dumps(asked)]
    lines = ["set -euo pipefail", *launch_script.surroundings(servers[0]), " ".join(map(shlex.quote, words))]
    return ["/bin/bash", "-c", "\n".join(lines)]


def _text(word: plan_service.Word) -> str:
    """A secret's word stands for itself: the parser takes any text there."""
    return word if isinstance(word, str) else word.name


def _explain(answer: commands.Answer) -> str:
    """What was said last, which is where Python and bash say why."""
    said = [line.strip() for line in answer.err.splitlines() if line.strip()]
    return said[-1] if said else f"it ended with status {answer.rc}"
