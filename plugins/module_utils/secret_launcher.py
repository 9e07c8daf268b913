# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts a Python module as ``python -m`` does, with secrets that are not on the command line.

    python launcher.py MODULE ARGUMENT...

An argument @secret:NAME becomes the value of NAME from secrets.env, inside this process only: what the kernel shows
as its command line (ps, /proc/PID/cmdline) keeps the name. What this process prints has <redacted> in its place, as
SGLang's main process logs all arguments when it starts, --api-key with them. This file is a program of its own on the
hosts, installed beside launch.sh as launcher.py, and imports nothing of the collection.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections.abc import Callable, Iterable, Sequence
from urllib.parse import quote

PREFIX = "@secret:"
FILE_NAME = "launcher.py"
SECRETS_NAME = "secrets.env"
EX_USAGE = 64
EX_CONFIG = 78
REDACTED = "<redacted>"
SHORTEST = 4
"""Characters. Shorter values would be found in any text."""


def secrets_path() -> str:
    """Where secrets.env is: where systemd passed it on for a user who is not root, else beside this file."""
    credentials = os.environ.get("CREDENTIALS_DIRECTORY")
    directories = [credentials] if credentials else []
    directories.append(os.path.dirname(os.path.abspath(__file__)))
    paths = [os.path.join(directory, SECRETS_NAME) for directory in directories]
    return next((path for path in paths if os.path.exists(path)), paths[-1])


def read_secrets(path: str) -> dict[str, str]:
    """NAME="value" a line, the value in JSON's quoting; # begins a comment."""
    secrets = {}
    with open(path, encoding="utf-8") as stream:
        for line in stream:
            name, equals, value = line.strip().partition("=")
            if equals and not name.startswith("#"):
                secrets[name] = str(json.loads(value))
    return secrets


def fill(arguments: list[str], secrets: dict[str, str]) -> list[str]:
    """The arguments with every @secret:NAME replaced. KeyError names one that is missing."""
    return [secrets[word[len(PREFIX) :]] if word.startswith(PREFIX) else word for word in arguments]


def spellings(values: Iterable[str]) -> list[tuple[str, str]]:
    """How the values can stand in a text, and what takes the place: as they are, and as JSON, Python, a shell and a
    URL write them, longest first. A short value is only looked for in quotes, which stay."""
    found: dict[str, str] = {}
    for value in filter(None, values):
        written = {json.dumps(value), json.dumps(value, ensure_ascii=False), repr(value)}
        if len(value) < SHORTEST:
            found.update({one: one[0] + REDACTED + one[-1] for one in written})
        else:
            bare = {value, value.replace("'", "'\"'\"'"), quote(value, safe=""), *(one[1:-1] for one in written)}
            found.update(dict.fromkeys(bare, REDACTED))
    return sorted(found.items(), key=lambda one: len(one[0]), reverse=True)


def redacted(text: str, spelled: Sequence[tuple[str, str]]) -> str:
    """The text without secrets; spelled: see spellings."""
    for one, instead in spelled:
        text = text.replace(one, instead)
    return text


def redact_output(secrets: Iterable[str]) -> None:
    """From now on standard output and standard error have no secret in them, by whomever they are held already.

    What goes to the file descriptor itself, as other processes and libraries in C do it, does not come by here.
    """
    spelled = spellings(secrets)

    def redacting(write: Callable[[str], int]) -> Callable[[str], int]:
        def replace(text: str) -> int:
            write(redacted(text, spelled))
            return len(text)

        return replace

    # There is none where the process was started without.
    for stream in filter(None, (sys.stdout, sys.stderr)):
        vars(stream)["write"] = redacting(stream.write)


def refuse(why: str, status: int) -> None:
    """End with a line on stderr."""
    sys.stderr.write(f"launcher.py: {why}\n")
    raise SystemExit(status)


def main() -> None:
    """Become MODULE."""
    if len(sys.argv) < 2:
        refuse("usage: launcher.py MODULE ARGUMENT...", EX_USAGE)
    module, arguments = sys.argv[1], sys.argv[2:]
    path = secrets_path()
    try:
        secrets = read_secrets(path)
        arguments = fill(arguments, secrets)
    except KeyError as error:
        refuse(f"{path} has no secret named {error.args[0]}; deploy again with it", EX_CONFIG)
    except (OSError, ValueError) as error:
        refuse(f"cannot read {path}: {error}", EX_CONFIG)
    redact_output(secrets.values())
    # As under "python -m": the working directory comes first on the path, not this file's directory.
    sys.path[0] = os.getcwd()
    sys.argv = [module, *arguments]
    # alter_sys puts the module itself at sys.modules["__main__"], with its own name: processes that it spawns
    # (multiprocessing) import the module again by that name, and get these arguments through a pipe.
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
