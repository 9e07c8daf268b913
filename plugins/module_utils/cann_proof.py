# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Proves a service's environment: sources CANN and ATB as launch.sh does, in an empty environment, and looks at it."""

from __future__ import annotations

import os
import posixpath
import pwd
import re
import signal
import subprocess
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ansible_collections.ascend.sglang.plugins.module_utils import kept_out, source_guard, unit_file

_SAID = re.compile(r"^launch\.sh: (.*)$", re.MULTILINE)

# What has to lie below the directory that a variable names, or the engine ends with an import error.
_LIBRARIES = {
    source_guard.TOOLKIT_VARIABLE: ("lib64/libascendcl.so", "lib64/libhccl.so"),
    source_guard.ATB_VARIABLE: ("lib/libatb.so",),
}


class Case(NamedTuple):
    """What one or more services source, and the python that they run."""

    sources: tuple[str, ...]
    python: str
    units: tuple[str, ...]
    cxx_abi: str | None = None  # what the plan pins

    @property
    def name(self) -> str:
        return ", ".join(self.units) or "the environment"


class Proof(NamedTuple):
    """How sourcing ended. ``environment`` is empty unless ``status`` is 0; ``said`` is stderr."""

    status: int
    environment: dict[str, str]
    said: str


class Verdict(NamedTuple):
    """What a proof shows."""

    errors: list[str]
    warnings: list[str]
    notes: list[str]
    variables: dict[str, str]


def cases(services: Iterable[tuple[str, tuple[str, ...], str, str | None]]) -> list[Case]:
    """One for each way in which services source: (unit, sources, python, pinned C++ ABI) of each.

    Those without sources need none.
    """
    units: dict[tuple[tuple[str, ...], str, str | None], list[str]] = {}
    for unit, sources, python, pin in services:
        if sources:
            units.setdefault((sources, python, pin), []).append(unit)
    return [Case(sources, python, tuple(names), pin) for (sources, python, pin), names in units.items()]


def script(case: Case, cxx_abi: str | None) -> str:
    """What launch.sh has up to its exports, then the environment on stdout."""
    guard = source_guard.render(list(case.sources), case.python, case.cxx_abi or cxx_abi)
    return f"set -euo pipefail\n{{\n{guard}}} >&2\nexec /usr/bin/env -0\n"


def prove(text: str, python: str, user: str | None, seconds: float) -> Proof:
    """Run a script in an environment that has only what a unit gives.

    :param user: account to run it as; None: this process's own.
    :param seconds: limit; the script and what it started are killed then.
    """
    account = pwd.getpwnam(user) if user else pwd.getpwuid(os.geteuid())
    search = [os.path.dirname(python)] if python.startswith("/") else []
    identity: dict[str, Any] = {}
    if account.pw_uid != os.geteuid():
        groups = os.getgrouplist(account.pw_name, account.pw_gid)
        identity = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": groups}
    process = subprocess.Popen(
        ["/bin/bash", "-c", text],
        env={"PATH": ":".join([*search, unit_file.SEARCH_PATH]), "HOME": account.pw_dir, "LANG": "C.UTF-8"},
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        **identity,
    )
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return Proof(process.returncode, {}, f"launch.sh: no end after {seconds:g} s: a script waits for something")
    said = err.decode("utf-8", "replace")
    if process.returncode != 0:
        return Proof(process.returncode, {}, said)
    entries = out.decode("utf-8", "surrogateescape").split("\0")
    return Proof(0, dict(entry.split("=", 1) for entry in entries if "=" in entry), said)


def judge(case: Case, proof: Proof, exists: Callable[[str], bool] = os.path.exists) -> Verdict:
    """What is wrong, and what is odd.

    :param exists: whether there is something at a path.
    """
    notes = _SAID.findall(proof.said)
    if proof.status != 0:
        why = notes[-1] if notes else _last_line(proof.said) or f"bash ended with status {proof.status}"
        return Verdict([f"{case.name}: {why}"], [], [], {})
    expected = source_guard.checks(list(case.sources))
    variables = {name: proof.environment[name] for name in expected if name in proof.environment}
    errors = [
        f"{case.name}: {path} sets {name} without exporting it, so that the engine does not see it"
        for name, path in expected.items()
        if name not in variables
    ]
    warnings = []
    for name, directory in variables.items():
        missing = [library for library in _LIBRARIES[name] if not exists(posixpath.join(directory, library))]
        if missing:
            warnings.append(
                f"{name} is {directory}, which has no {' and no '.join(missing)}: is that installation whole?"
            )
    libraries = proof.environment.get("LD_LIBRARY_PATH", "").split(":")
    if any(posixpath.basename(path) == "devlib" for path in libraries):
        warnings.append(
            "CANN found no NPU driver on this host: see Driver_Install_Path_Param in /etc/ascend_install.info"
        )
    return Verdict(errors, warnings, notes, variables)


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip() if lines else ""


def defaults_that_are_kept_out(files: Iterable[tuple[str, str]]) -> list[str]:
    """``http_proxy (/etc/environment)`` and the like: what a host's defaults would give to a service, if they could.

    :param files: (path, text) of files that hold assignments.
    """
    assignment = re.compile(rf"(?:^|[\s\"'=])({'|'.join(kept_out.OF_HOSTS)})=", re.MULTILINE)
    found: list[str] = []
    for path, text in files:
        lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith(("#", ";")))
        found += [f"{name} ({path})" for name in dict.fromkeys(assignment.findall(lines))]
    return found
