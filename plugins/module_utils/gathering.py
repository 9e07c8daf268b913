# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a bug report needs from a host: bounded, and without the values of secrets."""

from __future__ import annotations

import io
import json
import os
import re
import tarfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.module_utils import secret_launcher
from ansible_collections.ascend.sglang.plugins.module_utils.commands import Run, run
from ansible_collections.ascend.sglang.plugins.module_utils.layout import Layout, guard_of

_COMMAND_SECONDS = 30.0
_SECRETS = "secrets.env"

# What names itself a secret, whatever its value: as an assignment in any notation, as an option, in a header, in a URL.
_SECRET_WORDS = rb"(?:(?<!@)secret|passw(?:or)?d|passphrase|(?:api|access|private|secret)[_-]?key|credentials?)"
_TOKEN_WORD = rb"token"
# That one is named, or is not there, is no secret; and numbers of tokens are none.
_KEPT = rb"(?:<redacted>|@secret:|\{|(?:admin_)?api_key['\"]|(?:None|null|True|False|true|false)\b"
_KEPT_NUMBER = rb"|\d+(?![\w.-]))"


def _named(word: bytes, kept: bytes) -> tuple[re.Pattern[bytes], ...]:
    name = word + rb"['\"]?[ \t]{0,2}[=:][ \t]{0,2}"
    option = rb"--(?:[a-z0-9]{1,20}-){0,5}" + word + rb"(?:['\"]?\s?,\s*['\"]?|[ =]+['\"]?)"
    return (
        re.compile(rb"(?i)(" + name + rb"(?P<quote>['\"]))(?!" + kept + rb")(?:\\.|(?!(?P=quote))[^\\\n])+"),
        re.compile(rb"(?i)(" + name + rb")(?!" + kept + rb")[^\s'\",;)}\]]+"),
        re.compile(rb"(?i)(" + option + rb")(?!-|" + kept + rb")[^\s'\",\]]+"),
    )


_NAMED = (
    *_named(_SECRET_WORDS, _KEPT + rb")"),
    *_named(_TOKEN_WORD, _KEPT + _KEPT_NUMBER),
    re.compile(rb"(?i)(authorization['\"]?: *['\"]?(?:bearer|basic) +)(?!<redacted>)[^\s'\",]+"),
    re.compile(rb"(?i)((?<![a-z0-9])[a-z][a-z0-9+.-]{1,15}://[^\s/:@]{0,99}:)[^\s/@]+(?=@)"),
)

# How the host is. A tool that is missing is told in its file.
_COMMANDS = {
    "host/uname.txt": ["uname", "-a"],
    "host/uptime.txt": ["uptime"],
    "host/date.txt": ["date", "--utc", "--iso-8601=seconds"],
    "host/addresses.txt": ["ip", "-details", "address"],
    "host/routes.txt": ["ip", "route", "show", "table", "all"],
    "host/listeners.txt": ["ss", "-Hltnp"],
    "host/disks.txt": ["df", "-h"],
    "host/memory.txt": ["free", "-m"],
    "host/shared-memory.txt": ["ls", "-la", "/dev/shm"],
    "host/devices.txt": ["sh", "-c", "ls -la /dev/davinci* /dev/devmm_svm /dev/hisi_hdc"],
    "host/kernel-log.txt": ["journalctl", "--quiet", "--no-pager", "--dmesg", "--lines=500"],
    "npu/npu-smi.txt": ["npu-smi", "info"],
    "npu/npu-smi-list.txt": ["npu-smi", "info", "-l"],
    "npu/npu-smi-topology.txt": ["npu-smi", "info", "-t", "topo"],
}
_FILES = ("/etc/os-release", "/etc/ascend_install.info", "/etc/Ascend/ascend_cann_install.info", "/etc/hccn.conf")
_LINKS = ("-link", "-net_health", "-tls")
_PACKAGES = (
    "import importlib.metadata as m, sys; print(sys.version);"
    " print(*sorted(f'{one.metadata[\"Name\"]}=={one.version}' for one in m.distributions()), sep='\\n')"
)
_SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/Ascend/driver/tools"


@dataclass(frozen=True)
class Limits:
    """Bytes, of which the last ones are kept: of one file or output, and of the vendor's logs of a service."""

    each: int
    plog: int


def secrets_of(layout: Layout) -> list[tuple[bytes, bytes]]:
    """All spellings of the secrets that this collection keeps on the host, earlier ones included, and what takes
    their place."""
    found: set[str] = set()
    for top in (layout.config, layout.histories):
        for directory, _names, files in os.walk(top):
            if _SECRETS in files:
                try:
                    found |= set(secret_launcher.read_secrets(os.path.join(directory, _SECRETS)).values())
                except (OSError, ValueError):
                    continue
    return [(one.encode(), instead.encode()) for one, instead in secret_launcher.spellings(found)]


