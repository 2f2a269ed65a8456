"""What the units of both directions have in common: the queues of their stripes, the codec and the reports. A unit of an
offload channel: reads its stripes at a device port of its own, and compresses each. A unit of a prefetch channel:
expands the piece of each of its stripes, and writes it at a device port of its own.
"""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import Command, PortShape
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.blocks.elaboration import optional, sized
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import Beat
from cdma.hdl.blocks.width import connect_width
from cdma.hdl.codec.parts.interface import Error
from cdma.hdl.engine.path.base import BaseReader
from cdma.hdl.engine.path.switches import CodecSwitch, Route, counted_in
from cdma.hdl.engine.path.tails import TailCut
from cdma.hdl.engine.shapes.padding import Filler, frequent_fill

from .outcomes import Outcomes, StripeOutcome, StripeVerdict, note_outcome
from .stores import Ahead, PieceBuffer, UnitPlan, early_stripes


class Unit(wiring.Component):
    """A codec between the stripes at a device port of its own and their pieces of the stream.

    A subclass adds ``piece`` and the AXI4 port to the ``members``, and the data's way between them.

    ``piece``: Packets of the stream, one for each stripe.
    ``stripe``: Stripes. No more than ``plan.in_flight`` may have come and not been reported.
    ``report``: The reports.
    ``bases``, ``base_idle``, ``base_progress``: With ``config.delta``: the AXI4 port and the states of the
        :class:`.BaseReader`.
    ``values``: The table of the codec.
    ``refused``: The codec's input waits for the codec.
    ``flush``, ``idle``, ``progress``: Those of the :class:`.AxiReader` or :class:`.AxiWriter`.
    """

    def __init__(
        self, plan: UnitPlan, codec: wiring.Component, members: dict[str, wiring.Member], *, writes: bool
    ) -> None:
        self.plan = plan
        self.codec = codec
        config = plan.config
        based = {} if plan.base is None else {"bases": Out(plan.base.read_port)}
        report = Outcomes(plan.place_bits, plan.stripe_words, writes=writes, based=config.delta)
        super().__init__(
            {
                "stripe": In(stream.Signature(plan.stripe, always_ready=True)),
                **members,
                **based,
                **optional(config.delta, base_idle=Out(1), base_progress=Out(1)),
                "report": Out(report),
                "values": In(data.ArrayLayout(config.format.entry_bits, config.codec.table_size)),
                "refused": Out(1),
                "flush": In(1),
                "idle": Out(1),
                "progress": Out(1),
            }
        )

    def _queue(self, shape: object) -> Fifo:
        """A queue with room for an entry of every stripe in flight."""
        return Fifo(shape, self.plan.in_flight, reserved=True)

    def _stages(self, m: Module, switch: CodecSwitch, pieces: PieceBuffer) -> AxiReader | AxiWriter:
        """Adds the stages of the data to the module, and connects them; gives the one at the AXI4 port."""
        raise NotImplementedError

    def _base(self, m: Module, shape: PortShape, raw: Beat) -> BaseReader:
        """What changes the raw data of stripes by their bases."""
        plan, stripe = self.plan, self.stripe.payload
        m.submodules.base = base = BaseReader(
            plan.unit_port(shape),
            raw.word_bits,
            raw.lanes,
            plan.in_flight,
            pipelined=plan.config.pipelined,
        )
        m.submodules.bases = commands = self._queue(base.command.payload.shape())
        m.submodules.base_outcomes = outcomes = self._queue(StripeOutcome(plan.place_bits))
        m.d.comb += [
            commands.input.valid.eq(self.stripe.valid),
            commands.input.payload.delta.eq(stripe.delta),
            *(
                commands.input.payload[end].eq(Cat(stripe[end][: plan.place_bits], stripe.base))
                for end in ("first", "last")
            ),
            *sized(commands.input.payload.user.eq(stripe.user)),
            base.flush.eq(self.flush),
            self.base_idle.eq(base.idle),
            self.base_progress.eq(base.progress),
            self.report.next_base.eq(base.outcome.address[: plan.place_bits]),
        ]
        wiring.connect(m, commands.output, base.command)
        note_outcome(m, "base_outcome", base.outcome, outcomes.input)
        wiring.connect(m, outcomes.output, wiring.flipped(self.report.base))
        wiring.connect(m, base.port, wiring.flipped(self.bases))
        return base

    def _asks(self) -> Value:
        """Whether a stripe comes that is a command of the port."""
        return self.stripe.valid

    def _error(self, error: Value) -> Value:
        """What is reported of a stripe whose codec reports this."""
        return error

    def elaborate(self, platform: object) -> Module:
        m = Module()
        plan, config, stripe = self.plan, self.plan.config, self.stripe.payload
        command = Command(plan.dev.address_bits, user=plan.dev.user_bits)
        m.submodules.commands = commands = self._queue(command)
        m.submodules.routes = routes = self._queue(Route())
        switch = CodecSwitch(self.codec, config.codec, plan.in_flight)
        port = self._stages(m, switch, PieceBuffer(self.piece.payload.shape(), config.piece_beats))
        m.submodules.outcomes = outcomes = self._queue(StripeOutcome(plan.place_bits))
        m.submodules.verdicts = verdicts = self._queue(StripeVerdict(plan.stripe_words))

        m.d.comb += [
            commands.input.valid.eq(self._asks()),
            commands.input.payload.first.eq(stripe.first),
            commands.input.payload.last.eq(stripe.last),
            commands.input.payload.user.eq(stripe.user),
            routes.input.valid.eq(self.stripe.valid),
            routes.input.payload.raw.eq(stripe.raw),
            routes.input.payload.zeros.eq(stripe.zeros),
            routes.input.payload.words.eq(stripe.words),
        ]
        wiring.connect(m, commands.output, port.command)
        wiring.connect(m, routes.output, switch.routes)
        note_outcome(m, "outcome", port.outcome, outcomes.input)
        wiring.connect(m, outcomes.output, wiring.flipped(self.report.port))
        wiring.connect(m, verdicts.output, wiring.flipped(self.report.codec))
        m.d.comb += [
            switch.report.ready.eq(1),
            verdicts.input.valid.eq(switch.report.valid),
            verdicts.input.payload.literals.eq(switch.report.payload.literals),
            verdicts.input.payload.error.eq(self._error(switch.report.payload.error)),
            self.report.next_place.eq(port.outcome.address[: plan.place_bits]),
            switch.values.eq(self.values),
            port.flush.eq(self.flush),
            # Which address is waited for is known without a note.
            port.mark.eq(0),
            self.idle.eq(port.idle),
            self.progress.eq(port.progress),
            self.refused.eq(switch.refused),
        ]
        return m


