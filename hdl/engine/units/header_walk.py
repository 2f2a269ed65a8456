"""Finds where the windows of a compressed stream end, a beat per cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.gates import one_of, popcount
from cdma.hdl.spec.codec import CodecConfig

from .window_lengths import BeatLengths, shortest_window

__all__ = ["BeatEnds", "HeaderWalk"]


class BeatEnds(data.StructLayout):
    """Where windows end in a beat of the compressed stream.

    ``ends``
        Says whether a window ends with the word in this lane.
    ``rank``
        Number of windows that end in this lane or a lower one.
    ``stop``
        Marks the last word of the packet.
    ``empty``
        Says that the packet has no word, and this is its only beat.
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

    ``input``
        Lengths of the windows that may begin in a beat.
    ``output``
        Where windows end in this beat.

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
