# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python of the services, asked as a service would run it: by systemd, as the service's user."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from ansible_collections.ascend.sglang.plugins.module_utils import commands, systemd, unit_file

DYNAMIC_USER = ""
"""Stands for a user that systemd makes up, as routers have by default."""

_SECONDS = 20.0
_EXEC_FAILED = 203
_NO_USER = 217

# Whose module has another name than the package with _ for -.
_MODULES = {"memfabric-zbal": "zbal"}

# Asked of the metadata: importing an engine takes seconds and may touch devices. What was installed from source without
# metadata is found by its module; then its version stays unknown.
_ASK = """
import importlib.metadata, importlib.util, json, os, platform, sys
asked = json.loads(sys.argv[1])
found = {}
for name, module in asked["packages"].items():
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        if importlib.util.find_spec(module) is not None:
            found[name] = ""
parser = None
try:
    path = os.path.join(list(importlib.util.find_spec("sglang").submodule_search_locations)[0], "srt", "server_args.py")
    parser = {"path": path, "stamp": "%d %d" % (os.stat(path).st_mtime_ns, os.stat(path).st_size)}
except (AttributeError, ImportError, IndexError, OSError, TypeError, ValueError):
    pass
closed = {}
for path in asked["paths"]:
    try:
        with os.scandir(path) as entries:
            closed[path] = sorted(one.name for one in entries if not os.access(one.path, os.R_OK))
    except FileNotFoundError:
        pass
    except OSError as problem:
        closed[path] = [problem.strerror]
print(json.dumps({"version": platform.python_version(), "packages": found, "parser": parser, "closed": closed}))
"""


def look(
    name: str,
    packages: Sequence[str],
    ask: commands.Run = commands.run,
    *,
    user: str | None = None,
    paths: Sequence[str] = (),
    npu_group: bool = False,
    search: str = unit_file.SEARCH_PATH,
) -> dict[str, Any]:
    """The interpreter and the versions of its packages.

    user: who runs it; None: the caller, without systemd. ``path`` (absolute, or None), ``version``, ``packages``
    (version by name, empty where it is unknown), ``parser`` (the module of SGLang's parser: its
    ``path``, and a ``stamp`` that changes with it; None without one), ``closed`` (by path of ``paths``, files that the
    user cannot read), ``error`` (empty, or why it could not be asked).
    """
    path = shutil.which(name, path=search)
    found: dict[str, Any] = {"path": path, "version": "", "packages": {}, "parser": None, "closed": {}, "error": ""}
    if path is None:
        where = "" if "/" in name else f" in {search}"
        found["error"] = f"{name} is no executable file{where}"
        return found
    modules = {package: _MODULES.get(package, package.replace("-", "_")) for package in packages}
    # A virtual environment is known by the path it is called by; links must not be resolved.
    argv = [path, "-c", _ASK, json.dumps({"packages": modules, "paths": list(paths)})]
    answer = ask(argv if user is None else [*as_service(user, npu_group=npu_group), *argv], _SECONDS)
    try:
        return {**found, **json.loads(answer.out)}
    except ValueError:
        return {**found, "error": _explain(answer, path, user)}


def look_as(
    name: str,
    packages: Sequence[str],
    users: Sequence[str],
    paths: Sequence[str],
    ask: commands.Run = commands.run,
    *,
    npu_group: bool = False,
) -> dict[str, Any]:
    """The interpreter for each of the services' users: the first one's answer, and ``users``: what differs by user."""
    if not users:
        return {**look(name, packages, ask, paths=paths), "users": {}}
    answers = {user: look(name, packages, ask, user=user, paths=paths, npu_group=npu_group) for user in users}
    # What one user could not tell, another may.
    first = next((one for one in answers.values() if not one["error"]), answers[users[0]])
    return {**first, "users": {user: _of_user(one) for user, one in answers.items()}}


def _of_user(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {"error": answer["error"], "closed": answer["closed"]}


def as_service(user: str, *, npu_group: bool, seconds: int = int(_SECONDS), sealed: bool = False) -> list[str]:
    """The beginning of a command line that systemd runs as a service's user, and ends after so many seconds.

    sealed: it can change nothing but its own /tmp, which is its home too.
    """
    argv = ["systemd-run", "--quiet", "--pipe", "--wait", "--collect"]
    argv += [f"--property=RuntimeMaxSec={seconds}", "--property=TimeoutStopSec=2"]
    if sealed:
        argv += ["--property=ProtectSystem=strict", "--property=PrivateTmp=yes"]
        argv += [f"--setenv={name}=/tmp" for name in ("HOME", "XDG_CACHE_HOME", "ASCEND_PROCESS_LOG_PATH")]
    if user == DYNAMIC_USER:
        return [*argv, "--property=DynamicUser=yes"]
    if user == "root":
        return argv
    group = [f"--property=SupplementaryGroups={unit_file.NPU_GROUP}"] if npu_group else []
    return [*argv, f"--property=User={user}", *group]


def _explain(answer: commands.Answer, path: str, user: str | None) -> str:
    said = systemd.explain(answer)
    if user is None:
        return said
    who = "a dynamic user" if user == DYNAMIC_USER else user
    if answer.rc == _EXEC_FAILED:
        return f"systemd cannot execute {path} as {who} (203/EXEC): {said}"
    if answer.rc == _NO_USER:
        return f"there is no user {who} (217/USER)"
    return f"{path} as {who}: {said}"
