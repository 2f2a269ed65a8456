"""Reports of packets, whose input and output are counted at different times."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.counter import WideCounter
from cdma.hdl.blocks.credit import Credit
from cdma.hdl.blocks.gates import popcount
from cdma.hdl.blocks.memory_queue import MemoryQueue
from cdma.hdl.blocks.stream_register import StreamRegister
from cdma.hdl.codec.parts.classifier import literals_of
from cdma.hdl.codec.parts.streams import Error, Report, first_error
from cdma.hdl.spec.codec import CodecConfig

from .beat_planner import PlannedBeat
from .window_reader import PacketInfo

__all__ = ["Outcome", "Reports"]

#: Packets whose reports can wait: as many as an FPGA's smallest memories hold.
_DEPTH = 16


class Outcome(data.StructLayout):
    """What is known of a packet when its last beat is planned.

    ``words``, ``literals``
        Number of words delivered, and of literals among them.
    ``error``
        The error of its last beat.
    """

    def __init__(self) -> None:
        super().__init__({"words": 32, "literals": 32, "error": Error})


class Reports(wiring.Component):
    """Joins what is counted of each packet's beats with what is known of its input.

    ``planned``, ``there``
        A beat to deliver, and whether it is valid in this cycle. The first beat of a packet must come after the ``info`` of
        the packet before has been accepted; so outcomes need no credit of their own.
    ``info``
        What is known of the input of each packet.
    ``report``
        Report of each packet.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(
            {
                "planned": In(PlannedBeat(config)),
                "there": In(1),
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
        m.d.comb += delivers.eq(self.there & (planned.error == Error.NONE))
        if self.config.format.parts == 1:
            of_beat = planned.literals
        else:
            of_beat = popcount(literals_of(planned.codes, self.config), 4)
        m.d.sync += [
            words.amount.eq(Mux(delivers, planned.words + 1, 0)),
            literals.amount.eq(Mux(delivers, of_beat, 0)),
            last.eq(self.there & planned.last),
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
            self.info.ready.eq(credit.there),
            infos.input.valid.eq(self.info.valid & self.info.ready),
            infos.input.payload.eq(self.info.payload),
            credit.taken.eq(infos.input.valid),
            report.input.valid.eq(outcomes.output.valid & infos.output.valid),
            joins.eq(report.input.valid & report.input.ready),
            outcomes.output.ready.eq(joins),
            infos.output.ready.eq(joins),
            credit.given.eq(joins),
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
