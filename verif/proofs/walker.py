"""The walk of a shape: every row of the stream once, each where its indexes say, and nothing besides."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, Signal, Value

from cdma.hdl.engine.shapes.walker import Walker
from cdma.hdl.spec.engine import EngineConfig

from .bench import Bench, fixed, hold
from .design import Config
from .proof import Proof

__all__ = ["PROOFS", "Walking"]

#: The most entries of a dimension in memory, its most entries of padding on either side, and the most cycles in which a row
#: waits.
_MOST_COUNT, _MOST_PADDING, _MOST_STALLS = 2, 1, 2
#: Bits of an address that are compared: a sum has no others in its low bits, however wide it is.
_BITS = 6


class _Axis(NamedTuple):
    """A dimension of the shape: what was said of it, and the index of the row that is due."""

    stride: Value
    count: Value
    before: Value
    after: Value
    index: Signal

    @property
    def inside(self) -> Value:
        """The index is of an entry in memory."""
        return (self.index >= self.before) & (self.index < self.before + self.count)

    @property
    def ends(self) -> Value:
        """It is of the last one there."""
        return self.index + 1 == self.before + self.count

    @property
    def final(self) -> Value:
        """It is the last index."""
        return self.index + 1 == self.before + self.count + self.after


class Walking(Bench):
    """A shape is walked, from whatever state the one before has left: any of few entries, with any strides, at any place.

    The registers of the block begin with anything, but for that no shape is in hand, and a walk ends within the depth, so
    the depth is no bound.

    Ghost state: the indexes of the row that is due, which count through all of the shape's as an odometer does. So each
    combination of indexes comes once. Where a row lies is the sum of the products of index and stride.
    """

    any_start = True

    def __init__(self, dimensions: int) -> None:
        super().__init__()
        self.walker = Walker(dimensions)

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.walker
        shape = fixed(m, "any_shape", dut.input.payload.shape().size)
        begun, over = Signal(), Signal()
        m.d.sync += begun.eq(1)
        m.d.comb += [
            Value.cast(dut.input.payload).eq(shape),
            dut.input.valid.eq(~begun),
            Assume(begun | (dut.input.ready & ~dut.rows.valid)),
        ]
        hold(m, dut.rows, "rows")
        stalls = Signal(range(_MOST_STALLS + 2))
        m.d.sync += stalls.eq(stalls + (dut.rows.valid & ~dut.rows.ready))
        m.d.comb += Assume(stalls <= _MOST_STALLS)
        axes = self._axes(m)
        final = Cat(axis.final for axis in axes).all()
        taken = dut.rows.valid & dut.rows.ready
        with m.If(taken):
            carries: Value | int = 1
            for axis in axes:
                with m.If(carries):
                    m.d.sync += axis.index.eq(Mux(axis.final, 0, axis.index + 1))
                carries = carries & axis.final
        with m.If(taken & final):
            m.d.sync += over.eq(1)
        row, inside = dut.rows.payload, Cat(axis.inside for axis in axes).all()
        due = Signal(range(4))
        m.d.sync += due.eq(Mux(dut.rows.valid | over, 0, due + begun))
        m.d.comb += [
            Assert(due != 3),
            Assert(~over | (dut.input.ready & ~dut.rows.valid)),
            Assert(~begun | over | ~dut.input.ready),
            Assert(~dut.rows.valid | (row.inside == inside)),
            Assert(~dut.rows.valid | (row.final == final)),
            Assert(~(dut.rows.valid & inside) | (row.ends == Cat(axis.ends for axis in axes).all())),
            Assert(~(dut.rows.valid & inside) | (row.first[:_BITS] == self._place(axes))),
            Cover(taken & final & Cat(axis.count == _MOST_COUNT for axis in axes).all()),
        ]

    def _axes(self, m: Module) -> list[_Axis]:
        """The dimensions of the shape, which has few entries."""
        extension = self.walker.input.payload.extension
        axes = [
            _Axis(
                *(extension[f"{name}_{number}"] for name in ("stride", "count", "before", "after")),
                Signal(3, name=f"index_{number}"),
            )
            for number in range(1, self.walker.dimensions + 1)
        ]
        for axis in axes:
            m.d.comb += [
                Assume((axis.count >= 1) & (axis.count <= _MOST_COUNT)),
                Assume((axis.before <= _MOST_PADDING) & (axis.after <= _MOST_PADDING)),
            ]
        return axes

    def _place(self, axes: list[_Axis]) -> Value:
        """Where the row that is due lies."""
        place: Value = self.walker.input.payload.first[:_BITS]
        for axis in axes:
            place = place + Mux(axis.index == axis.before, 0, axis.stride[:_BITS])
        return place[:_BITS]


def _shaped(config: Config) -> bool:
    return isinstance(config, EngineConfig) and config.dimensions > 0


def _walking(dimensions: int, depth: int, *, quick: bool = True) -> Proof:
    return Proof(
        name="walker",
        config=f"{dimensions} dimensions",
        claim="each row of a shape is walked once, in the order of the stream, where index times stride says, and no other; "
        "which rows are padding, and which is the last one",
        blocks=(Walker,),
        built_so=_shaped,
        bench=lambda: Walking(dimensions),
        method="bmc",
        depth=depth,
        cover=depth,
        quick=quick,
    )


PROOFS = [_walking(1, 14), _walking(2, 38, quick=False)]
