"""The pipelined decompressor, made for FPGAs."""

from amaranth.hdl import Elaboratable, Module, Signal
from amaranth.lib import wiring

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.credit import Credit
from cdma.hdl.blocks.memory_queue import MemoryQueue
from cdma.hdl.codec.parts.interface import connect_table, has_one_entry
from cdma.hdl.spec.codec import CodecConfig

from .beat_planner import BeatPlanner
from .intake import Intake
from .reports import Reports
from .spreader import Spreader
from .window_reader import WindowReader

__all__ = ["PipelinedDecompressor"]

#: Beats that are planned and have not left: as many as an FPGA's smallest memories hold.
_BEATS = 16


class PipelinedDecompressor(Elaboratable):
    """Drives the ``ports`` of a :class:`~cdma.hdl.codec.decompressor.Decompressor`, and is what that elaborates to: memories
    and a pipeline that never stops.

    Throughput: a window takes at least four cycles, however short it is, and a packet that follows another without a pause
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
            reader.reach.eq(intake.reach),
            reader.ended.eq(intake.ended),
            reader.end.eq(intake.end),
            intake.pop.eq(reader.pop),
            intake.read[0].eq(reader.read),
            intake.place[0].eq(reader.place),
            intake.above[0].eq(reader.above),
            intake.passes.eq(reader.passes),
            intake.past.eq(reader.past),
            reader.words.eq(intake.words[0]),
            reader.idle.eq(~(reader.window.valid | planner.busy | spreader.busy)),
            intake.read[1].eq(1),
            intake.place[1].eq(spreader.place),
            intake.above[1].eq(spreader.place.beat + 1),
            spreader.words.eq(intake.words[1]),
            planner.go.eq(credit.there),
            spreader.planned.eq(planner.planned),
            spreader.there.eq(planner.there),
            reports.planned.eq(planner.planned),
            reports.there.eq(planner.there),
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
            credit.taken.eq(planner.plans),
            credit.given.eq(beats.output.valid & beats.output.ready),
        ]
        wiring.connect(m, beats.output, wiring.flipped(ports.output))
        return m
