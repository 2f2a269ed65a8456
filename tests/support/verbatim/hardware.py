"""The hardware of the toy codec: beats pass, words are counted."""

from __future__ import annotations

from amaranth.hdl import Const, Module, Mux, Signal
from amaranth.lib import wiring

from cdma.hdl.blocks.arithmetic import popcount, thermometer
from cdma.hdl.blocks.registers import malformed
from cdma.hdl.codec.parts.interface import Error, codec_members
from cdma.hdl.spec.codec import CodecConfig


class VerbatimCompressor(wiring.Component):
    """Gives every beat in the cycle in which it comes, and mends the ``keep`` of malformed ones.

    A packet waits until the report of the one before it is taken.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(codec_members(config, length=False))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self.config.lanes
        source, sink, report = self.input, self.output, self.report.payload
        broken = malformed(source.payload)
        mended = Mux(source.payload.last, 1, ~Const(0, lanes))
        moves = Signal()
        m.d.comb += [
            sink.payload.data.eq(source.payload.data),
            sink.payload.keep.eq(Mux(broken, mended, source.payload.keep)),
            sink.payload.last.eq(source.payload.last),
            report.literals.eq(report.words_in),
        ]
        with m.FSM():
            with m.State("run"):
                m.d.comb += [
                    sink.valid.eq(source.valid),
                    source.ready.eq(sink.ready),
                    moves.eq(source.valid & sink.ready),
                ]
                with m.If(moves):
                    m.d.sync += [
                        report.words_in.eq(report.words_in + popcount(source.payload.keep)),
                        report.words_out.eq(report.words_out + popcount(sink.payload.keep)),
                    ]
                    with m.If(broken):
                        m.d.sync += report.error.eq(Error.BEAT)
                    with m.If(source.payload.last):
                        m.next = "report"
            with m.State("report"):
                m.d.comb += self.report.valid.eq(1)
                with m.If(self.report.ready):
                    m.d.sync += [report.words_in.eq(0), report.words_out.eq(0), report.error.eq(Error.NONE)]
                    m.next = "run"
        return m


class VerbatimDecompressor(wiring.Component):
    """Gives as many words as ``length`` asks for; a packet that has fewer ends with an empty beat.

    A packet waits until the report of the one before it is taken. What a packet has too much is discarded.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(codec_members(config, length=True))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes = self.config.lanes
        source, sink, report = self.input, self.output, self.report.payload
        arriving = source.payload
        #: Words of the packet that have not been delivered.
        left = Signal(32)
        #: The last beat of the input has been taken, and one of its beats was malformed.
        ended = Signal()
        broken = Signal()
        fault = Signal(Error)
        words = Signal(range(lanes + 1))
        enough = Signal()
        whole = Signal()
        m.d.comb += [
            words.eq(Mux(arriving.last, popcount(arriving.keep), lanes)),
            enough.eq(words >= left),
            whole.eq(words == lanes),
            report.literals.eq(report.words_out),
            report.error.eq(Mux(broken, Error.BEAT, fault)),
        ]
        takes = source.valid & source.ready
        with m.If(takes):
            m.d.sync += [
                report.words_in.eq(report.words_in + popcount(arriving.keep)),
                ended.eq(arriving.last),
            ]
            with m.If(malformed(arriving)):
                m.d.sync += broken.eq(1)
        with m.If(sink.valid & sink.ready):
            m.d.sync += report.words_out.eq(report.words_out + popcount(sink.payload.keep))

        with m.FSM():
            with m.State("length"):
                m.d.comb += self.length.ready.eq(1)
                m.d.sync += [left.eq(self.length.payload), ended.eq(0), fault.eq(Error.NONE)]
                with m.If(self.length.valid):
                    with m.If(self.length.payload == 0):
                        m.d.sync += fault.eq(Error.TRAILING)
                        m.next = "close"
                    with m.Else():
                        m.next = "run"
            with m.State("run"):
                m.d.comb += [
                    sink.valid.eq(source.valid),
                    source.ready.eq(sink.ready),
                    sink.payload.data.eq(arriving.data),
                    sink.payload.last.eq(enough | (arriving.last & ~whole)),
                ]
                with m.If(enough):
                    m.d.comb += sink.payload.keep.eq(thermometer(left, lanes))
                with m.Elif(whole):
                    m.d.comb += sink.payload.keep.eq(~Const(0, lanes))
                with m.If(takes):
                    m.d.sync += left.eq(left - lanes)
                    with m.If(enough):
                        with m.If(arriving.last):
                            m.next = "report"
                        with m.Else():
                            m.next = "discard"
                        with m.If(~arriving.last | (words != left)):
                            m.d.sync += fault.eq(Error.TRAILING)
                    with m.Elif(arriving.last):
                        m.d.sync += fault.eq(Error.TRUNCATED)
                        m.next = "report"
                        with m.If(whole):
                            m.next = "close"
            with m.State("close"):
                m.d.comb += [sink.valid.eq(1), sink.payload.last.eq(1)]
                with m.If(sink.ready):
                    m.next = "discard"
                    with m.If(ended):
                        m.next = "report"
            with m.State("discard"):
                m.d.comb += source.ready.eq(1)
                with m.If(source.valid & arriving.last):
                    m.next = "report"
            with m.State("report"):
                m.d.comb += self.report.valid.eq(1)
                with m.If(self.report.ready):
                    m.d.sync += [report.words_in.eq(0), report.words_out.eq(0), broken.eq(0)]
                    m.next = "length"
        return m
