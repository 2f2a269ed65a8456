"""Liberty's boolean expressions, and truth tables of gates."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

__all__ = ["indexed", "input_rows", "truth_table"]


def input_rows(inputs: int) -> Iterator[tuple[bool, ...]]:
    """Yields all values of so many inputs, the first input changing fastest."""
    for row in itertools.product((False, True), repeat=inputs):
        yield row[::-1]


_TOKEN = re.compile(r"\s*([A-Za-z_]\w*(?:\[\d+\])?|[()!'&*|+^]|[01])")
#: What an operand ends with in a Python expression over the tuple ``v``.
_ENDS = ("]", "0", "1", ")")


def truth_table(function: str, names: list[str]) -> tuple[bool, ...] | None:
    """Returns the function's value for each of :func:`input_rows`; None if it is empty or names another pin."""
    rows = [tuple(map(int, row)) for row in input_rows(len(names))]
    try:
        # It consists of indices, brackets and operators alone, so it is safe to evaluate.
        code = compile(indexed(function, names), function, "eval")
        return tuple(bool(eval(code, {"__builtins__": {}}, {"v": row}) & 1) for row in rows)
    except (SyntaxError, TypeError, ValueError):
        return None


def indexed(function: str, names: Sequence[str]) -> str:
    """The function over ``v[0]``, ``v[1]`` … in the place of the names, in Python as in Verilog, whose operators
    on bits bind as Liberty's do; an error where it has an unknown word."""
    words: list[str] = []
    function, position = function.strip(), 0
    while position < len(function):
        match = _TOKEN.match(function, position)
        if match is None:
            raise ValueError(f"no token in {function[position:]!r}")
        token, position = match[1], match.end()
        if token == "'":
            start = _operand(words)
            words[start:] = ["(", "~", *words[start:], ")"]
        elif token in "&*|+^)":
            words.append({"*": "&", "+": "|"}.get(token, token))
        else:
            if words and words[-1].endswith(_ENDS):
                words.append("&")  # A blank between operands also means AND.
            word = {"!": "~", "(": "(", "0": "0", "1": "1"}.get(token)
            words.append(word or f"v[{names.index(token)}]")
    return " ".join(words)


def _operand(words: list[str]) -> int:
    """Where the last operand begins: a word, or all from the bracket that the last word closes."""
    depth = 0
    for place in reversed(range(len(words))):
        depth += {")": 1, "(": -1}.get(words[place], 0)
        if not depth:
            return place
    raise ValueError("unbalanced")
