# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parser of the version that this host's stand-in is told to be, under the name that the real one has.

A knob makes its import slow, as that of the real one is.
"""

from __future__ import annotations

import time

from sglang.stand_in import grammar
from sglang.stand_in.knobs import Knobs

_KNOBS = Knobs()

print("a line that an import printed")
time.sleep(_KNOBS.seconds("import_seconds"))


class ServerArgs:
    """As much of the real class as others build a parser with."""

    @staticmethod
    def add_cli_args(parser):
        """Add the version's flags."""
        path = grammar.find(str(_KNOBS.get("version")), _KNOBS.get("grammar"))
        grammar.fill(parser, grammar.load(path))
