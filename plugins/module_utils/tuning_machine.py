# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host's files and the kernel's values in them, wherever its trees are."""

from __future__ import annotations

import errno
import functools
import os
import re
from typing import NamedTuple

from ansible_collections.ascend.sglang.plugins.module_utils.commands import Answer, Run, run

_CONTAINER_MARKS = (
    "/run/systemd/container",
    "/run/host/container-manager",
    "/run/.containerenv",
    "/.dockerenv",
)
_ASK_SECONDS = 10.0

# In a mount namespace of its own: nothing stays mounted on the host because somebody looked.
_MOUNT = 'mount -t debugfs debugfs "$1" || exit 90; '
_READ = _MOUNT + '[ -e "$2" ] || exit 91; cat "$2" || exit 92; (: >> "$2") || exit 93'
_WRITE = _MOUNT + 'printf "%s\\n" "$3" > "$2"'
_NO_SUCH_FILE = 91
_NOT_WRITABLE = 93


class Look(NamedTuple):
    """What a file says, and why it cannot be written (empty when it can)."""

    value: str | None
    obstacle: str


class Machine:
    """A host whose trees may lie elsewhere.

    :param root: the directory that stands for "/"; below another one than "/" no program is run.
    :param sys: where /sys is, seen from ``root``.
    :param proc_sys: where /proc/sys is, seen from ``root``.
    """

    def __init__(self, root: str = "/", sys: str = "/sys", proc_sys: str = "/proc/sys", ask: Run = run) -> None:
        """Look at nothing yet."""
        self.root = root
        self.sys = sys.rstrip("/")
        self.proc_sys = proc_sys.rstrip("/")
        self.debugfs = f"{self.sys}/kernel/debug"
        self.ask = ask

    @property
    def is_real(self) -> bool:
        """Whether this is a running host rather than a tree of files."""
        return self.root == "/"

    def real(self, path: str) -> str:
        """A path of the host as this process has to open it."""
        return os.path.join(self.root, path.lstrip("/"))

    def text(self, path: str) -> str | None:
        """The text of a file; None where there is none that can be read."""
        try:
            with open(self.real(path), encoding="utf-8", errors="surrogateescape") as stream:
                return stream.read()
        except OSError:
            return None

    def exists(self, path: str) -> bool:
        """Whether there is something, a dangling link included."""
        return os.path.lexists(self.real(path))

    def names(self, directory: str) -> list[str]:
        """The names in a directory; none where there is no directory."""
        try:
            return sorted(os.listdir(self.real(directory)))
        except OSError:
            return []

    def look(self, path: str) -> Look | None:
        """The value in a file of the kernel, and whether it could be written; None where there is no such file."""
        if self._is_private(path):
            return self._look_private(path)
        real = self.real(path)
        try:
            with open(real, encoding="utf-8", errors="replace") as stream:
                value = stream.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return Look(None, self._why(error))
        try:
            # Nothing is written and nothing truncated: this asks the kernel whether it would let us.
            os.close(os.open(real, os.O_WRONLY))
        except OSError as error:
            return Look(value, self._why(error))
        return Look(value, "")

    def put(self, path: str, value: str) -> str:
        """Write a value; empty, or why the kernel did not take it."""
        if self._is_private(path):
            answer = self._in_private_debugfs(_WRITE, path, value)
            return "" if answer.rc == 0 else f"the kernel does not take {value}: {answer.err.strip()}"
        try:
            with open(self.real(path), "w", encoding="utf-8") as stream:
                stream.write(value + "\n")
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ERANGE):
                return f"the kernel does not take {value} ({error.strerror})"
            return self._why(error)
        return ""

    def _why(self, error: OSError) -> str:
        if error.errno == errno.EROFS:
            return "it is read-only here, as in a container"
        if error.errno in (errno.EPERM, errno.EACCES):
            return f"the kernel does not let it be used{self._lockdown()}"
        return f"the kernel says: {error.strerror}"

    def _lockdown(self) -> str:
        found = re.search(r"\[(integrity|confidentiality)\]", self.text(f"{self.sys}/kernel/security/lockdown") or "")
        return f", it is locked down ({found.group(1)})" if found else ""

    @property
    def in_container(self) -> bool:
        """Whether the kernel is another machine's too."""
        return any(self.exists(mark) for mark in _CONTAINER_MARKS)

    @functools.cached_property
    def debugfs_is_private(self) -> bool:
        """Whether debugfs can be seen only in a mount of our own. Out of a container we do not reach for it."""
        return (
            self.is_real
            and self.sys == "/sys"
            and not os.path.ismount(self.debugfs)
            and "debugfs" in (self.text("/proc/filesystems") or "").split()
            and not self.in_container
        )

    def _is_private(self, path: str) -> bool:
        return path.startswith(self.debugfs + "/") and self.debugfs_is_private

    def _in_private_debugfs(self, script: str, *words: str) -> Answer:
        return self.ask(["unshare", "--mount", "sh", "-c", script, "sh", self.debugfs, *words], _ASK_SECONDS)

    def _look_private(self, path: str) -> Look | None:
        answer = self._in_private_debugfs(_READ, path)
        if answer.rc == _NO_SUCH_FILE:
            return None
        if answer.rc == _NOT_WRITABLE:
            return Look(answer.out, f"the kernel does not let it be used{self._lockdown()}")
        if answer.rc != 0:
            return Look(None, f"debugfs cannot be mounted or read{self._lockdown()}: {answer.err.strip()}")
        return Look(answer.out, "")
