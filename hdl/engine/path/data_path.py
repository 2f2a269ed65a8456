"""The stages that a channel's data pass, from the port that is read to the port that is written."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import PortShape
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import StreamRegister, slice_after
from cdma.hdl.blocks.width import Repack, connect_width
from cdma.hdl.codec.lossy import OutOfRange
from cdma.hdl.engine.shapes.padding import Dropper, Filler, frequent_fill
from cdma.hdl.engine.shapes.walker import ShapeFeed
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format

from .base import BaseReader
from .ports import Checksum, End, Path
from .switches import CodecSwitch, LossySwitch, counted_in


class DataPath(Path):
    """A path with one unit: reader, codec and writer in a chain, with a stream of beats between each: of stream words, or of
    their bytes, on the side of raw data, and at the ports and on the other side of what memories move whole.

    ``range``: One report per descriptor with a step, if the channel compresses and ``config.lossy``.
    ``starved``, ``refused``, ``blocked``: Those of the :class:`.CodecSwitch`.
    """

    def __init__(
        self,
        config: EngineConfig,
        codec: wiring.Component,
        read: PortShape,
        write: PortShape,
        *,
        compressing: bool,
        base: PortShape | None = None,
    ) -> None:
        self.codec = codec
        self.reader = AxiReader(read)
        self.writer = AxiWriter(write)
        ranged = compressing and config.records.lossy
        further = optional(ranged, range=Out(stream.Signature(OutOfRange())))
        super().__init__(config, read, write, further, compressing=compressing, base=base)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        word_bits, moved_bits = config.passed_bits, config.moved_bits
        m.submodules.reader = reader = self.reader
        m.submodules.writer = writer = self.writer
        m.submodules.switch = switch = CodecSwitch(
            self.codec, config.codec, config.descriptors, tail_bits=config.tail_bits
        )
        device, host = (reader, writer) if self.compressing else (writer, reader)
        end = End.of(device)
        if config.dimensions:
            end = end._replace(command=self._feed(m, end.command, device.shape))
        base = None if self.base_shape is None else self._base(m, self.base_shape)
        self._connect_ends(m, end, host, switch.report, None if base is None else End.of(base))
        wiring.connect(m, wiring.flipped(self.route), switch.routes)

        # Each stage has streams of beats called ``input`` and ``output``. Where their lanes differ, an adapter of that name
        # stands between two; a further stage is a further line here. On an FPGA a slice stands before the writer, so
        # that no ready passes the codec switch to the memory of the codec's beats; that of the reader needs none, but after
        # realigning.
        source = reader.output
        if config.pipelined and config.realign:
            source = slice_after(m, "read_slice", source)
        read_bits = moved_bits
        if config.dimensions and self.compressing:
            source = self._fill_rows(m, source)
        if self.compressing:
            read_bits = word_bits
            source = self._lossy(m, counted_in(m, "read_words", source, word_bits))
        taken, sink = switch.input, switch.output
        if base is not None and self.compressing:
            wiring.connect(m, base.output, switch.input)
            taken = base.input
        elif base is not None:
            wiring.connect(m, switch.output, base.input)
            sink = base.output
        raw = taken if self.compressing else sink
        narrows = len(source.payload.keep) > len(taken.payload.keep)
        connect_width(m, "read_width", read_bits, source, taken, pipelined=config.pipelined and narrows)
        if not self.compressing:
            sink = counted_in(m, "written_bytes", self._lossy(m, sink), moved_bits)
        if config.tail_bits and not config.pipelined:
            sink = slice_after(m, "passed", sink, kind=StreamRegister)
        written = writer.input
        if config.dimensions and not self.compressing:
            written = self._drop_padding(m, writer.input)
        if self.config.quantisation is None or self.compressing:
            connect_width(m, "write_width", moved_bits, sink, written, pipelined=config.pipelined)
        else:
            wiring.connect(m, sink, written)

        if config.crc:
            self._sum(m, raw)

        wiring.connect(m, reader.port, wiring.flipped(self.source))
        wiring.connect(m, writer.port, wiring.flipped(self.sink))
        m.d.comb += [
            switch.report.ready.eq(1),
            switch.values.eq(self.values),
            device.flush.eq(self.flush),
            device.mark.eq(self.mark),
            writer.ahead.eq(self.ahead),
            self.overflow.eq(writer.overflow),
            self.end.eq(writer.end),
            self.starved.eq(switch.starved),
            self.refused.eq(switch.refused),
            self.blocked.eq(switch.blocked),
        ]
        return m

    def _feed(self, m: Module, command: stream.Interface, shape: PortShape) -> stream.Interface:
        """Puts the walk of shapes before the commands of the reader or writer of the device port; gives its input."""
        beat_log2 = shape.blocks.beat_log2
        m.submodules.feed = feed = ShapeFeed(
            self.config.dimensions,
            shape.address_bits,
            beat_log2,
            shape.outstanding,
            shape.user_bits,
            lane_bits=exact_log2(shape.lanes) if shape.in_place else 0,
            reads=self.compressing,
        )
        wiring.connect(m, wiring.flipped(self.shapes), feed.shapes)
        wiring.connect(m, feed.command, command)
        self._segments = feed.segments
        return feed.input

    def _fill_rows(self, m: Module, source: stream.Interface) -> stream.Interface:
        """What is read, with padding: beats of the stream."""
        shape, fill = self.reader.shape, frequent_fill(self.config, self.values)
        m.submodules.filler = filler = Filler(
            shape.word_bits, shape.lanes, amid=shape.in_place, fill_bits=len(fill)
        )
        wiring.connect(m, self._segments, filler.segments)
        wiring.connect(m, source, filler.input)
        m.d.comb += filler.fill.eq(fill)
        if not shape.in_place:
            return filler.output
        m.submodules.joined_rows = joined = Repack(shape.word_bits, shape.lanes)
        wiring.connect(m, filler.output, joined.input)
        return joined.output

    def _drop_padding(self, m: Module, sink: stream.Interface) -> stream.Interface:
        """What takes the beats of the stream, of which the rows are written."""
        shape = self.writer.shape
        m.submodules.dropper = dropper = Dropper(shape.word_bits, shape.lanes, amid=shape.in_place)
        wiring.connect(m, self._segments, dropper.segments)
        if shape.in_place:
            m.submodules.cut_rows = cut = Repack(shape.word_bits, shape.lanes)
            wiring.connect(m, dropper.output, cut.input)
            wiring.connect(m, cut.output, sink)
        else:
            wiring.connect(m, dropper.output, sink)
        form = self.config.format
        fields = isinstance(form, Format) and form.field_bits
        if not fields or self.config.pipelined or self.config.tail_bits:
            return dropper.input
        # Beats come late out of a codec of fields, and go through what knows the segment, and then the burst.
        m.submodules.before_rows = register = StreamRegister(dropper.input.payload.shape())
        wiring.connect(m, register.output, dropper.input)
        return register.input

    def _lossy(self, m: Module, source: stream.Interface) -> stream.Interface:
        """What comes out of the error-bounded stage, if there is one: raw data in beats of the device port on one side, and
        beats of the codec on the other."""
        config = self.config
        form, words = config.quantisation, config.passed_bits
        if form is None:
            return source
        lanes = config.dev_data_bits // words
        m.submodules.lossy = lossy = LossySwitch(
            form, words, lanes, config.codec.data_bits // words, quantises=self.compressing
        )
        wiring.connect(m, wiring.flipped(self.step), lossy.step)
        wiring.connect(m, source, lossy.input)
        if self.compressing:
            m.submodules.ranges = ranges = Fifo(OutOfRange(), config.descriptors, reserved=True)
            wiring.connect(m, lossy.report, ranges.input)
            wiring.connect(m, ranges.output, wiring.flipped(self.range))
        return slice_after(m, "lossy_slice", lossy.output) if config.pipelined else lossy.output

    def _base(self, m: Module, shape: PortShape) -> BaseReader:
        """What changes raw data by a base, on their way into a compressor or out of a decompressor."""
        config, bits = self.config, self.config.passed_bits
        lanes = config.codec.data_bits // bits
        m.submodules.base = base = BaseReader(
            shape, bits, lanes, config.descriptors, pipelined=config.pipelined
        )
        wiring.connect(m, base.port, wiring.flipped(self.bases))
        m.d.comb += [base.flush.eq(self.flush), base.mark.eq(self.mark)]
        return base

    def _sum(self, m: Module, raw: stream.Interface) -> None:
        """Forms the CRC of the raw beats: those before a compressor, which come straight from a memory unless an adapter or
        a shifter has them first, or those after a decompressor, which come late in the cycle."""
        config = self.config
        early = self.compressing and not (
            config.pipelined
            or config.realign
            or config.quantisation is not None
            or config.delta
            or config.dev_data_bits != config.lanes * config.format.word_bits
        )
        m.submodules.checksum = checksum = Checksum(
            config.codec, config.descriptors, exact=config.tail_bits > 0, pipelined=not early
        )
        m.d.comb += [
            checksum.passed.eq(raw.valid & raw.ready),
            checksum.beat.eq(raw.payload),
        ]
        wiring.connect(m, checksum.crc, wiring.flipped(self.crc))
