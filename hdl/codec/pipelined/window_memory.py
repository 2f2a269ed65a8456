"""Holds a window of raw words until its header is known, as a window store does, but in memories."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.beats import Beat, malformed
from cdma.hdl.blocks.credit import Credit
from cdma.hdl.blocks.gates import popcount
from cdma.hdl.blocks.memory_queue import MemoryQueue
from cdma.hdl.codec.parts.butterfly import Exchange, Ranking, Ranks, Routes
from cdma.hdl.codec.parts.classifier import Classifier
from cdma.hdl.codec.parts.interface import table_members
from cdma.hdl.codec.parts.steps import Arrival, Step
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["WindowMemory"]

#: Cycles from a beat's arrival to its way out of the memory, and back to the room that it leaves.
_WAY = 10
#: Levels of the butterfly within a cycle.
_LEVELS = 2


class WindowMemory(wiring.Component):
    """Routes literals in a pipeline that never stops, into a memory of beats; headers go into one of their own.

    A beat is let in when the memory has room for it. So nothing in the pipeline waits, and no signal has to reach all of
    it within a cycle: what makes it slow on an FPGA is not logic but wires.

    Throughput: a beat per cycle. ``arrival`` counts each beat once, in order, and cannot be held up: ``admit`` must be
    low while there is no room for what follows from a packet's last beat, told by ``ends``.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt, lanes = config.format, config.lanes
        self.depth = 1 << (config.beats + _WAY - 1).bit_length()
        members = {
            "input": In(stream.Signature(Beat(fmt.word_bits, lanes))),
            "admit": In(1),
            "ends": Out(1),
            "step": Out(stream.Signature(Step(config))),
            "arrival": Out(stream.Signature(Arrival(lanes))),
        }
        super().__init__({**members, **table_members(config)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        fmt, lanes, beats = config.format, config.lanes, config.beats
        levels = exact_log2(lanes)
        raw = self.input.payload

        # The words' codes.
        arrives = Signal()
        leaves = Signal()
        m.submodules.room = room = Credit(self.depth)
        m.d.comb += [
            room.taken.eq(arrives),
            room.given.eq(leaves),
            self.input.ready.eq(room.there & self.admit),
            arrives.eq(self.input.valid & self.input.ready),
            self.ends.eq(arrives & raw.last),
        ]
        m.submodules.classifier = classifier = Classifier(config)
        m.d.comb += [classifier.data.eq(raw.data), classifier.keep.eq(raw.keep)]
        if config.runtime_values:
            m.d.comb += classifier.values.eq(self.values)
        valid = Signal()
        words: Value = Signal(self.input.payload.data.shape(), reset_less=True)
        codes = Signal(lanes * fmt.code_bits, reset_less=True)
        keep = Signal(lanes, reset_less=True)
        last = Signal(reset_less=True)
        bad = Signal(reset_less=True)
        m.d.sync += [
            valid.eq(arrives),
            words.eq(raw.data),
            codes.eq(classifier.codes),
            keep.eq(raw.keep),
            last.eq(raw.last),
            bad.eq(malformed(raw)),
        ]

        # The header, and how many literals there are below each lane.
        place = Signal(range(beats))
        first = Signal()
        end = Signal()
        header = Signal(data.ArrayLayout(lanes * fmt.code_bits, beats))
        header_there = Signal()
        m.d.comb += [first.eq(place == 0), end.eq((place == beats - 1) | last)]
        with m.If(valid):
            m.d.sync += place.eq(Mux(end, 0, place + 1))
            for i in range(beats):
                with m.If(place == i):
                    m.d.sync += header[i].eq(codes)
                with m.Elif(first):
                    m.d.sync += header[i].eq(0)
        m.d.sync += header_there.eq(valid & end)
        header_part = min(fmt.header_words, lanes)
        m.submodules.ranking = ranking = Ranking(lanes, 4)
        m.d.comb += ranking.literal.eq(
            Cat(codes.word_select(lane, fmt.code_bits).all() for lane in range(lanes))
        )
        ranked = data.StructLayout({"words": words.shape(), "ranks": Ranks(lanes), "first": 1, "last": 1})
        counted, placed = (Signal(ranked, name=name, reset_less=True) for name in ("counted", "placed"))
        counted_there = Signal()
        placed_there = Signal()
        adds = Signal(range(2 * lanes + 1), reset_less=True)
        header_adds = Mux(counted.first, header_part, 0)
        m.d.sync += [
            counted_there.eq(valid),
            counted.words.eq(words),
            counted.ranks.eq(ranking.ranks),
            counted.first.eq(first),
            counted.last.eq(last),
            placed_there.eq(counted_there),
            placed.eq(counted),
            adds.eq(counted.ranks.count + header_adds),
            *(
                placed.ranks.below[lane].eq(counted.ranks.below[lane] + header_adds)
                for lane, _ in Ranks(lanes)["below"].shape
            ),
            self.arrival.valid.eq(valid),
            # Beats with holes are malformed; counted so, they have as many words as their window has places.
            self.arrival.payload.words.eq(Mux(last, popcount(keep[1:], 4) + 1, lanes)),
            self.arrival.payload.last.eq(last),
            self.arrival.payload.malformed.eq(bad),
        ]
        m.d.comb += self.arrival.payload.literals.eq(counted.ranks.count)

        # Where the literals must go.
        position = Signal(range(lanes + 1))
        before_header: Value = position
        if fmt.header_words > lanes:
            # The parts of the header before this one have filled the output beat, if nothing else had.
            before_header = Mux((position == 0) & placed.first, lanes, position)
        total = Signal(range(3 * lanes + 1))
        m.submodules.routes = routes = Routes(lanes)
        m.d.comb += [
            total.eq(before_header + adds),
            routes.ranks.eq(placed.ranks),
            routes.offset.eq(position),
        ]
        with m.If(placed_there):
            m.d.sync += position.eq(
                Mux(
                    placed.last,
                    0,
                    Mux(total > 2 * lanes, total - 2 * lanes, Mux(total > lanes, total - lanes, total)),
                )
            )
        stored = data.StructLayout({name: field.shape for name, field in Step(config) if name != "header"})
        routed = Signal(stored, name="routed_0", reset_less=True)
        swaps: dict[int, tuple[Value, Value]] = {
            level: (
                Signal(lanes // 2, name=f"swap_0_{level}", reset_less=True),
                Signal(lanes // 2, name=f"straight_0_{level}", reset_less=True),
            )
            for level in range(levels)
        }
        there = Signal(name="there_0")
        m.d.sync += [
            there.eq(placed_there),
            routed.words.eq(placed.words),
            routed.first.eq(placed.first),
            routed.last.eq(placed.last),
            routed.start.eq(position),
            routed.total.eq(total),
        ]
        for level, (swap, straight) in swaps.items():
            m.d.sync += [swap.eq(routes.swap[level]), straight.eq(~routes.swap[level])]

        # The levels of the butterfly, a few per cycle, and the memories.
        moved: Value = routed.words
        for low in range(0, levels, _LEVELS):
            if low:
                kept = {
                    level: (
                        Signal(lanes // 2, name=f"swap_{low}_{level}", reset_less=True),
                        Signal(lanes // 2, name=f"straight_{low}_{level}", reset_less=True),
                    )
                    for level in range(low, levels)
                }
                later = Signal(stored, name=f"routed_{low}", reset_less=True)
                later_there = Signal(name=f"there_{low}")
                m.d.sync += [
                    later_there.eq(there),
                    later.eq(routed),
                    later.words.eq(moved),
                    *(Cat(signals).eq(Cat(swaps[level])) for level, signals in kept.items()),
                ]
                routed, swaps, there = later, kept, later_there
            moved = routed.words
            for level in range(low, min(low + _LEVELS, levels)):
                m.submodules[f"exchange_{level}"] = exchange = Exchange(fmt.word_bits, lanes, level)
                m.d.comb += [
                    exchange.input.eq(moved),
                    exchange.swap.eq(swaps[level][0]),
                    exchange.straight.eq(swaps[level][1]),
                ]
                moved = exchange.output
        m.submodules.beats = memory = MemoryQueue(stored, self.depth)
        m.submodules.headers = headers = MemoryQueue(header.shape(), self.depth)
        beat = memory.output.payload
        step = self.step.payload
        m.d.comb += [
            memory.input.valid.eq(there),
            memory.input.payload.eq(routed),
            memory.input.payload.words.eq(moved),
            headers.input.valid.eq(header_there),
            headers.input.payload.eq(header),
            *(getattr(step, name).eq(getattr(beat, name)) for name, _ in stored),
            Value.cast(step.header).eq(Value.cast(headers.output.payload)),
            self.step.valid.eq(memory.output.valid & (~beat.first | headers.output.valid)),
            leaves.eq(self.step.valid & self.step.ready),
            memory.output.ready.eq(leaves),
            headers.output.ready.eq(leaves & beat.first),
        ]
        return m
