"""Finds where the windows of a compressed stream end, a beat per cycle. The length of a window that begins at each word
of a beat of the compressed stream.
"""

from __future__ import annotations

from math import lcm

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import count_ones, one_of, popcount
from cdma.hdl.blocks.registers import Beat
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import StreamFormat
from cdma.hdl.spec.options import splittable


class BeatEnds(data.StructLayout):
    """Where windows end in a beat of the compressed stream.

    ``ends``: Says whether a window ends with the word in this lane.
    ``rank``: Number of windows that end in this lane or a lower one.
    ``stop``: Marks the last word of the packet.
    ``empty``: Says that the packet has no word, and this is its only beat.
    """

    def __init__(self, config: CodecConfig) -> None:
        #: Windows that can end in one beat.
        self.most = -(-config.units // shortest_window(config.format))
        ranks = {f"lane_{lane}": range(min(lane + 1, self.most) + 1) for lane in range(config.units)}
        super().__init__(
            {"ends": config.units, "rank": data.StructLayout(ranks), "stop": config.units, "empty": 1}
        )


class HeaderWalk(wiring.Component):
    """Goes from header to header, whatever the number of windows in a beat.

    A window that began in a lane would end in another one, and there the next window would begin. Which lanes a chain of
    windows comes to from each lane follows from the lengths alone, however long the chain is in the beat. So that is found
    ahead of the loop, and the loop only chooses: by the lane in which the first window of the beat begins, it knows all
    headers of the beat, and by the last of them, where the first window of a later beat begins.

    ``input``: Lengths of the windows that may begin in a beat.
    ``output``: Where windows end in this beat.

    Throughput: one beat per cycle, never waits. Latency: two cycles, the second of which ends with the output.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt = config.format
        self.format = fmt
        self.levels = exact_log2(config.units)
        #: The most beats from the one in which a window begins to the one in which the next one does.
        self.farthest = (config.units - 1 + fmt.bound(fmt.window)) // config.units
        super().__init__(
            {
                "input": In(stream.Signature(BeatLengths(config), always_ready=True)),
                "output": Out(stream.Signature(BeatEnds(config), always_ready=True)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        units, lengths = self.config.units, self.input.payload
        lanes = range(units)
        valid = Signal()
        keep = Signal(units, reset_less=True)
        last = Signal(reset_less=True)
        #: Where the window after one that begins in this lane begins: so many beats later, 0 for the same beat.
        beats = [Signal(range(self.farthest + 1), name=f"beats_{lane}", reset_less=True) for lane in lanes]
        #: And in this lane, or 0 in the same beat.
        place = [Signal(self.levels, name=f"place_{lane}", reset_less=True) for lane in lanes]
        chain = self._chains()
        reached = {
            pair: Signal(name=f"reached_{pair[0]}_{pair[1]}", reset_less=True) for pair in sorted(chain)
        }
        m.d.sync += valid.eq(self.input.valid)
        with m.If(self.input.valid):
            m.d.sync += [keep.eq(lengths.keep), last.eq(lengths.last)]
            m.d.sync += [reached[pair].eq(chain[pair]) for pair in reached]
            for lane in lanes:
                after = lengths.length[lane] + lane
                beyond = after[self.levels :].any()
                m.d.sync += [
                    beats[lane].eq(after >> self.levels),
                    place[lane].eq(Mux(beyond, after[: self.levels], 0)),
                ]

        #: The next window begins so many beats after the beat before this one, in this lane.
        distance = Signal(range(self.farthest + 1), init=1)
        lane_of_next = Signal(units, init=1)
        next_distance = Signal.like(distance)
        next_lane = Signal.like(lane_of_next)
        here = Signal()
        starts = Signal(units)
        m.d.comb += here.eq(distance == 1)
        for lane in lanes:
            ways = [lane_of_next[first] & reached[first, lane] for first in lanes if (first, lane) in reached]
            m.d.comb += starts[lane].eq(here & Cat(lane_of_next[lane], *ways).any())
        next_place = one_of(*((starts[lane], place[lane]) for lane in lanes))
        m.d.comb += [
            next_distance.eq(
                Mux(here, one_of(*((starts[lane], beats[lane]) for lane in lanes)), distance - 1)
            ),
            next_lane.eq(Mux(here, Cat(next_place == lane for lane in lanes), lane_of_next)),
        ]
        with m.If(valid):
            m.d.sync += [
                distance.eq(Mux(last, 1, next_distance)),
                lane_of_next.eq(Mux(last, 1, next_lane)),
            ]

        out = self.output.payload
        m.d.sync += self.output.valid.eq(valid)
        ends = Signal(units, reset_less=True)
        with m.If(valid):
            m.d.sync += [
                ends.eq(Cat(starts[1:], (next_distance == 1) & next_lane[0]) & keep),
                out.stop.eq(keep & ~(keep >> 1) & last.replicate(units)),
                out.empty.eq(last & ~keep[0]),
            ]
        m.d.comb += out.ends.eq(ends)
        m.d.comb += [out.rank[f"lane_{lane}"].eq(popcount(ends[: lane + 1])) for lane in lanes]
        return m

    def _chains(self) -> dict[tuple[int, int], Value]:
        """For a first lane and a later one, whether a chain of windows from the first comes to the later one.

        Blocks of lanes are joined to blocks of twice the size: a chain leaves the lower half for some lane of the upper
        half, and goes on from there.
        """
        units, shortest = self.config.units, shortest_window(self.format)
        length = self.input.payload.length
        step = {
            (low, high): length[low] == high - low
            for low in range(units)
            for high in range(low + shortest, units)
            if (high - low) % self.format.align_words == 0
        }
        chain: dict[tuple[int, int], Value] = {}
        for half in (1 << level for level in range(self.levels)):
            for middle in range(half, units, 2 * half):
                lower, upper = range(middle - half, middle), range(middle, middle + half)
                entry = {
                    (low, high): _any(
                        step.get((low, high)),
                        *(_both(chain.get((low, via)), step.get((via, high))) for via in lower),
                    )
                    for low in lower
                    for high in upper
                }
                chain |= {
                    (low, high): found
                    for low in lower
                    for high in upper
                    if (
                        found := _any(
                            entry[low, high],
                            *(_both(entry[low, via], chain.get((via, high))) for via in upper),
                        )
                    )
                    is not None
                }
        return chain


def _both(first: Value | None, second: Value | None) -> Value | None:
    """Both conditions; None is one that never holds."""
    return None if first is None or second is None else first & second


def _any(*conditions: Value | None) -> Value | None:
    """One of the conditions, or None if none of them can hold."""
    possible = [condition for condition in conditions if condition is not None]
    return Cat(possible).any() if possible else None


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

    ``length``: Stream words that a whole window has if its header begins in this lane.
    ``keep``: Says which words are valid.
    ``last``: Ends the packet.
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

    ``input``: Beats of packets; always taken.
    ``merges``: Says that the beat at the input is an empty one that only ends the packet of the beat before; that beat
        becomes the last one instead.
    ``output``: The beats without their words. A beat leaves when the beats after it have arrived that a header may
        reach into, at least one, or else the end of the packet.

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
