"""The decompressor: headers and literals in, raw words out, at a beat per cycle."""

from amaranth.hdl import Elaboratable
from amaranth.lib import wiring

from cdma.hdl.spec.codec import CodecConfig

from .parts.interface import codec_members
from .pipelined.decompressor import PipelinedDecompressor
from .plain.decompressor import PlainDecompressor

__all__ = ["Decompressor"]


class Decompressor(wiring.Component):
    """Decompresses packets; ``docs/format.md`` describes what goes in.

    ``input``
        Compressed packets.
    ``length``
        Number of words of each packet.
    ``output``
        Raw packets, in the same order.
    ``report``
        One report per packet. A report that is not accepted stops the next packets.
    ``values``
        Table of frequent values, if the configuration leaves it to run time.
    ``one_entry``
        Beside such a table of more than one entry: of the table only entry 0 counts, and the codes of the others are
        invalid. It may change only while no packet is inside.

    Throughput: work-conserving. With a source that is always valid and a sink that is always ready, the cycles from a
    packet's first beat accepted to its last output beat are at most the sum over its windows of
    ``max(words in, words out) / lanes``, plus 8. A header longer than a beat is read in equal parts, each of which but one
    costs a cycle. A packet that follows another without a pause costs at most one more cycle. Of a format with a field, the
    words in are bytes, each a part of a word.

    Latency: the first output beat of a window comes 2 cycles after its first input beat, and one more for each part of a
    header beyond one beat.

    With less than two queued beats it stores one beat, and shows words of the beat at the input at the output within the
    cycle. Then the latency is a cycle less, and a window may cost one more cycle: ``cdma.sim.codec.unpacking`` counts them.

    Corrupt packets end. The first beat whose codes are invalid, or whose header, literals or padding are missing, or whose
    padding is not zero, is replaced by an empty last beat, and the rest of the input packet is discarded. Words left over
    after a whole packet are discarded, too. The report of the packet says what was wrong, and the next packets are unharmed.
    A length of 0 is reported as :attr:`Error.TRAILING`.

    A pipelined decompressor takes more cycles; see :class:`~cdma.hdl.codec.pipelined.decompressor.PipelinedDecompressor`.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(codec_members(config, length=True))

    def elaborate(self, platform: object) -> Elaboratable:
        kind = PipelinedDecompressor if self.config.pipelined else PlainDecompressor
        return kind(self.config, self)
