"""The length of a window that begins at each word of a beat of the compressed stream."""

from __future__ import annotations

from math import lcm

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.carry_save import count_ones
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.splitting import splittable
from cdma.hdl.spec.stream_format import StreamFormat

__all__ = ["BeatLengths", "WindowLengths", "shortest_window"]


def _sent(format: StreamFormat) -> tuple[int, int, int]:
    """The stream words of a word with code 0, with another code, and with the code of all ones."""
    other = format.parts - (format.field_bits // 8 or 1)
    return 0 if format.zero else other, other, format.parts


def _whole(words: int, format: StreamFormat) -> int:
    """The length of a window, with its padding."""
    return -(-words // format.align_words) * format.align_words


def shortest_window(format: StreamFormat) -> int:
    """Stream words of a window without a literal."""
    return _whole(format.header_words + format.window * _sent(format)[0], format)


class BeatLengths(data.StructLayout):
    """A beat of the compressed stream without its words.

    ``length``
        Stream words that a whole window has if its header begins in this lane.
    ``keep``
        Says which words are valid.
    ``last``
        Ends the packet.
    """

    def __init__(self, config: CodecConfig) -> None:
        longest = config.format.bound(config.format.window)
        super().__init__(
            {
                "length": data.ArrayLayout(range(longest + 1), config.units),
                "keep": config.units,
                "last": 1,
            }
        )


class WindowLengths(wiring.Component):
    """Reads every word of a packet as if it were a header, because it is found out only later which ones are.

    ``input``
        Beats of packets; always taken.
    ``merges``
        Says that the beat at the input is an empty one that only ends the packet of the beat before; that beat becomes
        the last one instead.
    ``output``
        The beats without their words. A beat leaves when the beats after it have arrived that a header may reach into,
        at least one, or else the end of the packet.

    Throughput: one beat per cycle. Latency: two cycles after the beats that it needs have arrived; three where a header has
    several words.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt = config.format
        assert splittable(fmt) is None, fmt
        self.format = fmt
        #: Consecutive words that hold whole codes: a cell. A header is a number of cells.
        self.cell_words = lcm(fmt.code_bits, fmt.stream_bits) // fmt.stream_bits
        self.cells = fmt.header_words // self.cell_words
        #: Beats after its own that a header may reach into.
        self.ahead = -(-(fmt.header_words - 1) // config.units)
        #: Cycles from a beat of a long packet to its lengths, besides the one in which the next beat arrives.
        self.latency = 1 + self.ahead + (fmt.header_words > 1)
        super().__init__(
            {
                "input": In(stream.Signature(Beat(fmt.stream_bits, config.units), always_ready=True)),
                "merges": Out(1),
                "output": Out(stream.Signature(BeatLengths(config), always_ready=True)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        units, beat = self.config.units, self.input.payload
        _, _, most = _sent(self.format)
        cell = range(most * self.cell_words * self.format.stream_bits // self.format.code_bits + 1)
        layout = data.StructLayout({"cells": data.ArrayLayout(cell, units), "keep": units, "last": 1})
        # What is counted of a beat goes into registers that move in every cycle. With an enable they would wait for valid,
        # which comes late and would drive them all.
        counted = Signal(layout, reset_less=True)
        arrived = Signal()
        #: The beat at the input is not the first of its packet.
        goes_on = Signal()
        #: The packet of the newest beat has ended after it. What an empty beat writes over that one moves on or leaves.
        ends = Signal()
        with m.If(self.input.valid):
            m.d.sync += goes_on.eq(~beat.last)
        m.d.comb += self.merges.eq(goes_on & beat.last & ~beat.keep[0])
        m.d.sync += [
            *(counted.cells[lane].eq(cell) for lane, cell in enumerate(self._cells(m))),
            counted.keep.eq(beat.keep | ~beat.last.replicate(units)),
            counted.last.eq(beat.last),
            arrived.eq(self.input.valid & ~self.merges),
            ends.eq(self.input.valid & self.merges),
        ]

        #: The newest beat first; what has arrived of a packet follows itself without a gap.
        beats = [Signal(layout, name=f"beat_{age}", reset_less=True) for age in range(self.ahead + 1)]
        valid = [Signal(name=f"valid_{age}") for age in range(self.ahead + 1)]
        shift = Signal()
        newest = Signal(layout)
        m.d.comb += [
            shift.eq(arrived | ends | ~valid[0] | beats[0].last),
            newest.eq(beats[0]),
            newest.last.eq(beats[0].last | ends),
        ]
        with m.If(shift):
            m.d.sync += Cat(valid).eq(Cat(arrived, valid))
            m.d.sync += [
                younger.eq(older) for younger, older in zip(beats[1:], [newest, *beats[1:]], strict=False)
            ]
        with m.If(arrived):
            m.d.sync += beats[0].eq(counted)
        self._leave(m, [newest, *beats[1:]], valid[-1] & shift)
        return m

    def _cells(self, m: Module) -> list[Value]:
        """The stream words of the cell that ends in each lane, beyond the fewest that its codes can have."""
        least, other, most = _sent(self.format)
        kept, bits = self.cell_words - 1, self.format.stream_bits
        beat, units = self.input.payload, range(self.config.units)
        words: list[Value] = [beat.data[lane] for lane in units]
        if kept:
            # A cell may begin in the beats before.
            before = Signal(data.ArrayLayout(bits, kept), reset_less=True)
            masked = [Mux(beat.keep[lane], words[lane], 0) for lane in units]
            earlier: list[Value] = [before[place] for place in range(kept)]
            words = earlier + words
            with m.If(self.input.valid):
                m.d.sync += Value.cast(before).eq(Cat((earlier + masked)[-kept:]))
        counts = []
        for lane in units:
            cell = Cat(words[lane : lane + self.cell_words])
            codes = [
                cell[at : at + self.format.code_bits] for at in range(0, len(cell), self.format.code_bits)
            ]
            literals = Cat(code.all() for code in codes)
            count = count_ones(m, literals, f"literals_{lane}") * (most - other)
            if other > least:
                others = Cat(code.any() for code in codes)
                count = count + count_ones(m, others, f"others_{lane}") * (other - least)
            # A header may reach beyond the end of a packet: then what is there does not matter, but must be known.
            counts.append(Mux(beat.keep[lane], count, 0) if self.format.header_words > 1 else count)
        return counts

    def _leave(self, m: Module, beats: list[Signal], leaves: Value) -> None:
        """Adds up the cells of each header of the oldest beat."""
        fmt, out = self.format, self.output.payload
        cells = [beat.cells[lane] for beat in reversed(beats) for lane in range(self.config.units)]
        base = fmt.header_words + fmt.window * _sent(fmt)[0]
        lengths: list[Value] = []
        for lane in range(self.config.units):
            ends = range(lane + self.cell_words - 1, lane + fmt.header_words, self.cell_words)
            length = _sum([Const(base + fmt.align_words - 1), *(cells[end] for end in ends)])
            # Rounds up to whole padding.
            lengths.append(length & -fmt.align_words if fmt.align_words > 1 else length)
        found = [out.keep.eq(beats[-1].keep), out.last.eq(beats[-1].last)]
        found += [out.length[lane].eq(length) for lane, length in enumerate(lengths)]
        if self.format.header_words == 1:
            m.d.comb += [*found, self.output.valid.eq(leaves)]
        else:
            m.d.sync += self.output.valid.eq(leaves)
            with m.If(leaves):
                m.d.sync += found


def _sum(terms: list[Value]) -> Value:
    """The sum by a balanced tree."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return _sum(terms[:half]) + _sum(terms[half:])
