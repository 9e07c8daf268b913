# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the commands of a recipe do: start services, source files, set kernel settings, or nothing that counts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import syntax as sh
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note, RecipeError
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.scope import OWN_ADDRESS, REMOVE, Exported, Scope
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.values import Text, Word, known, show

SERVER = "sglang.launch_server"
ROUTER = "sglang_router.launch_router"
BENCHMARK = "sglang.bench_serving"

# Commands that leave nothing behind that a service could notice.
_SILENT = frozenset({"echo", "printf", "true", ":", "sleep", "wait", "date", "clear", "pwd"})
# Commands of a person at a terminal: no part of what a recipe starts, and said so in the report.
# fmt: off
_ASIDE = frozenset({
    "apt", "apt-get", "cat", "cd", "chmod", "chown", "conda", "cp", "curl", "docker", "dnf", "free", "git", "grep",
    "head", "hccn_tool", "kill", "killall", "ln", "ls", "lscpu", "lsof", "mkdir", "mv", "netstat", "nerdctl",
    "npu-smi", "nvidia-smi", "pip", "pip3", "ping", "pkill", "podman", "ps", "rm", "sed", "set", "shopt", "ss",
    "ssh", "tail", "tar", "touch", "ulimit", "unzip", "uv", "watch", "wget", "which", "yum", "ais_bench",
    "evalscope", "huggingface-cli", "hf", "modelscope",
})
# fmt: on
# Of these, those that run a command line that they are given.
_STARTERS = frozenset({"conda", "docker", "nerdctl", "podman", "ssh", "uv", "watch"})
_HIDDEN = re.compile(r"-m[\s\\]+sglang(\.launch_server|\.bench_serving|_router\.)|\bsglang\s+serve\b")
# Files under /proc/sys that do something when they are written to.
_ACTIONS = frozenset({"vm.drop_caches", "vm.compact_memory"})
# Wrappers that start the rest of their line, and what becomes of them.
_WRAPPERS = {
    "nohup": "a service has no terminal to be cut off from",
    "exec": "the launch script of a service does so anyway",
    "sudo": "the collection decides who starts what",
    "time": "it only measures",
}


@dataclass(frozen=True)
class HostSetting:
    """A kernel setting (``vm.swappiness``) or the CPU ``governor``."""

    key: str
    value: str
    line: int


@dataclass(frozen=True)
class Launch:
    """One process that a block starts. host: the address whose owner starts it; None: whoever runs the block.

    words: what follows ``python3 -m module``. env, unset, source: as they stand at that moment, in order.
    """

    module: str
    words: tuple[Word, ...]
    line: int
    env: Mapping[str, Exported]
    unset: Mapping[str, int]
    source: tuple[Word, ...]
    settings: tuple[HostSetting, ...]
    host: Text | None
    script: sh.Script = field(repr=False)


