"""Walks the rows of a shape, in the order of its stream."""

from typing import NamedTuple

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.span import SPAN_BITS
from cdma.hdl.spec.shape import COUNT_BITS, PADDING_BITS

from .layout import WalkLayout

__all__ = ["Row", "Walker"]

_TOTAL_BITS = COUNT_BITS + 1
#: Lower bits of an address, which are summed a cycle before the others.
_LOW_BITS = SPAN_BITS // 2

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

    ``stride``, ``before``, ``most``, ``end``
        Its stride, its entries of padding before those in memory, and the numbers of its last entry in memory and of its
        last one.
    ``index``, ``base``
        The entry in hand, and where it lies.
    ``inside``, ``edge``, ``last``
        The entry is in memory, the last one there, and the last one: registers, a cycle after ``index``.
    """

    stride: Signal
    before: Signal
    most: Signal
    end: Signal
    index: Signal
    base: Signal
    inside: Signal
    edge: Signal
    last: Signal


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
                        ("before", PADDING_BITS),
                        ("most", _TOTAL_BITS),
                        ("end", _TOTAL_BITS),
                        ("index", _TOTAL_BITS),
                        ("base", SPAN_BITS),
                        ("inside", 1),
                        ("edge", 1),
                        ("last", 1),
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
        for axis in axes:
            m.d.sync += [
                axis.inside.eq((axis.index >= axis.before) & (axis.index <= axis.most)),
                axis.edge.eq(axis.index == axis.most),
                axis.last.eq(axis.index == axis.end),
            ]
        with m.If(steps):
            self._step(m, axes)
        return m

    def _load(self, m: Module, axes: list[_Axis]) -> None:
        """Begins with the first entry of each dimension."""
        shape = self.input.payload.extension
        for number, axis in enumerate(axes, 1):
            count, before, after = (shape[f"{name}_{number}"] for name in ("count", "before", "after"))
            steps = Mux(count == 0, 0, count - 1)[:COUNT_BITS]
            m.d.sync += [
                axis.stride.eq(shape[f"stride_{number}"]),
                axis.before.eq(before),
                axis.most.eq(before + steps),
                axis.end.eq(before + steps + after),
                axis.index.eq(0),
                axis.base.eq(self.input.payload.first),
            ]

    def _step(self, m: Module, axes: list[_Axis]) -> None:
        """Moves the innermost dimension that is not at its end, and begins those inside it anew."""
        for axis, moves in zip(axes, self._moving(axes), strict=True):
            with m.If(moves):
                m.d.sync += axis.index.eq(Mux(axis.last, 0, axis.index + 1))

    def _move(self, m: Module, axes: list[_Axis], stepped: Signal) -> None:
        """Finds where the entries lie in the cycle after a step, while all but the indexes is still that of the row before.
        Between entries of padding, and from one of these to the first entry in memory, the address stays."""
        # The last dimension is at its end only with the final row, after which nothing counts.
        moving: Value = axes[-1].base
        stride: Value = Mux(axes[-1].inside & ~axes[-1].edge, axes[-1].stride, 0)
        for axis in reversed(axes[:-1]):
            moving = Mux(axis.last, moving, axis.base)
            stride = Mux(axis.last, stride, Mux(axis.inside & ~axis.edge, axis.stride, 0))
        low = Signal(_LOW_BITS + 1, reset_less=True)
        m.d.sync += low.eq(moving[:_LOW_BITS] + stride[:_LOW_BITS])
        moved = Cat(low[:-1], moving[_LOW_BITS:] + stride[_LOW_BITS:] + low[-1])
        for axis, moves in zip(axes, self._moving(axes), strict=True):
            with m.If(stepped & moves):
                m.d.sync += axis.base.eq(moved)

    @staticmethod
    def _moving(axes: list[_Axis]) -> list[Value]:
        """For each dimension, whether it moves or begins anew: all inside it are at their ends."""
        return [Cat(inner.last for inner in axes[:number]).all() for number in range(len(axes))]
