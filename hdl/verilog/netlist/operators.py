"""Adapts the widths of operators to the rules of linters.

In: a parsed module, with operands and results of different widths. Out: the same module, without unused result bits, with
operands extended to Verilog's context width, and without the comparisons and shifts that linters report.

Yosys's ``wreduce`` is no substitute: it narrows each operand to its own bits, so that ``4'd3 + 6'd1`` comes out as
``2'd3 + 1'd1``, and linters then complain that the widths differ.
"""

from __future__ import annotations

from collections.abc import Iterator

from .model import Cell, Module, Signal, Slice, Wire, constant, cut, width_of

__all__ = ["fit_operators"]

_SAME_AS_RESULT = frozenset({"$add", "$sub", "$and", "$or", "$xor", "$neg", "$not"})
_SAME_AS_EACH_OTHER = frozenset({"$eq", "$ne", "$lt", "$le", "$gt", "$ge", "$divfloor", "$modfloor"})
_LEFT_AS_RESULT = frozenset({"$shl"})
_SHIFTS_RIGHT = frozenset({"$shr", "$shift", "$shiftx"})

#: Bit k of the result depends on bits 0 to k of the operands alone.
_LOW_FROM_LOW = _SAME_AS_RESULT | _LEFT_AS_RESULT | {"$mul"}

#: Comparisons that are decided if all bits of the constant on the right are the first: to the second.
_AT_LIMIT = {"$gt": ("1", "0"), "$le": ("1", "1"), "$lt": ("0", "0"), "$ge": ("0", "1")}


def fit_operators(module: Module) -> None:
    """Adapts all operators of a module."""
    for cell in module.cells:
        _match_widths(cell)
    _drop_unused_bits(module)
    _fold_limits(module)
    _widen_shifts(module)


def _match_widths(cell: Cell) -> None:
    """Extends operands to Verilog's context width; Amaranth cuts off their leading zeros."""
    if cell.kind not in _LOW_FROM_LOW | _SAME_AS_EACH_OTHER:
        return
    operands = [port for port in ("\\A", "\\B") if port in cell.ports]
    if cell.kind in _SAME_AS_EACH_OTHER:
        width = max(1, *(width_of(cell.ports[port]) for port in operands))
    else:
        width = width_of(cell.ports["\\Y"])
    for port in operands[:1] if cell.kind in _LEFT_AS_RESULT else operands:
        operand = cell.ports[port]
        # A multiplier is as large as its operands, so they only become narrower.
        wanted = min(width, width_of(operand)) if cell.kind == "$mul" else width
        cell.ports[port] = _resized(operand, wanted, cell.parameters[f"{port}_SIGNED"] == "1")
        cell.parameters[f"{port}_WIDTH"] = str(wanted)


def _resized(signal: Signal, width: int, signed: bool) -> Signal:
    present = width_of(signal)
    if width <= present:
        return cut(signal, 0, width)
    if signed and signal:
        top = signal[-1].cut(signal[-1].width - 1, 1)
        return [*signal, *[top] * (width - present)]
    return [*signal, constant("0" * (width - present))]


def _drop_unused_bits(module: Module) -> None:
    """Narrows operators to the used bits of their results, which saves unused carries."""
    changed = True
    while changed:
        changed = False
        used: dict[str, int] = {}
        for piece in _uses(module):
            used[piece.wire] = max(used.get(piece.wire, 0), piece.low + piece.width)
        for cell in module.cells:
            result = cell.ports.get("\\Y", [])
            if cell.kind not in _LOW_FROM_LOW or len(result) != 1:
                continue
            width = used.get(result[0].wire, 0)
            if 0 < width < result[0].width and result[0].wire.startswith("$"):
                module.wires[result[0].wire].width = width
                cell.ports["\\Y"] = cut(result, 0, width)
                cell.parameters["\\Y_WIDTH"] = str(width)
                _match_widths(cell)
                changed = True


def _uses(module: Module) -> Iterator[Slice]:
    """Every slice of a wire that is read."""
    for cell in module.cells:
        for port, signal in cell.ports.items():
            if not (cell.kind.startswith("$") and port == "\\Y"):
                yield from signal
    for statement in module.statements():
        if statement.signals:
            yield from statement.signals[-1]
    for _, right in module.connects:
        yield from right


def _fold_limits(module: Module) -> None:
    """Replaces comparisons that are constant by the range of an unsigned operand, which linters report."""
    kept: list[Cell] = []
    for cell in module.cells:
        limit = cell.ports.get("\\B", [])
        if cell.kind in _AT_LIMIT and len(limit) == 1 and limit[0].bits is not None:
            bit, result = _AT_LIMIT[cell.kind]
            if set(limit[0].bits) == {bit} and cell.parameters["\\B_SIGNED"] == "0":
                module.connects.append((cell.ports["\\Y"], [constant(result)]))
                continue
        kept.append(cell)
    module.cells = kept


def _widen_shifts(module: Module) -> None:
    """Extends the result of a right shift to the width of its operand, and takes its lowest bits."""
    for cell in module.cells:
        if cell.kind not in _SHIFTS_RIGHT:
            continue
        result = cell.ports["\\Y"]
        width, wanted = width_of(cell.ports["\\A"]), width_of(result)
        if width <= wanted:
            continue
        wide = f"{cell.name}$wide"
        module.wires[wide] = Wire(width, False, None)
        module.connects.append((result, [Slice(wide, 0, wanted)]))
        cell.ports["\\Y"] = [Slice(wide, 0, width)]
        cell.parameters["\\Y_WIDTH"] = str(width)