class OffloadUnit(Unit):
    """Each stripe becomes a packet at ``piece``, and a report.

    Reads go ahead as far as the reader's buffer has room, and what is compressed as far as the buffer of the pieces has.

    ``piece``: What the codec makes of each stripe, or the raw words.
    ``source``: The AXI4 port.
    """

    def __init__(self, plan: UnitPlan, codec: wiring.Component) -> None:
        config, dev = plan.config, plan.dev
        members = {
            "piece": Out(stream.Signature(Beat(config.format.stream_bits, config.codec.units))),
            "source": Out(dev.read_port),
        }
        super().__init__(plan, codec, members, writes=False)

    def _stages(self, m: Module, switch: CodecSwitch, pieces: PieceBuffer) -> AxiReader:
        m.submodules.reader = reader = AxiReader(self.plan.unit_port(self.plan.dev))
        m.submodules.switch = switch
        m.submodules.pieces = pieces
        wiring.connect(m, reader.port, wiring.flipped(self.source))
        word_bits = self.plan.config.format.stream_bits
        source = self._filled(m, reader.output) if self.plan.shaped else reader.output
        words, raw = counted_in(m, "read_words", source, word_bits), switch.input
        if self.plan.base is not None:
            base = self._base(m, self.plan.base, raw.payload.shape())
            wiring.connect(m, base.output, raw)
            raw = base.input
        connect_width(m, "read_width", word_bits, words, raw)
        wiring.connect(m, switch.output, pieces.input)
        wiring.connect(m, pieces.output, wiring.flipped(self.piece))
        return reader

    def _asks(self) -> Value:
        asks = self.stripe.valid
        return asks & ~self.stripe.payload.padding if self.plan.shaped else asks

    def _filled(self, m: Module, source: stream.Interface) -> stream.Interface:
        """What is read, and padding as packets of their own."""
        stripe, beat = self.stripe.payload, source.payload.shape()
        fill = frequent_fill(self.plan.config, self.values)
        m.submodules.filler = filler = Filler(beat.word_bits, beat.lanes, fill_bits=len(fill))
        beats = stripe.words >> exact_log2(self.plan.dev.data_bits // self.plan.config.format.word_bits)
        m.submodules.packets = packets = self._queue(
            data.StructLayout({"padding": 1, "frequent": 1, "beats": len(beats)})
        )
        m.d.comb += [
            packets.input.valid.eq(self.stripe.valid),
            packets.input.payload.padding.eq(stripe.padding),
            packets.input.payload.frequent.eq(~stripe.raw & ~stripe.zeros),
            packets.input.payload.beats.eq(beats - 1),
            filler.segments.valid.eq(packets.output.valid),
            packets.output.ready.eq(filler.segments.ready),
            filler.segments.payload.whole.eq(~packets.output.payload.padding),
            filler.segments.payload.padding.eq(packets.output.payload.padding),
            filler.segments.payload.last.eq(1),
            filler.segments.payload.frequent.eq(packets.output.payload.frequent),
            filler.segments.payload.beats.eq(packets.output.payload.beats),
            filler.fill.eq(fill),
        ]
        wiring.connect(m, source, filler.input)
        return filler.output


class PrefetchUnit(Unit):
    """Each packet at ``piece`` becomes the data of a stripe, and a report.

    ``piece``: A packet for each stripe: for the codec, or raw words. One that the stream had no words left for is a
        single last beat without words, and its report is that the stream is truncated.
    ``sink``: The AXI4 port.
    """

    def __init__(self, plan: UnitPlan, codec: wiring.Component) -> None:
        config, dev = plan.config, plan.dev
        members = {
            "piece": In(stream.Signature(Beat(config.format.stream_bits, config.codec.units))),
            "sink": Out(dev.write_port),
        }
        super().__init__(plan, codec, members, writes=True)

    def _stages(self, m: Module, switch: CodecSwitch, pieces: PieceBuffer) -> AxiWriter:
        m.submodules.pieces = pieces
        m.submodules.switch = switch
        m.submodules.writer = writer = AxiWriter(self.plan.unit_port(self.plan.dev))
        m.submodules.ends = ends = self._queue(self.report.end.payload.shape())
        wiring.connect(m, wiring.flipped(self.piece), pieces.input)
        wiring.connect(m, pieces.output, switch.input)
        config, stripe = self.plan.config, self.stripe
        expanded = switch.output
        if self.plan.base is not None:
            base = self._base(m, self.plan.base, expanded.payload.shape())
            wiring.connect(m, expanded, base.input)
            expanded = base.output
        if config.tail_bits:
            beat = expanded.payload.shape()
            m.submodules.cut = cut = TailCut(beat, config.tail_bits, self.plan.in_flight)
            wiring.connect(m, expanded, cut.input)
            m.d.comb += [cut.tails.valid.eq(stripe.valid), cut.tails.payload.eq(stripe.payload.tail)]
            expanded = cut.output
        if self.plan.shaped:
            expanded = self._without_padding(m, expanded)
        connect_width(m, "write_width", expanded.payload.shape().word_bits, expanded, writer.input)
        wiring.connect(m, writer.port, wiring.flipped(self.sink))
        wiring.connect(m, ends.output, wiring.flipped(self.report.end))
        taken = Signal()
        place = self.plan.place_bits
        if early_stripes(self.plan):
            m.submodules.next_stripe = ahead = Ahead(self.plan.in_flight)
            m.d.comb += [
                ahead.given.eq(self.stripe.valid),
                ahead.whole.eq(self._is_whole()),
                ahead.busy.eq(writer.command.valid),
                ahead.taken.eq(taken),
                writer.ahead.eq(ahead.ahead),
            ]
        m.d.comb += [
            taken.eq(writer.command.valid & writer.command.ready),
            ends.input.valid.eq(taken),
            # The bit above the place differs from that of the stripe's own address if the whole stripe is written.
            ends.input.payload.eq(
                Cat(writer.end[:place], writer.end[place] ^ writer.command.payload.first[place])
            ),
        ]
        return writer

    def _without_padding(self, m: Module, source: stream.Interface) -> stream.Interface:
        """The same packets, but those of padding without words."""
        m.submodules.padded = padded = self._queue(1)
        passed = stream.Signature(source.payload.shape()).create(path=("passed",))
        drops, last = padded.output.payload, source.payload.last
        m.d.comb += [
            padded.input.valid.eq(self.stripe.valid),
            padded.input.payload.eq(self.stripe.payload.padding),
            passed.payload.eq(source.payload),
            passed.valid.eq(source.valid & padded.output.valid & (~drops | last)),
            source.ready.eq(padded.output.valid & (passed.ready | (drops & ~last))),
            padded.output.ready.eq(source.valid & source.ready & last),
        ]
        with m.If(drops):
            m.d.comb += passed.payload.keep.eq(0)
        return passed

    def _error(self, error: Value) -> Value:
        # The splitter gives no beat that is wrong in another way than by having no words.
        return Mux(error == Error.BEAT, Error.TRUNCATED, error)

    def _is_whole(self) -> Value:
        """Whether a stripe has words for all of its memory."""
        stripe = self.stripe.payload
        whole = stripe.words == self.plan.stripe_words
        return whole & ~stripe.padding if self.plan.shaped else whole
