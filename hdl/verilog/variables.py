"""What the source calls a value that is no signal: the variable that an expression is assigned to.

In: a value of Amaranth, which knows the line of its operator. Out: the name of the variable, of the attribute, or of the
function that returns it; None for a part of a larger expression, and for what a function was called for.
"""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator
from functools import cache

from amaranth.hdl import Value
from amaranth.hdl._ast import Operator, SwitchValue

__all__ = ["variable_of"]

_ASSIGNED = re.compile(r"\s*(?:self\.)?_?(\w+)(?:: [^=]+)? = (.+)", re.DOTALL)
_RETURNED = re.compile(r"\s*return (.+)", re.DOTALL)
_FUNCTION = re.compile(r"( *)def _?(\w+)\(")

#: The most lines of a statement that are looked at.
_LONGEST = 12

#: The operator of Amaranth that each of Python's makes.
_BINARY = {
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.RShift: ">>",
    ast.LShift: "<<",
}
_COMPARED = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_CALLED = {"any": "r|", "all": "r&", "xor": "r^", "bool": "b"}


def variable_of(value: Value) -> str | None:
    """The name of what a value is assigned to."""
    location = value.src_loc
    if location is None:
        return None
    match value:
        case Operator():
            kind = value.operator
        case SwitchValue():
            kind = "Mux"
        case _:
            return None
    return _names(*location).get(kind)


@cache
def _names(file: str, line: int) -> dict[str, str]:
    """What is assigned in a line, by the operator that makes it."""
    for first in range(line, max(0, line - _LONGEST), -1):
        text = linecache.getline(file, first)
        found = _ASSIGNED.match(text)
        if found is not None:
            name = found[1]
        elif (found := _RETURNED.match(text)) is not None:
            name = _function(file, first)
        else:
            continue
        expression = _expression(file, first)
        if expression is None or not name or first + (expression.end_lineno or 0) <= line:
            return {}
        return {kind: name for kind, place in _results(expression) if first + place - 1 == line}
    return {}


def _function(file: str, line: int) -> str:
    """The function that a line is in."""
    indent = len(text := linecache.getline(file, line)) - len(text.lstrip())
    for above in range(line, 0, -1):
        found = _FUNCTION.match(linecache.getline(file, above))
        if found is not None and len(found[1]) < indent:
            return found[2]
    return ""


def _expression(file: str, first: int) -> ast.expr | None:
    """The right side of the statement that begins in a line."""
    text = ""
    for line in range(first, first + _LONGEST):
        text += linecache.getline(file, line) if text else linecache.getline(file, line).lstrip()
        try:
            [statement] = ast.parse(text).body
        except SyntaxError:
            continue
        if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Return):
            return statement.value
        return None
    return None


def _results(node: ast.expr) -> Iterator[tuple[str, int]]:
    """The operators whose results an expression gives, each with its line."""
    match node:
        case ast.BinOp() if type(node.op) in _BINARY:
            yield _BINARY[type(node.op)], node.lineno
        case ast.UnaryOp(op=ast.Invert()):
            yield "~", node.lineno
        case ast.Compare(ops=[operator]) if type(operator) in _COMPARED:
            yield _COMPARED[type(operator)], node.lineno
        case ast.Call(func=ast.Name(id="Mux")):
            yield "Mux", node.lineno
        case ast.Call(func=ast.Attribute(attr=attribute)) if attribute in _CALLED:
            yield _CALLED[attribute], node.lineno
        case ast.IfExp():
            yield from _results(node.body)
            yield from _results(node.orelse)
