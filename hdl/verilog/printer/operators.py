"""Yosys's operators as expressions.

In: an operator, and a function from operand to expression. Out: the expression of its result.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from cdma.hdl.verilog.netlist.model import Cell, Signal, cut, width_of
from cdma.hdl.verilog.netlist.model import constant as bits

from .expressions import Node, binary, choose, concat, constant, equal_zero, select, selection, signed, unary
from .nets import SELECTION

__all__ = ["Operand", "expression", "selects_from_net"]

#: The expression of a signal.
Operand = Callable[[Signal], Node]

_WIDE = {
    "$add": "+",
    "$sub": "-",
    "$mul": "*",
    "$and": "&",
    "$or": "|",
    "$xor": "^",
}
_DIVISIONS = {"$div": "/", "$divfloor": "/", "$mod": "%", "$modfloor": "%"}
_COMPARISONS = {"$eq": "==", "$ne": "!=", "$lt": "<", "$le": "<=", "$gt": ">", "$ge": ">="}
_REDUCTIONS = {"$reduce_or": "|", "$reduce_bool": "|", "$reduce_and": "&", "$reduce_xor": "^"}
_SHIFTS_RIGHT = ("$shr", "$shift", "$shiftx")


def selects_from_net(cell: Cell) -> bool:
    """Whether a right shift is in range for every distance, and so can be written as an index."""
    if cell.kind not in _SHIFTS_RIGHT or len(cell.ports["\\A"]) != 1 or cell.ports["\\A"][0].bits is not None:
        return False
    farthest = 0
    low = 0
    for piece in cell.ports["\\B"]:
        farthest += (int(piece.bits, 2) if piece.bits is not None else (1 << piece.width) - 1) << low
        low += piece.width
    return farthest + width_of(cell.ports["\\Y"]) <= width_of(cell.ports["\\A"])


def expression(cell: Cell, operand: Operand) -> Node:
    """The expression of an operator, as wide as its result."""
    kind, width = cell.kind, width_of(cell.ports["\\Y"])

    def is_signed(port: str) -> bool:
        return cell.parameters.get(f"{port}_SIGNED", "0").endswith("1")

    def sized(port: str, size: int) -> Node:
        return operand(_resized(cell.ports[port], size, is_signed(port)))

    def widened(node: Node) -> Node:
        return node if node.width == width else concat([constant("0" * (width - node.width)), node])

    if kind in _WIDE:
        return binary(_WIDE[kind], sized("\\A", width), sized("\\B", width))
    if kind == "$xnor":
        return unary("~", binary("^", sized("\\A", width), sized("\\B", width)))
    if kind in ("$not", "$neg", "$pos"):
        node = sized("\\A", width)
        return node if kind == "$pos" else unary("~" if kind == "$not" else "-", node)
    if kind in _DIVISIONS:
        assert cell.parameters["\\A_SIGNED"].endswith("0"), cell
        assert max(width_of(cell.ports["\\A"]), width_of(cell.ports["\\B"])) <= width, cell
        return binary(_DIVISIONS[kind], sized("\\A", width), sized("\\B", width))
    if kind in _COMPARISONS:
        size = max(width_of(cell.ports["\\A"]), width_of(cell.ports["\\B"]))
        left, right = sized("\\A", size), sized("\\B", size)
        if is_signed("\\A") and is_signed("\\B") and kind not in ("$eq", "$ne"):
            left, right = signed(left), signed(right)
        return widened(binary(_COMPARISONS[kind], left, right))
    if kind in _REDUCTIONS:
        return widened(_reduced(cell, operand))
    if kind == "$logic_not":
        return widened(_is_zero(cell.ports["\\A"], operand))
    if kind in ("$logic_and", "$logic_or"):
        left, right = (unary("~", _is_zero(cell.ports[port], operand)) for port in ("\\A", "\\B"))
        return widened(binary("&" if kind == "$logic_and" else "|", left, right))
    if kind == "$mux":
        return choose(operand(cell.ports["\\S"]), operand(cell.ports["\\B"]), operand(cell.ports["\\A"]))
    if kind == "$pmux":
        node = operand(cell.ports["\\A"])
        for index in reversed(range(width_of(cell.ports["\\S"]))):
            condition = operand(cut(cell.ports["\\S"], index, 1))
            node = choose(condition, operand(cut(cell.ports["\\B"], index * width, width)), node)
        return node
    if kind == SELECTION:
        results = (
            operand(cut(cell.ports["\\B"], low, width))
            for low in range(0, width_of(cell.ports["\\B"]), width)
        )
        items = dict(zip(cell.parameters["\\VALUES"].split(), results, strict=True))
        return selection(operand(cell.ports["\\S"]), items, operand(cell.ports["\\A"]))
    if kind == "$shl":
        return binary("<<", sized("\\A", width), operand(cell.ports["\\B"]))
    assert kind in _SHIFTS_RIGHT, f"no Verilog for {kind}"
    assert cell.parameters["\\B_SIGNED"].endswith("0"), cell
    if selects_from_net(cell):
        return select(operand(cell.ports["\\A"]), operand(cell.ports["\\B"]), width)
    assert width >= width_of(cell.ports["\\A"]), cell
    return binary(">>", sized("\\A", width), operand(cell.ports["\\B"]))


def _reduced(cell: Cell, operand: Operand) -> Node:
    """A reduction; an or of one net becomes a comparison with 0."""
    signal = cell.ports["\\A"]
    if len(signal) == 1 and width_of(signal) > 1 and cell.kind in ("$reduce_or", "$reduce_bool"):
        return unary("~", equal_zero(operand(signal)))
    operator = _REDUCTIONS[cell.kind]
    return _chain(operator, [unary(operator, operand([piece])) for piece in reversed(signal)])


def _is_zero(signal: Signal, operand: Operand) -> Node:
    """Whether a signal is 0; for single bits, that none is set."""
    if len(signal) > 1 and all(piece.width == 1 for piece in signal):
        return unary("~", _chain("|", [operand([piece]) for piece in reversed(signal)]))
    return equal_zero(operand(signal))


def _chain(operator: str, nodes: list[Node]) -> Node:
    return reduce(lambda left, right: binary(operator, left, right), nodes)


def _resized(signal: Signal, width: int, is_signed: bool) -> Signal:
    """A signal, truncated or extended to a width."""
    missing = width - width_of(signal)
    if missing <= 0:
        return cut(signal, 0, width) if missing else signal
    if is_signed and signal:
        return [*signal, *[signal[-1].cut(signal[-1].width - 1, 1)] * missing]
    return [*signal, bits("0" * missing)]
