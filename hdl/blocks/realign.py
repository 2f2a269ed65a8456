"""Moves the words of a packet to other lanes, across its beats."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from .beats import Beat
from .gates import one_of, rotate_up, thermometer

__all__ = ["Realign"]


class Realign(wiring.Component):
    """Shifts each packet by a number of lanes of its own.

    ``shift``
        Number of lanes for each packet; it is accepted when the packet has left.
    ``input``
        Packets. An empty last beat ends a packet without adding to it.
    ``output``
        The shifted packets. The first word of a packet is in lane ``shift``, and the first beat does not keep the
        lanes below.
    ``down``
        Shifts the other way: a packet comes in that begins in lane ``shift``, and leaves from lane 0 on. ``keep`` of the
        lanes below is ignored, and a packet must have at least one word.

    Throughput: a beat per cycle, and one cycle more for a packet whose shifted words need one beat more than it had.
    Latency: none; the outputs follow the inputs within the cycle.
    """

    def __init__(self, word_bits: int, lanes: int, *, down: bool = False) -> None:
        self.word_bits = word_bits
        self.lanes = lanes
        self.down = down
        super().__init__(
            {
                "shift": In(stream.Signature(exact_log2(lanes))),
                "input": In(stream.Signature(Beat(word_bits, lanes))),
                "output": Out(stream.Signature(Beat(word_bits, lanes))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat, out = self.input.payload, self.output.payload
        # Shifting down is shifting up by the rest of a beat. The beat that then comes first has no word of the packet,
        # and is left out.
        amount = (-self.shift.payload if self.down else self.shift.payload)[: exact_log2(self.lanes)]
        below = Signal(self.lanes)
        words = rotate_up([Cat(beat.keep[lane], beat.data[lane]) for lane in range(self.lanes)], amount)

        # Lanes below the amount belong to the next beat, and wait here. None of them is the last lane.
        held = Signal(self.lanes - 1)
        held_data = [
            Signal(self.word_bits, name=f"held_{lane}", reset_less=True) for lane in range(self.lanes - 1)
        ]
        #: Only the words held are left of the packet.
        rest = Signal()
        spills = Signal()
        drop = Signal()
        go = Signal()
        done = Signal()
        m.d.comb += [
            below.eq(thermometer(amount, self.lanes)),
            spills.eq(beat.last & below[0] & words[0][0]),
            go.eq(self.shift.valid & (rest | self.input.valid) & (drop | self.output.ready)),
            done.eq(rest | (beat.last & ~spills)),
            self.input.ready.eq(go & ~rest),
            self.shift.ready.eq(go & done),
            self.output.valid.eq(self.shift.valid & (rest | self.input.valid) & ~drop),
            out.last.eq(done),
        ]
        if self.down:
            # After its first beat a packet always holds a word.
            m.d.comb += drop.eq(below[0] & ~held[0])
        for lane, word in enumerate(words[:-1]):
            here = Cat(held[lane], held_data[lane])
            shown = one_of((below[lane], here), (~below[lane] & ~rest, word))
            m.d.comb += Cat(out.keep[lane], out.data[lane]).eq(shown)
        m.d.comb += Cat(out.keep[-1], out.data[-1]).eq(Mux(rest, 0, words[-1]))
        with m.If(go):
            m.d.sync += rest.eq(spills & ~rest)
            for lane, word in enumerate(words[:-1]):
                m.d.sync += [held[lane].eq(word[0] & below[lane] & ~done), held_data[lane].eq(word[1:])]
        return m
