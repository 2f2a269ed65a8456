"""Expressions as text, with few parentheses and within a limit of line length."""

from __future__ import annotations

import textwrap

from .expressions import ASSOCIATIVE, Node

#: The longest line, as most style guides for Verilog have it.
LINE = 100

_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})


def constant_text(bits: str) -> str:
    """A constant with its width: binary for one bit, decimal where it is one digit, otherwise hexadecimal."""
    width = len(bits)
    if width > 1 and set(bits) == {"x"}:
        return f"{{{width}{{1'bx}}}}"
    if "x" in bits:
        return f"{width}'b{bits}"
    if width == 1:
        return f"1'b{bits}"
    value = int(bits, 2)
    return f"{width}'d{value}" if value < 10 else f"{width}'h{value:0{-(-width // 4)}x}"


def flat(node: Node) -> str:
    """An expression on one line."""
    parts = node.parts
    if node.kind == "leaf":
        return node.text
    if node.kind == "constant":
        return constant_text(node.text)
    if node.kind == "concat":
        return "{" + ", ".join(map(flat, parts)) + "}"
    if node.kind == "replicate":
        return "{" + node.text + "{" + flat(parts[0]) + "}}"
    if node.kind == "signed":
        return f"$signed({flat(parts[0])})"
    if node.kind == "cast":
        return f"{node.text}'({flat(parts[0])})"
    if node.kind == "select":
        span = "" if node.width == 1 else f" +: {node.width}"
        return f"{flat(parts[0])}[{flat(parts[1])}{span}]"
    if node.kind == "?:":
        return f"{_operand(node, 0)} ? {_operand(node, 1)} : {_operand(node, 2)}"
    if len(parts) == 1:
        return f"{node.kind}{_operand(node, 0)}"
    return f"{_operand(node, 0)} {node.kind} {_operand(node, 1)}"


def _operand(node: Node, position: int) -> str:
    part = node.parts[position]
    return f"({flat(part)})" if _in_parentheses(node, position) else flat(part)


def _in_parentheses(node: Node, position: int) -> bool:
    """Whether an operand needs parentheses, by Verilog's precedence or for a reader who does not know all of it."""
    part = node.parts[position]
    if part.kind in ("leaf", "constant", "concat", "replicate", "signed", "cast", "select"):
        return False
    if len(part.parts) == 1 and len(node.parts) > 1:
        # A reduction beside another operator is easily misread; a complement is not.
        return part.kind != "~" and node.kind != "?:"
    if len(node.parts) == 1:
        return True
    if node.kind == "?:":
        # The last branch of a choice may be another choice: the cases follow one another.
        return position == 0 or (part.kind == "?:" and position == 1)
    return part.kind != node.kind or node.kind not in ASSOCIATIVE


def wrapped(node: Node, indent: int, start: int, end: int = 1, in_chain: bool = False) -> list[str]:
    """The lines of an expression; the first begins in column ``start`` and is not indented, the others are.

    ``end`` is the number of characters that follow in the last line. A choice ``in_chain`` has a line for each case.
    """
    text = flat(node)
    if start + len(text) + end <= LINE and not in_chain:
        return [text]
    pad = " " * indent
    if node.kind == "?:":
        lines = _child(node, 0, indent, start, 2)
        branch = _child(node, 1, indent + 2, indent + 2, 0)
        if len(lines) == 1 and start + len(lines[0]) + 3 + len(branch[0]) <= LINE:
            lines[0] += f" ? {branch[0]}"
            lines += branch[1:]
        else:
            lines += [f"{pad}? {branch[0]}", *branch[1:]]
        if node.parts[2].kind == "?:":
            rest = wrapped(node.parts[2], indent, indent + 2, end, in_chain=True)
        else:
            rest = _child(node, 2, indent, indent + 2, end)
        return [*lines, f"{pad}: {rest[0]}", *rest[1:]]
    if node.kind in ("concat", "replicate", "signed", "cast"):
        before, after = {
            "concat": ("{", "}"),
            "replicate": ("{" + node.text + "{", "}}"),
            "signed": ("$signed(", ")"),
            "cast": (f"{node.text}'(", ")"),
        }[node.kind]
        return _row([*node.parts], before, after, indent, end)
    if len(node.parts) == 2 and node.kind != "select":
        terms = _terms(node)
        lines = []
        for number, (parent, position) in enumerate(terms):
            last = end if number == len(terms) - 1 else 0
            if number == 0:
                lines += _child(parent, position, indent, start, last)
                continue
            piece = _child(parent, position, indent + 2, indent + len(node.kind) + 1, last)
            if (
                len(piece) == 1
                and len(lines)
                and _room(lines, start, indent) >= len(node.kind) + len(piece[0]) + 2 + last
            ):
                lines[-1] += f" {node.kind} {piece[0]}"
            else:
                lines += [f"{pad}{node.kind} {piece[0]}", *piece[1:]]
        return lines
    if len(node.parts) == 1:
        piece = _child(node, 0, indent, start + 1, end)
        return [node.kind + piece[0], *piece[1:]]
    return [text]


