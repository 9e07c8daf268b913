# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Make one archive on the controller of those that were fetched from hosts."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

from ansible.plugins.action import ActionBase


class ActionModule(ActionBase):
    """Run once for all hosts. Connects to none of them."""

    _supports_check_mode = True
    _supports_async = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Unpack them side by side into the one archive, and remove them."""
        result = super().run(tmp, task_vars or {})
        _checked, arguments = self.validate_argument_spec(
            argument_spec={
                "src": {"type": "path", "required": True},
                "dest": {"type": "path", "required": True},
                "files": {"type": "list", "elements": "path", "default": []},
                "notes": {"type": "list", "elements": "str", "default": []},
            }
        )
        source, dest = Path(arguments["src"]), Path(arguments["dest"]).absolute()
        if self._task.check_mode:
            return {**result, "changed": False, "dest": str(dest), "hosts": []}
        hosts = sorted(source.glob("*.tar.gz"))
        try:
            dest.parent.mkdir(parents=True, exist_ok=True)
            with tarfile.open(dest, "w:gz") as archive:
                for path in hosts:
                    _append(archive, path)
                for path in map(Path, arguments["files"]):
                    if path.is_file():
                        archive.add(path, f"plan/{path.name}")
                _text(archive, "notes.txt", "\n".join(arguments["notes"]))
            dest.chmod(0o600)
            for path in hosts:
                path.unlink()
        except (OSError, tarfile.TarError) as error:
            return {**result, "failed": True, "msg": f"cannot write {dest}: {error}"}
        names = [path.name.removesuffix(".tar.gz") for path in hosts]
        return {**result, "changed": True, "dest": str(dest), "hosts": names, "size": dest.stat().st_size}


def _append(archive: tarfile.TarFile, path: Path) -> None:
    """One host's files under the host's name, whatever they are called in its archive."""
    host = path.name.removesuffix(".tar.gz")
    with tarfile.open(path) as fetched:
        for entry in fetched:
            content = fetched.extractfile(entry)
            entry.name = f"{host}/{entry.name.partition('/')[2]}"
            archive.addfile(entry, content)


def _text(archive: tarfile.TarFile, name: str, text: str) -> None:
    if text:
        entry = tarfile.TarInfo(name)
        entry.size = len(text.encode()) + 1
        archive.addfile(entry, io.BytesIO(text.encode() + b"\n"))
