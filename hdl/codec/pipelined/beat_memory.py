"""The queue of finished beats after a packer, in memories."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, wiring

from cdma.hdl.blocks.credit import Credit
from cdma.hdl.blocks.gates import thermometer
from cdma.hdl.blocks.memory_queue import MemoryQueue
from cdma.hdl.codec.parts.interface import queue_members
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["BeatMemory"]

#: Beats of each bank: as many as an FPGA's smallest memories hold.
_DEPTH = 16


class BeatMemory(wiring.Component):
    """A queue of beats with the ports of :func:`~cdma.hdl.codec.parts.interface.queue_members`.

    It has two banks, which take beats alternately. Throughput: up to two beats in and one out per cycle. Latency: four
    cycles. ``available`` comes from a register, ignores ``push`` and is meant for what is pushed in the next cycle.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(queue_members(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        units = self.config.units
        stored = data.StructLayout({"data": self.rows[0].shape(), "count": range(units), "last": 1})
        new = [Signal(stored, name=f"new_{row}") for row in range(2)]
        for row in range(2):
            m.d.comb += [
                new[row].data.eq(self.rows[row]),
                new[row].count.eq(self.count),
                new[row].last.eq(self.last[row]),
            ]
        pushed = Signal(2)
        #: Bank of the next beat to take out, and, for each bank, whether the next beat to push goes to the other one.
        reads = Signal()
        others = [Signal(name=f"other_{bank}", init=bank) for bank in range(2)]
        m.d.comb += pushed.eq(Mux(self.fire, self.push, 0))
        m.d.sync += [other.eq(other ^ pushed[0] ^ pushed[1]) for other in others]
        banks = []
        for bank in range(2):
            m.submodules[f"bank_{bank}"] = queue = MemoryQueue(self.output.payload.shape(), _DEPTH)
            other = others[bank]
            arrives = Signal(stored, name=f"arrives_{bank}", reset_less=True)
            m.d.sync += [
                queue.input.valid.eq(Mux(other, pushed[1], pushed[0])),
                arrives.eq(Mux(other, Value.cast(new[1]), Value.cast(new[0]))),
            ]
            # The lanes that are kept are found before the memory, because behind it the beat passes selections.
            partial = thermometer(arrives.count, units) << 1 | 1
            m.d.comb += [
                queue.input.payload.data.eq(arrives.data),
                queue.input.payload.keep.eq(Mux(arrives.last, partial, ~0)),
                queue.input.payload.last.eq(arrives.last),
                queue.output.ready.eq(self.output.ready & (reads == bank)),
            ]
            banks.append(queue)
        outputs = [Value.cast(queue.output.payload) for queue in banks]
        leaves = Signal()
        m.d.comb += [
            self.output.valid.eq(Mux(reads, banks[1].output.valid, banks[0].output.valid)),
            Value.cast(self.output.payload).eq(Mux(reads, outputs[1], outputs[0])),
            leaves.eq(self.output.valid & self.output.ready),
        ]
        m.d.sync += reads.eq(reads ^ leaves)

        m.submodules.places = credit = Credit(2 * _DEPTH, 2, ahead=1)
        m.d.comb += [
            credit.taken.eq(pushed[0] + pushed[1]),
            credit.given.eq(leaves),
            self.available.eq(credit.there),
        ]
        return m
