# Copyright: (c) 2026, ascend.sglang contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Arithmetic of the shell: ``8998 + $i``, ``i / 2 * 2``. Whole numbers, as C counts."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

# name, index (an expression; None for a plain variable) -> its value as text; index "#" asks for the array's length.
Lookup = Callable[[str, "str | None"], str]

_VARIABLE = re.compile(
    r"\$\{(?P<count>#?)(?P<braced>[A-Za-z_]\w*)(?:\[(?P<index>[^][]*)\])?\}|\$(?P<plain>[A-Za-z_]\w*)"
)


class NoArithmeticError(ValueError):
    """The expression is none of whole numbers, or a variable in it is none; the message says which."""


def evaluate(text: str, lookup: Lookup) -> int:
    """The value of an arithmetic expression. Raises `NoArithmeticError`."""
    expression = text.strip()
    inner = re.fullmatch(r"\$\(\((.*)\)\)", expression, re.DOTALL)
    if inner:
        expression = inner[1]

    def replace(found: re.Match[str]) -> str:
        name = found["braced"] or found["plain"]
        index = "#" if found["count"] else found["index"]
        return f"({_number(name, lookup(name, index))})"

    expression = _VARIABLE.sub(replace, expression)
    expression = expression.replace("&&", " and ").replace("||", " or ")
    expression = re.sub(r"!(?!=)", " not ", expression)
    try:
        tree = ast.parse(expression.strip() or "0", mode="eval")
    except (SyntaxError, ValueError):
        raise NoArithmeticError(f"{text.strip()!r} is no arithmetic of whole numbers") from None
    return _value(tree.body, lookup, text.strip())


def _number(name: str, text: str) -> int:
    if not re.fullmatch(r"\s*[+-]?\d+\s*", text):
        raise NoArithmeticError(f"{name} is no whole number but {text!r}")
    return int(text)


def _value(node: ast.expr, lookup: Lookup, text: str) -> int:
    match node:
        case ast.Constant(value=int(number)) if not isinstance(number, bool):
            return number
        case ast.Name(id=name):
            return _number(name, lookup(name, None))
        case ast.UnaryOp(op=operator, operand=operand):
            inner = _value(operand, lookup, text)
            match operator:
                case ast.USub():
                    return -inner
                case ast.UAdd():
                    return inner
                case ast.Not():
                    return int(not inner)
        case ast.BinOp(left=left, op=operator, right=right):
            return _binary(_value(left, lookup, text), operator, _value(right, lookup, text), text)
        case ast.BoolOp(op=operator, values=values):
            results = (bool(_value(each, lookup, text)) for each in values)
            return int(all(results) if isinstance(operator, ast.And) else any(results))
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            return int(_compare(_value(left, lookup, text), operator, _value(right, lookup, text), text))
    raise NoArithmeticError(f"{text!r} is no arithmetic that recipes are imported from")


def _binary(left: int, operator: ast.operator, right: int, text: str) -> int:
    match operator:
        case ast.Add():
            return left + right
        case ast.Sub():
            return left - right
        case ast.Mult():
            return left * right
        case ast.Div() | ast.Mod() if right == 0:
            raise NoArithmeticError(f"{text!r} divides by zero")
        case ast.Div():
            # C cuts towards zero, Python's // rounds down.
            return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        case ast.Mod():
            return abs(left) % abs(right) * (1 if left >= 0 else -1)
    raise NoArithmeticError(f"{text!r} is no arithmetic that recipes are imported from")


def _compare(left: int, operator: ast.cmpop, right: int, text: str) -> bool:
    match operator:
        case ast.Lt():
            return left < right
        case ast.LtE():
            return left <= right
        case ast.Gt():
            return left > right
        case ast.GtE():
            return left >= right
        case ast.Eq():
            return left == right
        case ast.NotEq():
            return left != right
    raise NoArithmeticError(f"{text!r} is no arithmetic that recipes are imported from")
