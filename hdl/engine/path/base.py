"""The base of a delta: read from device memory while the raw data pass, which are changed by it."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import Command, PortShape
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.blocks.elaboration import sized
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import Beat
from cdma.hdl.blocks.width import connect_width

from .switches import counted_in


def base_command(address_bits: int, user_bits: int) -> Command:
    """The command of a base; one without ``delta`` reads nothing."""
    return Command(address_bits, "delta", user=user_bits)


class Change(wiring.Component):
    """Changes packets of raw data by bases, beat by beat: XOR.

    Throughput: a beat per cycle. Latency: none. A base has at least as many beats as its raw data. Where these end
    early, because their stream is wrong, the rest of the base is dropped before the next packet.

    ``input``, ``output``: The raw data.
    ``base``: The bases, one packet each.
    ``deltas``: One for each packet of raw data: whether it has a base.
    """

    def __init__(self, word_bits: int, lanes: int) -> None:
        beats = stream.Signature(Beat(word_bits, lanes))
        super().__init__(
            {"input": In(beats), "base": In(beats), "deltas": In(stream.Signature(1)), "output": Out(beats)}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        source, base, sink = self.input, self.base, self.output
        delta = self.deltas.payload
        #: The raw data have ended, and the base has not.
        drops = Signal()
        passes = Signal()
        moved = Signal()
        ends = Signal()
        changed = source.payload.data.as_value() ^ Mux(delta, base.payload.data.as_value(), 0)
        m.d.comb += [
            passes.eq(self.deltas.valid & ~drops & (~delta | base.valid)),
            sink.valid.eq(source.valid & passes),
            source.ready.eq(sink.ready & passes),
            moved.eq(sink.valid & sink.ready),
            sink.payload.eq(source.payload),
            sink.payload.data.as_value().eq(changed),
            base.ready.eq(drops | (moved & delta)),
            ends.eq(Mux(drops, base.valid & base.payload.last, moved & source.payload.last)),
            self.deltas.ready.eq(ends & (drops | ~delta | base.payload.last)),
        ]
        m.d.sync += drops.eq(Mux(drops, ~ends, ends & delta & ~base.payload.last))
        return m


class BaseReader(wiring.Component):
    """Passes raw data on; those of a descriptor with a base XOR the base.

    Bases are read ahead of the data, as far as the buffer reaches. Throughput and latency are those of :class:`Change`, as
    far as memory delivers.

    ``shape``: The device port, as the base is read from it.
    ``word_bits``, ``lanes``: The beats of raw data.
    ``packets``: The most descriptors in flight.

    ``command``: One for each descriptor, in order, and no later than its raw data.
    ``outcome``: One for each descriptor with a base.
    ``input``, ``output``: The raw data.
    ``port``, ``flush``, ``idle``, ``progress``, ``mark``: Those of the :class:`.AxiReader`.
    """

    def __init__(
        self, shape: PortShape, word_bits: int, lanes: int, packets: int, *, pipelined: bool = False
    ) -> None:
        self.shape = shape
        self.word_bits = word_bits
        self.lanes = lanes
        self.packets = packets
        self.pipelined = pipelined
        beats = stream.Signature(Beat(word_bits, lanes))
        super().__init__(
            {
                "command": In(stream.Signature(base_command(shape.address_bits, shape.user_bits))),
                "outcome": Out(shape.outcome),
                "input": In(beats),
                "output": Out(beats),
                "port": Out(shape.read_port),
                "flush": In(1),
                "idle": Out(1),
                "progress": Out(1),
                "mark": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.reader = reader = AxiReader(self.shape)
        m.submodules.deltas = deltas = Fifo(1, self.packets, reserved=True)
        self._command(m, reader, deltas)
        m.submodules.change = change = Change(self.word_bits, self.lanes)
        words = counted_in(m, "base_words", reader.output, self.word_bits)
        connect_width(m, "base_width", self.word_bits, words, change.base, pipelined=self.pipelined)
        wiring.connect(m, deltas.output, change.deltas)
        wiring.connect(m, wiring.flipped(self.input), change.input)
        wiring.connect(m, change.output, wiring.flipped(self.output))
        wiring.connect(m, reader.port, wiring.flipped(self.port))
        wiring.connect(m, reader.outcome, wiring.flipped(self.outcome))
        m.d.comb += [
            reader.flush.eq(self.flush),
            reader.mark.eq(self.mark),
            self.idle.eq(reader.idle),
            self.progress.eq(reader.progress),
        ]
        return m

    def _command(self, m: Module, reader: AxiReader, deltas: Fifo) -> None:
        """Tells at once whether the next packet has a base, and reads that."""
        command, told = self.command, Signal()
        delta = command.payload.delta
        m.d.comb += [
            deltas.input.valid.eq(command.valid & ~told),
            deltas.input.payload.eq(delta),
            reader.command.valid.eq(command.valid & delta),
            *(reader.command.payload[end].eq(command.payload[end]) for end in ("first", "last")),
            *sized(reader.command.payload.user.eq(command.payload.user)),
            command.ready.eq(reader.command.ready | ~delta),
        ]
        m.d.sync += told.eq(command.valid & ~command.ready)
