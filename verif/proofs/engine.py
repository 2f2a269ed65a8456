"""A whole channel, and the rings, with anything at the other side of their ports that AXI4 allows.

Where a record of a ring lies, and whether the engine may access it, is a proof of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from amaranth.hdl import Array, Assert, Assume, C, Cover, Module, Mux, Signal, Value
from amaranth.lib import stream

from cdma.hdl.axi.ports import PortShape
from cdma.hdl.engine.channel.channel import Channel
from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.engine.rings.rings import Rings
from cdma.hdl.engine.rings.slot import RingSlot
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.records import RECORD_BYTES
from cdma.hdl.spec.registers.description import REGISTER_BITS
from cdma.hdl.spec.registers.map import RegisterMap

from .bench import RULES, Bench, Side, any_windows, fixed, free, hold, legal_subordinate, obey
from .proof import Config, Proof, engine_with, plain_codec

_PAGE = (1 << 12) - 1


def stored(m: Module, registers: RegisterMap, bits: int, port: Value) -> dict[str, Value]:
    """Drives the registers of rings and host window with any constant that they may hold: without bits beyond an address,
    or within a record or a page."""
    places = {
        **{f"{name}.{ring}_base": RECORD_BYTES - 1 for name in CHANNELS for ring in ("ring", "completion")},
        "host_window.base": _PAGE,
        "host_window.limit": _PAGE,
    }
    asked = Signal.like(port.index)
    m.d.sync += asked.eq(port.index)
    values: dict[str, Value] = {}
    with m.Switch(asked):
        for place, within in places.items():
            values[place] = value = fixed(m, place.replace(".", "_"), bits)
            m.d.comb += Assume(value & within == (within if place.endswith("limit") else 0))
            for half, word in zip(
                ("low", "high"), (value[:REGISTER_BITS], value[REGISTER_BITS:]), strict=True
            ):
                if len(word):
                    with m.Case(registers.word(f"{place}_{half}")):
                        m.d.comb += port.data.eq(word)
    return values


@dataclass(eq=False)
class Finding(Bench):
    """A search begins in the first cycle, in any state, and has the right result after the cycles it may take.

    No second search begins, so the depth is no bound.
    """

    any_start = True

    slot: RingSlot

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.slot
        bits = dut.address_bits
        takes = 3 * dut.limbs + 3
        values = stored(m, dut.registers, bits, dut.stored)
        cycle = Signal(range(takes + 2))
        m.d.sync += cycle.eq(Mux(cycle == takes + 1, cycle, cycle + 1))
        m.d.comb += dut.start.eq(cycle == 0)
        for name in ("channel", "completions", "index", "ring_log2"):
            port = getattr(dut, name)
            m.d.comb += port.eq(fixed(m, f"any_{name}", len(port)))
        rings = [values[f"{name}.{ring}_base"] for name in CHANNELS for ring in ("ring", "completion")]
        offload, prefetch = (Mux(dut.completions, done, asked) for asked, done in (rings[:2], rings[2:]))
        place = dut.index & ((C(1, len(dut.index) + 1) << dut.ring_log2) - 1)
        address = Mux(dut.channel, prefetch, offload) + place * RECORD_BYTES
        low, high = values["host_window.base"], values["host_window.limit"]
        inside = (address >= low) & (address <= high)
        over = (cycle > takes - 1) & (cycle < takes + 1)
        m.d.comb += [
            Assert((cycle < 1) | (dut.done == (cycle >= takes - 2))),
            Assert(~over | (dut.allowed == inside)),
            Assert(~(over & dut.allowed) | (dut.address == address)),
            Cover(over & dut.allowed & (place > 1)),
            Cover(over & ~dut.allowed & (address > high)),
            Cover(over & ~dut.allowed & (address < low)),
        ]


def _finding(bits: int) -> Proof:
    config = replace(EngineConfig(), host_address_bits=bits)
    return Proof(
        name="ring_slot",
        config=f"{bits} bits of address",
        claim="a record of a ring is where its index says; whether it is inside the window and the address space",
        blocks=(RingSlot,),
        built_so=engine_with(options=True, realign=True, units=True),
        bench=lambda: Finding(RingSlot(config)),
        method="bmc",
        depth=20,
        cover=20,
    )


@dataclass(eq=False)
class Moving(Bench):
    """A channel reads and writes only what its descriptors name, by the rules of AXI4.

    All descriptors have their source in one range and their destination, up to its capacity, in another; both ranges
    may be any. So all accesses are within them, of one descriptor or of several.
    """

    config: EngineConfig
    compressing: bool

    def describe(self, m: Module) -> None:
        config = self.config
        m.submodules.dut = dut = Channel(config, self.compressing)
        any_windows(m, dut.windows, compressing=self.compressing)
        for name in ("enable", "halt_on_error", "resume", "abort", "halt", "watchdog_tick", "now"):
            free(m, name, getattr(dut, name))
        port = legal_subordinate(m, dut.read, read=dut.source, write=dut.sink)
        obey(m, dut.requests, "request")
        hold(m, dut.done, "completion")
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


#: A record is two beats of this port, and an address one limb.
_BEAT_BYTES = RECORD_BYTES // 2
SMALL = replace(
    TINY,
    host_data_bits=8 * _BEAT_BYTES,
    host_address_bits=16,
    dev_address_bits=16,
    ring_entries=2,
    descriptors=2,
)
#: Of a completion these are looked at; a bit of the tag stands for all that is only copied.
_SEEN = {"status": 8, "tag": 1}


class Fetching(Bench):
    """Rings keep the rules of AXI4, read only entries of descriptor rings, and write only entries of completion rings,
    whatever channels, software and memory do.

    Rings and window may be anywhere, and stay. All descriptors are the same: nothing here looks at them.
    """

    def __init__(self, rings: Rings) -> None:
        self.rings = rings
        self.pair = rings.pair_0
        self.config = rings.config
        #: log2 of the entries of the rings of each channel.
        self.log2: dict[str, Value] = {}

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.rings
        config = self.config
        free(m, "changes", dut.changes)
        for name in CHANNELS:
            self._drive(m, name)
        free(m, "watchdog_tick", dut.watchdog_tick)
        free(m, "events_taken", dut.events.ready)
        free(m, "stop", self.pair.stop)
        free(m, "report_ready", dut.report.ready)
        r = dut.fetch.r
        legal_subordinate(
            m,
            PortShape(
                word_bits=config.format.stream_bits,
                data_bits=config.host_data_bits,
                address_bits=config.host_address_bits,
                burst=RECORD_BYTES // _BEAT_BYTES,
                outstanding=max(config.ring_reads, config.ring_writes),
                buffer=RECORD_BYTES // _BEAT_BYTES,
            ),
            read=dut.fetch,
            write=dut.complete,
            id_bits=1,
        )
        m.d.comb += Assume(r.payload.data == 0)
        self._stay_inside(m)

    def _drive(self, m: Module, name: str) -> None:
        """A channel and its registers: anything, by the rules of streams."""
        client, control = getattr(self.pair, name), getattr(self.pair, f"{name}_control")
        requests = getattr(self.rings, f"{name}_requests")
        free(m, f"{name}_aborting", client.aborting)
        for signal in ("checking", "taken"):
            free(m, f"{name}_{signal}", getattr(requests, signal))
        # The channel takes what it has checked.
        m.d.comb += [
            requests.reads.eq(1),
            requests.chosen.eq(1),
            Assume(~requests.taken | (requests.checking & requests.shown)),
        ]
        shown = getattr(self.rings, f"{name}_completion")
        done = stream.Signature(shown.shape()).create(path=(name, "completion"))
        obey(m, done, f"{name}_completion")
        m.d.comb += [client.waiting.eq(done.valid), done.ready.eq(client.taken), shown.eq(done.payload)]
        for field, (_, bits) in _fields(shown.completion):
            kept = _SEEN.get(field, 0)
            m.d.comb += Assume(bits[kept:] == 0)
        for signal in ("push", "pop", "halt_on_error", "error_clear"):
            free(m, f"{name}_{signal}", getattr(control, signal))
        for ring in ("ring", "completions"):
            free(m, f"{name}_{ring}_enable", getattr(control, f"{ring}_enable"))
        largest = (self.config.ring_entries - 1).bit_length()
        log2 = self.log2[name] = fixed(m, f"{name}_log2", 4)
        changes = self.rings.changes
        sizes = changes.index == self.rings.registers.word(f"{name}.ring_size")
        m.d.comb += Assume((log2 <= largest) & (~sizes | (changes.data == log2)))

    def _stay_inside(self, m: Module) -> None:
        """Gives the rings their registers, and looks at every address."""
        dut = self.rings
        bits = self.config.host_address_bits
        places = stored(m, dut.registers, bits, dut.stored)
        low, high = places["host_window.base"], places["host_window.limit"]
        for ring, port in (("ring", dut.fetch.ar), ("completion", dut.complete.aw)):
            bases = Array(places[f"{name}.{ring}_base"] for name in CHANNELS)
            sizes = Array(C(RECORD_BYTES, bits + 1) << self.log2[name] for name in CHANNELS)
            channel, address = port.payload.id, port.payload.address
            first = bases[channel]
            m.d.comb += [
                Assert(~port.valid | ((address >= first) & (address - first < sizes[channel]))),
                Assert(~port.valid | ((address >= low) & (address <= high))),
            ]
        self.cover(m, places)

    def cover(self, m: Module, places: Mapping[str, Value]) -> None:
        fetch, complete = self.rings.fetch, self.rings.complete
        ar, w, b = fetch.ar, complete.w, complete.b
        second = ar.payload.address != places["prefetch.ring_base"]
        m.d.comb += [
            Cover(ar.valid & ar.ready & ar.payload.id & second),
            Cover(w.valid & w.ready & w.payload.last),
            Cover(b.valid & b.ready & (b.payload.resp.as_value() == 2)),
        ]


def _fields(record: Value) -> list[tuple[str, tuple[int, Value]]]:
    return [(name, (len(Value.cast(record[name])), Value.cast(record[name]))) for name, _ in record.shape()]


PROOFS = [
    _finding(40),
    _finding(64),
    _moving("offload, 2 lanes", compressing=True),
    _moving("prefetch, 2 lanes", compressing=False),
    Proof(
        name="rings",
        config="rings of up to 2, a record of 2 beats",
        claim="AXI4 rules at the host port; nothing is read or written but slots of the rings, inside the window",
        blocks=(Rings,),
        built_so=engine_with(realign=True, units=True),
        bench=lambda: Fetching(Rings(SMALL)),
        rules=(RULES,),
        method="bmc",
        depth=38,
        cover=56,
        quick=False,
    ),
]
