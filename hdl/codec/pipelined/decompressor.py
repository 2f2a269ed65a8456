"""A decompressor for FPGAs."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring

from cdma.hdl.blocks.credit import Credit
from cdma.hdl.blocks.gates import thermometer
from cdma.hdl.blocks.memory_queue import MemoryQueue
from cdma.hdl.codec.parts.interface import codec_members
from cdma.hdl.spec.codec import CodecConfig

from .beat_planner import BeatPlanner
from .intake import Intake
from .reports import Reports
from .spreader import SpreadBeat, Spreader
from .window_reader import WindowReader

__all__ = ["PipelinedDecompressor"]

#: Beats that are planned, but have not left: what an FPGA's smallest memories hold.
_BEATS = 16


class PipelinedDecompressor(wiring.Component):
    """Does what a :class:`~cdma.hdl.codec.decompressor.Decompressor` does, with memories and a pipeline that never stops.

    Headers are read ahead of the beats that are decompressed. A beat is planned only if there is room for it in the queue
    behind the pipeline, so nothing in between waits, and no signal has to reach all of it within a cycle: what makes a
    decompressor slow on an FPGA is not logic but wires.

    Work-conserving as that one is, but for what a header may cost: a window takes four cycles at least, however short, and a
    packet behind another two more.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(codec_members(config, length=True))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        m.submodules.intake = intake = Intake(config)
        m.submodules.reader = reader = WindowReader(config)
        m.submodules.planner = planner = BeatPlanner(config)
        m.submodules.spreader = spreader = Spreader(config)
        m.submodules.reports = reports = Reports(config)
        m.submodules.beats = beats = MemoryQueue(SpreadBeat(config), _BEATS)
        m.submodules.room = room = Credit(_BEATS)
        wiring.connect(m, wiring.flipped(self.input), intake.input)
        wiring.connect(m, wiring.flipped(self.length), reader.length)
        wiring.connect(m, reader.window, planner.window)
        wiring.connect(m, reader.info, reports.info)
        wiring.connect(m, reports.report, wiring.flipped(self.report))
        m.d.comb += [
            reader.reach.eq(intake.reach),
            reader.ended.eq(intake.ended),
            reader.end.eq(intake.end),
            intake.pop.eq(reader.pop),
            intake.read[0].eq(reader.read),
            intake.place[0].eq(reader.place),
            intake.above[0].eq(reader.above),
            reader.words.eq(intake.words[0]),
            reader.idle.eq(~(reader.window.valid | planner.busy | spreader.busy)),
            intake.read[1].eq(1),
            intake.place[1].eq(spreader.place),
            intake.above[1].eq(spreader.place.beat + 1),
            spreader.words.eq(intake.words[1]),
            planner.go.eq(room.there),
            spreader.planned.eq(planner.planned),
            spreader.there.eq(planner.there),
            reports.planned.eq(planner.planned),
            reports.there.eq(planner.there),
        ]
        if config.runtime_values:
            m.d.comb += spreader.values.eq(self.values)
        free = Signal.like(intake.free)
        m.d.comb += intake.free.eq(free)
        with m.If(spreader.reading):
            m.d.sync += free.eq(spreader.oldest)
        with m.Elif(reader.discard):
            m.d.sync += free.eq(reader.free)

        beat, output = beats.output.payload, self.output.payload
        m.d.comb += [
            beats.input.valid.eq(spreader.done),
            beats.input.payload.eq(spreader.beat),
            room.taken.eq(planner.plans),
            room.given.eq(beats.output.valid & beats.output.ready),
            self.output.valid.eq(beats.output.valid),
            beats.output.ready.eq(self.output.ready),
            output.data.eq(beat.data),
            output.keep.eq(Mux(beat.fails, 0, thermometer(beat.words, config.lanes) << 1 | 1)),
            output.last.eq(beat.last),
        ]
        return m