def scrubbed(content: bytes, secrets: Sequence[tuple[bytes, bytes]]) -> bytes:
    """The content without values of secrets, and without what names itself one."""
    for one, instead in secrets:
        content = content.replace(one, instead)
    for pattern in _NAMED:
        content = pattern.sub(rb"\1<redacted>", content)
    return content


def gather(
    layout: Layout, units: Sequence[str], limits: Limits, lines: int, ask: Run = run
) -> Iterator[tuple[str, bytes]]:
    """Names and contents, as they are: not yet scrubbed."""
    for unit in units:
        for part in (unit, guard_of(unit)):
            yield f"{unit}/{part}.journal.txt", _output(_journal(part, lines), limits, ask)
            yield f"{unit}/{part}.status.txt", _output(["systemctl", "show", part + ".service"], limits, ask)
            yield from _copied(f"{unit}/{part}.service", layout.unit_file(part), limits)
        for directory, _names, files in os.walk(layout.directory(unit)):
            for name in sorted(set(files) - {_SECRETS}):
                path = os.path.join(directory, name)
                yield from _copied(f"{unit}/{os.path.relpath(path, layout.directory(unit))}", path, limits)
        python = _python(layout, unit)
        if python:
            yield f"{unit}/packages.txt", _output([python, "-c", _PACKAGES], limits, ask)
        for place in (*layout.log_directories(unit), os.path.join(layout.home(unit), "ascend", "log")):
            yield from _newest(f"{unit}/plog", place, limits)
    for name, command in _COMMANDS.items():
        yield name, _output(command, limits, ask)
    for number in _npus():
        for flag in _LINKS:
            yield f"npu/hccn-{number}{flag}.txt", _output(["hccn_tool", "-i", number, flag, "-g"], limits, ask)
    for path in _FILES:
        yield from _copied(f"host{path}", os.path.join(layout.root, path.lstrip("/")), limits)


def _python(layout: Layout, unit: str) -> str:
    """The python of a service; empty where its record does not tell."""
    try:
        with open(layout.service(unit), encoding="utf-8") as stream:
            return str(json.load(stream)["argv"][0])
    except (OSError, ValueError, LookupError, TypeError):
        return ""


def _journal(unit: str, lines: int) -> list[str]:
    return [
        *("journalctl", "--quiet", "--no-pager", "--output=short-iso-precise", "--all", f"--lines={lines}"),
        *("--unit", unit + ".service"),
    ]


def _npus() -> list[str]:
    names = [re.match(r"davinci(\d+)$", name) for name in os.listdir("/dev")]
    return sorted((found[1] for found in names if found), key=int)


def _output(command: Sequence[str], limits: Limits, ask: Run) -> bytes:
    answer = ask(["env", f"PATH={_SEARCH}", *command], _COMMAND_SECONDS)
    head = f"$ {' '.join(command)}   # {answer.rc}\n".encode()
    return head + _last((answer.out + answer.err).encode("utf-8", "replace"), limits.each)


def _last(content: bytes, most: int, before: int = 0) -> bytes:
    """The last lines that fit. before: bytes that are left out already.

    The line that is cut goes as a whole: half of a secret is not found.
    """
    if len(content) <= most and not before:
        return content
    kept = content[-most:].partition(b"\n")[2]
    return f"[the first {before + len(content) - len(kept)} bytes are left out]\n".encode() + kept


def _copied(name: str, path: str, limits: Limits) -> Iterator[tuple[str, bytes]]:
    try:
        size = os.path.getsize(path)
        with open(path, "rb") as stream:
            stream.seek(max(0, size - limits.each))
            content = stream.read(limits.each)
    except OSError:
        return
    yield name, _last(content, limits.each, max(0, size - len(content)))


def _newest(name: str, place: str, limits: Limits) -> Iterator[tuple[str, bytes]]:
    """The newest files below a place, up to the limit."""
    found = []
    for directory, _names, files in os.walk(place):
        for one in files:
            path = os.path.join(directory, one)
            try:
                if one != _SECRETS and not os.path.islink(path):
                    found.append((os.path.getmtime(path), path))
            except OSError:
                continue
    room = limits.plog
    for _time, path in sorted(found, reverse=True):
        for inside, content in _copied(f"{name}/{os.path.relpath(path, place)}", path, limits):
            if len(content) <= room:
                room -= len(content)
                yield inside, content


def pack(
    stream: io.BufferedIOBase, top: str, items: Iterator[tuple[str, bytes]], secrets: Sequence[tuple[bytes, bytes]]
) -> list[str]:
    """Write an archive of the items, scrubbed; their names."""
    names = []
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in items:
            clean = scrubbed(content, secrets)
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mode, entry.mtime = len(clean), 0o600, int(time.time())
            archive.addfile(entry, io.BytesIO(clean))
            names.append(name)
    return names
