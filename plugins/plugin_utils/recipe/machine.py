# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a recipe's shell block without a shell: what it would start, with which environment, on which host.

A block asks for its own address and compares it with the addresses in its arrays. So it is run once for each address
that it compares with, as the host that has it, and once as a host that has none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe import syntax as sh
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.commands import (
    SERVER,
    Commands,
    HostSetting,
    Launch,
)
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import Note, RecipeError
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.scope import MOST, OWN_ADDRESS, REMOVE, Scope
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.values import (
    HostOutput,
    HostVariable,
    OwnAddress,
    Text,
    Value,
    known,
    show,
)


@dataclass(frozen=True)
class Run:
    """What a block starts on all of its hosts.

    hosts: the addresses that it compares its own with, in order. asides: lines of commands that are no part of a
    recipe, and why.
    """

    launches: tuple[Launch, ...]
    hosts: tuple[Text, ...]
    notes: tuple[Note, ...]
    settings: tuple[HostSetting, ...]
    asides: Mapping[int, str]


def run(scripts: Sequence[sh.Script], before: Sequence[sh.Script] = ()) -> Run:
    """Run the scripts one behind the other. before: scripts of other hosts, of which only plain variables are taken."""
    nobody = _Machine(None, before)
    try:
        nobody.execute(scripts)
    except RecipeError:
        # What a host of none of the addresses would do is not always defined; what the others do has to be.
        if not nobody.compared:
            raise
    machines = [nobody]
    pending = list(nobody.compared)
    hosts: list[Text] = []
    while pending:
        hosts.append(pending.pop(0))
        machines.append(_Machine(hosts[-1], before))
        machines[-1].execute(scripts)
        pending += [host for host in machines[-1].compared if host not in hosts and host not in pending]
    return Run(
        launches=tuple(_launches(machines)),
        hosts=tuple(hosts),
        notes=tuple(dict.fromkeys(note for machine in machines for note in machine.scope.notes)),
        settings=tuple(dict.fromkeys(each for machine in machines for each in machine.commands.settings)),
        asides={line: why for machine in machines for line, why in machine.commands.asides.items()},
    )


def _launches(machines: Sequence[_Machine]) -> Iterator[Launch]:
    """A server belongs to the hosts that start it, everything else to nobody in particular where nobody starts it."""
    nobody, *others = machines
    owned = {launch.line for machine in others for launch in machine.commands.launches if launch.module == SERVER}
    anywhere = {launch.line for launch in nobody.commands.launches} - owned
    for machine in others:
        yield from (launch for launch in machine.commands.launches if launch.line not in anywhere)
    yield from (launch for launch in nobody.commands.launches if launch.line in anywhere)


