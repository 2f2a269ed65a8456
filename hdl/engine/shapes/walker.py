"""Walks the rows of a shape, in the order of its stream."""

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Signal, Value, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.span import SPAN_BITS
from cdma.hdl.blocks.gates import is_next, one_of
from cdma.hdl.spec.shape import COUNT_BITS, PADDING_BITS

from .layout import WalkLayout

__all__ = ["Row", "Walker"]

#: Tells the entries of a dimension apart, which begin below 0.
_INDEX_BITS = COUNT_BITS + 1
#: Parts of an address that are summed each by itself; a cycle later the carries join them.
_PARTS = 3

#: A row of the stream.
#:
#: ``first``
#:     The lower part of its address.
#: ``inside``
#:     It is in memory: it is no padding.
#: ``ends``, ``final``
#:     It is the last one in memory; and the last one.
Row = data.StructLayout({"first": SPAN_BITS, "inside": 1, "ends": 1, "final": 1})


class _Axis(NamedTuple):
    """A dimension.

    ``stride``, ``start``, ``count``, ``end``
        Its stride, the number of its first entry, which is below 0 where padding comes before those in memory, the entries
        in memory, and the number after its last one.
    ``index``, ``base``
        The entry in hand, and where it lies.
    ``inside``, ``edge``, ``last``
        The entry is in memory, the last one there, and the last one: registers, a cycle after ``index``.
    ``moves``, ``strides``
        As those: a step moves this dimension on, as it is the innermost one that is not at its end, and by its stride.
    """

    stride: Signal
    start: Signal
    count: Signal
    end: Signal
    index: Signal
    base: Signal
    inside: Signal
    edge: Signal
    last: Signal
    moves: Signal
    strides: Signal


class Walker(wiring.Component):
    """Takes a shape at a time, and gives its rows: one every second cycle.

    A step moves one dimension on, and sets those inside it back to their first entry, which lies where the dimension now
    is. So there is one sum for all, and nothing is multiplied.
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        super().__init__({"input": In(stream.Signature(WalkLayout)), "rows": Out(stream.Signature(Row))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        axes = [
            _Axis(
                *(
                    Signal(bits, name=f"{name}_{number}", reset_less=True)
                    for name, bits in (
                        ("stride", SPAN_BITS),
                        ("start", signed(PADDING_BITS + 1)),
                        ("count", COUNT_BITS),
                        ("end", _INDEX_BITS),
                        ("index", _INDEX_BITS),
                        ("base", SPAN_BITS),
                        ("inside", 1),
                        ("edge", 1),
                        ("last", 1),
                        ("moves", 1),
                        ("strides", 1),
                    )
                )
            )
            for number in range(1, self.dimensions + 1)
        ]
        walks = Signal()
        settled = Signal()
        row = self.rows.payload
        steps = Signal()
        stepped = Signal()
        m.d.comb += [
            self.input.ready.eq(~walks),
            self.rows.valid.eq(settled),
            row.first.eq(axes[0].base),
            row.inside.eq(Cat(axis.inside for axis in axes).all()),
            row.ends.eq(Cat(axis.edge for axis in axes).all()),
            row.final.eq(Cat(axis.last for axis in axes).all()),
            steps.eq(settled & self.rows.ready),
        ]
        m.d.sync += stepped.eq(steps)
        self._move(m, axes, stepped)
        with m.If(self.input.valid & ~walks):
            m.d.sync += walks.eq(1)
            self._load(m, axes)
        with m.Elif(steps & row.final):
            m.d.sync += walks.eq(0)
        m.d.sync += settled.eq((walks & ~settled) | (settled & ~steps))
        self._settle(m, axes)
        with m.If(steps):
            self._step(m, axes)
        return m

    def _load(self, m: Module, axes: list[_Axis]) -> None:
        """Begins with the first entry of each dimension."""
        shape = self.input.payload.extension
        for number, axis in enumerate(axes, 1):
            count, before, after = (shape[f"{name}_{number}"] for name in ("count", "before", "after"))
            entries = count | (count == 0)
            m.d.sync += [
                axis.stride.eq(shape[f"stride_{number}"]),
                axis.start.eq(-before),
                axis.count.eq(entries),
                axis.end.eq(entries + after),
                axis.index.eq(-before),
                axis.base.eq(self.input.payload.first),
            ]

    @staticmethod
    def _settle(m: Module, axes: list[_Axis]) -> None:
        """Says where the indexes are."""
        ends: Value = C(1, 1)
        for axis in axes:
            inside, edge, last = (
                axis.index < axis.count,
                is_next(axis.index, axis.count),
                is_next(axis.index, axis.end),
            )
            # The last dimension is at its end only with the final row, after which nothing counts.
            moves = ends & ~last if axis is not axes[-1] else ends
            m.d.sync += [
                axis.inside.eq(inside),
                axis.edge.eq(edge),
                axis.last.eq(last),
                axis.moves.eq(moves),
                axis.strides.eq(moves & inside),
            ]
            ends &= last

    def _step(self, m: Module, axes: list[_Axis]) -> None:
        """Moves the innermost dimension that is not at its end, and begins those inside it anew."""
        for axis, begins in zip(axes, self._begins(axes), strict=True):
            with m.If(begins):
                m.d.sync += axis.index.eq(axis.start)
            with m.Elif(axis.moves):
                m.d.sync += axis.index.eq(axis.index + 1)

    def _move(self, m: Module, axes: list[_Axis], stepped: Signal) -> None:
        """Finds where the entries lie in the cycle after a step, while all but the indexes is still that of the row before.
        After an entry of padding the address stays."""
        moving = one_of(*((axis.moves, axis.base) for axis in axes))
        stride = one_of(*((axis.strides, axis.stride) for axis in axes))
        moved: list[Value] = []
        carry: Value = C(0, 1)
        for part in range(_PARTS):
            bits = slice(part * SPAN_BITS // _PARTS, (part + 1) * SPAN_BITS // _PARTS)
            total = Signal(bits.stop - bits.start + 1, name=f"total_{part}", reset_less=True)
            joined = Signal.like(total, name=f"joined_{part}")
            m.d.sync += total.eq(moving[bits] + stride[bits])
            m.d.comb += joined.eq(total + carry)
            moved.append(joined[:-1])
            carry = joined[-1]
        for axis, begins in zip(axes, self._begins(axes), strict=True):
            with m.If(stepped & (axis.moves | begins)):
                m.d.sync += axis.base.eq(Cat(*moved))

    @staticmethod
    def _begins(axes: list[_Axis]) -> list[Value]:
        """For each dimension, whether it begins anew: one outside it moves."""
        return [Cat(outer.moves for outer in axes[number:]).any() for number in range(1, len(axes) + 1)]
