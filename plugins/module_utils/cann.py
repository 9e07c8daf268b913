# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where CANN's toolkit and ATB are installed on a host, and which versions they are.

Layouts: up to 8.3 ``PREFIX/ascend-toolkit/set_env.sh`` beside a link ``latest``; from 8.5 on ``PREFIX/cann-9.0.0``
with a link ``PREFIX/cann``, where the link ``ascend-toolkit`` of old is not always there. ATB is
``PREFIX/nnal/atb/set_env.sh`` beside its own ``latest``. PREFIX is /usr/local/Ascend, what the installer wrote into
its record, or ``Ascend`` in the home of a user who is not root. Nothing is executed here: ``cann_proof`` does that.
"""

from __future__ import annotations

import os
import posixpath
import pwd
import re
from typing import Any, NamedTuple

from ansible_collections.ascend.sglang.plugins.module_utils import source_guard

DEFAULT_PREFIX = "/usr/local/Ascend"
INSTALL_RECORD = "/etc/Ascend/ascend_cann_install.info"
_SCRIPT = "set_env.sh"
# The kernel's own limit for links in one path.
_MAX_LINKS = 40


class Candidate(NamedTuple):
    """One place that may hold an installation: its ``set_env.sh``, and what has been found out about it."""

    path: str  # the script as it is to be sourced
    home: str  # the directory that it belongs to, links resolved: equal homes are one installation
    version: str | None  # as the installer writes it: 8.2.RC1, 9.0.0, 9.2.0-beta.2; None when no file says it


class _Tree:
    """The file system below ``root`` as a process sees it for which ``root`` is "/"."""

    def __init__(self, root: str) -> None:
        self.root = root

    def _outside(self, path: str) -> str:
        return os.path.join(self.root, path.lstrip("/"))

    def resolve(self, path: str, links: int = 0) -> tuple[str | None, str]:
        """(the path without links, ""), or (None, the link to blame; empty where there is just nothing)."""
        real = "/"
        for part in path.split("/"):
            here = posixpath.normpath(posixpath.join(real, part))
            outside = self._outside(here)
            if os.path.islink(outside):
                target = os.readlink(outside)
                if links >= _MAX_LINKS:
                    return None, f"{here} is a link to {target}, which leads back to itself"
                there, why = self.resolve(posixpath.join(real, target), links + 1)
                if there is None:
                    return None, why or f"{here} is a link to {target}, which does not exist"
                here = there
            elif not os.path.exists(outside):
                return None, ""
            real = here
        return real, ""

    def exists(self, path: str) -> bool:
        return self.resolve(path)[0] is not None

    def is_dir(self, path: str) -> bool:
        real = self.resolve(path)[0]
        return real is not None and os.path.isdir(self._outside(real))

    def read(self, path: str) -> str:
        """The text of a file; empty where it does not exist or cannot be read."""
        real = self.resolve(path)[0]
        if real is None:
            return ""
        try:
            with open(self._outside(real), encoding="utf-8", errors="replace") as stream:
                return stream.read()
        except OSError:
            return ""

    def names(self, path: str) -> list[str]:
        real = self.resolve(path)[0]
        if real is None:
            return []
        try:
            return sorted(os.listdir(self._outside(real)))
        except OSError:
            return []


def _version_key(version: str) -> tuple[list[int], int, list[int]]:
    """Sorts 8.2.RC1 < 8.2 < 8.5.0 < 9.2.0-beta.2 < 9.2.0."""
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    release = numbers.group() if numbers else ""
    rest = version[len(release) :]
    return [int(n) for n in release.split(".") if n], 0 if rest else 1, [int(n) for n in re.findall(r"\d+", rest)]


def _value(text: str, key: str, separator: str = "=") -> str | None:
    """The value of ``key`` in a file of ``key=value`` lines; other lines are passed over."""
    for line in text.splitlines():
        name, found, value = line.partition(separator)
        if found and name.strip() == key:
            return value.strip().strip("\"'") or None
    return None


def _toolkit_version(tree: _Tree, home: str) -> str | None:
    """What the installer's record says, else a component's, else the name of the directory."""
    for directory in [home, *(posixpath.join(home, name) for name in tree.names(home) if name.endswith("-linux"))]:
        record = tree.read(posixpath.join(directory, "ascend_toolkit_install.info"))
        version = _value(record, "version")
        if version:
            return version
    for component in ("runtime", "toolkit", "compiler"):
        text = tree.read(posixpath.join(home, "share/info", component, "version.info"))
        version = _value(text, "version_dir") or _value(text, "Version")
        if version:
            return re.sub("^cann-", "", version)
    configuration = tree.read(posixpath.join(home, "version.cfg"))
    match = re.search(r"^(?:toolkit|runtime)_running_version=\[[^:\]]*:([^\]]+)\]", configuration, re.MULTILINE)
    if match:
        return match.group(1)
    named = re.match(r"(?:cann-)?(\d+\..+)$", posixpath.basename(home))
    return named.group(1) if named else None


def _atb_version(tree: _Tree, home: str) -> str | None:
    version = _value(tree.read(posixpath.join(home, "version.info")), "Ascend-cann-atb", ":")
    named = re.match(r"\d+\..+$", posixpath.basename(home))
    return version or (named.group() if named else None)


def _inspect(tree: _Tree, path: str, version_of: Any) -> tuple[Candidate | None, str]:
    """(the installation whose script is ``path``, ""), or (None, what is broken; empty where there is nothing)."""
    directory = posixpath.dirname(path)
    real, why = tree.resolve(path)
    latest, broken = tree.resolve(posixpath.join(directory, "latest"))
    if why or broken:
        return None, why or broken
    if real is None:
        return None, ""
    home = latest or posixpath.dirname(real)
    # In some 8.x releases "latest" is a directory of links, one for each architecture.
    parts = [posixpath.join(home, name) for name in tree.names(home) if name.endswith("-linux")]
    dangling = [reason for reason in (tree.resolve(part)[1] for part in parts) if reason]
    if dangling and len(dangling) == len(parts):
        return None, dangling[0]
    return Candidate(path, home, version_of(tree, home)), ""


def _prefix_of(directory: str) -> str:
    """The prefix that a toolkit's directory belongs to, as people and installers name one; else the directory itself.

    >>> [_prefix_of(path) for path in ("/opt/a/ascend-toolkit/latest", "/opt/a/ascend-toolkit", "/opt/a/cann-9.0.0")]
    ['/opt/a', '/opt/a', '/opt/a']
    """
    above, name = posixpath.split(directory)
    if posixpath.basename(above) == "ascend-toolkit":
        return posixpath.dirname(above)
    return above if name in ("ascend-toolkit", "cann") or re.match(r"cann-\d", name) else directory


def _prefixes(tree: _Tree, homes: list[str]) -> tuple[list[str], list[str]]:
    """(installation prefixes, directories of toolkits), in the order in which they are looked into."""
    prefixes, toolkits = [DEFAULT_PREFIX], []
    for record in [INSTALL_RECORD, *(posixpath.join(home, "Ascend/ascend_cann_install.info") for home in homes)]:
        text = tree.read(record)
        for key, found in (("Toolkit_InstallPath", toolkits), ("Install_Path", prefixes)):
            value = _value(text, key)
            if value and value.startswith("/"):
                found.append(posixpath.normpath(value))
    # The recorded directory of a toolkit need not hold its script (ascend-toolkit/latest), and ATB lies beside it.
    prefixes += [_prefix_of(directory) for directory in [*prefixes, *toolkits]]
    prefixes += [posixpath.join(home, "Ascend") for home in homes]
    return list(dict.fromkeys(prefixes)), list(dict.fromkeys(toolkits))


def _toolkit_scripts(tree: _Tree, prefix: str) -> list[str]:
    """The places below one prefix: the recipe pages' own first, then the link of 8.5 and later, then by version."""
    numbered = [name for name in tree.names(prefix) if re.match(r"cann-\d", name)]
    numbered.sort(key=lambda name: _version_key(name[len("cann-") :]), reverse=True)
    return [posixpath.join(prefix, name, _SCRIPT) for name in ["ascend-toolkit", "cann", *numbered]]


