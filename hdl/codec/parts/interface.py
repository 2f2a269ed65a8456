"""Ports, reports and memories of every codec, and the gate of its clock."""

from amaranth.hdl import Module, Mux, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.clocks import Clocking
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.blocks.registers import Beat
from cdma.hdl.spec.codec import CodecConfig

#: What each memory is for, by the end of the path of its instance as a regular expression.
PURPOSES = {
    r"group_store\.beats\.memory": "beats of a group, until its mask is known",
    r"group_store\.(masks|opened)\.memory": "masks of groups, until their windows leave",
    r"counts\.memory": "counts of packets, until their reports leave",
    r"packer\.queue\.bank_\d\.memory": "beats of the compressed stream that are complete",
    r"window_memory\.beats\.memory": "beats with routed literals, until the header of their window is known",
    r"window_memory\.headers\.memory": "headers of windows",
    r"(core|codec)\.beats\.memory": "decompressed beats, until they leave",
    r"intake\.lane_\d+": "words of a lane of the compressed stream",
    r"intake\.header_\d+": "words of a lane of the compressed stream, until the headers among them are read",
    r"intake\.ends\.memory": "ends of packets in the compressed stream",
    r"reports\.(infos|outcomes)\.memory": "counts and errors of packets, until their reports leave",
}


class Error(enum.Enum, shape=8):
    """The error of a packet; only the first one found is reported."""

    NONE = 0
    #: The stream ended before the packet had all its words.
    TRUNCATED = 1
    #: The stream goes on after the packet has all its words.
    TRAILING = 2
    #: A code past the table, or a code other than 0 past the end of a partial window.
    CODE = 3
    #: A beat that is empty, has a hole, cuts a word, or is partial without being the last.
    BEAT = 4
    #: Padding of a window that is not zero.
    PADDING = 5


def first_error(*found: tuple[Value, Value | Error], otherwise: Value | Error = Error.NONE) -> Value:
    """The error of the first condition that holds, or ``otherwise``."""
    error = Value.cast(otherwise)
    for condition, candidate in reversed(found):
        error = Mux(condition, candidate, error)
    return error


class Report(data.Struct):
    """The report of a packet; reports come in the order of the packets.

    ``words_in``, ``words_out``: Number of words accepted, and of words delivered; of the compressed stream these are
        stream words.
    ``literals``: Number of literals among the raw words.
    ``error``: The first error found.
    """

    words_in: 32
    words_out: 32
    literals: 32
    error: Error


def table_members(config: CodecConfig) -> dict[str, wiring.Member]:
    """The port ``values`` of blocks that need the frequent values, if these are set at run time."""
    values = In(data.ArrayLayout(config.format.entry_bits, config.table_size))
    return optional(config.runtime_values, values=values)


def connect_table(
    m: Module, config: CodecConfig, source: wiring.PureInterface, sink: wiring.PureInterface
) -> None:
    """Connects the ports of :func:`table_members` of a block and of a block inside it."""
    if config.runtime_values:
        m.d.comb += sink.values.eq(source.values)


def has_one_entry(config: CodecConfig) -> bool:
    """Whether a decompressor has the port ``one_entry``: with a table of several entries at run time."""
    return config.runtime_values and config.table_size > 1


def codec_members(config: CodecConfig, *, length: bool) -> dict[str, wiring.Member]:
    """The ports of a compressor, or, with ``length``, of a decompressor.

    While ``one_entry`` is high, only entry 0 of the table is valid, and the codes of the others are invalid. It may change
    only while no packet is inside.
    """
    raw, packed = Beat(config.format.word_bits, config.lanes), Beat(config.format.stream_bits, config.units)
    source, sink = (packed, raw) if length else (raw, packed)
    return {
        "input": In(stream.Signature(source)),
        **optional(length, length=In(stream.Signature(32))),
        "output": Out(stream.Signature(sink)),
        "report": Out(stream.Signature(Report)),
        **table_members(config),
        **optional(length and has_one_entry(config), one_entry=In(1)),
    }


def connect_compressor(
    m: Module,
    config: CodecConfig,
    ports: wiring.PureInterface,
    input_: stream.Interface,
    *,
    store: wiring.Component,
    packer: wiring.Component,
    tally: wiring.Component,
    report: wiring.Component,
) -> None:
    """Connects the ``ports`` of a compressor and its blocks; ``store`` is a window store or a window memory, and ``input_``
    the input of the first block."""
    wiring.connect(m, wiring.flipped(ports.input), input_)
    wiring.connect(m, store.step, packer.step)
    wiring.connect(m, store.arrival, tally.arrival)
    wiring.connect(m, packer.output, wiring.flipped(ports.output))
    wiring.connect(m, report.report, wiring.flipped(ports.report))
    connect_table(m, config, ports, store)


def queue_members(config: CodecConfig) -> dict[str, wiring.Member]:
    """The ports of a queue of finished beats.

    ``rows``: Up to two beats to push.
    ``push``: Number of ``rows`` to push, as a thermometer.
    ``fire``: Pushes them; only while ``available`` is high, or in the cycle after, by the queue.
    ``last``: The row that ends its packet. All others are full.
    ``count``: Number of stream words in that row, less one.
    ``available``: The queue has room for the rows of ``push``.
    ``output``: The beats, in order.
    """
    bits, units = config.format.stream_bits, config.units
    return {
        "push": In(2),
        "fire": In(1),
        "rows": In(data.ArrayLayout(data.ArrayLayout(bits, units), 2)),
        "last": In(2),
        "count": In(range(units)),
        "available": Out(1),
        "output": Out(stream.Signature(Beat(bits, units))),
    }


#: Cycles in which a codec settles beyond those of a window: its pipeline, and its counters.
_PIPELINE_CYCLES = 16


class GatedCodec(wiring.Component):
    """A plain ``codec`` whose clock runs while a stream of its ports is valid, and until it has settled.

    A valid beat opens the gate in the same cycle, so none is later than without a gate.
    """

    def __init__(self, codec: wiring.Component, config: CodecConfig, clocking: Clocking) -> None:
        self.codec = codec
        self.config = config
        self.clocking = clocking
        super().__init__(dict(codec.signature.members.items()))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        active: Value = self.input.valid | self.output.valid | self.report.valid
        if "length" in self.signature.members:
            active |= self.length.valid
        # With two levels nothing comes out while the windows of a group that are absent leave.
        form = self.config.format
        windows = form.group if form.mask_words else 1
        settling = windows * self.config.beats + _PIPELINE_CYCLES
        m.submodules.codec = self.clocking.gated(m, "codec", self.codec, lambda: active, settling)
        wiring.connect(m, wiring.flipped(self), self.codec)
        return m
