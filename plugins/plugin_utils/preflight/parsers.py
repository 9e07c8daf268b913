# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the installed SGLangs' own parsers are asked, and what they have answered before.

An answer holds as long as the installed parser and the command lines are the same. It is kept on the controller, so
that a host imports SGLang, which takes it tens of seconds, once for each plan.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils.engine_parser import MODULE
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine_service import local_sources
from ansible_collections.ascend.sglang.plugins.plugin_utils.host_facts import from_module
from ansible_collections.ascend.sglang.plugins.plugin_utils.service import Service

CHECK = "installed-parser"
LIMIT = "sglang_preflight_parser_seconds"
# Where it is kept, below Ansible's own directory of the user (ANSIBLE_HOME).
FILE = "ascend_sglang/parsers.json"
# Digest -> what was answered, the latest last.
Known = Mapping[str, Mapping[str, Any]]
_KEPT = 4000


def servers(services: Sequence[Service], host: str) -> list[Service]:
    """The servers of a host."""
    return [one for one in services if one.host == host and one.module == MODULE]


def digest(own: Sequence[Service], python: Mapping[str, Any]) -> str:
    """What an answer holds for: the command lines, and the parser that the host's python imports."""
    asked = {one.unit: list(one.argv[1:]) for one in own}
    there = [python.get(key) for key in ("path", "version", "parser")] + [python["packages"].get("sglang")]
    return hashlib.sha256(json.dumps([asked, there], sort_keys=True).encode()).hexdigest()


def questions(
    services: Sequence[Service], answers: Mapping[str, Mapping[str, Any]], user: str, seconds: int, known: Known
) -> dict[str, dict[str, Any]]:
    """Host -> the options of the module ascend.sglang.engine_parser, where there is something to ask.

    services: of the plan as it is before the hosts told anything; answers: the hosts' facts; user: who runs servers;
    seconds: how long a parser may take, 0 not to ask at all.
    """
    found: dict[str, dict[str, Any]] = {}
    for host, facts in answers.items() if seconds else ():
        own, python = servers(services, host), facts["python"]
        if not own or not python.get("parser") or facts.get("uid") != 0 or digest(own, python) in known:
            continue
        paths = from_module(facts, [path for one in own for path in one.source]).sources
        found[host] = {
            "python": python["path"],
            "services": [replace(one, source=local_sources(one.source, paths)).as_dict() for one in own],
            "user": user,
            "npu_group": facts["npu_group"],
            "seconds": seconds,
        }
    return found


def told(
    services: Sequence[Service],
    answers: Mapping[str, Mapping[str, Any]],
    asked: Mapping[str, Mapping[str, Any]],
    known: Known,
) -> dict[str, Mapping[str, Any]]:
    """Host -> what its parser says of this plan, asked now or before. asked: what was answered now."""
    found: dict[str, Mapping[str, Any]] = {}
    for host, facts in answers.items():
        own = servers(services, host)
        before = known.get(digest(own, facts["python"])) if own else None
        if host in asked:
            found[host] = asked[host]
        elif before is not None:
            found[host] = {"answers": before, "error": ""}
    return found


def learnt(
    services: Sequence[Service],
    answers: Mapping[str, Mapping[str, Any]],
    asked: Mapping[str, Mapping[str, Any]],
    known: Known,
) -> dict[str, Mapping[str, Any]]:
    """What is known now, the latest last. Whoever could not be asked is asked again."""
    new = {
        digest(servers(services, host), answers[host]["python"]): one["answers"]
        for host, one in asked.items()
        if not one["error"] and host in answers
    }
    every = {**{key: one for key, one in known.items() if key not in new}, **new}
    return dict(list(every.items())[-_KEPT:])


def load(path: Path) -> dict[str, Mapping[str, Any]]:
    """What was learnt before; nothing where the file is missing or not ours to read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def save(path: Path, known: Known) -> None:
    """Keep what was learnt, for the user alone. Raises OSError."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Whole or not at all: other runs read it meanwhile.
    with tempfile.NamedTemporaryFile("w", dir=path.parent, encoding="utf-8", delete=False) as stream:
        json.dump(known, stream)
    Path(stream.name).replace(path)
