# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A page's blocks run by bash, with recording stand-ins for what they call."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# What a host has before the block runs; its values stand as <env:NAME> in what is recorded.
BASELINE = {
    "PATH": "/usr/bin:/bin",
    "PYTHONPATH": "/baseline/python",
    "HOME": "/root",
    "LC_ALL": "C.UTF-8",
    "LD_LIBRARY_PATH": "/base/lib",
}
_IGNORED = {"PWD", "OLDPWD", "SHLVL", "_", "RECORD", "ADDRESSES", "BASH_EXECUTION_STRING"}

_TITLE = r"^#{2,4} (?P<title>.*\b\d+[Pp]\b.*)$"
_FENCE = r"^(?P<indent> *)(?P<fence>```|~~~)(?P<info>.*)\n(?P<body>(?s:.*?))\n *(?P=fence)$"
_PYTHON = """\
#!{python} -I
import fcntl, json, os, sys
record = os.environ["RECORD"]
def lines(name):
    path = record + "." + name
    return open(path).read().split() if os.path.exists(path) else []
words = sys.argv[1:]
while words and words[0] == "-u":
    words.pop(0)
with open(record, "a") as file:
    fcntl.flock(file, fcntl.LOCK_EX)
    file.write(json.dumps(dict(argv=words, env=dict(os.environ), unset=lines("unset"), source=lines("source"))) + "\\n")
"""
_PRELUDE = """\
source() { printf '%s\\n' "$1" >> "$RECORD.source"; }
unset() { printf '%s\\n' "$@" >> "$RECORD.unset"; builtin unset "$@"; }
"""


@dataclass(frozen=True)
class Started:
    """One recorded start. address: the host's, None where nobody's was asked for."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    unset: frozenset[str]
    source: tuple[str, ...]
    address: str | None

    @property
    def module(self) -> str:
        return self.argv[1]


class Bash:
    """Runs blocks in a directory of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.bin = directory / "bin"
        self.bin.mkdir()
        (directory / "proc/sys/kernel").mkdir(parents=True)
        for name in ("python", "python3"):
            self._stand_in(name, _PYTHON.format(python=sys.executable))
        self._stand_in("hostname", '#!/bin/sh\necho "$ADDRESSES"\n')
        self._stand_in("ip", '#!/bin/sh\necho "2: bond0 inet $ADDRESSES"\n')
        self._stand_in("sudo", '#!/bin/sh\nexec "$@"\n')
        for name in ("sysctl", "curl", "docker"):
            self._stand_in(name, "#!/bin/sh\nexit 0\n")
        self._stand_in("tee", "#!/bin/sh\ncat > /dev/null\n")

    def _stand_in(self, name: str, text: str) -> None:
        path = self.bin / name
        path.write_text(text)
        path.chmod(0o755)

    def run(self, block: str, address: str | None) -> list[Started]:
        """What the block starts on the host with this address."""
        record = self.directory / "record"
        for path in self.directory.glob("record*"):
            path.unlink()
        # A block may write to /proc/sys: never to this machine's.
        text = block.replace("/proc/sys/", f"{self.directory}/proc/sys/")
        path = f"{self.bin}:{BASELINE['PATH']}"
        environment = {
            **BASELINE,
            "PATH": path,
            "RECORD": str(record),
            "ADDRESSES": f"{address or '203.0.113.99'} 198.51.100.7",
        }
        done = subprocess.run(
            ["/bin/bash", "-c", f"{_PRELUDE}{text}\n\nwait\n"],
            env=environment,
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert "syntax error" not in done.stderr, done.stderr
        if not record.exists():
            return []
        started = [self._started(json.loads(line), address, path) for line in record.read_text().splitlines()]
        # What is started in the background writes in no order.
        return sorted(started, key=lambda one: one.argv) if re.search(r"&\s*$", block, re.MULTILINE) else started

    def _started(self, raw: Mapping[str, Any], address: str | None, path: str) -> Started:
        before = {**BASELINE, "PATH": path}
        env = {}
        for name, value in raw["env"].items():
            if name in _IGNORED or before.get(name) == value:
                continue
            own = before.get(name)
            env[name] = value.replace(own, f"<env:{name}>") if own else value
        unset = frozenset(name for name in raw["unset"] if name not in raw["env"])
        return Started(tuple(raw["argv"]), env, unset, tuple(dict.fromkeys(raw["source"])), address)


def blocks(page: str) -> list[tuple[str, list[str]]]:
    """Title and shell blocks of each recipe, read as simply as possible: fences, and headings with cards in them."""
    found: list[tuple[str, list[str]]] = []
    page = re.sub(r"\{/\*.*?\*/\}", "", page, flags=re.DOTALL)
    for hit in re.finditer(f"{_TITLE}|{_FENCE}", page, re.MULTILINE):
        if hit["title"]:
            found.append((hit["title"], []))
        elif found and "python" not in hit["info"]:
            found[-1][1].append(re.sub(rf"^{hit['indent']}", "", hit["body"], flags=re.MULTILINE))
    return found


def run_recipe(bash: Bash, texts: Sequence[str], addresses: Sequence[str]) -> list[Started]:
    """Everything that a recipe's blocks start, host by host.

    A block that starts nothing runs in front of those that start servers; plain variables stay for the blocks behind.
    """
    preparation = ""
    variables = ""
    started: list[Started] = []
    for text in texts:
        if "sglang" not in text:
            preparation += text + "\n"
            continue
        if "sglang.launch_server" not in text:
            started += bash.run(variables + text, None)
            continue
        variables += "".join(f"{line}\n" for line in text.split("\n") if re.match(r"\w+=", line))
        anywhere = bash.run(preparation + text, None)
        mine = [bash.run(preparation + text, one) for one in addresses if one in preparation + text]
        if all([one.argv for one in each] == [one.argv for one in anywhere] for each in mine):
            # The block does not ask which host it is on.
            started += anywhere
        else:
            started += [one for each in mine for one in each]
    return started
