"""The way of a channel's data, from the port that is read to the port that is written."""

from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.outcome import Outcome
from cdma.hdl.axi.port_shape import PortShape
from cdma.hdl.axi.ports import ReadPort, WritePort
from cdma.hdl.axi.reader import AxiReader, ReadCommand
from cdma.hdl.axi.span import SPAN_BITS
from cdma.hdl.axi.writer import AxiWriter, WriteCommand
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.blocks.width import connect_width
from cdma.hdl.spec.engine import EngineConfig

from .codec_switch import CodecSwitch, Route
from .completer import Verdict

__all__ = ["DataPath"]


class DataPath(wiring.Component):
    """Reader, codec and writer, each with commands of its own, so that a descriptor's reads begin while those
    before it are still being written.

    For every ``read`` command there must be one ``route`` and one ``write`` command, and at most
    ``config.descriptors`` of them are under way; each has one outcome at ``read_outcome`` and
    ``write_outcome``, and, unless it passes around the codec, one ``report``.

    ``flush``, ``idle``, ``mark``
        As for the reader and the writer: after ``flush`` has met ``idle``, nothing is under way and the whole
        path may be reset.
    """

    def __init__(
        self,
        config: EngineConfig,
        codec: wiring.Component,
        read: PortShape,
        write: PortShape,
    ) -> None:
        self.config = config
        self.codec = codec
        self.reader = AxiReader(read)
        self.writer = AxiWriter(write)
        super().__init__(
            {
                "read": In(stream.Signature(ReadCommand(read.address_bits))),
                "route": In(stream.Signature(Route)),
                "write": In(stream.Signature(WriteCommand(write.address_bits))),
                "read_outcome": Out(Outcome(read.address_bits)),
                "report": Out(stream.Signature(Verdict)),
                "write_outcome": Out(Outcome(write.address_bits)),
                "overflow": Out(1),
                "end": Out(SPAN_BITS),
                "values": In(data.ArrayLayout(config.format.word_bits, config.codec.table_size)),
                "source": Out(ReadPort(read.data_bits, read.address_bits)),
                "sink": Out(WritePort(write.data_bits, write.address_bits, write.word_bits)),
                "flush": In(1),
                "read_idle": Out(1),
                "write_idle": Out(1),
                "read_progress": Out(1),
                "write_progress": Out(1),
                "mark": In(1),
                "starved": Out(1),
                "refused": Out(1),
                "blocked": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        word_bits = config.format.word_bits
        m.submodules.reader = reader = self.reader
        m.submodules.writer = writer = self.writer
        m.submodules.switch = switch = CodecSwitch(self.codec, config.codec, config.descriptors)
        for source, sink in (
            (self.read, reader.command),
            (self.route, switch.routes),
            (self.write, writer.command),
        ):
            wiring.connect(m, wiring.flipped(source), sink)
        m.submodules.reports = reports = Fifo(Verdict, config.descriptors, reserved=True)
        m.d.comb += [
            switch.report.ready.eq(1),
            reports.input.valid.eq(switch.report.valid),
            reports.input.payload.literals.eq(switch.report.payload.literals),
            reports.input.payload.error.eq(switch.report.payload.error),
        ]
        wiring.connect(m, reports.output, wiring.flipped(self.report))

        connect_width(m, "read_width", word_bits, reader.output, switch.input)
        connect_width(m, "write_width", word_bits, switch.output, writer.input)
        wiring.connect(m, reader.port, wiring.flipped(self.source))
        wiring.connect(m, writer.port, wiring.flipped(self.sink))
        wiring.connect(m, reader.outcome, wiring.flipped(self.read_outcome))
        wiring.connect(m, writer.outcome, wiring.flipped(self.write_outcome))
        m.d.comb += [
            switch.values.eq(self.values),
            reader.flush.eq(self.flush),
            writer.flush.eq(self.flush),
            self.read_idle.eq(reader.idle),
            self.write_idle.eq(writer.idle),
            self.read_progress.eq(reader.progress),
            self.write_progress.eq(writer.progress),
            reader.mark.eq(self.mark),
            writer.mark.eq(self.mark),
            self.overflow.eq(writer.overflow),
            self.end.eq(writer.end),
            self.starved.eq(switch.starved),
            self.refused.eq(switch.refused),
            self.blocked.eq(switch.blocked),
        ]
        return m
