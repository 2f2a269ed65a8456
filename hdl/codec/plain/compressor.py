"""The plain compressor, made of logic and flip-flops: its queue of beats, and a smaller packer without one."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.arithmetic import one_of, thermometer
from cdma.hdl.blocks.registers import Beat
from cdma.hdl.codec.parts.counts import CompressorReport, CompressorTally
from cdma.hdl.codec.parts.interface import connect_compressor, connect_table, queue_members
from cdma.hdl.codec.parts.network import Step
from cdma.hdl.codec.parts.packer import Packer, Placed, Placement, stored_word
from cdma.hdl.spec.codec import CodecConfig

from .groups import GroupStore
from .window_store import WindowStore


class BeatQueue(wiring.Component):
    """A queue of ``depth`` beats with the ports of :func:`~cdma.hdl.codec.parts.interface.queue_members`.

    Throughput: up to two beats in and one out per cycle. Latency: one cycle. ``available`` depends on ``push`` and on
    ``ready`` of the output within the cycle.
    """

    def __init__(self, config: CodecConfig, depth: int) -> None:
        self.config = config
        self.depth = depth
        super().__init__(queue_members(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        units, depth = self.config.units, self.depth
        # A free slot always loads its next beat, pushed or not.
        slots = [Signal(self.rows[0].shape(), name=f"queue_{i}", reset_less=True) for i in range(depth)]
        counts = [Signal(range(units), name=f"queue_count_{i}", reset_less=True) for i in range(depth)]
        lasts = [Signal(name=f"queue_last_{i}", reset_less=True) for i in range(depth)]
        used = Signal(depth)
        leaves = Signal()
        staying = Signal(depth)
        m.d.comb += [
            leaves.eq(used[0] & self.output.ready),
            staying.eq(Mux(leaves, used >> 1, used)),
            self.available.eq(~(self.push[0] & staying[depth - 1]) & ~(self.push[1] & staying[depth - 2])),
        ]
        for i in range(depth):
            below = staying[i - 1] if i else Const(1)
            new = [
                (self.rows[row], Mux(self.last[row], self.count, units - 1), self.last[row])
                for row in range(2)
            ]
            sources = [(staying[i] & ~leaves, (slots[i], counts[i], lasts[i])), (~staying[i] & below, new[0])]
            if i + 1 < depth:
                sources.append((staying[i] & leaves, (slots[i + 1], counts[i + 1], lasts[i + 1])))
            if i:
                sources.append((~below, new[1]))
            for target, choices in zip(
                (slots[i], counts[i], lasts[i]),
                zip(*(values for _, values in sources), strict=True),
                strict=True,
            ):
                conditions = [condition for condition, _ in sources]
                m.d.sync += target.eq(one_of(*zip(conditions, choices, strict=True)))
        pushed = Signal(2)
        m.d.comb += pushed.eq(Mux(self.fire, self.push, 0))
        with m.If(pushed[1]):
            m.d.sync += used.eq(staying << 2 | 0b11)
        with m.Elif(pushed[0]):
            m.d.sync += used.eq(staying << 1 | 0b1)
        with m.Else():
            m.d.sync += used.eq(staying)
        m.d.comb += [
            self.output.valid.eq(used[0]),
            self.output.payload.data.eq(slots[0]),
            self.output.payload.keep.eq(thermometer(counts[0], units) << 1 | 1),
            self.output.payload.last.eq(lasts[0]),
        ]
        return m


class _Choice:
    """The sources of one lane of the output beat and of the incomplete beat."""

    def __init__(self, lane: int) -> None:
        #: The output beat has the word of the incomplete beat, or one of the header; otherwise a literal.
        self.old = Signal(name=f"old_{lane}")
        self.header = Signal(name=f"header_{lane}")
        #: The incomplete beat keeps its word, or loads one of the header, or a literal.
        self.keeps = Signal(name=f"keeps_{lane}")
        self.keeps_header = Signal(name=f"keeps_header_{lane}")
        self.keeps_literal = Signal(name=f"keeps_literal_{lane}")


class BeatPacker(wiring.Component):
    """Collects words until an output beat is full, and puts it out.

    ``step``: Beats of windows. A step needs a cycle for every output beat, and at least one. Parts of a header that
        fill beats of their own need a cycle each.
    ``output``: The packed beats. A beat that is just full leaves with the step that fills it if a word is known to
        follow, and otherwise with the next word, because it may be the last of its packet.

    Throughput: a beat per cycle. Latency: none if ``queue`` is 0, and one cycle if it is 1. ``ready`` of the step depends
    on the step and on ``ready`` of the output within the cycle.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(
            {
                "step": In(stream.Signature(Step(config))),
                "output": Out(stream.Signature(Beat(config.format.stream_bits, config.units))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        units = self.config.units
        m.submodules.placement = placement = Placement(self.config)
        wiring.connect(m, wiring.flipped(self.step), placement.step)
        input_, placed = placement.placed, placement.placed.payload

        #: The full beat that the step continues has left already.
        left = Signal()
        #: The step has put out a beat, or two.
        second = Signal()
        third = Signal()
        #: Words of the step go beyond the first of its beats, and beyond the second.
        over_one = Signal()
        over_two = Signal()
        #: The step fills its beat, which need not wait for the next word.
        fills = Signal()
        #: The step puts out a beat in this cycle, and another one later.
        puts_out = Signal()
        again = Signal()
        #: The output accepts a beat; the step goes on.
        free = Signal()
        moves = Signal()
        last_is_over_one = placed.last & over_one
        m.d.comb += [
            over_one.eq(Mux(left, placed.over_two, placed.over_one)),
            over_two.eq(~left & placed.over_two),
            fills.eq((placed.remaining == units) & placed.more & ~over_one & (~left | placed.over_one)),
            puts_out.eq(second | over_one | fills | placed.last),
            again.eq(Mux(second, placed.last & over_two & ~third, over_two | last_is_over_one)),
            moves.eq(input_.valid & (free | ~puts_out)),
            input_.ready.eq((free | ~puts_out) & ~again),
        ]
        with m.If(moves):
            m.d.sync += [second.eq(again), third.eq(again & second)]
        with m.If(moves & ~again):
            m.d.sync += left.eq(fills | (left & ~placed.over_one))
        choices = self._choose(m, placed, left, second, over_one, moves)
        words = self._pack(m, placed, choices, over_one, over_two & ~second)
        last = placed.last & ~again
        count = Mux(last, placed.remaining - 1, units - 1)
        self._put_out(m, input_.valid & puts_out, words, count[: (units - 1).bit_length()], last, free)
        return m

    def _choose(
        self, m: Module, placed: Value, left: Value, second: Value, over_one: Value, moves: Value
    ) -> list[_Choice]:
        """The sources of each lane. After the first beat of a step, the next one has all of its words already."""
        units = self.config.units
        in_header = Cat(placed.in_header, Const(0, units))
        choices = [_Choice(lane) for lane in range(units)]
        for lane, choice in enumerate(choices):
            beyond = in_header[units + lane]
            goes_on = second | over_one
            stays = Signal(name=f"stays_{lane}")
            header = Signal(name=f"next_header_{lane}")
            m.d.comb += [
                choice.old.eq(second | (placed.old[lane] & ~left)),
                choice.header.eq(~second & Mux(left, beyond, in_header[lane] & ~placed.old[lane])),
                # Lanes above the words of the incomplete beat may load anything.
                stays.eq(~goes_on & choice.old),
                header.eq(Mux(goes_on, ~second & ~left & beyond, choice.header)),
                choice.keeps.eq(~moves | stays),
                choice.keeps_header.eq(moves & header),
                choice.keeps_literal.eq(moves & ~stays & ~header),
            ]
        return choices

    def _pack(
        self, m: Module, placed: Value, choices: list[_Choice], output_goes_on: Value, partial_goes_on: Value
    ) -> list[list[tuple[Value, Value]]]:
        """Loads the incomplete beat; returns the word of each lane of the output beat as cases for :func:`one_of`.

        ``output_goes_on``, ``partial_goes_on``: Words of the step go beyond the beat at the output; beyond the one that
            is loaded.
        """
        partial = Signal(Placed(self.config)["words"].shape, reset_less=True)
        words = []
        for lane, choice in enumerate(choices):
            header = placed.header[lane % len(placed.header)]
            literal = stored_word(placed, lane, output_goes_on, self.config)
            words.append(
                [
                    (choice.old, partial[lane]),
                    (choice.header, header),
                    (~choice.old & ~choice.header, literal),
                ]
            )
            m.d.sync += partial[lane].eq(
                one_of(
                    (choice.keeps, partial[lane]),
                    (choice.keeps_header, header),
                    (choice.keeps_literal, stored_word(placed, lane, partial_goes_on, self.config)),
                )
            )
        return words

    def _put_out(
        self,
        m: Module,
        valid: Value,
        words: list[list[tuple[Value, Value]]],
        count: Value,
        last: Value,
        free: Signal,
    ) -> None:
        """Drives the output with ``words``, of which ``count`` + 1 are valid: at once, or through a register."""
        output = self.output
        beat = output.payload
        if self.config.queue == 0:
            m.d.comb += [
                free.eq(output.ready),
                output.valid.eq(valid),
                *(beat.data[lane].eq(one_of(*cases)) for lane, cases in enumerate(words)),
                beat.keep.eq(thermometer(count, self.config.units) << 1 | 1),
                beat.last.eq(last),
            ]
            return
        slot = Signal.like(beat.data, reset_less=True)
        slot_count = Signal.like(count, reset_less=True)
        slot_last = Signal(reset_less=True)
        m.d.comb += [
            free.eq(~output.valid | output.ready),
            beat.data.eq(slot),
            beat.keep.eq(thermometer(slot_count, self.config.units) << 1 | 1),
            beat.last.eq(slot_last),
        ]
        with m.If(free):
            m.d.sync += [output.valid.eq(valid), slot_count.eq(count), slot_last.eq(last)]
        for lane, cases in enumerate(words):
            loads = [(free & condition, word) for condition, word in cases]
            m.d.sync += slot[lane].eq(one_of((~free, slot[lane]), *loads))


class PlainCompressor(Elaboratable):
    """The elaboration of a plain :class:`~cdma.hdl.codec.generate.Compressor`, whose ``ports`` it drives."""

    def __init__(self, config: CodecConfig, ports: wiring.PureInterface) -> None:
        self.config = config
        self.ports = ports
        # As deep as work conservation needs: a step waits only if the beats before it are one more than the cycles in
        # which their windows arrived. The mask of a group may cost a cycle.
        self.depth = 2 if min(config.format.header_words, config.units) == 1 else 3

    def elaborate(self, platform: object) -> Module:
        m = Module()
        packer: Packer | BeatPacker
        if self.config.work_conserving:
            packer = Packer(self.config, BeatQueue(self.config, self.depth))
        else:
            packer = BeatPacker(self.config)
        m.submodules.packer = packer
        m.submodules.tally = tally = CompressorTally(self.config)
        m.submodules.report = report = CompressorReport(self.config.format)
        m.submodules.window_store = store = WindowStore(self.config)
        wiring.connect(m, tally.counts, report.counts)
        input_ = self._group(m, store) if self.config.format.mask_words else store.input
        connect_compressor(
            m, self.config, self.ports, input_, store=store, packer=packer, tally=tally, report=report
        )
        return m

    def _group(self, m: Module, store: WindowStore) -> stream.Interface:
        """Adds the store of groups before that of windows; returns its input."""
        m.submodules.group_store = groups = GroupStore(self.config, store.stages)
        wiring.connect(m, groups.output, store.input)
        wiring.connect(m, groups.mask, store.mask)
        connect_table(m, self.config, self.ports, groups)
        return groups.input
