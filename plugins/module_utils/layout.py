# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where things are on a host. Every path of ours is made here."""

from __future__ import annotations

import os
from dataclasses import dataclass

ENVIRONMENT_MARK = "ASCEND_SGLANG_LAUNCH"
"""Environment variable of a running service: the digest of the configuration that it was started with."""

UNIT_SECTION = "X-AscendSglang"
"""Section of our unit files (systemd ignores names that begin with X-). A unit file without it is not ours."""


def guard_of(unit: str) -> str:
    """The unit of its guard."""
    return unit + "-guard"


@dataclass(frozen=True)
class Layout:
    """Paths below `root`, which is / but in tests."""

    root: str = "/"

    def _at(self, *parts: str) -> str:
        return os.path.join(self.root, *parts)

    @property
    def config(self) -> str:
        return self._at("etc/ascend-sglang")

    @property
    def units(self) -> str:
        return self._at("etc/systemd/system")

    def unit_file(self, unit: str) -> str:
        return os.path.join(self.units, unit + ".service")

    def directory(self, unit: str) -> str:
        return os.path.join(self.config, unit)

    def launch(self, unit: str) -> str:
        return os.path.join(self.directory(unit), "launch.sh")

    def launcher(self, unit: str) -> str:
        return os.path.join(self.directory(unit), "launcher.py")

    def secrets(self, unit: str) -> str:
        return os.path.join(self.directory(unit), "secrets.env")

    def service(self, unit: str) -> str:
        """The plan service that the unit was made from."""
        return os.path.join(self.directory(unit), "service.json")

    def guard_config(self, unit: str) -> str:
        return os.path.join(self.directory(unit), "guard.json")

    def guard_code(self, unit: str) -> str:
        """The guard's own modules: a Python package."""
        return os.path.join(self.directory(unit), "guard")

    def guard_memory(self, unit: str) -> str:
        """What a guard remembers beyond its restart (RuntimeDirectory=)."""
        return self._at("run/ascend-sglang", guard_of(unit))

    @property
    def histories(self) -> str:
        return self._at("var/lib/ascend-sglang/history")

    def history(self, unit: str) -> str:
        """Earlier configurations of a unit, a numbered directory each."""
        return os.path.join(self.histories, unit)

    def home(self, unit: str) -> str:
        """HOME and working directory of the service (StateDirectory=)."""
        return self._at("var/lib/ascend-sglang", unit)

    def cache(self, unit: str) -> str:
        return self._at("var/cache/ascend-sglang", unit)

    def logs(self, unit: str) -> str:
        """What the service writes beside the journal: CANN's plog (LogsDirectory=)."""
        return self._at("var/log/ascend-sglang", unit)

    def data_directories(self, unit: str) -> tuple[str, ...]:
        """Directories that systemd makes for the service, those of a dynamic user included; logs last."""
        places = [self._at("var", kind, middle) for kind in ("lib", "cache") for middle in ("", "private")]
        own = tuple(os.path.join(place, "ascend-sglang", unit) for place in places)
        return (*own, self.guard_memory(unit), *self.log_directories(unit))

    def log_directories(self, unit: str) -> tuple[str, ...]:
        return (self.logs(unit), self._at("var/log/private/ascend-sglang", unit))

    def shared_directories(self, unit: str) -> tuple[str, ...]:
        """What the services of a host share and the last one takes along: removed only when empty, in this order."""
        parents = [os.path.dirname(path) for path in self.data_directories(unit)]
        return (self.directory(unit), self.config, self.histories, *dict.fromkeys(parents))
