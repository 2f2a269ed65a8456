"""The queue of finished beats after a packer, in flip-flops."""

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import wiring

from cdma.hdl.blocks.gates import one_of, thermometer
from cdma.hdl.codec.parts.interface import queue_members
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["BeatQueue"]


class BeatQueue(wiring.Component):
    """A queue of ``depth`` beats with the ports of :func:`~cdma.hdl.codec.parts.interface.queue_members`.

    Throughput: up to two beats in and one out per cycle. Latency: one cycle. ``available`` depends on ``push`` and on
    ``ready`` of the output within the cycle.
    """

    def __init__(self, config: CodecConfig, depth: int) -> None:
        self.config = config
        self.depth = depth
        super().__init__(queue_members(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        units, depth = self.config.units, self.depth
        # A free slot always loads what it would hold next, whether or not that is pushed.
        slots = [Signal(self.rows[0].shape(), name=f"queue_{i}", reset_less=True) for i in range(depth)]
        counts = [Signal(range(units), name=f"queue_count_{i}", reset_less=True) for i in range(depth)]
        lasts = [Signal(name=f"queue_last_{i}", reset_less=True) for i in range(depth)]
        used = Signal(depth)
        taken = Signal()
        staying = Signal(depth)
        m.d.comb += [
            taken.eq(used[0] & self.output.ready),
            staying.eq(Mux(taken, used >> 1, used)),
            self.available.eq(~(self.push[0] & staying[depth - 1]) & ~(self.push[1] & staying[depth - 2])),
        ]
        for i in range(depth):
            below = staying[i - 1] if i else Const(1)
            new = [
                (self.rows[row], Mux(self.last[row], self.count, units - 1), self.last[row])
                for row in range(2)
            ]
            sources = [
                (staying[i] & ~taken, (slots[i], counts[i], lasts[i])),
                (~staying[i] & below, new[0]),
            ]
            if i + 1 < depth:
                sources.append((staying[i] & taken, (slots[i + 1], counts[i + 1], lasts[i + 1])))
            if i:
                sources.append((~below, new[1]))
            for target, choices in zip(
                (slots[i], counts[i], lasts[i]),
                zip(*(values for _, values in sources), strict=True),
                strict=True,
            ):
                conditions = [condition for condition, _ in sources]
                m.d.sync += target.eq(one_of(*zip(conditions, choices, strict=True)))
        pushed = Signal(2)
        m.d.comb += pushed.eq(Mux(self.fire, self.push, 0))
        with m.If(pushed[1]):
            m.d.sync += used.eq(staying << 2 | 0b11)
        with m.Elif(pushed[0]):
            m.d.sync += used.eq(staying << 1 | 0b1)
        with m.Else():
            m.d.sync += used.eq(staying)
        m.d.comb += [
            self.output.valid.eq(used[0]),
            self.output.payload.data.eq(slots[0]),
            self.output.payload.keep.eq(thermometer(counts[0], units) << 1 | 1),
            self.output.payload.last.eq(lasts[0]),
        ]
        return m
