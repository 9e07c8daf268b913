# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the hosts of one plan have in common of CANN and ATB, and what not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Result = Mapping[str, Any]


def _version(part: str) -> Callable[[Result], str | None]:
    def read(result: Result) -> str | None:
        found = result.get(part)
        return str(found["version"] or "of unknown version") if found else None

    return read


def _abi(result: Result) -> str | None:
    homes = [proof["variables"].get("ATB_HOME_PATH", "") for proof in result["proofs"]]
    names = {str(home).rstrip("/").rpartition("/")[2] for home in homes if home}
    return " and ".join(sorted(names)) or None


_COMPARED: tuple[tuple[str, Callable[[Result], str | None]], ...] = (
    ("the CANN toolkit", _version("toolkit")),
    ("ATB", _version("atb")),
    ("ATB's C++ ABI", _abi),
)


def differences(results: Mapping[str, Result]) -> list[str]:
    """A sentence for each version that is not the same on all hosts whose services need CANN.

    :param results: host name to what the module `cann` returned there.
    """
    sentences = []
    needing = {host: result for host, result in results.items() if result.get("proofs")}
    for what, read in _COMPARED:
        hosts: dict[str, list[str]] = {}
        for host, result in needing.items():
            value = read(result)
            if value is not None:
                # Releases are written in capitals or not: 8.2.RC1, 8.2.rc1.
                known = next((text for text in hosts if text.lower() == value.lower()), value)
                hosts.setdefault(known, []).append(host)
        if len(hosts) > 1:
            listed = "; ".join(f"{value} on {_names(names)}" for value, names in hosts.items())
            sentences.append(f"{what} is not the same on all hosts: {listed}")
    return sentences


def kept_out(results: Mapping[str, Result]) -> list[str]:
    """A sentence for each variable in hosts' defaults that does not reach a service."""
    hosts: dict[str, list[str]] = {}
    for host, result in results.items():
        for entry in result.get("kept_out", ()):
            hosts.setdefault(str(entry), []).append(host)
    return [f"{entry} on {_names(names)} is kept out of services" for entry, names in hosts.items()]


def by_host(results: Iterable[Result], names: Sequence[str]) -> dict[str, Result]:
    """Results and names in the same order, as a mapping.

    :raises ValueError: lists of different lengths.
    """
    listed = list(results)
    if len(listed) != len(names):
        raise ValueError(f"there are {len(listed)} results for {len(names)} hosts; they must be lists in one order")
    return dict(zip(names, listed, strict=True))


def _names(hosts: Sequence[str]) -> str:
    shown = ", ".join(hosts[:8])
    return shown if len(hosts) <= 8 else f"{shown} and {len(hosts) - 8} more"
