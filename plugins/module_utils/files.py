# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files written whole or not at all, and the truth about those that are there."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from dataclasses import dataclass


@dataclass(frozen=True)
class Found:
    """A regular file as it is. mtime: when it was written, in seconds since 1970; 0 where nobody knows."""

    content: bytes
    mode: int
    uid: int
    gid: int
    mtime: float = 0.0

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def text(self) -> str:
        return self.content.decode("utf-8", "replace")


def look(path: str) -> Found | None:
    """The file at ``path``; None when there is nothing. OSError for what is there and is no file of ours."""
    try:
        with open(path, "rb") as stream:
            status = os.fstat(stream.fileno())
            mode = stat.S_IMODE(status.st_mode)
            return Found(stream.read(), mode, status.st_uid, status.st_gid, status.st_mtime)
    except FileNotFoundError:
        return None


def write(path: str, content: bytes, mode: int, directory_mode: int = 0o755) -> None:
    """Put a file in place in one step: a reader sees the old one or the new one, also after a power cut."""
    directory = os.path.dirname(path)
    make_directory(directory, directory_mode)
    descriptor, temporary = tempfile.mkstemp(prefix=".ascend-sglang-", dir=directory)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(stream.fileno(), mode)
            if os.geteuid() == 0:
                os.fchown(stream.fileno(), 0, 0)
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        remove(temporary)
        raise


def make_directory(path: str, mode: int) -> None:
    """Make a directory and its parents where they are missing, whatever the umask."""
    if os.path.isdir(path):
        return
    make_directory(os.path.dirname(path), 0o755)
    os.mkdir(path)
    os.chmod(path, mode)


def remove(path: str) -> None:
    """Remove a file, a link or a whole directory; nothing there is fine too."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
        return
    try:
        os.unlink(path)
    except FileNotFoundError:
        return


def remove_if_empty(path: str) -> None:
    """Remove a directory unless something is in it."""
    try:
        os.rmdir(path)
    except OSError:
        return