class Commands:
    """The commands of one shell on one host, and what they have done so far."""

    def __init__(self, scope: Scope, host: Text | None) -> None:
        self.scope = scope
        self.host = host
        self.source: list[Word] = []
        self.settings: list[HostSetting] = []
        self.launches: list[Launch] = []
        # Lines of commands that are no part of a recipe, and why.
        self.asides: dict[int, str] = {}
        self.script = sh.Script((), b"")

    def command(self, statement: sh.Command) -> None:
        """A simple command. Raises `RecipeError` for one that recipes are not imported from."""
        name = statement.words[0].literal if statement.words else None
        if name in _ASIDE:
            self.refuse_hidden(statement)
            text = self.script.text(statement.words[0].start, statement.words[-1].end)
            self.aside(statement.line, _short(text), str(name), warn=name == "ulimit")
            return
        if name in _SILENT and not statement.redirects:
            return
        words = [word for each in statement.words for word in self.scope.fields(each)]
        if words:
            self.call(statement, words, statement.assignments)
        for assignment in statement.assignments if not words else ():
            self.scope.assign(assignment)

    def call(self, statement: sh.Command, words: list[Word], assignments: Sequence[sh.Assignment]) -> None:
        """The command that the words are, with assignments in front of it."""
        name = words[0].text.rsplit("/", 1)[-1]
        if name in _WRAPPERS and len(words) > 1:
            self.note(words[0].line, name, _WRAPPERS[name])
            rest = words[1:]
            while name == "sudo" and rest and rest[0].text.startswith("-"):
                rest = rest[1:]
            if rest:
                self.call(statement, rest, assignments)
        elif name == "env":
            self.env(statement, words[1:], assignments)
        elif re.fullmatch(r"python3?(\.\d+)?", name):
            self.python(statement, words, assignments)
        elif name == "sglang" and len(words) > 1 and words[1].text == "serve":
            self.note(words[0].line, "sglang serve", f"it is python3 -m {SERVER}")
            self.launch(statement, SERVER, words[0].line, words[2:], assignments)
        elif name in ("source", "."):
            self.source_file(words)
        elif name == "sysctl":
            self.sysctl(words)
        elif name == "cpupower" and [word.text for word in words[1:-1]] in (["frequency-set", "-g"], ["-c", "all"]):
            self.settings.append(HostSetting("governor", words[-1].text, words[0].line))
        elif name in ("test", "[", "[["):
            raise RecipeError(words[0].line, f"{name} is used in a form that is not understood", "Write it as [[ … ]]")
        elif name == "let":
            for word in words[1:]:
                self.scope.step(word.text, word.line)
        elif name in ("echo", "printf", "tee") and statement.redirects:
            self.write(words[1:], [redirect.target for redirect in statement.redirects if redirect.target])
        elif words[0].text.startswith("-"):
            self.lost_flags(words)
        elif name in _ASIDE:
            self.aside(words[0].line, _line(words), name)
        elif name not in _SILENT:
            raise RecipeError(words[0].line, f"the command {name!r} is none that recipes are imported from", REMOVE)

    def env(self, statement: sh.Command, words: list[Word], assignments: Sequence[sh.Assignment]) -> None:
        """``env NAME=value command``."""
        count = 0
        given: list[sh.Assignment] = list(assignments)
        for word in words:
            found = re.fullmatch(r"([A-Za-z_]\w*)=(.*)", word.text, re.DOTALL)
            if not found or not known(word.value):
                break
            text = sh.WordSyntax((sh.Literal(found[2], quoted=True),), word.line, word.start, word.end)
            given.append(sh.Assignment(found[1], text, word.line))
            count += 1
        rest = words[count:]
        if rest and rest[0].text.startswith("-"):
            raise RecipeError(rest[0].line, f"env {rest[0].text} is not understood", REMOVE)
        if rest:
            self.call(statement, rest, given)

    def python(self, statement: sh.Command, words: list[Word], assignments: Sequence[sh.Assignment]) -> None:
        """``python3 -m module``: a launch."""
        line = words[0].line
        rest = words[1:]
        while rest and rest[0].text in ("-u", "-B", "-O"):
            self.note(rest[0].line, f"python {rest[0].text}", "the plan starts Python without options of its own")
            rest = rest[1:]
        if rest and rest[0].text == "-c":
            self.aside(line, "python -c", "a line of Python")
            return
        if not rest or rest[0].text != "-m" or len(rest) < 2:
            raise RecipeError(line, f"{_line(words)!r} starts no module (python3 -m module)", REMOVE)
        module = rest[1].text
        if module.startswith("sglang.test") or module in ("pip", "json.tool", "http.server", "venv"):
            self.aside(line, _line(words), module)
            return
        self.launch(statement, module, line, rest[2:], assignments)

    def launch(
        self,
        statement: sh.Command,
        module: str,
        line: int,
        words: Sequence[Word],
        assignments: Sequence[sh.Assignment],
    ) -> None:
        """Record a start."""
        for redirect in statement.redirects:
            where = f" {show(self.scope.value(redirect.target))}" if redirect.target else ""
            self.note(line, f"{redirect.operator}{where}", "what a service prints goes to the journal")
        env = dict(self.scope.exported)
        for assignment in assignments:
            if isinstance(assignment.value, tuple):
                raise RecipeError(assignment.line, f"{assignment.name} is an array before a command", REMOVE)
            env[assignment.name] = Exported(self.scope.value(assignment.value), assignment.line)
        self.launches.append(
            Launch(
                module=module,
                words=tuple(words),
                line=line,
                env=env,
                unset={name: at for name, at in self.scope.unset.items() if name not in env},
                source=tuple(self.source),
                settings=tuple(self.settings),
                host=self.host,
                script=self.script,
            )
        )

    def source_file(self, words: list[Word]) -> None:
        """``source file``."""
        if len(words) != 2:
            raise RecipeError(
                words[0].line, f"{_line(words)!r}: a file that is sourced with arguments is not understood", REMOVE
            )
        self.source.append(words[1])

    def sysctl(self, words: list[Word]) -> None:
        """``sysctl -w name=value``."""
        rest = [word for word in words[1:] if word.text not in ("-w", "--write", "-q", "-e")]
        for word in rest:
            key, sign, text = word.text.partition("=")
            if not sign or key.startswith("-") or not known(word.value):
                raise RecipeError(word.line, f"{_line(words)!r} sets no kernel setting (sysctl -w name=value)", REMOVE)
            self.setting(key.strip().replace("/", "."), text.strip(), word.line)

    def setting(self, key: str, text: str, line: int) -> None:
        """A kernel setting, where it is one that lasts."""
        if key in _ACTIONS:
            self.note(line, f"sysctl {key}={text}", "it acts once and sets nothing")
        else:
            self.settings.append(HostSetting(key, text, line))

    def write(self, words: list[Word], targets: list[sh.WordSyntax]) -> None:
        """``echo text > file``, ``echo text | tee file``: a kernel setting, where the file is one."""
        text = " ".join(word.text for word in words if word.text not in ("-n", "-a"))
        for target in targets:
            path = show(self.scope.value(target))
            if path.startswith("/proc/sys/"):
                key = path.removeprefix("/proc/sys/").replace("/", ".")
                self.setting(key, text, target.line)
            elif path.endswith("/cpufreq/scaling_governor"):
                self.settings.append(HostSetting("governor", text, target.line))
            elif path != "/dev/null":
                self.note(target.line, f"{text} > {path}", "a profile has no place for what is in that file", warn=True)

    def pipeline(self, statement: sh.Pipeline, names: Sequence[str | None]) -> None:
        """``echo text | tee file`` and ``python3 … | tee log``. names: the commands' names."""
        first, last = statement.commands[0], statement.commands[-1]
        if names[0] in ("echo", "printf") and isinstance(first, sh.Command) and isinstance(last, sh.Command):
            if "tee" in [word.literal for word in last.words]:
                words = [word for each in first.words[1:] for word in self.scope.fields(each)]
                self.write(words, [word for word in last.words if word.literal not in ("sudo", "tee", "-a")])
        elif names[0] in _ASIDE or names[0] in OWN_ADDRESS:
            self.aside(statement.line, f"{names[0]} …", str(names[0]))
        elif isinstance(first, sh.Command) and all(name == "tee" for name in names[1:]):
            self.note(statement.line, "| tee", "what a service prints goes to the journal")
            self.command(first)
        else:
            raise RecipeError(statement.line, "this pipe is none that recipes are imported from", REMOVE)

    def refuse_hidden(self, statement: sh.Command) -> None:
        """Refuse a start inside of another command (``docker run … "python3 -m sglang.launch_server …"``)."""
        name = statement.words[0].literal
        text = self.script.text(statement.words[0].start, statement.words[-1].end)
        if name in _STARTERS and _HIDDEN.search(text):
            raise RecipeError(
                statement.line,
                f"{name} starts SGLang in a way that is not understood: {_short(text)}",
                "Write what it runs inside as commands of their own in a copy of the page",
            )

    def lost_flags(self, words: list[Word]) -> None:
        """A line of flags that the shell takes for a command of its own."""
        self.note(
            words[0].line,
            _line(words),
            "the shell does not pass it to the command above: that ended with a comment or without a backslash",
            warn=True,
        )

    def aside(self, line: int, what: str, name: str, warn: bool = False) -> None:
        """Note a command that is none of a recipe's."""
        self.asides[line] = f"{name} is no part of what a recipe starts"
        self.note(line, what, self.asides[line], warn)

    def note(self, line: int, what: str, why: str, warn: bool = False) -> None:
        """Note what is not in the profile."""
        self.scope.notes.append(Note(line, what, why, "warning" if warn else "note"))


def _line(words: Sequence[Word]) -> str:
    return _short(" ".join(word.text for word in words))


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."
