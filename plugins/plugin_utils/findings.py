# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a check has to say, and the exception that carries it when nothing can be compiled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from ansible_collections.ascend.sglang.plugins.plugin_utils.engine import suggest

Level = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong (error) or worth knowing (warning).

    check: the check's name, as in ``sglang_preflight_skip``; where: host, setting or file in the user's words;
    what: what is the case, with names and numbers; do: what the user can do about it.
    """

    level: Level
    check: str
    where: str
    what: str
    do: str

    def as_dict(self) -> dict[str, str]:
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.where}: {_ended(self.what)}" + (
            f" {_ended(self.do[:1].upper() + self.do[1:])}" if self.do else ""
        )


def _ended(text: str) -> str:
    """On one line, and ended as a sentence is."""
    line = " ".join(text.split())
    return line if line.endswith((".", "?", "!")) else f"{line}."


def error(check: str, where: str, what: str, do: str) -> Finding:
    """A finding that ends the run before anything changes."""
    return Finding("error", check, where, what, do)


def warning(check: str, where: str, what: str, do: str = "") -> Finding:
    """A finding that is printed and nothing more."""
    return Finding("warning", check, where, what, do)


class CompileError(Exception):
    """Raised by a pass that cannot go on. Holds every finding that the pass knew by then."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        self.findings = tuple(findings)
        super().__init__(error_text(self.findings))


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """The findings that are errors."""
    return [finding for finding in findings if finding.level == "error"]


def stop_on_errors(findings: Sequence[Finding]) -> None:
    """End the compilation when a finding is an error."""
    if errors(findings):
        raise CompileError(findings)


def error_text(findings: Iterable[Finding]) -> str:
    """The errors alone, one a line: the last thing that a user reads."""
    return "\n".join(str(finding) for finding in errors(findings))


def nearest(name: str, known: Iterable[str], count: int = 3) -> str:
    """`did you mean …?` for the known names closest to a misspelt one, or an empty string."""
    close = suggest.nearest(name, known, count=count)
    return f"did you mean {suggest.either(close)}?" if close else ""