def _override(tree: _Tree, path: str, below: Any) -> list[str]:
    """An override names the script, the directory that holds it, or the prefix of the installation.

    Up to 8.3 the script lies above the directory that ASCEND_HOME_PATH names, and sources what "latest" is.
    """
    path = posixpath.normpath(path)
    if not tree.is_dir(path):
        return [path]
    beside = posixpath.join(posixpath.dirname(path), "latest")
    above = [posixpath.join(posixpath.dirname(path), _SCRIPT)] if tree.resolve(beside) == tree.resolve(path) else []
    return [posixpath.join(path, _SCRIPT), *above, *below(path)]


def _directory(override: str) -> str:
    path = posixpath.normpath(override)
    return posixpath.dirname(path) if posixpath.basename(path) == _SCRIPT else path


def _problem(level: str, check: str, where: str, what: str, do: str) -> dict[str, str]:
    return {"level": level, "check": check, "where": where, "what": what, "do": do}


def _choose(
    tree: _Tree, name: str, option: str, override: str | None, scripts: list[str], version_of: Any
) -> tuple[list[Candidate], list[dict[str, str]]]:
    """The usable ones of ``scripts``, one for each installation, and what is wrong with the others."""
    check = option.replace("_", "-")
    found: dict[str, Candidate] = {}
    problems = []
    for script in scripts:
        candidate, broken = _inspect(tree, script, version_of)
        if candidate is not None:
            found.setdefault(candidate.home, candidate)
        elif broken:
            problems.append((script, broken))
    level = "warning" if found else "error"
    do = f"Repair or remove that installation, or set {option} to the set_env.sh of a whole one."
    reports = [
        _problem(level, check, script, f"{name} is not usable there: {broken}.", do) for script, broken in problems
    ]
    if override and not override.startswith("/"):
        what = f"{option} is {override}, which is no absolute path."
        return [], [_problem("error", check, override, what, f"Set {option} to a path that begins with a slash.")]
    if not found and not problems:
        places = f"none of {', '.join(scripts)} exists" if len(scripts) > 1 else f"there is no {scripts[0]}"
        what = f"{option} is {override}, but {places}." if override else f"{name} was not found: {places}."
        do = f"Install it, or set {option} to its set_env.sh (on this host: the path as this host sees it)."
        reports.append(_problem("error", check, override or scripts[0], what, do))
    candidates = list(found.values())
    if len(candidates) > 1:
        listed = ", ".join(f"{c.path} ({c.version or 'version unknown'})" for c in candidates)
        what = f"{name} is installed {len(candidates)} times: {listed}. The first is used."
        reports.append(_problem("warning", check, candidates[0].path, what, f"Set {option} to the one that is meant."))
    return candidates, reports


