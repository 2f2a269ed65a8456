"""Joins headers and routed literals to full output beats."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .butterfly import log2, one_of, rotate_up, thermometer
from .params import CodecConfig
from .streams import Beat
from .window_store import Step

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
        self.header_parts = fmt.header_words // self.header_part
        self.depth = 2 if self.header_part == 1 else 3
        super().__init__(
            {
                "step": In(stream.Signature(Step(config))),
                "output": Out(stream.Signature(Beat(fmt.word_bits, lanes))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, lanes, depth = self.config.format, self.config.lanes, self.depth
        step = self.step.payload
        row = data.ArrayLayout(fmt.word_bits, lanes)

        # Headers longer than a beat: their parts but the last take a cycle each.
        part = Signal(range(self.header_parts))
        start: Value = step.start
        alone: Value = Signal(name="header_alone")
        if self.header_parts > 1:
            m.d.comb += alone.eq(step.first & (part != self.header_parts - 1))
            start = Mux(step.first & (part != 0) & (step.start == 0), lanes, step.start)
        parts = [step.header[word] for word in range(self.header_part)]
        if self.header_parts > 1:
            parts = [
                data.View(data.ArrayLayout(row, self.header_parts), Value.cast(step.header))[part][j]
                for j in range(self.header_part)
            ]
        if self.header_part == 1:
            header = parts * lanes
        else:
            header = rotate_up((parts * (lanes // self.header_part)), start[: log2(lanes)])

        # The beats that this step touches: `rows[0]` continues the incomplete one. Each lane of it is old, or of the
        # header, or a literal; the header reaches into `rows[1]` by so many lanes as it has words, at most.
        partial = Signal(row, reset_less=True)
        flush = Signal()
        flush_count = Signal(range(lanes + 1), reset_less=True)
        old = Signal(lanes)
        in_header = Signal(lanes + self.header_part)
        m.d.comb += [
            old.eq(Mux(flush, ~0, thermometer(start, lanes))),
            in_header.eq(Mux(step.first, thermometer(start + self.header_part, lanes + self.header_part), 0)),
        ]
        rows = [Signal(row, name=f"row_{i}") for i in range(2)]
        for lane in range(lanes):
            m.d.comb += rows[0][lane].eq(
                one_of(
                    (old[lane], partial[lane]),
                    (~old[lane] & in_header[lane], header[lane]),
                    (~old[lane] & ~in_header[lane], step.words[lane]),
                )
            )
            if lane < self.header_part:
                m.d.comb += rows[1][lane].eq(Mux(in_header[lanes + lane], header[lane], step.words[lane]))
            else:
                m.d.comb += rows[1][lane].eq(step.words[lane])

        # How many of them are full (or, at the packet's end, finished).
        total = Signal.like(step.total)
        m.d.comb += total.eq(Mux(alone, start + lanes, step.total))
        over_one = Signal()
        over_two = Signal()
        last = Signal()
        m.d.comb += [over_one.eq(total > lanes), over_two.eq(total > 2 * lanes), last.eq(step.last & ~alone)]
        remaining = Signal(range(lanes + 1))
        m.d.comb += remaining.eq(
            Mux(over_two, total - 2 * lanes, Mux(over_one, total - lanes, total)),
        )
        push = Signal(2)
        with m.If(flush):
            m.d.comb += push.eq(0b01)
        with m.Else():
            m.d.comb += push.eq(Cat(over_one | last, over_two | (over_one & last)))

        # The queue. A free slot loads what would come there, whether or not it comes.
        slots = [Signal(row, name=f"queue_{i}", reset_less=True) for i in range(depth)]
        counts = [Signal(range(lanes), name=f"queue_count_{i}", reset_less=True) for i in range(depth)]
        lasts = [Signal(name=f"queue_last_{i}", reset_less=True) for i in range(depth)]
        used = Signal(depth)
        taken = Signal()
        staying = Signal(depth)
        m.d.comb += [
            taken.eq(used[0] & self.output.ready),
            staying.eq(Mux(taken, used >> 1, used)),
        ]
        room = Signal()
        m.d.comb += room.eq(~(push[0] & staying[depth - 1]) & ~(push[1] & staying[depth - 2]))
        fires = Signal()
        m.d.comb += [
            fires.eq((self.step.valid | flush) & room),
            self.step.ready.eq(room & ~flush & ~alone),
        ]
        count_kept = Signal(range(lanes))
        m.d.comb += count_kept.eq(Mux(flush, flush_count, remaining) - 1)
        finished = [flush | (last & ~over_one), last & over_one & ~over_two]
        for i in range(depth):
            below = staying[i - 1] if i else Const(1)
            sources = [
                (staying[i] & ~taken, (slots[i], counts[i], lasts[i])),
                (~staying[i] & below, (rows[0], Mux(finished[0], count_kept, lanes - 1), finished[0])),
            ]
            if i + 1 < depth:
                sources.append((staying[i] & taken, (slots[i + 1], counts[i + 1], lasts[i + 1])))
            if i:
                sources.append((~below, (rows[1], Mux(finished[1], count_kept, lanes - 1), finished[1])))
            for target, choices in zip(
                (slots[i], counts[i], lasts[i]),
                zip(*(values for _, values in sources), strict=True),
                strict=True,
            ):
                conditions = [condition for condition, _ in sources]
                m.d.sync += target.eq(one_of(*zip(conditions, choices, strict=True)))
        pushed = Signal(2)
        m.d.comb += pushed.eq(Mux(fires, push, 0))
        with m.If(pushed[1]):
            m.d.sync += used.eq(staying << 2 | 0b11)
        with m.Elif(pushed[0]):
            m.d.sync += used.eq(staying << 1 | 0b1)
        with m.Else():
            m.d.sync += used.eq(staying)

        for lane in range(lanes):
            second = one_of(
                (fires & over_one & ~over_two, rows[1][lane]), (fires & over_two, step.words[lane])
            )
            if lane >= self.header_part:
                second = step.words[lane] & (fires & over_one).replicate(fmt.word_bits)
            keeps = ~fires | (~over_one & old[lane])
            m.d.sync += partial[lane].eq(
                one_of(
                    (keeps, partial[lane]),
                    (~keeps & ~over_one & in_header[lane], header[lane]),
                    (~keeps & ~over_one & ~in_header[lane], step.words[lane]),
                )
                | second
            )
        with m.If(fires):
            m.d.sync += [flush.eq(~flush & last & over_two), flush_count.eq(remaining)]
            if self.header_parts > 1:
                with m.If(~flush):
                    m.d.sync += part.eq(Mux(alone, part + 1, 0))

        m.d.comb += [
            self.output.valid.eq(used[0]),
            self.output.payload.data.eq(slots[0]),
            self.output.payload.keep.eq(thermometer(counts[0], lanes) << 1 | 1),
            self.output.payload.last.eq(lasts[0]),
        ]
        return m
