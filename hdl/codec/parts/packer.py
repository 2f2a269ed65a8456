"""Joins headers and routed literals to full output beats."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.arithmetic import one_of
from cdma.hdl.blocks.registers import Beat
from cdma.hdl.spec.codec import CodecConfig

from .network import Placed, Placement, Step, stored_word

__all__ = ["Packer"]


class Packer(wiring.Component):
    """Collects words until an output beat is full, and queues full beats.

    ``step``
        Beats of windows. One is accepted per cycle while the queue can take the beats that it fills: up to two, because an
        incomplete beat, a header and a beat of literals can span three. Parts of a header that fill beats of their own
        take a cycle each.
    ``output``
        The packed beats. A beat that is just full is kept until the next word comes, because only then it is known not to
        be the last of its packet.

    ``queue``
        Queue of finished beats, with the ports of :func:`~cdma.hdl.codec.parts.interface.queue_members`.
    ``pipelined``
        Places words a cycle before it packs them, when ``available`` of the queue is high, and holds the incomplete beat by
        the enables of its flip-flops. An FPGA has such enables; in standard cells, what holds the beat is cheaper as a part
        of the selection.
    """

    def __init__(self, config: CodecConfig, queue: wiring.Component, *, pipelined: bool = False) -> None:
        self.config = config
        self.queue = queue
        self.pipelined = pipelined
        fmt, units = config.format, config.units
        self.header_part = min(fmt.header_words, units)
        super().__init__(
            {
                "step": In(stream.Signature(Step(config))),
                "output": Out(stream.Signature(Beat(fmt.stream_bits, units))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.placement = placement = Placement(self.config)
        wiring.connect(m, wiring.flipped(self.step), placement.step)
        #: Only the incomplete beat is left of the packet.
        flush = Signal()
        there, placed = self._place(m, placement, flush)
        over_one, over_two, last = placed.over_one, placed.over_two, placed.last

        partial = Signal(placed.words.shape(), reset_less=True)
        flush_count = Signal(range(self.config.units + 1), reset_less=True)
        old = Signal(self.config.units)
        m.d.comb += old.eq(Mux(flush, ~0, placed.old))
        rows = self._rows(m, placed, old, partial)

        last_is_over_one = over_one & last
        # Rows that are full or, at the end of the packet, finished go into the queue.
        push = Signal(2)
        with m.If(flush):
            m.d.comb += push.eq(0b01)
        with m.Else():
            m.d.comb += push.eq(Cat(over_one | last, over_two | last_is_over_one))
        fires = Signal()
        m.submodules.queue = queue = self.queue
        wiring.connect(m, queue.output, wiring.flipped(self.output))
        m.d.comb += [
            # A step that was placed a cycle before has its places in the queue.
            fires.eq((there | flush) & (self.pipelined | queue.available)),
            queue.push.eq(push),
            queue.fire.eq(fires),
            queue.count.eq(Mux(flush, flush_count, placed.remaining) - 1),
            queue.last.eq(Cat(flush | (last & ~over_one), last_is_over_one & ~over_two)),
            *(queue.rows[i].eq(rows[i]) for i in range(2)),
        ]
        self._hold(m, placed, old, partial, rows[1], fires)
        with m.If(fires):
            m.d.sync += [flush.eq(~flush & last & over_two), flush_count.eq(placed.remaining)]
        return m

    def _place(self, m: Module, placement: Placement, flush: Signal) -> tuple[Value, Value]:
        """Accepts a step; returns whether one is there to be packed, and where its words go."""
        available, placed = self.queue.available, placement.placed
        if not self.pipelined:
            m.d.comb += placed.ready.eq(available & ~flush)
            return placed.valid, placed.payload
        there = Signal()
        register = Signal(Placed(self.config), name="placed", reset_less=True)
        # After the last step of a packet there is a cycle for its incomplete beat. So a step that is placed never waits,
        # and what the queue says reaches the memories before this register alone.
        ends = Signal()
        m.d.comb += placed.ready.eq(available & ~ends)
        m.d.sync += [
            there.eq(placed.valid & placed.ready),
            ends.eq(placed.valid & placed.ready & placed.payload.last),
            register.eq(placed.payload),
        ]
        return there, register

    def _header(self, placed: Value) -> list[Value]:
        """The word of the header for each lane."""
        return [placed.header[lane % len(placed.header)] for lane in range(self.config.units)]

    def _rows(self, m: Module, placed: Value, old: Value, partial: Value) -> list[data.View]:
        """The first two output beats that the step touches.

        The first continues the incomplete one: each of its lanes is old, or of the header, or of a literal. The header
        reaches into the second by at most as many lanes as it has words.
        """
        units, in_header, header = self.config.units, placed.in_header, self._header(placed)
        rows = [Signal(placed.words.shape(), name=f"row_{i}") for i in range(2)]
        for lane in range(units):
            first, second = (
                stored_word(placed, lane, goes_on, self.config)
                for goes_on in (placed.over_one, placed.over_two)
            )
            m.d.comb += rows[0][lane].eq(
                one_of(
                    (old[lane], partial[lane]),
                    (~old[lane] & in_header[lane], header[lane]),
                    (~old[lane] & ~in_header[lane], first),
                )
            )
            if lane < self.header_part:
                m.d.comb += rows[1][lane].eq(Mux(in_header[units + lane], header[lane], second))
            else:
                m.d.comb += rows[1][lane].eq(second)
        return rows

    def _hold(
        self, m: Module, placed: Value, old: Value, partial: Value, second_row: Value, fires: Value
    ) -> None:
        """Loads the register of the incomplete beat when a step ``fires``."""
        in_header, header = placed.in_header, self._header(placed)
        over_one, over_two = placed.over_one, placed.over_two
        moves = Const(1) if self.pipelined else fires
        enable = fires if self.pipelined else Const(1)
        for lane in range(self.config.units):
            word = stored_word(placed, lane, Const(0), self.config)
            second = one_of((moves & over_one & ~over_two, second_row[lane]), (moves & over_two, word))
            if lane >= self.header_part:
                second = word & (moves & over_one).replicate(self.config.format.stream_bits)
            keeps = ~moves | (~over_one & old[lane])
            with m.If(enable):
                m.d.sync += partial[lane].eq(
                    one_of(
                        (keeps, partial[lane]),
                        (~keeps & ~over_one & in_header[lane], header[lane]),
                        (~keeps & ~over_one & ~in_header[lane], word),
                    )
                    | second
                )
