"""Holds a window of raw words until its header is known, and routes its literals on the way."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.beats import Beat, malformed
from cdma.hdl.blocks.gates import popcount
from cdma.hdl.codec.parts.butterfly import Exchange, Ranking, Routes
from cdma.hdl.codec.parts.classifier import Classifier
from cdma.hdl.codec.parts.interface import table_members
from cdma.hdl.codec.parts.steps import Arrival, Step
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["WindowStore"]


class WindowStore(wiring.Component):
    """A pipeline of beats, in which a window waits for its last beat because the header stands before the literals.

    Beats move up whenever there is room (a bubble closes by itself), one level of the butterfly or two a stage. Where a
    literal must go depends on what came before it alone, so it is known on arrival. The first beat of a window leaves
    when the window's last beat is in the pipeline or, to need one stage less, at the input.

    Throughput: a beat per cycle. Latency of a window's first beat, if the source is always valid: the larger of
    ``beats - 1`` and the number of stages, in cycles. ``arrival`` counts each beat once, in order, when its routes are
    found; it must be accepted for the beats behind to move on.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt, lanes = config.format, config.lanes
        levels = exact_log2(lanes)
        #: Between two stages there is room for about two levels; finding the routes takes the room of one.
        self.stages = max(config.beats - 1, 1 + (levels + 2) // 2)
        members = {
            "input": In(stream.Signature(Beat(fmt.word_bits, lanes))),
            "step": Out(stream.Signature(Step(config))),
            "arrival": Out(stream.Signature(Arrival(lanes))),
        }
        super().__init__({**members, **table_members(config)})

    def _levels_after(self, stage: int) -> range:
        """The levels of the butterfly between ``stage`` and the next one."""
        levels, gaps = exact_log2(self.config.lanes), self.stages - 1
        # The first gap finds the routes too, so it has the fewest levels.
        return range(levels * stage // gaps, levels * (stage + 1) // gaps)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        fmt, lanes, beats, stages = config.format, config.lanes, config.beats, self.stages
        levels = exact_log2(lanes)
        top = stages - 1
        beat = self.input.payload

        m.submodules.classifier = classifier = Classifier(config)
        m.d.comb += [classifier.data.eq(beat.data), classifier.keep.eq(beat.keep)]
        if config.runtime_values:
            m.d.comb += classifier.values.eq(self.values)

        # Stage 0 is where a beat arrives, stage `top` where it leaves.
        valid = [Signal(name=f"valid_{i}") for i in range(stages)]
        words = [
            Signal(data.ArrayLayout(fmt.word_bits, lanes), name=f"words_{i}", reset_less=True)
            for i in range(stages)
        ]
        codes = [Signal(lanes * fmt.code_bits, name=f"codes_{i}", reset_less=True) for i in range(stages)]
        first = [Signal(name=f"first_{i}", reset_less=True) for i in range(stages)]
        end = [Signal(name=f"end_{i}", reset_less=True) for i in range(stages)]
        last = [Signal(name=f"last_{i}", reset_less=True) for i in range(stages)]

        # A stage may load when it or any stage above has a bubble, or when the top beat leaves.
        leaves = Signal()
        may_leave = Signal()
        may_load: list[Value] = []
        load = [Signal(name=f"load_{i}") for i in range(stages)]
        for i in range(stages):
            full = Cat(valid[i:]).all()
            may_load.append(~full | leaves)
        counted = ~self.arrival.valid | self.arrival.ready
        hold = valid[0] & ~counted
        # Ready must not wait for valid. If all stages hold beats of a window without its end, then the end is the beat
        # at the input: whether the top beat may leave is known without looking there.
        m.d.comb += self.input.ready.eq(~hold & (~Cat(valid).all() | may_leave))
        moves = [valid[i] & may_load[i + 1] for i in range(top)]
        if top:
            moves[0] = moves[0] & counted
        arrives = Signal()
        m.d.comb += [arrives.eq(self.input.valid & self.input.ready), load[0].eq(arrives)]
        for i in range(1, stages):
            m.d.comb += load[i].eq(moves[i - 1])
        for i in range(stages):
            goes = leaves if i == top else moves[i]
            m.d.sync += valid[i].eq(load[i] | (valid[i] & ~goes))

        # Arrival: where the beat stands in its window, its codes, and what there is to count.
        place = Signal(range(beats))
        end_of_window = Signal()
        m.d.comb += end_of_window.eq((place == beats - 1) | beat.last)
        count = Signal(range(lanes + 1), reset_less=True)
        bad = Signal(reset_less=True)
        with m.If(arrives):
            m.d.sync += place.eq(Mux(end_of_window, 0, place + 1))
            m.d.sync += [
                words[0].eq(beat.data),
                codes[0].eq(classifier.codes),
                first[0].eq(place == 0),
                end[0].eq(end_of_window),
                last[0].eq(beat.last),
                # Beats with holes are malformed; counted so, they have as many words as their window has places.
                count.eq(Mux(beat.last, popcount(beat.keep[1:]) + 1, lanes)),
                bad.eq(malformed(beat)),
            ]

        # Stage 0: where the literals must go.
        position = Signal(range(lanes + 1))
        after_header = Signal(range(2 * lanes + 1))
        total_0 = Signal(range(3 * lanes + 1))
        m.submodules.ranking = ranking = Ranking(lanes)
        m.submodules.routes = routes = Routes(lanes)
        header_part = min(fmt.header_words, lanes)
        before_header: Value = position
        if fmt.header_words > lanes:
            # The parts of the header before this one have filled the output beat, if nothing else had.
            before_header = Mux(position == 0, lanes, position)
        m.d.comb += [
            ranking.literal.eq(Cat(codes[0].word_select(lane, fmt.code_bits).all() for lane in range(lanes))),
            routes.ranks.eq(ranking.ranks),
            after_header.eq(Mux(first[0], before_header + header_part, position)),
            routes.offset.eq(after_header),
            total_0.eq(after_header + ranking.ranks.count),
        ]
        remaining = Signal(range(lanes + 1))
        m.d.comb += remaining.eq(
            Mux(total_0 > 2 * lanes, total_0 - 2 * lanes, Mux(total_0 > lanes, total_0 - lanes, total_0))
        )
        with m.If(moves[0]):
            m.d.sync += position.eq(Mux(last[0], 0, remaining))
        m.d.comb += [
            self.arrival.payload.words.eq(count),
            self.arrival.payload.literals.eq(ranking.ranks.count),
            self.arrival.payload.last.eq(last[0]),
            self.arrival.payload.malformed.eq(bad),
            self.arrival.valid.eq(valid[0] & may_load[1]),
        ]

        # The stages above: the levels of the butterfly, and what is left to be known of each beat.
        # An exchange is told whether to swap and whether not to, by registers of their own.
        swaps: list[dict[int, tuple[Value, Value]]] = [
            {level: (routes.swap[level], ~routes.swap[level]) for level in range(levels)}
        ]
        start: Value = position
        total: Value = total_0
        for i in range(top):
            moved: Value = words[i]
            for level in self._levels_after(i):
                exchange = Exchange(fmt.word_bits, lanes, level)
                m.submodules[f"exchange_{level}"] = exchange
                m.d.comb += [
                    exchange.input.eq(moved),
                    exchange.swap.eq(swaps[i][level][0]),
                    exchange.straight.eq(swaps[i][level][1]),
                ]
                moved = exchange.output
            kept_swaps: dict[int, tuple[Value, Value]] = {
                level: (
                    Signal(lanes // 2, name=f"swap_{i + 1}_{level}", reset_less=True),
                    Signal(lanes // 2, name=f"straight_{i + 1}_{level}", reset_less=True),
                )
                for level in swaps[i]
                if level >= self._levels_after(i).stop
            }
            swaps.append(kept_swaps)
            start_kept = Signal.like(start, name=f"start_{i + 1}", reset_less=True)
            total_kept = Signal.like(total, name=f"total_{i + 1}", reset_less=True)
            with m.If(load[i + 1]):
                m.d.sync += [
                    words[i + 1].eq(moved),
                    codes[i + 1].eq(codes[i]),
                    first[i + 1].eq(first[i]),
                    end[i + 1].eq(end[i]),
                    last[i + 1].eq(last[i]),
                    start_kept.eq(start),
                    total_kept.eq(total),
                    *(Cat(kept).eq(Cat(swaps[i][level])) for level, kept in kept_swaps.items()),
                ]
            start, total = start_kept, total_kept

        # Departure: a window's first beat needs the header, so all beats of its window.
        chain_valid = [valid[i] for i in reversed(range(stages))] + [self.input.valid]
        chain_end = [end[i] for i in reversed(range(stages))] + [end_of_window]
        chain_codes: list[Value] = [codes[i] for i in reversed(range(stages))]
        chain_codes.append(Value.cast(classifier.codes))
        complete = Cat(
            Cat(chain_valid[: place_ + 1]).all() & chain_end[place_] for place_ in range(beats)
        ).any()
        header = []
        for place_ in range(beats):
            passed = Cat(chain_end[:place_]).any() if place_ else Const(0)
            header.append(Mux(passed, 0, chain_codes[place_])[: lanes * fmt.code_bits])
        m.d.comb += [
            self.step.payload.words.eq(words[top]),
            self.step.payload.header.eq(Cat(header)),
            self.step.payload.first.eq(first[top]),
            self.step.payload.last.eq(last[top]),
            self.step.payload.start.eq(start),
            self.step.payload.total.eq(total),
            self.step.valid.eq(valid[top] & (~first[top] | complete)),
            may_leave.eq(self.step.ready),
            leaves.eq(self.step.valid & self.step.ready),
        ]
        return m