class _Machine:
    """One shell on one host."""

    def __init__(self, host: Text | None, before: Sequence[sh.Script]) -> None:
        self.host = host
        self.scope = Scope()
        self.commands = Commands(self.scope, host)
        self.compared: dict[Text, None] = {}
        # Why the statements that follow are not run: what break, continue and exit leave behind.
        self.leaving: Literal["", "break", "continue", "exit"] = ""
        for script in before:
            self.scope.plain_variables(script.statements)

    def execute(self, scripts: Sequence[sh.Script]) -> None:
        for script in scripts:
            self.commands.script = script
            self.statements(script.statements)

    # Statements. Each returns whether it succeeded, as far as recipes ask.

    def statements(self, statements: Sequence[sh.Statement]) -> bool:
        result = True
        for statement in statements:
            if self.leaving:
                break
            result = self.statement(statement)
        return result

    def statement(self, statement: sh.Statement) -> bool:
        match statement:
            case sh.Assignment():
                self.scope.assign(statement)
            case sh.Declaration():
                self.scope.declare(statement)
            case sh.Unset():
                self.scope.forget(statement)
            case sh.Command():
                return self.command(statement)
            case sh.Pipeline():
                return self.pipeline(statement)
            case sh.Chain():
                left = self.statement(statement.left)
                return self.statement(statement.right) if left == (statement.operator == "&&") else left
            case sh.Negation():
                return not self.statement(statement.body)
            case sh.Test():
                return self.test(statement.condition, statement.line)
            case sh.If():
                self.if_(statement)
            case sh.ForEach():
                self.for_each(statement)
            case sh.ForCount():
                self.for_count(statement)
        return True

    def command(self, statement: sh.Command) -> bool:
        name = statement.words[0].literal if statement.words else None
        if name == "break":
            self.leaving = "break"
        elif name == "continue":
            self.leaving = "continue"
        elif name in ("exit", "return"):
            self.leaving = "exit"
        elif name != "false":
            self.commands.command(statement)
        return name != "false"

    def pipeline(self, statement: sh.Pipeline) -> bool:
        names = [
            command.words[0].literal if isinstance(command, sh.Command) and command.words else None
            for command in statement.commands
        ]
        last = statement.commands[-1]
        if names[0] in OWN_ADDRESS and names[-1] in ("grep", "fgrep", "egrep") and isinstance(last, sh.Command):
            words = [word for each in last.words[1:] for word in self.scope.fields(each)]
            patterns = [word for word in words if not word.text.startswith("-")]
            return len(patterns) == 1 and self.is_me(patterns[0].value)
        self.commands.pipeline(statement, names)
        return True

    def if_(self, statement: sh.If) -> None:
        for condition, body in statement.branches:
            if self.statements(condition):
                self.statements(body)
                return
        self.statements(statement.otherwise)

    def for_each(self, statement: sh.ForEach) -> None:
        for item in [word.value for each in statement.words for word in self.scope.fields(each)]:
            self.scope.variables[statement.name] = item
            if not self.round(statement.body):
                return

    def for_count(self, statement: sh.ForCount) -> None:
        self.scope.step(statement.start, statement.line)
        for _unused in range(MOST):
            if not self.scope.number(statement.condition, statement.line) or not self.round(statement.body):
                return
            self.scope.step(statement.step, statement.line)
        raise RecipeError(statement.line, f"this loop makes more than {MOST} rounds", "Correct the loop")

    def round(self, body: Sequence[sh.Statement]) -> bool:
        """One round of a loop; whether another one may follow."""
        self.statements(body)
        if self.leaving == "continue":
            self.leaving = ""
        if self.leaving == "break":
            self.leaving = ""
            return False
        return not self.leaving

    # Conditions

    def test(self, condition: sh.Condition, line: int) -> bool:
        match condition:
            case sh.Not():
                return not self.test(condition.condition, line)
            case sh.Both():
                # Both sides, always: each may name a host.
                left, right = self.test(condition.left, line), self.test(condition.right, line)
                return (left and right) if condition.operator == "&&" else (left or right)
            case sh.Unary():
                return self.unary(condition, line)
            case sh.Compare():
                return self.compare(condition, line)

    def unary(self, condition: sh.Unary, line: int) -> bool:
        operand = self.scope.value(condition.operand)
        if condition.operator in ("-z", "-n") and not any(
            isinstance(part, (HostVariable, HostOutput)) for part in operand
        ):
            return bool(operand) == (condition.operator == "-n")
        raise RecipeError(
            line,
            f"whether {condition.operator} {show(operand)} holds depends on the host",
            "Keep the branch that is meant, without the condition, in a copy of the page",
        )

    def compare(self, condition: sh.Compare, line: int) -> bool:
        left, right = self.scope.value(condition.left), self.scope.value(condition.right)
        operator = condition.operator
        if operator in ("=", "==", "!=", "=~"):
            return self.same(left, right, operator, line) != (operator == "!=")
        numeric = {"-eq": "==", "-ne": "!=", "-lt": "<", "-le": "<=", "-gt": ">", "-ge": ">="}.get(operator)
        if numeric is None:
            raise RecipeError(line, f"{operator} is no comparison that recipes are imported from", REMOVE)
        return bool(self.scope.number(f"({show(left)}) {numeric} ({show(right)})", line))

    def same(self, left: Value, right: Value, operator: str, line: int) -> bool:
        mine = any(isinstance(part, OwnAddress) for part in left)
        theirs = any(isinstance(part, OwnAddress) for part in right)
        if mine and theirs:
            return True
        if mine or theirs:
            return self.is_me(right if mine else left)
        if not known(left) or not known(right):
            raise RecipeError(
                line,
                f"whether {show(left)!r} is {show(right)!r} depends on the host",
                "Keep the branch that is meant, without the condition, in a copy of the page",
            )
        if operator == "=~":
            try:
                return re.search(show(right), show(left)) is not None
            except re.error:
                return show(right) in show(left)
        return fnmatchcase(show(left), show(right)) if "*" in show(right) else show(left) == show(right)

    def is_me(self, addresses: Value) -> bool:
        """Whether this host is one of those addresses; notes that the recipe asks for them."""
        found = False
        for part in addresses:
            # Blanks and stars are the pattern around an address: [[ " $MINE " == *" $IP "* ]].
            if isinstance(part, Text) and part.text.strip(" *"):
                key = Text(part.text.strip(" *"), part.origin)
                self.compared[key] = None
                found = found or key == self.host
        return found
