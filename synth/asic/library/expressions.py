"""Liberty's boolean expressions, and truth tables of gates."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

__all__ = ["input_rows", "truth_table"]


def input_rows(inputs: int) -> Iterator[tuple[bool, ...]]:
    """Yields all values of so many inputs, the first input changing fastest."""
    for row in itertools.product((False, True), repeat=inputs):
        yield row[::-1]


def truth_table(function: str, names: list[str]) -> tuple[bool, ...] | None:
    """Returns the function's value for each of :func:`input_rows`; None if it is empty or names another pin."""
    expression = _python_expression(function, names)
    if expression is None:
        return None
    return tuple(bool(eval(expression, {"__builtins__": {}}, {"v": row})) for row in input_rows(len(names)))


_FUNCTION_TOKEN = re.compile(r"\s*([A-Za-z_]\w*(?:\[\d+\])?|[()!'&*|+^]|[01])")


def _python_expression(function: str, names: list[str]) -> str | None:
    """Returns the function as a Python expression over the tuple ``v``; None as :func:`truth_table` has it.

    The expression consists of indices, brackets and operators, so it is safe to evaluate.
    """
    tokens = []
    position = 0
    text = function.strip()
    while position < len(text):
        match = _FUNCTION_TOKEN.match(text, position)
        if match is None:
            return None
        tokens.append(match[1])
        position = match.end()
    try:
        result, rest = _parse_or(tokens, names)
    except (IndexError, ValueError):
        return None
    return result if not rest else None


def _parse_or(tokens: list[str], names: list[str]) -> tuple[str, list[str]]:
    result, tokens = _parse_xor(tokens, names)
    while tokens and tokens[0] in "|+":
        right, tokens = _parse_xor(tokens[1:], names)
        result = f"({result} or {right})"
    return result, tokens


def _parse_xor(tokens: list[str], names: list[str]) -> tuple[str, list[str]]:
    result, tokens = _parse_and(tokens, names)
    while tokens and tokens[0] == "^":
        right, tokens = _parse_and(tokens[1:], names)
        result = f"({result} != {right})"
    return result, tokens


def _parse_and(tokens: list[str], names: list[str]) -> tuple[str, list[str]]:
    result, tokens = _parse_not(tokens, names)
    while tokens and tokens[0] not in ("|", "+", "^", ")"):  # A blank between operands also means AND.
        right, tokens = _parse_not(tokens[1:] if tokens[0] in "&*" else tokens, names)
        result = f"({result} and {right})"
    return result, tokens


def _parse_not(tokens: list[str], names: list[str]) -> tuple[str, list[str]]:
    head, tokens = tokens[0], tokens[1:]
    if head == "!":
        result, tokens = _parse_not(tokens, names)
        return f"(not {result})", tokens
    if head == "(":
        result, tokens = _parse_or(tokens, names)
        if tokens[0] != ")":
            raise ValueError("unbalanced")
        tokens = tokens[1:]
    elif head in "01":
        result = str(bool(int(head)))
    else:
        result = f"v[{names.index(head)}]"
    while tokens and tokens[0] == "'":
        result, tokens = f"(not {result})", tokens[1:]
    return result, tokens