def _room(lines: list[str], start: int, indent: int) -> int:
    """The free characters of the last line."""
    return LINE - len(lines[-1]) - (start if len(lines) == 1 else 0)


def _terms(node: Node) -> list[tuple[Node, int]]:
    """The operands of a chain of one associative operator, each with its own operator and position."""
    result: list[tuple[Node, int]] = []
    for position, part in enumerate(node.parts):
        if part.kind == node.kind and len(part.parts) == 2 and node.kind in ASSOCIATIVE:
            result += _terms(part)
        else:
            result.append((node, position))
    return result


def _child(node: Node, position: int, indent: int, start: int, end: int) -> list[str]:
    """The lines of an operand, with its parentheses."""
    part = node.parts[position]
    if not _in_parentheses(node, position):
        return wrapped(part, indent + (2 if part.kind != "?:" else 0), start, end)
    lines = wrapped(part, indent + 2, start + 1, end + 1)
    lines[0] = f"({lines[0]}"
    lines[-1] += ")"
    return lines


def _row(parts: list[Node], before: str, after: str, indent: int, end: int) -> list[str]:
    """Parts between braces, in full lines."""
    pad = " " * (indent + 2)
    lines = [before]
    for number, part in enumerate(parts):
        comma = "," if number < len(parts) - 1 else ""
        piece = wrapped(part, indent + 2, indent + 2, max(1, end))
        piece[-1] += comma
        if len(piece) == 1 and len(lines) > 1 and len(lines[-1]) + 1 + len(piece[0]) <= LINE:
            lines[-1] += f" {piece[0]}"
        else:
            lines += [pad + piece[0], *piece[1:]]
    lines.append(" " * indent + after)
    return lines


def assignment(before: str, node: Node, indent: int) -> list[str]:
    """The lines of an assignment; ``before`` precedes the expression, without its last space.

    If the first line has no room, the expression begins on the next.
    """
    pad = " " * indent
    if len(pad) + len(before) + 1 + len(text := flat(node)) + 1 <= LINE:
        return [f"{pad}{before} {text};"]
    start = len(pad) + len(before) + 1
    lines = wrapped(node, indent + 2, start)
    if start + len(lines[0]) + (len(lines) == 1) > LINE:
        lines = wrapped(node, indent + 4, indent + 4)
        lines = [f"{pad}{before}", f"{pad}    {lines[0]}", *lines[1:]]
    else:
        lines[0] = f"{pad}{before} {lines[0]}"
    lines[-1] += ";"
    return lines


def selection(before: str, node: Node, indent: int) -> list[str]:
    """The lines of a ``case`` that gives ``before``, such as ``count <=``; values with the same result share an item."""
    by, *parts, other = node.parts
    results: dict[Node, list[str]] = {}
    for value, result in zip(parts[::2], parts[1::2], strict=True):
        results.setdefault(result, []).append(flat(value))
    pad = " " * indent
    lines = [f"{pad}case ({flat(by)})"]
    for result, values in results.items():
        *labels, last = textwrap.wrap(", ".join(values) + ":", LINE // 2)
        lines += [f"{pad}  {label}" for label in labels]
        lines += assignment(f"{last} {before}", result, indent + 2)
    return [*lines, *assignment(f"default: {before}", other, indent + 2), f"{pad}endcase"]


def condition(before: str, node: Node, indent: int) -> list[str]:
    """The opening lines of a conditional block; ``before`` ends in the opening parenthesis."""
    lines = wrapped(node, indent + 4, len(before), len(") begin"))
    lines[0] = f"{before}{lines[0]}"
    lines[-1] += ") begin"
    return lines


def noted(lines: list[str], note: str) -> list[str]:
    """The lines with a comment: behind the last if it has room there, otherwise above the first."""
    if not note:
        return lines
    if len(lines[-1]) + len(" // ") + len(note) <= LINE:
        return [*lines[:-1], f"{lines[-1]} // {note}"]
    pad = " " * (len(lines[0]) - len(lines[0].lstrip()))
    width = LINE - len(pad) - len("// ")
    return [*(f"{pad}// {part}" for part in textwrap.wrap(note, width, break_long_words=False)), *lines]
