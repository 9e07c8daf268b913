# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The shell parser. The one module that knows it: tree-sitter and its bash grammar.

A construct that recipes have no use for (functions, `case`, `while`, here-documents, subshells) is a `RecipeError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.notes import RecipeError
from ansible_collections.ascend.sglang.plugins.plugin_utils.recipe.syntax import (
    Arithmetic,
    Assignment,
    Both,
    Chain,
    Command,
    Compare,
    Condition,
    Declaration,
    Expansion,
    ForCount,
    ForEach,
    If,
    Literal,
    Negation,
    Not,
    Piece,
    Pipeline,
    Redirect,
    Script,
    Statement,
    Substitution,
    Test,
    Unary,
    Unset,
    WordSyntax,
)

try:
    import tree_sitter
    import tree_sitter_bash
except ImportError as missing:  # pragma: no cover - depends on the installation
    PARSER_ERROR: str | None = f"{missing}"
else:
    PARSER_ERROR = None


_CONSTRUCTS = {
    "case_statement": "a case statement",
    "while_statement": "a while loop",
    "function_definition": "a function",
    "subshell": "a subshell",
    "compound_statement": "a group of commands",
    "heredoc_redirect": "a here-document",
    "herestring_redirect": "a here-string",
    "process_substitution": "a process substitution",
    "ansi_c_string": "a string with $'…'",
}
# Nodes whose text is read as it stands.
_WITHOUT_BLANKS = frozenset(
    {
        "string",
        "raw_string",
        "expansion",
        "simple_expansion",
        "arithmetic_expansion",
        "word",
        "regex",
        "extglob_pattern",
    }
    | {"heredoc_body", "comment", "c_style_for_statement", "variable_name", "number"}
)
_BLANK_BEHIND = re.compile(r"(?<!\\)\\[ \t]+$", re.MULTILINE)
_EXPANSION = re.compile(r"\$\{(?P<mark>[#!]?)(?P<name>\w+)(?:\[(?P<index>.*?)\](?=[:}]))?(?P<rest>.*)\}", re.DOTALL)


def parse(source: str, first_line: int) -> Script:
    """Parse a block whose first line is `first_line` of the page. Raises `RecipeError`, also without the parser."""
    if PARSER_ERROR is not None:
        raise RecipeError(
            first_line,
            f"the Python libraries that parse shell are missing on the controller ({PARSER_ERROR})",
            "Run pip install tree-sitter tree-sitter-bash",
        )
    blanks = tuple(
        first_line + number
        for number, line in enumerate(source.split("\n"))
        if _BLANK_BEHIND.search(line) and not line.lstrip().startswith("#")
    )
    text = _BLANK_BEHIND.sub(r"\\", source).rstrip()
    dangling = None
    if text.endswith("\\") and not text.endswith("\\\\"):
        dangling = first_line + text.count("\n")
        text = text[:-1].rstrip()
    data = (text + "\n").encode()
    tree = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language())).parse(data)
    reader = _Reader(data, first_line)
    reader.refuse_errors(tree.root_node)
    reader.refuse_gaps(tree.root_node)
    return Script(reader.statements(tree.root_node.children), data, dangling, blanks)


@dataclass(frozen=True)
class _Reader:
    source: bytes
    first_line: int

    def line(self, node: tree_sitter.Node) -> int:
        return self.first_line + node.start_point[0]

    def raw(self, node: tree_sitter.Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode()

    def unknown(self, node: tree_sitter.Node, what: str) -> RecipeError:
        return RecipeError(
            self.line(node),
            f"{what} is no construct that recipes are imported from: {_shortened(self.raw(node))}",
            "Write the recipe without it in a copy of the page, or import the page without this recipe",
        )

    def refuse_errors(self, node: tree_sitter.Node) -> None:
        if not node.has_error:
            return
        for child in node.children:
            if child.has_error and not (child.is_error or child.is_missing):
                self.refuse_errors(child)
        bad = next((child for child in node.children if child.is_error or child.is_missing), node)
        raise RecipeError(
            self.line(bad),
            f"this is not understood as shell: {_shortened(self.raw(bad) or self.raw(node))}",
            "Correct the line in a copy of the page",
        )

    def refuse_gaps(self, node: tree_sitter.Node) -> None:
        """Refuse what the grammar passes over without a word, such as an escaped blank that stands alone."""
        if node.type in _WITHOUT_BLANKS:
            return
        place = node.start_byte
        for child in node.children:
            gap = self.source[place : child.start_byte]
            if re.sub(rb"\\\n|\s", b"", gap):
                raise _stray(self.line(node) + self.source[node.start_byte : place].count(b"\n"), gap.decode())
            self.refuse_gaps(child)
            place = child.end_byte

    # Statements

    def statements(self, nodes: Iterable[tree_sitter.Node]) -> tuple[Statement, ...]:
        found: list[Statement] = []
        for node in nodes:
            if node.type == "&":
                if found and isinstance(found[-1], Command):
                    last = found[-1]
                    found[-1] = Command(last.words, last.line, last.assignments, last.redirects, background=True)
                elif found and isinstance(found[-1], Pipeline):
                    found[-1] = Pipeline(found[-1].commands, found[-1].line, background=True)
                else:
                    raise self.unknown(node, "this in the background")
            elif node.type == "variable_assignments":
                found.extend(self.assignment(child) for child in node.named_children)
            elif node.is_named and node.type != "comment":
                found.append(self.statement(node))
        return tuple(found)

    def statement(self, node: tree_sitter.Node) -> Statement:
        line = self.line(node)
        match node.type:
            case "command":
                return self.command(node)
            case "variable_assignment":
                return self.assignment(node)
            case "declaration_command":
                return self.declaration(node)
            case "unset_command":
                names = tuple(self.raw(child) for child in node.named_children if not self.raw(child).startswith("-"))
                return Unset(names, line)
            case "redirected_statement":
                return self.redirected(node)
            case "pipeline":
                return Pipeline(tuple(self.statement(child) for child in node.named_children), line)
            case "list":
                left, operator, right = node.children
                return Chain(self.statement(left), operator.type, self.statement(right), line)
            case "negated_command":
                return Negation(self.statement(node.named_children[0]), line)
            case "for_statement":
                return self.for_each(node)
            case "c_style_for_statement":
                return self.for_count(node)
            case "if_statement":
                return self.if_(node)
            case "test_command":
                return Test(self.condition(node.named_children[0]), line)
        raise self.unknown(node, _CONSTRUCTS.get(node.type, node.type.replace("_", " ")))

    def command(self, node: tree_sitter.Node) -> Command:
        words: list[WordSyntax] = []
        assignments: list[Assignment] = []
        redirects: list[Redirect] = []
        for child in node.children:
            if child.type == "variable_assignment":
                assignments.append(self.assignment(child))
            elif child.type == "command_name":
                words.append(self.word(child.children[0]))
            elif child.type == "file_redirect":
                redirects.append(self.redirect(child))
            else:
                for word in self.words(child):
                    if words and words[-1].end == word.start:
                        # The grammar cuts a word in two where bash does not, and the other way round.
                        words[-1] = _joined([words[-1], word])
                    else:
                        words.append(word)
        return Command(tuple(words), self.line(node), tuple(assignments), tuple(redirects))

    def redirected(self, node: tree_sitter.Node) -> Statement:
        body, *rest = node.named_children
        for child in rest:
            if child.type != "file_redirect":
                raise self.unknown(child, _CONSTRUCTS.get(child.type, child.type.replace("_", " ")))
        redirects = tuple(self.redirect(child) for child in rest)
        inner = self.statement(body)
        if isinstance(inner, Command):
            return Command(inner.words, inner.line, inner.assignments, inner.redirects + redirects)
        if isinstance(inner, Pipeline) and isinstance(inner.commands[-1], Command):
            last = inner.commands[-1]
            changed = Command(last.words, last.line, last.assignments, last.redirects + redirects)
            return Pipeline((*inner.commands[:-1], changed), inner.line)
        raise self.unknown(node, "a redirection of this")

    def redirect(self, node: tree_sitter.Node) -> Redirect:
        named = [child for child in node.named_children if child.type != "file_descriptor"]
        operator = next(child.type for child in node.children if not child.is_named)
        copied = operator in (">&", "<&", ">&-", "<&-") or not named
        return Redirect(operator, None if copied else self.word(named[-1]))

    def assignment(self, node: tree_sitter.Node) -> Assignment:
        target = node.children[0]
        index = None
        if target.type == "subscript":
            name = self.raw(target.children[0])
            index = self.raw(target)[len(name) + 1 : -1]
        else:
            name = self.raw(target)
        append = node.children[1].type == "+="
        line = self.line(node)
        value_nodes = node.children[2:]
        if not value_nodes:
            return Assignment(name, WordSyntax((), line, node.end_byte, node.end_byte), line, index, append)
        if value_nodes[0].type == "array":
            elements = tuple(self.word(child) for child in value_nodes[0].named_children if child.type != "comment")
            return Assignment(name, elements, line, index, append)
        return Assignment(name, self.word(value_nodes[0]), line, index, append)

    def declaration(self, node: tree_sitter.Node) -> Declaration:
        options: list[str] = []
        items: list[Assignment | str] = []
        lines: list[int] = []
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                items.append(self.assignment(child))
                lines.append(self.line(child))
            elif child.type == "variable_name":
                items.append(self.raw(child))
                lines.append(self.line(child))
            elif self.raw(child).startswith("-"):
                options.append(self.raw(child))
            else:
                raise self.unknown(child, "this in a declaration")
        return Declaration(node.children[0].type, tuple(options), tuple(items), self.line(node), tuple(lines))

    def for_each(self, node: tree_sitter.Node) -> ForEach:
        name = self.raw(next(child for child in node.children if child.type == "variable_name"))
        words = [
            self.word(child)
            for child in node.named_children
            if child.type not in ("variable_name", "do_group", "comment")
        ]
        return ForEach(name, tuple(words), self.body(node), self.line(node))

    def for_count(self, node: tree_sitter.Node) -> ForCount:
        head = self.source[node.start_byte : node.end_byte].decode().split("((", 1)[1]
        # The header ends at the first "))" outside of parentheses of its own.
        depth = 0
        end = len(head)
        for place, character in enumerate(head):
            depth += {"(": 1, ")": -1}.get(character, 0)
            if depth < 0:
                end = place
                break
        parts = head[:end].split(";")
        if len(parts) != 3:
            raise self.unknown(node, "a for loop of this form")
        start, condition, step = (part.strip() for part in parts)
        return ForCount(start, condition, step, self.body(node), self.line(node))

    def body(self, node: tree_sitter.Node) -> tuple[Statement, ...]:
        group = next(child for child in node.children if child.type in ("do_group", "compound_statement"))
        return self.statements(group.children)

    def if_(self, node: tree_sitter.Node) -> If:
        branches = [self.branch(node)]
        otherwise: tuple[Statement, ...] = ()
        for child in node.children:
            if child.type == "elif_clause":
                branches.append(self.branch(child))
            elif child.type == "else_clause":
                otherwise = self.statements(child.children)
        return If(tuple(branches), otherwise, self.line(node))

    def branch(self, node: tree_sitter.Node) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
        condition: list[tree_sitter.Node] = []
        body: list[tree_sitter.Node] = []
        target = condition
        for child in node.children:
            if child.type == "then":
                target = body
            elif child.type not in ("elif_clause", "else_clause"):
                target.append(child)
        return self.statements(condition), self.statements(body)

    # Conditions

    def condition(self, node: tree_sitter.Node) -> Condition:
        if node.type == "parenthesized_expression":
            return self.condition(node.named_children[0])
        if node.type == "unary_expression":
            operator, operand = node.children
            if operator.type == "!":
                return Not(self.condition(operand))
            return Unary(self.raw(operator), self.word(operand))
        if node.type == "binary_expression":
            left, operator, *rest = node.children
            sign = self.raw(operator).strip()
            if sign in ("&&", "||", "-a", "-o"):
                joined = {"-a": "&&", "-o": "||"}.get(sign, sign)
                return Both(joined, self.condition(left), self.condition(rest[0]))
            # The grammar leaves the parts of a pattern such as *"$name"* side by side.
            pieces = tuple(piece for child in rest for piece in self.pieces(child))
            right = WordSyntax(pieces, self.line(node), rest[0].start_byte, rest[-1].end_byte)
            return Compare(sign, self.word(left), right)
        return Unary("-n", self.word(node))

    # Words

    def words(self, node: tree_sitter.Node) -> Iterator[WordSyntax]:
        """The words of a node that is one to the grammar: next to braces it joins parts over blanks."""
        run: list[WordSyntax] = []
        for part in node.children if node.type == "concatenation" else [node]:
            for word in self.unblanked(part):
                if run and word.start != run[-1].end:
                    yield _joined(run)
                    run = []
                run.append(word)
        yield _joined(run)

    def unblanked(self, node: tree_sitter.Node) -> Iterator[WordSyntax]:
        if node.type != "word":
            yield self.word(node)
            return
        for found in re.finditer(rb"(?:\\.|[^\s\\])+", self.source[node.start_byte : node.end_byte], re.DOTALL):
            start, end = node.start_byte + found.start(), node.start_byte + found.end()
            self.literal(node, quoted=False)
            yield WordSyntax((Literal(_unescaped(found[0].decode())),), self.line(node), start, end)

    def literal(self, node: tree_sitter.Node, quoted: bool) -> Literal:
        raw = self.raw(node)
        if not quoted and re.search(r"(?<!\\)(?:\\\\)*[$`]", raw):
            # Bash would expand something here that the grammar has not seen.
            raise self.unknown(node, "this dollar sign or backtick")
        return Literal(_unescaped(raw), quoted)

    def word(self, node: tree_sitter.Node) -> WordSyntax:
        return WordSyntax(tuple(self.pieces(node)), self.line(node), node.start_byte, node.end_byte)

    def pieces(self, node: tree_sitter.Node, quoted: bool = False) -> Iterator[Piece]:
        match node.type:
            case "concatenation":
                for child in node.children:
                    yield from self.pieces(child, quoted)
            case "raw_string":
                yield Literal(self.raw(node)[1:-1], quoted=True)
            case "string":
                yield from self.string(node)
            case "simple_expansion" | "expansion":
                yield from self.expansion(node, quoted)
            case "arithmetic_expansion":
                raw = self.raw(node).strip()
                yield Arithmetic(raw[2:-1] if raw.startswith("$[") else raw[3:-2], quoted)
            case "command_substitution":
                inner = [child for child in node.children if child.type not in ("$(", "`", ")")]
                yield Substitution(self.statements(inner), self.raw(node).strip(), quoted)
            case "regex" | "extglob_pattern":
                yield from self.pattern(node)
            case "word" | "number" | "brace_expression" | "variable_name" | "test_operator":
                yield self.literal(node, quoted)
            case _ if not node.is_named:
                yield self.literal(node, quoted)
            case _:
                raise self.unknown(node, _CONSTRUCTS.get(node.type, node.type.replace("_", " ")))

    def pattern(self, node: tree_sitter.Node) -> Iterator[Piece]:
        """A pattern that the grammar keeps whole: its text, quotes and variables apart."""
        raw = self.raw(node)
        if not re.search(r"[$\"'`\\]", raw):
            yield Literal(raw)
            return
        inner = _Reader(f"x {raw}\n".encode(), self.line(node))
        root = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language())).parse(inner.source).root_node
        words = root.children[0].named_children[1:]
        if root.has_error or len(words) != 1:
            raise self.unknown(node, "a pattern of this form")
        yield from inner.pieces(words[0])

    def string(self, node: tree_sitter.Node) -> Iterator[Piece]:
        # The grammar counts blanks beside an expansion to neighbouring nodes: texts are what lies between expansions.
        place = node.start_byte + 1
        closing = node.end_byte - 1
        yielded = False
        for child in node.named_children:
            if child.type == "string_content":
                continue
            start = child.start_byte
            while self.source[start : start + 1].isspace():
                start += 1
            if start > place:
                yield Literal(_unescaped_in_quotes(self.source[place:start].decode()), quoted=True)
            yield from self.pieces(child, quoted=True)
            place = child.end_byte
            yielded = True
        if closing > place or not yielded:
            yield Literal(_unescaped_in_quotes(self.source[place:closing].decode()), quoted=True)

    def expansion(self, node: tree_sitter.Node, quoted: bool) -> Iterator[Piece]:
        raw = self.raw(node).strip()
        if not raw.startswith("${"):
            name = raw[1:]
            if not re.fullmatch(r"[A-Za-z_]\w*", name):
                raise self.unknown(node, "a special variable")
            yield Expansion(name, quoted=quoted)
            return
        found = _EXPANSION.fullmatch(raw)
        if not found:
            raise self.unknown(node, "an expansion of this form")
        name, index, rest, mark = found["name"], found["index"], found["rest"], found["mark"]
        if mark == "!" and index in ("@", "*") and not rest:
            yield Expansion(name, index, "keys", quoted=quoted)
        elif mark == "#" and not rest:
            yield Expansion(name, index, "count", quoted=quoted)
        elif mark or not re.match(r"[A-Za-z_]", name):
            raise self.unknown(node, "an expansion of this form")
        elif not rest:
            yield Expansion(name, index, quoted=quoted)
        elif rest[:2] in (":-", ":+") or rest[:1] in ("-", "+"):
            operator = "default" if "-" in rest[:2] else "other-value"
            operands = [child for child in node.named_children if child.start_byte > node.start_byte + 2][0:]
            operands = [child for child in operands if child.type not in ("variable_name", "subscript")]
            operand = self.word(operands[0]) if operands else None
            yield Expansion(name, index, operator, operand, quoted=quoted)
        elif rest.startswith(":") and index in ("@", "*"):
            yield Expansion(name, index, "slice", bounds=tuple(rest[1:].split(":")), quoted=quoted)
        else:
            raise self.unknown(node, "an expansion of this form")


def _joined(words: Sequence[WordSyntax]) -> WordSyntax:
    pieces = tuple(piece for word in words for piece in word.pieces)
    return WordSyntax(pieces, words[0].line, words[0].start, words[-1].end)


def _stray(line: int, text: str) -> RecipeError:
    return RecipeError(
        line, f"this is not understood as shell: {text.strip()!r}", "Correct the line in a copy of the page"
    )


def _unescaped(text: str) -> str:
    return re.sub(r"\\(\n[ \t]*|.)", lambda found: "" if found[1].startswith("\n") else found[1], text)


def _unescaped_in_quotes(text: str) -> str:
    return re.sub(r'\\([$`"\\\n])', lambda found: "" if found[1] == "\n" else found[1], text)


def _shortened(text: str) -> str:
    first = text.strip().split("\n", 1)[0]
    return first if len(first) <= 80 else first[:77] + "..."
