# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What ``npu-smi info`` prints about Atlas A2 and A3 NPUs, in all its layouts.

A device is two rows: NPU, name and health; then chip (on A3 with its Phy-ID), bus and memory. Rows are cut at ``|`` and
at blanks, never by columns: their widths changed from release to release.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ansible_collections.ascend.sglang.plugins.module_utils import commands, systemd, unit_file

_ASK_SECONDS = 20.0
_VERSION = re.compile(r"npu-smi\s+\S+\s+Version:\s*(\S+)")
_PAIR = re.compile(r"(\d+)\s*/\s*(\d+)")
_NOBODY = re.compile(r"No running processes found in NPU (\d+)")
_CODE = re.compile(r"ret is (-?\d+)")
# In place of numbers that an NPU does not tell: one that has dropped out must not hide the others.
_DROPPED = {"NA", "-"}
_INCOMPLETE = "driver package may not be completely installed"

# DCMI's codes, and what was behind them where people asked.
_CODES = {
    -8002: "the account may not use the NPUs",
    -8005: "the driver does not answer: it is not loaded (a kernel that was updated after the driver was installed?), "
    "the device files are missing, or the account is not in the group HwHiAiUser",
    -8006: "the driver gave no answer in time",
    -8012: "an NPU is not ready yet",
    -8013: "this is a container that got no NPU",
    -8017: "the firmware is being upgraded",
    -8020: "the NPUs are in use elsewhere, by another container",
}


class NpuSmiError(ValueError):
    """The output is none of A2 or A3, or says that there is nothing to tell. The message says which."""


class Npu(NamedTuple):
    """One NPU. number: as in /dev/davinciN and hccn_tool; card, chip: as npu-smi counts; memory in MB.

    Of one that does not answer npu-smi prints no memory: used and total are 0.
    """

    number: int
    card: int
    chip: int
    name: str
    health: str
    used: int
    total: int


class Process(NamedTuple):
    """A process that holds memory of an NPU; the name is cut by npu-smi and may be empty."""

    card: int
    chip: int
    pid: int
    name: str
    megabytes: int


class Report(NamedTuple):
    """``processes`` is None where the output does not tell for every card."""

    version: str
    product: str
    npus: list[Npu]
    processes: list[Process] | None
    incomplete: bool


def parse(text: str) -> Report:
    """Read the output of ``npu-smi info``. Raises NpuSmiError."""
    npus: list[Npu] = []
    processes: list[Process] = []
    silent: set[int] = set()
    first: list[str] | None = None
    section, physical = "", False
    for line in text.splitlines():
        cells = _cells(line)
        if not cells:
            continue
        nobody = _NOBODY.search(cells[0])
        if nobody:
            silent.add(int(nobody.group(1)))
        elif cells[0].startswith("NPU"):
            section = _section(cells)
        elif cells[0].startswith("Chip") and section == "devices":
            physical = "Phy-ID" in cells[0]
            if "HBM" not in cells[-1]:
                raise NpuSmiError("npu-smi shows NPUs without HBM: they are none of Atlas A2 or A3")
        elif section == "devices" and len(cells) == 3 and cells[0][:1].isdigit():
            if first is None:
                first = cells
            else:
                npus.append(_npu(first, cells, physical))
                first = None
        elif section == "processes" and len(cells) >= 4:
            processes.append(_process(cells, line))
    if first is not None:
        raise NpuSmiError("the output of npu-smi ends in the middle of an NPU")
    if not npus:
        raise NpuSmiError(_said(text) or "npu-smi printed nothing")
    version = _VERSION.search(text)
    told = silent | {one.card for one in processes}
    return Report(
        version.group(1) if version else "",
        _product(npus, physical),
        npus,
        processes if {one.card for one in npus} <= told else None,
        _INCOMPLETE in text,
    )


def _cells(line: str) -> list[str]:
    row = line.strip()
    return [cell.strip() for cell in row.strip("|").split("|")] if row.startswith("|") else []


def _section(cells: Sequence[str]) -> str:
    if any(cell.startswith("Process id") for cell in cells):
        return "processes"
    if cells[0].startswith("NPU ID"):
        raise NpuSmiError("npu-smi shows NPUs of a later product than Atlas A2 and A3")
    return "devices" if "Health" in cells else ""


def _npu(first: Sequence[str], second: Sequence[str], physical: bool) -> Npu:
    try:
        card, name = first[0].split(None, 1)
        numbers = [int(text) for text in second[0].split()]
        if _DROPPED & set(second[2].replace("N/A", "NA").replace("/", " ").split()):
            used = total = 0
        else:
            _memory, (used, total) = ((int(one), int(other)) for one, other in _PAIR.findall(second[2]))
        number = numbers[1] if physical else int(card)
        return Npu(number, int(card), numbers[0], name, first[1], used, total)
    except (ValueError, IndexError):
        raise NpuSmiError(f"this row of npu-smi cannot be read: {' | '.join(second)}") from None


def _process(cells: Sequence[str], line: str) -> Process:
    try:
        card, chip = (int(text) for text in cells[0].split())
        return Process(card, chip, int(cells[1]), cells[2], int(cells[3]))
    except ValueError:
        raise NpuSmiError(f"this row of npu-smi cannot be read: {' '.join(line.split())}") from None


def _product(npus: Iterable[Npu], physical: bool) -> str:
    names = {one.name for one in npus}
    if physical and names == {"Ascend910"}:
        return "A3"
    if not physical and all(re.match(r"910B\d", name) for name in names):
        return "A2"
    raise NpuSmiError(f"the NPUs ({', '.join(sorted(names))}) are none of Atlas A2 or A3")


def explain(answer: commands.Answer) -> str:
    """Why npu-smi told nothing, with the cause where its code is known."""
    return _said(answer.out + "\n" + answer.err) or f"it ended with exit status {answer.rc}"


def _said(text: str) -> str:
    """The last line that is none of a table, with the cause where its code is known; empty where there is none."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and line.strip()[0] not in "+|"]
    # This one may come first, and is not the cause.
    telling = [line for line in lines if "DrvMngGetConsoleLogLevel" not in line] or lines
    said = telling[-1] if telling else ""
    code = _CODE.search(said)
    known = _CODES.get(int(code.group(1))) if code else None
    return f"{said} ({known})" if known else said


def look(ask: commands.Run = commands.run, search: str = unit_file.SEARCH_PATH, proc: str = "/proc") -> dict[str, Any]:
    """The NPUs of this host.

    ``path`` (None: no such program), ``error`` (why nothing is known, or empty), ``version``, ``product`` (A2, A3),
    ``npus``, ``processes`` (None: not told; each with the ``unit`` that it belongs to), ``incomplete``.
    """
    path = shutil.which("npu-smi", path=search)
    found: dict[str, Any] = {"path": path, "error": "", "version": "", "product": ""}
    found.update(npus=[], processes=None, incomplete=False)
    if path is None:
        return found
    answer = ask([path, "info"], _ASK_SECONDS)
    if answer.rc != 0:
        return {**found, "error": explain(answer)}
    try:
        report = parse(answer.out)
    except NpuSmiError as problem:
        return {**found, "error": str(problem)}
    processes = report.processes
    if processes is not None:
        found["processes"] = [{**one._asdict(), "unit": systemd.unit_of(one.pid, proc)} for one in processes]
    found.update(version=report.version, product=report.product, incomplete=report.incomplete)
    found["npus"] = [one._asdict() for one in report.npus]
    return found
