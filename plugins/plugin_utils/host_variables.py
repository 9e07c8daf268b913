# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of any host, each evaluated when it is asked for. The one module that uses Ansible's templates.

Ansible's own `hostvars` will not do: up to ansible-core 2.18 a template that cannot be evaluated comes back from it as
its own text, and in no version can such a template use `hostvars` of another host.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

from ansible_collections.ascend.sglang.plugins.plugin_utils.findings import CompileError, error
from ansible_collections.ascend.sglang.plugins.plugin_utils.settings import BY_NAME


class HostVariables(Mapping[str, Mapping[str, Any]]):
    """Host name -> its variables. `hostvars`: Ansible's; `loader`: Ansible's, for lookups that read files."""

    def __init__(self, hostvars: Any, loader: Any = None) -> None:
        self._hostvars = hostvars
        # Not imported above: the compiler below works, and is tested, without Ansible.
        self._templar = importlib.import_module("ansible.template").Templar
        self._loader = loader
        self._known: dict[str, _Evaluated] = {}

    def raw(self, host: str) -> Mapping[str, Any]:
        """The variables of a host as they are written."""
        found: Mapping[str, Any] = self._hostvars.raw_get(host)
        return found

    def __getitem__(self, host: str) -> Mapping[str, Any]:
        if host not in self._known:
            raw = self.raw(host)
            templar = self._templar(self._loader, variables={**raw, "hostvars": self._hostvars})
            self._known[host] = _Evaluated(raw, templar)
        return self._known[host]

    def __iter__(self) -> Iterator[str]:
        return iter(self._hostvars)

    def __len__(self) -> int:
        return len(self._hostvars)


class _Evaluated(Mapping[str, Any]):
    """One host's variables. Asking for one raises what its template raises."""

    def __init__(self, raw: Mapping[str, Any], templar: Any) -> None:
        self._raw = raw
        self._templar = templar

    def __getitem__(self, name: str) -> Any:
        return self._templar.template(self._raw[name])

    def __contains__(self, name: object) -> bool:
        # Mapping's own would evaluate it.
        return name in self._raw

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)


def of_the_play(task_vars: Mapping[str, Any], hosts: HostVariables, templar: Any) -> dict[str, Any]:
    """The settings among a task's variables that no host has: those of the play. Raises CompileError.

    task_vars: the variables of a task, not evaluated, among them those of the host that it runs for. That host is any
    host (with --limit another one), so its own variables are none of the plan's business here.
    """
    own = hosts.raw(task_vars["inventory_hostname"])
    found: dict[str, Any] = {}
    for name in BY_NAME:
        if name in task_vars and not (name in own and own[name] == task_vars[name]):
            try:
                found[name] = templar.template(task_vars[name])
            except Exception as problem:
                what = f"its value cannot be evaluated: {problem}"
                raise CompileError([error("template", f"the play, {name}", what, "Correct the variable")]) from problem
            if BY_NAME[name].scope == "host" and found[name] != task_vars[name]:
                what = "it is a template for each host, and it stands in the play"
                raise CompileError([error("template", f"the play, {name}", what, "Set it in the inventory")])
    return found
