# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Import a recipe page on the controller: files in and out, one call of the importer, errors out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail
from ansible.plugins.action import ActionBase
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.catalogue import ROUTER, Catalogue
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.files import read_catalogue
from ansible_collections.ascend.sglang.plugins.plugin_utils.engine.grammar import EngineError
from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, error_text
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.emit import emit
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.importer import import_page, version_of
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.report import notes, render, summary

DEFAULT_ENGINE = "0.5.13.post1"


class ActionModule(ActionBase):
    """Connects to no host."""

    _supports_check_mode = True
    _supports_async = False
    _requires_connection = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Read the page, import it, and write what is not there yet."""
        result = super().run(tmp, task_vars or {})
        _checked, arguments = self.validate_argument_spec(
            argument_spec={
                "page": {"type": "path", "required": True},
                "dest": {"type": "path", "required": True},
                "engine": {"type": "str"},
                "engine_dirs": {"type": "list", "elements": "path", "default": []},
            }
        )
        page = Path(arguments["page"]).absolute()
        text = _read(page)
        catalogue, engine, warning = self._engine(arguments, text)
        try:
            imported = import_page(text, page.name, catalogue.get(engine), _newest_router(catalogue))
        except CompileError as stopped:
            return {**result, "failed": True, "msg": error_text(stopped.findings)}
        if warning:
            self._display.warning(warning)
        report = render(page.name, imported)
        files = {f"{each.name}.yml": emit(each.data) for each in imported.profiles}
        files[f"{page.stem}.report.md"] = report
        directory = Path(arguments["dest"]).absolute()
        changes = _write(directory, files, write=not self._task.check_mode)
        return {
            **result,
            "changed": bool(changes),
            "diff": changes,
            "engine": imported.engine,
            "profiles": [each.name for each in imported.profiles],
            "notes": notes(imported),
            "report": report,
            "summary": summary(page.name, imported),
        }

    def _engine(self, arguments: dict[str, Any], text: str) -> tuple[Catalogue, str, str | None]:
        """The known engines, the version to write for, and a warning where the page names one that nobody knows."""
        named = version_of(text)
        try:
            catalogue = read_catalogue([Path(each).absolute() for each in arguments["engine_dirs"]])
            if arguments["engine"]:
                catalogue.get(arguments["engine"])
                return catalogue, arguments["engine"], None
        except EngineError as unknown:
            raise AnsibleActionFail(f"engine: {unknown}") from None
        if named is None or named in catalogue.versions():
            return catalogue, named or DEFAULT_ENGINE, None
        warning = (
            f"The page names SGLang {named}, for which there is no engine file: its flags are read as those of "
            f"{DEFAULT_ENGINE}. tools/dump_engine.py, run where {named} is installed, prints the file; name its "
            "directory in engine_dirs"
        )
        return catalogue, DEFAULT_ENGINE, warning


def _newest_router(catalogue: Catalogue) -> Any:
    return catalogue.get(catalogue.versions(ROUTER)[-1], ROUTER)


def _read(page: Path) -> str:
    try:
        return page.read_text(encoding="utf-8")
    except OSError as problem:
        raise AnsibleActionFail(f"page: {page} cannot be read ({problem.strerror}). Give the path of a file") from None
    except UnicodeDecodeError as problem:
        raise AnsibleActionFail(f"page: {page} is no text in UTF-8 ({problem}). Save it as UTF-8") from None


def _write(directory: Path, files: dict[str, str], *, write: bool) -> list[dict[str, str]]:
    """Make the files what they should be; the differences. Writes only if asked to."""
    changes = []
    if directory.exists() and not directory.is_dir():
        raise AnsibleActionFail(f"dest: {directory} is a file. Give a directory, which may be a new one")
    try:
        for name, after in files.items():
            path = directory / name
            before = path.read_text(encoding="utf-8") if path.exists() else ""
            if before == after:
                continue
            changes.append({"before_header": str(path), "after_header": str(path), "before": before, "after": after})
            if write:
                directory.mkdir(parents=True, exist_ok=True)
                path.write_text(after, encoding="utf-8")
    except OSError as problem:
        what = f"dest: {problem.filename} cannot be written ({problem.strerror})"
        raise AnsibleActionFail(f"{what}. Give a directory of yours") from None
    return changes
