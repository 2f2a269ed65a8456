"""The compressor: raw words in, headers and literals out, at a beat per cycle."""

from amaranth.hdl import Elaboratable
from amaranth.lib import wiring

from cdma.hdl.spec.codec import CodecConfig

from .parts.interface import codec_members
from .pipelined.compressor import PipelinedCompressor
from .plain.compressor import PlainCompressor

__all__ = ["Compressor"]


class Compressor(wiring.Component):
    """Compresses packets of words; ``docs/format.md`` describes what comes out.

    ``input``
        Raw packets.
    ``output``
        Compressed packets, in the same order.
    ``report``
        One report per packet. It is offered as soon as the last beat of the packet is counted, which is before the last
        output beat. A report that is not accepted stops the next packets, but never the data of its own packet.
    ``values``
        Table of frequent values, if the configuration leaves it to run time. It must be constant while packets are in
        flight.

    Throughput: work-conserving. With a source that is always valid and a sink that is always ready, the cycles from a
    packet's first beat accepted to its last output beat are at most the sum over its windows of
    ``max(words in, words out) / lanes``, plus ``window / lanes + 4``. Parts of a header beyond one beat cost a cycle each.
    A packet that follows another without a pause costs at most one more cycle. Of a format with a field, the words out are
    bytes, each a part of a word.

    Latency: the first output beat of a window comes ``window / lanes`` cycles after its first input beat, for up to eight
    lanes with a window of 32. More lanes have more levels to pass.

    A malformed beat is reported as :attr:`Error.BEAT`. The data of its packet are then meaningless, and the next packets
    are unharmed.

    A pipelined compressor takes up to 7 cycles more, and up to 10 more until the first output beat;
    ``docs/architecture.md`` has the reasons. Up to 16 packets may be in flight or wait for their reports to be accepted.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(codec_members(config, length=False))

    def elaborate(self, platform: object) -> Elaboratable:
        kind = PipelinedCompressor if self.config.pipelined else PlainCompressor
        return kind(self.config, self)