def homes_of(users: list[str]) -> list[str]:
    """The homes of those accounts that this host has; the running user's own where it has none of them."""
    homes = []
    for user in users:
        try:
            # One by one: a directory service need not list its accounts.
            homes.append(pwd.getpwnam(user).pw_dir)
        except KeyError:
            continue
    return homes or [os.path.expanduser("~")]


def find(
    root: str = "/", toolkit: str | None = None, atb: str | None = None, homes: list[str] | None = None
) -> dict[str, Any]:
    """Find the CANN toolkit and ATB.

    :param root: directory that stands for "/"; returned paths are as seen from inside.
    :param toolkit: the toolkit's ``set_env.sh``, its directory or its prefix; nothing else is looked at then.
    :param atb: the same for ATB.
    :param homes: home directories whose ``Ascend`` is looked into last; default: that of the running user.
    :returns: ``toolkit`` and ``atb``: None, or ``path`` (to source), ``version`` (None when no file says it) and
        ``home`` (the installation's directory, links resolved); ``problems``: a list of ``level`` (error, warning),
        ``check``, ``where``, ``what``, ``do``. No error means that both were found.
    """
    tree = _Tree(root)
    prefixes, toolkits = _prefixes(tree, homes_of([]) if homes is None else homes)

    def atb_scripts(prefix: str) -> list[str]:
        return [posixpath.join(prefix, name, _SCRIPT) for name in ("nnal/atb", "atb")]

    if toolkit:
        scripts = _override(tree, toolkit, lambda prefix: _toolkit_scripts(tree, prefix))
    else:
        default, *others = [_toolkit_scripts(tree, prefix) for prefix in prefixes]
        recorded = [posixpath.join(directory, _SCRIPT) for directory in toolkits]
        scripts = [*default, *recorded, *(script for more in others for script in more)]
    toolkits_found, problems = _choose(
        tree, "The CANN toolkit", "cann_toolkit", toolkit, list(dict.fromkeys(scripts)), _toolkit_version
    )
    if atb:
        scripts = _override(tree, atb, atb_scripts)
    else:
        # The two are released and installed together: beside the toolkit that somebody chose first.
        chosen_prefixes = [_prefix_of(_directory(toolkit))] if toolkit and toolkit.startswith("/") else []
        scripts = [posixpath.join(prefix, "nnal/atb", _SCRIPT) for prefix in [*chosen_prefixes, *prefixes]]
    atbs_found, more = _choose(tree, "ATB", "cann_atb", atb, list(dict.fromkeys(scripts)), _atb_version)
    if atbs_found and not source_guard.is_atb(atbs_found[0].path):
        # It would be sourced as any script: without its C++ ABI, and without a look at what it had to set.
        what = f"cann_atb is {atb}, and ATB's script is known by a directory of its path that is called atb."
        do = "Set cann_atb to such a path; a link called atb will do."
        atbs_found, more = [], [_problem("error", "cann-atb", atbs_found[0].path, what, do)]
    problems += more
    chosen = [found[0] if found else None for found in (toolkits_found, atbs_found)]
    if all(chosen):
        versions = [c.version for c in chosen if c is not None]
        if all(versions) and versions[0].lower() != versions[1].lower():
            what = f"the CANN toolkit is {versions[0]}, ATB is {versions[1]}; they are released together."
            do = "Install the two of one release, or set cann_toolkit and cann_atb to a pair that is."
            problems.append(_problem("warning", "cann-versions", chosen[1].path, what, do))
    return {
        "toolkit": chosen[0] and chosen[0]._asdict(),
        "atb": chosen[1] and chosen[1]._asdict(),
        "problems": problems,
    }
