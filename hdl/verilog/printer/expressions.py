"""Verilog expressions as trees with explicit widths.

Verilog computes an operator in the width of its context. Here all operands have the width of the result or, in
comparisons, the same width, and every reader takes all bits. So the context never extends or truncates anything, and an
expression can replace any net of its width. Every function here asserts the widths.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

#: Operators whose operands are as wide as the result.
_WIDE = frozenset({"+", "-", "*", "/", "%", "&", "|", "^"})

_COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})

_SHIFTS = frozenset({"<<", ">>"})

#: Operators where it does not matter in which order three operands are taken.
ASSOCIATIVE = frozenset({"+", "&", "|", "^"})


class Node(NamedTuple):
    """An expression.

    ``kind``: ``leaf``, ``constant``, ``concat``, ``replicate``, ``signed``, ``cast``, ``select``, ``?:``, or an
        operator; with one operand ``|``, ``&`` and ``^`` are reductions. A ``case`` is no expression, but all that a
        net is given: its parts are what selects, a value and a result for each item, and the result of any other value.
    ``text``: The text of a leaf, the bits of a constant, most significant first, the count of a replication, the type
        of a cast.
    ``size``: The number of leaves and constants.
    """

    kind: str
    width: int
    parts: tuple[Node, ...] = ()
    text: str = ""

    @property
    def is_simple(self) -> bool:
        """Whether it is a name, bits of a net, a constant, or a row of such."""
        return self.kind in ("leaf", "constant") or (
            self.kind in ("concat", "replicate") and all(part.is_simple for part in self.parts)
        )

    @property
    def is_unknown(self) -> bool:
        """Whether it is a constant of don't-care bits."""
        return self.kind == "constant" and set(self.text) == {"x"}

    @property
    def reads_bits(self) -> bool:
        """Whether it reads bits of a net."""
        return (self.kind == "leaf" and "[" in self.text) or any(part.reads_bits for part in self.parts)

    def size(self) -> int:
        return sum(part.size() for part in self.parts) if self.parts else 1

    def largest_entry(self) -> int:
        """The size of the largest entry of what is read entry by entry: a row, the cases of a choice, or a chain of one
        operator. Anything else is an entry."""
        return max(entry.size() for entry in self._entries())

    def _entries(self) -> Iterator[Node]:
        if self.kind in ("concat", "case"):
            yield from self.parts
        elif self.kind == "?:" or (self.kind in ASSOCIATIVE and len(self.parts) == 2):
            for part in self.parts:
                if part.kind == self.kind and len(part.parts) == len(self.parts):
                    yield from part._entries()
                else:
                    yield part
        else:
            yield self


def leaf(text: str, width: int) -> Node:
    """A net, or bits of one."""
    return Node("leaf", width, (), text)


def constant(bits: str) -> Node:
    """A constant; ``bits`` are most significant first."""
    return Node("constant", len(bits), (), bits)


def concat(parts: Sequence[Node]) -> Node:
    """``parts``, most significant first, with equal neighbours as replications."""
    runs: list[list[Node]] = []
    for part in parts:
        if runs and runs[-1][0] == part and part.kind != "constant":
            runs[-1].append(part)
        elif runs and runs[-1][0].kind == part.kind == "constant":
            runs[-1] = [constant(runs[-1][0].text + part.text)]
        else:
            runs.append([part])
    nodes = [
        run[0] if len(run) == 1 else Node("replicate", len(run) * run[0].width, (run[0],), str(len(run)))
        for run in runs
    ]
    return nodes[0] if len(nodes) == 1 else Node("concat", sum(node.width for node in nodes), tuple(nodes))


def signed(part: Node) -> Node:
    """The same bits as a signed number."""
    return Node("signed", part.width, (part,))


def cast(part: Node, kind: str) -> Node:
    """The same bits as a value of the type ``kind``."""
    return Node("cast", part.width, (part,), kind)


def select(net: Node, index: Node, width: int) -> Node:
    """``width`` bits of a net from bit ``index`` on; no index that occurs is out of range."""
    assert net.kind == "leaf", net
    return Node("select", width, (net, index))


def selection(by: Node, items: Mapping[str, Node], other: Node) -> Node:
    """The result of ``items`` that belongs to the value of ``by``, or the ``other`` one."""
    assert all(result.width == other.width for result in items.values()), (items, other)
    pairs = (part for value, result in items.items() for part in (constant(value), result))
    return Node("case", other.width, (by, *pairs, other))


def conditional(case: Node) -> Node:
    """A ``case`` as an expression."""
    by, *parts, node = case.parts
    for value, result in reversed([*zip(parts[::2], parts[1::2], strict=True)]):
        node = choose(binary("==", by, value), result, node)
    return node


def unary(operator: str, part: Node) -> Node:
    """``~`` or ``-`` of all bits, or ``|``, ``&`` or ``^`` over all bits."""
    if operator == "~":
        if part.kind == "~":
            return part.parts[0]
        if part.kind in ("==", "!="):
            return Node("!=" if part.kind == "==" else "==", 1, part.parts)
        return Node("~", part.width, (part,))
    if operator == "-":
        return Node("-", part.width, (part,))
    assert operator in ("|", "&", "^"), operator
    if part.width == 1:
        return part
    if part.kind == "concat":
        # One operand for each part reads better than a reduction of a row.
        return _chain(operator, [unary(operator, piece) for piece in part.parts])
    if part.kind == "replicate" and operator != "^":
        return unary(operator, part.parts[0])
    return Node(operator, 1, (part,))


def _chain(operator: str, parts: Sequence[Node]) -> Node:
    node = parts[0]
    for part in parts[1:]:
        node = binary(operator, node, part)
    return node


def binary(operator: str, left: Node, right: Node) -> Node:
    if operator in _COMPARISONS:
        assert left.width == right.width, (operator, left, right)
        return Node(operator, 1, (left, right))
    if operator in _SHIFTS:
        return Node(operator, left.width, (left, right))
    assert operator in _WIDE, operator
    assert left.width == right.width, (operator, left, right)
    if operator in "+-" and right == constant("0" * right.width):
        return left
    return Node(operator, left.width, (left, right))


def equal_zero(part: Node) -> Node:
    """Whether all bits are 0."""
    if part.width == 1:
        return unary("~", part)
    return binary("==", part, constant("0" * part.width))


def choose(condition: Node, yes: Node, no: Node) -> Node:
    """``yes`` if the condition is 1, ``no`` if it is 0."""
    assert condition.width == 1, condition
    assert yes.width == no.width, (yes, no)
    if no.is_unknown or yes == no:
        return yes
    if yes.is_unknown:
        return no
    if yes.width == 1:
        if yes.kind == "constant" and no.kind == "constant":
            return condition if yes.text == "1" else unary("~", condition)
        if yes.kind == "constant":
            return binary("|", condition, no) if yes.text == "1" else binary("&", unary("~", condition), no)
        if no.kind == "constant":
            return binary("&", condition, yes) if no.text == "0" else binary("|", unary("~", condition), yes)
    if condition.kind == "~":
        return choose(condition.parts[0], no, yes)
    return Node("?:", yes.width, (condition, yes, no))
