# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lines of launch.sh that source the vendor's scripts, and prove that they did their work.

CANN's and ATB's ``set_env.sh`` read variables that need not exist, return non-zero halfway, look at
``$1``, and return 0 without having set anything. So they are sourced without ``errexit``, ``nounset``
and ``pipefail`` and with arguments of their own; afterwards the caller's options and arguments are
back, and what each script had to set is checked. The role ``cann`` runs the same lines before anything
is started, so that what it proves is what launch.sh will see.
"""

from __future__ import annotations

import posixpath
import shlex
from typing import Any

# How a launch ends that the environment does not allow: EX_CONFIG of sysexits.h. Trying again is no
# use before somebody has changed something.
EXIT_STATUS = 78

TOOLKIT_VARIABLE = "ASCEND_HOME_PATH"
ATB_VARIABLE = "ATB_HOME_PATH"

# What torch was built with. Its automatic import of torch_npu, switched off below, would need the devices.
_ASK_ABI = "import torch; print(int(torch.compiled_with_cxx11_abi()))"

_PROLOGUE = f"""\
# Vendor scripts read unset variables, return non-zero halfway and look at $1: they run without -e, -u
# and pipefail and without this script's own arguments, and what they had to set is checked afterwards.
sglang_options=$SHELLOPTS
sglang_arguments=("$@")
sglang_trap=$(trap -p EXIT)
sglang_refuse() {{
  trap - EXIT
  printf 'launch.sh: %s\\n' "$*" >&2
  exit {EXIT_STATUS}
}}
sglang_before() {{
  sglang_file=$1
  [ -f "$1" ] && [ -r "$1" ] ||
    sglang_refuse "$1 is not a file that this user can read. Is it installed on this host, and under this path?"
  trap 'sglang_refuse "$sglang_file ended the shell instead of returning."' EXIT
  set +e +u +o pipefail
}}
sglang_after() {{
  trap - EXIT
  local variable
  for variable; do
    [ -d "${{!variable:-}}" ] ||
      sglang_refuse "$sglang_file left $variable='${{!variable:-}}', which is not an existing directory." \\
        "That installation is incomplete, was moved, or is another thing than its path says."
  done
}}
"""

_EPILOGUE = """\
eval "$sglang_trap"
set +e +u +o pipefail
set -- "${sglang_arguments[@]}"
case ":$sglang_options:" in *:pipefail:*) set -o pipefail ;; esac
case ":$sglang_options:" in *:nounset:*) set -u ;; esac
case ":$sglang_options:" in *:errexit:*) set -e ;; esac
"""


def is_atb(path: str) -> bool:
    """Whether this is ATB's script: one of its directories is called atb (…/nnal/atb/set_env.sh)."""
    return "atb" in posixpath.normpath(path).split("/")[:-1]


def _is_named_as_toolkit(path: str) -> bool:
    directories = posixpath.normpath(path).split("/")[:-1]
    named = any(name in ("ascend-toolkit", "cann") or name.startswith("cann-") for name in directories)
    return named and not is_atb(path)


def checks(paths: list[str]) -> dict[str, str]:
    """What has to become an existing directory, and by which of ``paths``: variable -> path.

    The toolkit's script is known by its directory; where none is (a prefix of somebody's own), it is the first
    ``set_env.sh`` that is not one of the add-ons under nnal. Other files of the user's own have to set nothing.
    """
    found = {}
    others = [p for p in paths if p.endswith("/set_env.sh") and not is_atb(p) and "/nnal/" not in p]
    for path in [p for p in paths if _is_named_as_toolkit(p)][:1] or others[:1]:
        found[TOOLKIT_VARIABLE] = path
    for path in [p for p in paths if is_atb(p)][:1]:
        found[ATB_VARIABLE] = path
    return found


def _ask_engine(python: str) -> str:
    """Lines that leave the C++ ABI of the engine's own torch in ``sglang_cxx_abi``.

    ATB would ask the first python3 on PATH, which need not be the engine's. Without a torch to ask it
    takes 1, and so do we: the engine then fails by itself, and says better why.
    """
    quoted = shlex.quote(python)
    ask = f"TORCH_DEVICE_BACKEND_AUTOLOAD=0 {quoted} -c {shlex.quote(_ASK_ABI)}"
    return (
        "# ATB would ask the first python3 on PATH for its C++ ABI; the engine's own decides.\n"
        f"sglang_cxx_abi=$({ask} 2>/dev/null | tail -n 1)\n"
        'case "$sglang_cxx_abi" in\n'
        "  0 | 1) ;;\n"
        "  *)\n"
        "    sglang_cxx_abi=1\n"
        f"    printf 'launch.sh: %s has no torch to ask for its C++ ABI; ATB is told 1\\n' {quoted} >&2\n"
        "    ;;\n"
        "esac\n"
    )


def _source(path: str, args: list[str], variables: list[str], python: str, cxx_abi: str | None) -> str:
    words = [shlex.quote(word) for word in [path, *args]]
    text = f"sglang_before {words[0]}\n"
    if is_atb(path) and not any(arg.startswith("--cxx_abi") for arg in args):
        if cxx_abi is None:
            text += _ask_engine(python)
            words.append('--cxx_abi="$sglang_cxx_abi"')
        else:
            words.append(f"--cxx_abi={cxx_abi}")
    # Sourced without words of its own a script would see this one's. "|| :" outlives a script's own "set -e".
    text += f"set --; source {' '.join(words)} || :\n"
    return text + " ".join(["sglang_after", *variables]) + "\n"


def render(sources: list[Any], python: str = "python3", cxx_abi: str | None = None) -> str:
    """Bash text that sources ``sources`` in order, or ends with EXIT_STATUS and one line on stderr that says why.

    To be placed at the top level of a bash script, not in a function. Empty where there is nothing to source.

    :param sources: paths, or mappings with ``path`` and, optional, ``args`` (a list of words for that script).
    :param python: the engine's python; asked for its C++ ABI where ATB is sourced without ``--cxx_abi``.
    :param cxx_abi: ``"0"`` or ``"1"`` pins ATB's C++ ABI; None lets the engine's python decide.
    :raises ValueError: a path that is not absolute, ``args`` that are no list, a ``cxx_abi`` that is neither.
    """
    if cxx_abi is not None and str(cxx_abi) not in ("0", "1"):
        raise ValueError(
            f"cxx_abi is {cxx_abi!r}; it must be '0' or '1', or be left out: the engine's python decides then"
        )
    if not sources:
        return ""
    entries = [{"path": source} if isinstance(source, str) else source for source in sources]
    expected = checks([str(entry["path"]) for entry in entries])
    text = _PROLOGUE
    if expected:
        # One that was inherited would pass the check without the scripts' doing.
        text += f"unset {' '.join(expected)}\n"
    for entry in entries:
        path, args = str(entry["path"]), entry.get("args") or []
        if not path.startswith("/") or "\n" in path:
            raise ValueError(f"the file to source is {path!r}; it must be an absolute path")
        if isinstance(args, str) or not all(isinstance(arg, (str, int)) for arg in args):
            raise ValueError(f"the arguments of {path} are {args!r}; they must be a list of words")
        variables = [name for name, script in expected.items() if script == path]
        text += _source(path, [str(arg) for arg in args], variables, python, None if cxx_abi is None else str(cxx_abi))
    return text + _EPILOGUE
