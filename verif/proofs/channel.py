"""A whole channel of an engine, with anything at its two ports that AXI4 allows."""

from __future__ import annotations

from amaranth.hdl import Assert, Assume, Cover, Module, Mux

from cdma.hdl.engine.channel.channel import Channel
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format

from .axi_port import RULES, Side, legal_subordinate
from .bench import Bench, fixed, free, hold, obey
from .design import Config, engine_with, plain_codec
from .proof import Proof
from .windows import any_windows

__all__ = ["PROOFS", "TINY", "Moving", "with_plain_codec"]


class Moving(Bench):
    """A channel reads and writes nothing but what its descriptors name, by the rules of AXI4.

    All descriptors have their source in one range and their destination, up to its capacity, in another one; both ranges
    may be any. So whatever is read and written is within them, of one descriptor or of several.
    """

    def __init__(self, config: EngineConfig, *, compressing: bool) -> None:
        super().__init__()
        self.config = config
        self.compressing = compressing

    def describe(self, m: Module) -> None:
        config = self.config
        m.submodules.dut = dut = Channel(config, self.compressing)
        any_windows(m, dut.windows, compressing=self.compressing)
        for name in ("enable", "halt_on_error", "resume", "abort", "halt", "watchdog_tick", "now"):
            free(m, name, getattr(dut, name))
        port = legal_subordinate(m, dut.read, read=dut.source, write=dut.sink)
        obey(m, dut.requests, "request")
        hold(m, dut.completion, "completion")
        self._stay_inside(m, dut, port)
        self.cover(m, dut, port)

    def _stay_inside(self, m: Module, dut: Channel, port: Side) -> None:
        """Reads are in the range of the sources, and written bytes in that of the destinations."""
        bits = dut.read.address_bits
        request = dut.requests.payload.descriptor
        read_from, read_to = fixed(m, "read_from", bits), fixed(m, "read_to", bits + 1)
        write_from, write_to = fixed(m, "write_from", bits), fixed(m, "write_to", bits + 1)
        count = Mux((request.mode == 0) | self.compressing, request.length, request.compressed_length)
        ar, w = dut.source.ar, dut.sink.w
        size = dut.read.data_bits // 8
        # The last beat may be read whole.
        m.d.comb += [
            Assume(~dut.requests.valid | (request.source >= read_from)),
            Assume(~dut.requests.valid | (request.source + count <= read_to)),
            Assume(~dut.requests.valid | (request.destination >= write_from)),
            Assume(~dut.requests.valid | (request.destination + request.capacity <= write_to)),
            Assert(~ar.valid | (ar.payload.address >= read_from)),
            Assert(~ar.valid | (ar.payload.address + ar.payload.len * size < read_to)),
        ]
        word = dut.read.word_bits // 8
        for lane in range(dut.write.lanes):
            put = w.valid & port.write_open & w.payload.keep[lane]
            address = port.write_address + lane * word
            m.d.comb += [Assert(~put | (address >= write_from)), Assert(~put | (address + word <= write_to))]

    def cover(self, m: Module, dut: Channel, port: Side) -> None:
        """What must be possible."""
        ar, w = dut.source.ar, dut.sink.w
        m.d.comb += [
            Cover(ar.valid & ar.ready & (ar.payload.len != 0)),
            Cover(w.valid & w.ready & w.payload.last & (port.write_address != 0)),
            Cover(dut.requests.ready & (dut.requests.payload.descriptor.mode != 0)),
        ]


class _Tiny(EngineConfig):
    """An engine smaller than those that are made: what a channel does depends on none of these sizes."""

    def __post_init__(self) -> None:
        pass


#: Ports, buffers and addresses that are as small as can be.
TINY = _Tiny(
    Format(8, 8, 1),
    lanes=2,
    dev_data_bits=16,
    host_data_bits=16,
    dev_address_bits=8,
    host_address_bits=8,
    burst_beats=2,
    read_buffer_beats=4,
    write_buffer_beats=8,
    latency=1,
    outstanding=2,
    descriptors=2,
)


def with_plain_codec(config: Config) -> bool:
    """The channel of the proof has the codec of the proofs in it."""
    return engine_with()(config) and plain_codec(config)


def _moving(config: str, *, compressing: bool) -> Proof:
    return Proof(
        name="channel",
        config=config,
        claim="AXI4 rules at both ports; nothing is read or written but what descriptors name",
        blocks=(Channel,),
        built_so=with_plain_codec,
        bench=lambda: Moving(TINY, compressing=compressing),
        rules=(RULES,),
        method="bmc",
        depth=44,
        cover=46,
        quick=False,
    )


PROOFS = [
    _moving("offload, 2 lanes", compressing=True),
    _moving("prefetch, 2 lanes", compressing=False),
]
