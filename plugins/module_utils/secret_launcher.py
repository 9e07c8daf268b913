# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Starts a Python module as ``python -m`` does, with secrets that are not on the command line.

    python launcher.py MODULE ARGUMENT...

An argument @secret:NAME becomes the value of NAME from secrets.env, inside this process only: what the kernel shows
as its command line (ps, /proc/PID/cmdline) keeps the name. This file is a program of its own on the hosts, installed
beside launch.sh as launcher.py, and imports nothing of the collection.
"""

from __future__ import annotations

import json
import os
import runpy
import sys

PREFIX = "@secret:"
FILE_NAME = "launcher.py"
SECRETS_NAME = "secrets.env"
EX_USAGE = 64
EX_CONFIG = 78


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
        arguments = fill(arguments, read_secrets(path))
    except KeyError as error:
        refuse(f"{path} has no secret named {error.args[0]}; deploy again with it", EX_CONFIG)
    except (OSError, ValueError) as error:
        refuse(f"cannot read {path}: {error}", EX_CONFIG)
    # As under "python -m": the working directory comes first on the path, not this file's directory.
    sys.path[0] = os.getcwd()
    sys.argv = [module, *arguments]
    # alter_sys puts the module itself at sys.modules["__main__"], with its own name: processes that it spawns
    # (multiprocessing) import the module again by that name, and get these arguments through a pipe.
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
