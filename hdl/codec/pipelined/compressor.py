"""The pipelined compressor, made for FPGAs: windows and finished beats in memories."""

from __future__ import annotations

from amaranth.hdl import Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import popcount, thermometer
from cdma.hdl.blocks.elaboration import copies, sized
from cdma.hdl.blocks.queues import Credit, MemoryQueue
from cdma.hdl.blocks.registers import Beat, malformed
from cdma.hdl.codec.parts.codes import Classifier, count_literals, rotated, sent_of
from cdma.hdl.codec.parts.counts import CompressorReport, CompressorTally, Counts
from cdma.hdl.codec.parts.interface import connect_compressor, connect_table, queue_members, table_members
from cdma.hdl.codec.parts.network import (
    Arrival,
    Ranking,
    Ranks,
    Routes,
    Settings,
    Step,
    counts_stored,
    exchange,
    keep,
    kept_settings,
    last_header_part,
    settings_of,
    with_padding,
    words_of_last_beat,
)
from cdma.hdl.codec.parts.packer import Packer
from cdma.hdl.spec.codec import CodecConfig

#: Beats of each bank: as many as an FPGA's smallest memories hold.
_DEPTH = 16


class BeatMemory(wiring.Component):
    """A queue of beats with the ports of :func:`~cdma.hdl.codec.parts.interface.queue_members`.

    It has two banks, which store beats alternately. Throughput: up to two beats in and one out per cycle. Latency: four
    cycles. ``available`` comes from a register, does not depend on ``push`` and is valid for the next cycle.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(queue_members(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        units = self.config.units
        stored = data.StructLayout({"data": self.rows[0].shape(), "count": range(units), "last": 1})
        new = [Signal(stored, name=f"new_{row}") for row in range(2)]
        for row in range(2):
            m.d.comb += [
                new[row].data.eq(self.rows[row]),
                new[row].count.eq(self.count),
                new[row].last.eq(self.last[row]),
            ]
        pushed = Signal(2)
        #: Bank of the next beat to leave, and, for each bank, whether the next beat to push goes to the other one.
        reads = Signal()
        others = [Signal(name=f"other_{bank}", init=bank) for bank in range(2)]
        m.d.comb += pushed.eq(Mux(self.fire, self.push, 0))
        m.d.sync += [other.eq(other ^ pushed[0] ^ pushed[1]) for other in others]
        banks = []
        for bank in range(2):
            m.submodules[f"bank_{bank}"] = queue = MemoryQueue(self.output.payload.shape(), _DEPTH)
            other = others[bank]
            arrives = Signal(stored, name=f"arrives_{bank}", reset_less=True)
            m.d.sync += [
                queue.input.valid.eq(Mux(other, pushed[1], pushed[0])),
                arrives.eq(Mux(other, Value.cast(new[1]), Value.cast(new[0]))),
            ]
            # ``keep`` is found before the memory, because after it the beat passes selections.
            partial = thermometer(arrives.count, units) << 1 | 1
            m.d.comb += [
                queue.input.payload.data.eq(arrives.data),
                queue.input.payload.keep.eq(Mux(arrives.last, partial, ~0)),
                queue.input.payload.last.eq(arrives.last),
                queue.output.ready.eq(self.output.ready & (reads == bank)),
            ]
            banks.append(queue)
        outputs = [Value.cast(queue.output.payload) for queue in banks]
        leaves = Signal()
        m.d.comb += [
            self.output.valid.eq(Mux(reads, banks[1].output.valid, banks[0].output.valid)),
            Value.cast(self.output.payload).eq(Mux(reads, outputs[1], outputs[0])),
            leaves.eq(self.output.valid & self.output.ready),
        ]
        m.d.sync += reads.eq(reads ^ leaves)

        m.submodules.places = credit = Credit(2 * _DEPTH, 2, ahead=1)
        m.d.comb += [
            credit.spent.eq(pushed[0] + pushed[1]),
            credit.returned.eq(leaves),
            self.available.eq(credit.available),
        ]
        return m


#: Cycles from a beat's arrival until it has left the memory, and its credit admits another one.
_WAY = 12
#: Levels of the butterfly within a cycle.
_LEVELS = 2


class _Classified:
    """The registers of a classified beat."""

    def __init__(self, config: CodecConfig) -> None:
        fmt, lanes = config.format, config.lanes
        self.valid = Signal()
        self.words = Signal(data.ArrayLayout(fmt.word_bits, lanes), reset_less=True)
        self.codes = Signal(lanes * fmt.code_bits, reset_less=True)
        self.keep = Signal(lanes, reset_less=True)
        self.last = Signal(reset_less=True)
        self.bad = Signal(reset_less=True)


class _Ranked:
    """The registers of a beat of stream words, those stored counted; their names begin with ``name``."""

    def __init__(self, config: CodecConfig, name: str) -> None:
        words = data.ArrayLayout(config.format.stream_bits, config.units)
        # The end of a window is needed for its padding alone.
        end = int(config.format.align_words > 1)
        beat = data.StructLayout(
            {"words": words, "ranks": Ranks(config.units), "first": 1, "last": 1, "end": end}
        )
        self.beat = Signal(beat, name=name, reset_less=True)
        self.valid = Signal(name=f"{name}_valid")


class _Routed:
    """The registers of a step, without its header, whose words have passed the levels below ``level``."""

    def __init__(self, config: CodecConfig, level: int) -> None:
        fields = {name: field.shape for name, field in Step(config)}
        del fields["header"]
        self.step = Signal(data.StructLayout(fields), name=f"routed_{level}", reset_less=True)
        self.valid = Signal(name=f"valid_{level}")


class WindowMemory(wiring.Component):
    """A pipeline that routes literals and never stops, and memories of beats and of headers after it.

    ``input``: Raw beats. A beat is accepted only with credit for it in the memory. So nothing in the pipeline waits,
        and no signal has to reach all of it within a cycle: on an FPGA the wires are slow, not the logic.
    ``step``: Beats with their literals routed to the lanes of the output beats, and with the header of their window.
    ``arrival``: Counts of each beat, in order. It does not wait for ready.
    ``ends``: The last beat of a packet is accepted.
    ``admit``: Beats may be accepted, a cycle later. It must be low without credit for the counts of the packet that
        ``ends``.

    Throughput: a beat per cycle.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt, lanes = config.format, config.lanes
        self.depth = 1 << (config.beats + _WAY - 1).bit_length()
        #: Words of padding after the beat whose words are placed.
        self.padding = Signal(range(fmt.align_words))
        super().__init__(
            {
                "input": In(stream.Signature(Beat(fmt.word_bits, lanes))),
                "admit": In(1),
                "ends": Out(1),
                "step": Out(stream.Signature(Step(config))),
                "arrival": Out(stream.Signature(Arrival(config))),
                **table_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        arrives = Signal()
        leaves = Signal()
        m.submodules.credit = credit = Credit(self.depth, ahead=1)
        # From a flip-flop, because the producer, which reads beats out of block RAM, is far.
        ready = Signal(init=1)
        m.d.sync += ready.eq(credit.available & self.admit)
        m.d.comb += [
            credit.spent.eq(arrives),
            credit.returned.eq(leaves),
            self.input.ready.eq(ready),
            arrives.eq(self.input.valid & self.input.ready),
            self.ends.eq(arrives & self.input.payload.last),
        ]
        classified = self._classify(m, arrives)
        first, end, header, header_valid = self._gather_header(m, classified)
        ranked, adds = self._rank(m, classified, first, end)
        routed, settings = self._route(m, ranked, adds)
        routed, words = self._exchange(m, routed, settings)
        self._store(m, routed, words, header, header_valid, leaves)
        return m

    def _classify(self, m: Module, arrives: Value) -> _Classified:
        """Finds the codes of the beat that arrives, in two cycles: its wires are long, and all of it is compared."""
        classified = _Classified(self.config)
        beat = Signal(self.input.payload.shape(), name="arrived", reset_less=True)
        arrived = Signal(name="arrived_valid")
        m.d.sync += [beat.eq(self.input.payload), arrived.eq(arrives)]
        m.submodules.classifier = classifier = Classifier(self.config, pipelined=True)
        m.d.comb += [classifier.data.eq(self.input.payload.data), classifier.keep.eq(self.input.payload.keep)]
        connect_table(m, self.config, self, classifier)
        m.d.sync += [
            classified.valid.eq(arrived),
            classified.words.eq(beat.data),
            classified.codes.eq(classifier.codes),
            *copies(classified, beat, "keep", "last"),
            classified.bad.eq(malformed(beat)),
        ]
        return classified

    def _gather_header(self, m: Module, beat: _Classified) -> tuple[Signal, Signal, Signal, Signal]:
        """Collects the codes of a window; returns whether the beat is its first, and its last, the header, and whether that
        is valid."""
        beats = self.config.beats
        #: Position of the beat in its window.
        place = Signal(range(beats))
        first = Signal()
        end = Signal()
        header = Signal(data.ArrayLayout(len(beat.codes), beats))
        header_valid = Signal()
        m.d.comb += [first.eq(place == 0), end.eq((place == beats - 1) | beat.last)]
        with m.If(beat.valid):
            m.d.sync += place.eq(Mux(end, 0, place + 1))
            for i in range(beats):
                with m.If(place == i):
                    m.d.sync += header[i].eq(beat.codes)
                with m.Elif(first):
                    m.d.sync += header[i].eq(0)
        m.d.sync += header_valid.eq(beat.valid & end)
        return first, end, header, header_valid

    def _rank(self, m: Module, beat: _Classified, first: Value, end: Value) -> tuple[_Ranked, Signal]:
        """Counts the stored words of a beat, and, a cycle later, those of its step, with its part of the header."""
        config, lanes, units = self.config, self.config.lanes, self.config.units
        m.submodules.ranking = ranking = Ranking(units, 4)
        m.d.comb += ranking.literal.eq(sent_of(beat.codes, beat.keep, config))
        counted, placed = _Ranked(config, "counted"), _Ranked(config, "placed")
        adds = Signal(range(2 * units + 1), reset_less=True)
        header_adds = Mux(counted.beat.first, last_header_part(config), 0)
        arrival = self.arrival
        if config.format.align_words > 1:
            arrival = self._count_padding(m, placed)
        m.d.sync += [
            *sized(counted.beat.end.eq(end)),
            counted.valid.eq(beat.valid),
            counted.beat.words.eq(rotated([beat.words[lane] for lane in range(lanes)], config)),
            counted.beat.ranks.eq(ranking.ranks),
            counted.beat.first.eq(first),
            counted.beat.last.eq(beat.last),
            placed.valid.eq(counted.valid),
            placed.beat.eq(counted.beat),
            adds.eq(counted.beat.ranks.count + header_adds),
            *(
                placed.beat.ranks.below[lane].eq(counted.beat.ranks.below[lane] + header_adds)
                for lane, _ in Ranks(units)["below"].shape
            ),
            arrival.valid.eq(beat.valid),
            # Beats with holes are malformed. This count never exceeds the words of their window.
            arrival.payload.words.eq(Mux(beat.last, popcount(beat.keep[1:], 4) + 1, lanes)),
            arrival.payload.last.eq(beat.last),
            arrival.payload.malformed.eq(beat.bad),
        ]
        if config.format.parts > 1:
            m.d.sync += arrival.payload.literals.eq(
                count_literals(beat.codes, counted.beat.ranks.count, config, 4)
            )
        else:
            m.d.comb += arrival.payload.literals.eq(counted.beat.ranks.count)
        if counts_stored(config.format):
            m.d.comb += arrival.payload.stored.eq(
                counted.beat.ranks.count + Mux(counted.beat.first, config.format.header_words, 0)
            )
        return placed, adds

    def _count_padding(self, m: Module, placed: _Ranked) -> stream.Interface:
        """The counts of a beat, which pass a register until its padding is known."""
        early = stream.Signature(Arrival(self.config)).create(path=("arriving",))
        arrival = self.arrival
        m.d.sync += arrival.valid.eq(early.valid)
        for name in ("words", "literals", "last", "malformed"):
            m.d.sync += arrival.payload[name].eq(early.payload[name])
        header = Mux(placed.beat.first, self.config.format.header_words, 0)
        m.d.comb += arrival.payload.stored.eq(placed.beat.ranks.count + header + self.padding)
        return early

    def _route(self, m: Module, placed: _Ranked, adds: Value) -> tuple[_Routed, Settings]:
        """Finds the lanes of the stored words, and the settings of all levels."""
        fmt, units = self.config.format, self.config.units
        #: Number of words in the output beat that the next step continues.
        position = Signal(range(units + 1))
        before_header: Value = position
        if fmt.header_words > units:
            # The parts of the header before the last have filled the output beat, if it was empty.
            before_header = Mux((position == 0) & placed.beat.first, units, position)
        total = Signal(range(3 * units + 1))
        m.submodules.routes = routes = Routes(units)
        end: Value = before_header + adds
        m.d.comb += [
            # A packet begins in lane 0, so the position itself is a multiple at the end of each window.
            self.padding.eq(Mux(placed.beat.end, -end, 0)),
            total.eq(with_padding(end, self.padding)),
            routes.ranks.eq(placed.beat.ranks),
            routes.offset.eq(position),
        ]
        with m.If(placed.valid):
            remaining = words_of_last_beat(total, units, total > units, total > 2 * units)
            m.d.sync += position.eq(Mux(placed.beat.last, 0, remaining))
        routed = _Routed(self.config, 0)
        m.d.sync += [
            routed.valid.eq(placed.valid),
            *copies(routed.step, placed.beat, "words", "first", "last"),
            routed.step.start.eq(position),
            routed.step.total.eq(total),
            *sized(routed.step.padding.eq(self.padding)),
        ]
        settings = kept_settings(self.config, range(routes.levels), "{}_0")
        keep(m, settings, settings_of(routes))
        return routed, settings

    def _exchange(self, m: Module, routed: _Routed, settings: Settings) -> tuple[_Routed, Value]:
        """Passes the words through the levels, a few per cycle; returns the last registers and the words after them."""
        levels = exact_log2(self.config.units)
        words: Value = routed.step.words
        for low in range(0, levels, _LEVELS):
            if low:
                later = _Routed(self.config, low)
                kept = kept_settings(self.config, range(low, levels), f"{{}}_{low}")
                m.d.sync += [
                    later.valid.eq(routed.valid),
                    later.step.eq(routed.step),
                    later.step.words.eq(words),
                ]
                keep(m, kept, settings)
                routed, settings = later, kept
            within = range(low, min(low + _LEVELS, levels))
            words = exchange(m, self.config, routed.step.words, within, settings)
        return routed, words

    def _store(
        self, m: Module, routed: _Routed, words: Value, header: Signal, header_valid: Value, leaves: Value
    ) -> None:
        """Stores beats and headers in their memories, and reads them together."""
        stored = routed.step.shape()
        m.submodules.beats = memory = MemoryQueue(stored, self.depth)
        m.submodules.headers = headers = MemoryQueue(header.shape(), self.depth)
        beat = memory.output.payload
        step = self.step.payload
        m.d.comb += [
            memory.input.valid.eq(routed.valid),
            memory.input.payload.eq(routed.step),
            memory.input.payload.words.eq(words),
            headers.input.valid.eq(header_valid),
            headers.input.payload.eq(header),
            *(getattr(step, name).eq(getattr(beat, name)) for name, _ in stored),
            Value.cast(step.header).eq(Value.cast(headers.output.payload)),
            self.step.valid.eq(memory.output.valid & (~beat.first | headers.output.valid)),
            leaves.eq(self.step.valid & self.step.ready),
            memory.output.ready.eq(leaves),
            headers.output.ready.eq(leaves & beat.first),
        ]


#: Packets that may be in flight, or wait for their reports to be accepted.
_REPORTS = 16


class PipelinedCompressor(Elaboratable):
    """The elaboration of a pipelined :class:`~cdma.hdl.codec.generate.Compressor`, whose ``ports`` it drives.

    The counts of packets wait in a queue for their reports to be accepted. The last beat of a packet is accepted only with
    credit for its counts, so counting never waits.
    """

    def __init__(self, config: CodecConfig, ports: wiring.PureInterface) -> None:
        self.config = config
        self.ports = ports

    def elaborate(self, platform: object) -> Module:
        m = Module()
        packer = Packer(self.config, BeatMemory(self.config), pipelined=True)
        m.submodules.packer = packer
        m.submodules.tally = tally = CompressorTally(self.config, pipelined=True)
        m.submodules.report = report = CompressorReport(self.config.format, pipelined=True)
        m.submodules.window_memory = store = WindowMemory(self.config)
        m.submodules.counts = counts = MemoryQueue(Counts(self.config.format), _REPORTS)
        m.submodules.credit = credit = Credit(_REPORTS, ahead=1)
        wiring.connect(m, tally.counts, counts.input)
        wiring.connect(m, counts.output, report.counts)
        m.d.comb += [
            credit.spent.eq(store.ends),
            credit.returned.eq(counts.output.valid & counts.output.ready),
            store.admit.eq(credit.available),
        ]
        connect_compressor(
            m, self.config, self.ports, store.input, store=store, packer=packer, tally=tally, report=report
        )
        return m
