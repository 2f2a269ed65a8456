"""Joins headers and routed literals to full output beats."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.gates import one_of
from cdma.hdl.blocks.stream_register import StreamRegister
from cdma.hdl.codec.parts.placement import Placed, Placement
from cdma.hdl.codec.parts.steps import Step
from cdma.hdl.codec.pipelined.beat_memory import BeatMemory
from cdma.hdl.codec.plain.beat_queue import BeatQueue
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["Packer"]


class Packer(wiring.Component):
    """Collects words until an output beat is full, and queues full beats.

    A step is accepted per cycle, while there is room for the beats that it fills: up to two, because an incomplete beat,
    a header and a beat of literals can span three. Parts of a header that fill beats of their own take a cycle each.
    The queue is as deep as work conservation needs: a step waits only if the beats ahead of it hold ``lanes`` words more
    than the windows that they came from could have taken cycles to arrive.

    An output beat that is just full is kept until the next word comes, for only then is it known not to be the last.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt, lanes = config.format, config.lanes
        self.header_part = min(fmt.header_words, lanes)
        self.depth = 2 if self.header_part == 1 else 3
        super().__init__(
            {
                "step": In(stream.Signature(Step(config))),
                "output": Out(stream.Signature(Beat(fmt.word_bits, lanes))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, lanes = self.config.format, self.config.lanes
        m.submodules.placement = placement = Placement(self.config)
        wiring.connect(m, wiring.flipped(self.step), placement.step)
        input_ = placement.placed
        if self.config.pipelined:
            m.submodules.placed = register = StreamRegister(Placed(self.config))
            wiring.connect(m, placement.placed, register.input)
            input_ = register.output
        placed = input_.payload
        header = [placed.header[lane % len(placed.header)] for lane in range(lanes)]
        in_header, over_one, over_two, last = placed.in_header, placed.over_one, placed.over_two, placed.last

        # The beats that this step touches: `rows[0]` continues the incomplete one. Each lane of it is old, or of the
        # header, or a literal; the header reaches into `rows[1]` by so many lanes as it has words, at most.
        partial = Signal(placed.words.shape(), reset_less=True)
        flush = Signal()
        flush_count = Signal(range(lanes + 1), reset_less=True)
        old = Signal(lanes)
        m.d.comb += old.eq(Mux(flush, ~0, placed.old))
        rows = [Signal(placed.words.shape(), name=f"row_{i}") for i in range(2)]
        for lane in range(lanes):
            m.d.comb += rows[0][lane].eq(
                one_of(
                    (old[lane], partial[lane]),
                    (~old[lane] & in_header[lane], header[lane]),
                    (~old[lane] & ~in_header[lane], placed.words[lane]),
                )
            )
            if lane < self.header_part:
                m.d.comb += rows[1][lane].eq(Mux(in_header[lanes + lane], header[lane], placed.words[lane]))
            else:
                m.d.comb += rows[1][lane].eq(placed.words[lane])

        # Those that are full or, at the packet's end, finished go into the queue.
        push = Signal(2)
        with m.If(flush):
            m.d.comb += push.eq(0b01)
        with m.Else():
            m.d.comb += push.eq(Cat(over_one | last, over_two | (over_one & last)))

        fires = Signal()
        queue: BeatMemory | BeatQueue
        m.submodules.queue = queue = (
            BeatMemory(self.config) if self.config.pipelined else BeatQueue(self.config, self.depth)
        )
        wiring.connect(m, queue.output, wiring.flipped(self.output))
        m.d.comb += [
            fires.eq((input_.valid | flush) & queue.room),
            input_.ready.eq(queue.room & ~flush),
            queue.push.eq(push),
            queue.fire.eq(fires),
            queue.count.eq(Mux(flush, flush_count, placed.remaining) - 1),
            queue.last.eq(Cat(flush | (last & ~over_one), last & over_one & ~over_two)),
            *(queue.rows[i].eq(rows[i]) for i in range(2)),
        ]

        # The incomplete beat. Where flip-flops have no enable of their own, what holds them is part of the selection.
        moves = Const(1) if self.config.pipelined else fires
        enable = fires if self.config.pipelined else Const(1)
        for lane in range(lanes):
            second = one_of(
                (moves & over_one & ~over_two, rows[1][lane]), (moves & over_two, placed.words[lane])
            )
            if lane >= self.header_part:
                second = placed.words[lane] & (moves & over_one).replicate(fmt.word_bits)
            keeps = ~moves | (~over_one & old[lane])
            with m.If(enable):
                m.d.sync += partial[lane].eq(
                    one_of(
                        (keeps, partial[lane]),
                        (~keeps & ~over_one & in_header[lane], header[lane]),
                        (~keeps & ~over_one & ~in_header[lane], placed.words[lane]),
                    )
                    | second
                )
        with m.If(fires):
            m.d.sync += [flush.eq(~flush & last & over_two), flush_count.eq(placed.remaining)]
        return m
