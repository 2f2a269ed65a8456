"""Queues and stream registers: nothing lost, nothing twice, in order, and never later than promised."""

from __future__ import annotations

from collections.abc import Callable

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring

from cdma.hdl.blocks.queues import Fifo, MemoryQueue
from cdma.hdl.blocks.registers import Beat, BeatSlice, ElasticBuffer, SkidBuffer, StreamRegister

from .bench import Bench, free, hold, obey, started
from .proof import Proof

__all__ = ["PROOFS", "Queue"]

#: Bits of an entry. The blocks never look at them: two bits already tell an entry from its neighbours.
_BITS = 2


class Queue(Bench):
    """A block that passes transfers on, with a ghost that follows one of them, which may be any.

    ``block``
        Makes the block.
    ``capacity``
        Entries that it can hold.
    ``accepts``
        Entries below which it takes another one. The block's ``ready`` comes a cycle after the reset.
    ``latency``
        Cycles from the transfer of an entry until it is offered, if it is first in line by then. That it is offered
        in each cycle from there on means that there is never a bubble.
    ``reserved``
        The writer counts, and never has more than this many entries inside; 0 where the block says when it is full.

    Ghost state: ``inside`` counts the entries in the block. Once the tracked entry has gone in, ``word`` is what it was,
    ``ahead`` counts the entries before it, and ``age`` the cycles since. Each entry that comes out is either one of
    those ahead, or the tracked one, and then it must be ``word``.
    """

    def __init__(
        self,
        block: Callable[[], wiring.Component],
        capacity: int,
        accepts: int,
        latency: int,
        reserved: int = 0,
    ) -> None:
        super().__init__()
        self.block = block
        self.capacity = capacity
        self.accepts = accepts
        self.latency = latency
        self.reserved = reserved

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.block()
        entering = dut.input
        leaving = dut.output
        if self.reserved:
            free(m, "input_payload", entering.payload)
            free(m, "input_valid", entering.valid)
        else:
            obey(m, entering, "input")
        hold(m, leaving, "output")
        put = Signal()
        take = Signal()
        inside = Signal(range(self.capacity + 2))
        m.d.comb += [put.eq(entering.valid & entering.ready), take.eq(leaving.valid & leaving.ready)]
        m.d.sync += inside.eq(inside + put - take)

        follow = free(m, "follow")
        tracked = Signal()
        came, leaves = Value.cast(entering.payload), Value.cast(leaving.payload)
        word = Signal(len(came))
        ahead = Signal(range(self.capacity + 1))
        age = Signal(range(self.latency + 1))
        came_out = Signal()
        with m.If(~tracked & put & follow):
            m.d.sync += [
                tracked.eq(1),
                word.eq(came),
                ahead.eq(inside - take),
                age.eq(1),
            ]
        with m.Elif(tracked):
            m.d.sync += age.eq(Mux(age == self.latency, age, age + 1))
            with m.If(take):
                m.d.sync += ahead.eq(ahead - 1)
                with m.If(ahead == 0):
                    m.d.sync += [tracked.eq(0), came_out.eq(1)]
        first = tracked & (ahead == 0)
        m.d.comb += [
            # No overflow, and nothing that did not go in.
            Assert(inside <= self.capacity),
            Assert(~leaving.valid | (inside != 0)),
            # In order, and unchanged.
            Assert(~(first & leaving.valid) | (leaves == word)),
            # No bubble and no deadlock: what is first in line is offered as soon as the latency allows.
            Assert(~(first & (age == self.latency)) | leaving.valid),
            Cover(came_out & (word == 1)),
            Cover(first & (age == self.latency)),
            Cover(inside == self.capacity),
        ]
        if self.reserved:
            m.d.comb += Assume(~put | (inside < self.reserved))
        else:
            m.d.comb += Assert(~(started(m) & (inside < self.accepts)) | entering.ready)


def _proof(
    kind: type[wiring.Component],
    name: str,
    config: str,
    block: Callable[[], wiring.Component],
    *shape: int,
    quick: bool = True,
) -> Proof:
    claim = "nothing lost, doubled or out of order; no overflow; the stream rules; an entry first in line is offered at once"
    return Proof(
        name=name,
        config=config,
        claim=claim,
        blocks=(kind,),
        bench=lambda: Queue(block, *shape),
        quick=quick,
    )


PROOFS = [
    _proof(StreamRegister, "stream_register", "2 bits", lambda: StreamRegister(_BITS), 1, 1, 1),
    _proof(SkidBuffer, "skid_buffer", "2 bits", lambda: SkidBuffer(_BITS), 2, 2, 1),
    _proof(ElasticBuffer, "elastic_buffer", "2 bits", lambda: ElasticBuffer(_BITS), 2, 2, 1),
    _proof(
        ElasticBuffer,
        "elastic_buffer",
        "2 bits, in two parts",
        lambda: ElasticBuffer(_BITS, part_bits=1),
        2,
        2,
        1,
    ),
    _proof(BeatSlice, "beat_slice", "1 lane of 1 bit", lambda: BeatSlice(Beat(1, 1)), 2, 2, 1),
    _proof(Fifo, "fifo", "depth 2", lambda: Fifo(_BITS, 2), 3, 2, 2),
    _proof(Fifo, "fifo", "depth 4", lambda: Fifo(_BITS, 4), 5, 4, 2),
    _proof(Fifo, "fifo", "depth 4, ahead", lambda: Fifo(_BITS, 4, ahead=True), 5, 4, 3),
    _proof(Fifo, "fifo", "depth 4, block", lambda: Fifo(_BITS, 4, pipelined=True), 6, 4, 4),
    _proof(Fifo, "fifo", "depth 4, reserved", lambda: Fifo(_BITS, 4, reserved=True), 4, 4, 2, 4),
    _proof(
        Fifo,
        "fifo",
        "depth 8, late",
        lambda: Fifo(_BITS, 8, late_valid=True, late_ready=True),
        *(9, 8, 2),
        quick=False,
    ),
    _proof(MemoryQueue, "memory_queue", "depth 4", lambda: MemoryQueue(_BITS, 4), 4, 4, 3, 4),
]
