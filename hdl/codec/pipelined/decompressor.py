"""The pipelined decompressor, made for FPGAs, and the reports of its packets."""

from __future__ import annotations

from amaranth.hdl import Elaboratable, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.arithmetic import WideCounter
from cdma.hdl.blocks.elaboration import copies
from cdma.hdl.blocks.queues import Credit, MemoryQueue
from cdma.hdl.blocks.registers import Beat, StreamRegister
from cdma.hdl.codec.parts.codes import count_literals
from cdma.hdl.codec.parts.interface import Error, Report, connect_table, first_error, has_one_entry
from cdma.hdl.spec.codec import CodecConfig

from .beats import BeatPlanner, PlannedBeat, Spreader
from .intake import Intake
from .window_reader import PacketInfo, WindowReader

#: Packets whose reports can wait: as many as an FPGA's smallest memories hold.
_DEPTH = 16


class Outcome(data.StructLayout):
    """The outcome of a packet when its last beat is planned.

    ``words``, ``literals``: Number of words delivered, and of literals among them.
    ``error``: The error of its last beat.
    """

    def __init__(self) -> None:
        super().__init__({"words": 32, "literals": 32, "error": Error})


class Reports(wiring.Component):
    """Joins the counts of each packet's beats with those of its input; the two come at different times.

    ``planned``, ``valid``: A beat to deliver, and whether it is valid in this cycle. The first beat of a packet must
        come after the ``info`` of the packet before has been accepted; so outcomes need no credit of their own.
    ``info``: Counts of the input of each packet.
    ``report``: Report of each packet.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(
            {
                "planned": In(PlannedBeat(config)),
                "valid": In(1),
                "info": In(stream.Signature(PacketInfo())),
                "report": Out(stream.Signature(Report)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        lanes, planned = self.config.lanes, self.planned
        m.submodules.words = words = WideCounter(lanes, pipelined=True)
        m.submodules.literals = literals = WideCounter(lanes, pipelined=True)
        m.submodules.outcomes = outcomes = MemoryQueue(Outcome(), _DEPTH)
        m.submodules.infos = infos = MemoryQueue(PacketInfo(), _DEPTH)
        m.submodules.info_room = credit = Credit(_DEPTH)
        m.submodules.report = report = StreamRegister(Report)

        # A beat is counted a cycle later, and the counts of a packet are complete in the cycle after that.
        delivers = Signal()
        last = Signal()
        done = Signal()
        last_error = Signal(Error, reset_less=True)
        error = Signal(Error, reset_less=True)
        m.d.comb += delivers.eq(self.valid & (planned.error == Error.NONE))
        of_beat = count_literals(planned.codes, planned.literals, self.config, 4)
        m.d.sync += [
            words.amount.eq(Mux(delivers, planned.words + 1, 0)),
            literals.amount.eq(Mux(delivers, of_beat, 0)),
            last.eq(self.valid & planned.last),
            last_error.eq(planned.error),
            done.eq(last),
            error.eq(last_error),
        ]
        joins = Signal()
        outcome, info = outcomes.output.payload, infos.output.payload
        m.d.comb += [
            words.clear.eq(done),
            literals.clear.eq(done),
            outcomes.input.valid.eq(done),
            outcomes.input.payload.words.eq(words.value),
            outcomes.input.payload.literals.eq(literals.value),
            outcomes.input.payload.error.eq(error),
            self.info.ready.eq(credit.available),
            infos.input.valid.eq(self.info.valid & self.info.ready),
            infos.input.payload.eq(self.info.payload),
            credit.spent.eq(infos.input.valid),
            report.input.valid.eq(outcomes.output.valid & infos.output.valid),
            joins.eq(report.input.valid & report.input.ready),
            outcomes.output.ready.eq(joins),
            infos.output.ready.eq(joins),
            credit.returned.eq(joins),
        ]
        m.d.comb += [
            report.input.payload.words_in.eq(info.words),
            report.input.payload.words_out.eq(outcome.words),
            report.input.payload.literals.eq(outcome.literals),
            report.input.payload.error.eq(
                first_error(
                    (info.malformed, Error.BEAT),
                    (outcome.error != Error.NONE, outcome.error),
                    (info.trailing, Error.TRAILING),
                )
            ),
        ]
        wiring.connect(m, report.output, wiring.flipped(self.report))
        return m


#: Beats that are planned and have not left: as many as an FPGA's smallest memories hold.
_BEATS = 16


class PipelinedDecompressor(Elaboratable):
    """The elaboration of a pipelined :class:`~cdma.hdl.codec.generate.Decompressor`, whose ``ports`` it drives: memories and
    a pipeline that never stops.

    Throughput: a window needs at least four cycles, however short it is, and a packet that follows another without a pause
    costs two more.

    Headers are read ahead of the beats that are decompressed. A beat is planned only with credit for it in the queue after
    the pipeline. So nothing in the pipeline waits, and no signal has to reach all of it within a cycle: on an FPGA the
    wires are slow, not the logic.
    """

    def __init__(self, config: CodecConfig, ports: wiring.PureInterface) -> None:
        self.config = config
        self.ports = ports

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, ports = self.config, self.ports
        m.submodules.intake = intake = Intake(config)
        m.submodules.reader = reader = WindowReader(config)
        m.submodules.planner = planner = BeatPlanner(config)
        m.submodules.spreader = spreader = Spreader(config)
        m.submodules.reports = reports = Reports(config)
        m.submodules.beats = beats = MemoryQueue(Beat(config.format.word_bits, config.lanes), _BEATS)
        m.submodules.credit = credit = Credit(_BEATS)
        wiring.connect(m, wiring.flipped(ports.input), intake.input)
        wiring.connect(m, wiring.flipped(ports.length), reader.length)
        wiring.connect(m, reader.window, planner.window)
        wiring.connect(m, reader.info, reports.info)
        wiring.connect(m, reports.report, wiring.flipped(ports.report))
        m.d.comb += [
            *copies(reader, intake, "reach", "ended", "end"),
            *copies(intake, reader, "pop", "passes", "past"),
            intake.read[0].eq(reader.read),
            intake.place[0].eq(reader.place),
            intake.above[0].eq(reader.above),
            reader.words.eq(intake.words[0]),
            reader.idle.eq(~(reader.window.valid | planner.busy | spreader.busy)),
            intake.read[1].eq(1),
            intake.place[1].eq(spreader.place),
            intake.above[1].eq(spreader.place.beat + 1),
            spreader.words.eq(intake.words[1]),
            planner.go.eq(credit.available),
            *copies(spreader, planner, "planned", "valid"),
            *copies(reports, planner, "planned", "valid"),
        ]
        connect_table(m, config, ports, spreader)
        if has_one_entry(config):
            m.d.comb += reader.one_entry.eq(ports.one_entry)
        free = Signal.like(intake.free)
        m.d.comb += intake.free.eq(free)
        with m.If(spreader.reading):
            m.d.sync += free.eq(spreader.oldest)
        with m.Elif(reader.discard):
            m.d.sync += free.eq(reader.free)

        m.d.comb += [
            beats.input.valid.eq(spreader.done),
            beats.input.payload.eq(spreader.beat),
            credit.spent.eq(planner.plans),
            credit.returned.eq(beats.output.valid & beats.output.ready),
        ]
        wiring.connect(m, beats.output, wiring.flipped(ports.output))
        return m
