"""What the rings put on the host port, with anything that AXI4 allows at its other side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from amaranth.hdl import Array, Assert, Assume, C, Cover, Module, Value

from cdma.hdl.axi.ports import PortShape
from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.engine.rings.rings import Rings
from cdma.hdl.spec.records import RECORD_BYTES

from .axi_port import RULES, legal_subordinate
from .bench import Bench, fixed, free, obey
from .channel import TINY
from .design import engine_with
from .proof import Proof
from .ring_slot import stored

__all__ = ["PROOFS", "SMALL", "Fetching"]

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
    """Rings keep the rules of AXI4, read nothing but slots of the rings of descriptors, and write nothing but slots of those
    of completions, whatever channels, software and memory do.

    Where the rings and the window are may be any, and stays. Descriptors that arrive are all the same: nothing here looks
    at them.
    """

    def __init__(self, rings: Rings) -> None:
        super().__init__()
        self.rings = rings
        self.config = rings.config

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.rings
        config = self.config
        for name in CHANNELS:
            self._drive(m, name)
        for name in ("watchdog_tick", "stop"):
            free(m, name, getattr(dut, name))
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
        client, control = getattr(self.rings, name), getattr(self.rings, f"{name}_control")
        for signal in ("checking", "interrupt", "aborting"):
            free(m, f"{name}_{signal}", getattr(client, signal))
        free(m, f"{name}_takes", client.requests.ready)
        # The channel takes what it has checked.
        m.d.comb += Assume(~client.requests.ready | client.checking)
        obey(m, client.completion, f"{name}_completion")
        for field, (_, bits) in _fields(client.completion.payload):
            kept = _SEEN.get(field, 0)
            m.d.comb += Assume(bits[kept:] == 0)
        for signal in ("push", "pop", "halt_on_error", "error_clear", "coalesce_count"):
            free(m, f"{name}_{signal}", getattr(control, signal))
        for ring in ("ring", "completions"):
            for signal in ("enable", "tail"):
                free(m, f"{name}_{ring}_{signal}", getattr(getattr(control, ring), signal))
        m.d.comb += control.ring_log2.eq(self._log2(m, name))

    def _log2(self, m: Module, name: str) -> Value:
        largest = (self.config.ring_entries - 1).bit_length()
        log2 = fixed(m, f"{name}_log2", 4)
        m.d.comb += Assume(log2 <= largest)
        return log2

    def _stay_inside(self, m: Module) -> None:
        """Gives the rings their registers, and looks at every address."""
        dut = self.rings
        bits = self.config.host_address_bits
        places = stored(m, dut.registers, bits, dut.stored)
        low, high = places["host_window.base"], places["host_window.limit"]
        for ring, port in (("ring", dut.fetch.ar), ("completion", dut.complete.aw)):
            bases = Array(places[f"{name}.{ring}_base"] for name in CHANNELS)
            sizes = Array(
                C(RECORD_BYTES, bits + 1) << getattr(dut, f"{name}_control").ring_log2 for name in CHANNELS
            )
            channel, address = port.payload.id, port.payload.address
            first = bases[channel]
            m.d.comb += [
                Assert(~port.valid | ((address >= first) & (address - first < sizes[channel]))),
                Assert(~port.valid | ((address >= low) & (address <= high))),
            ]
        self.cover(m, places)

    def cover(self, m: Module, places: Mapping[str, Value]) -> None:
        """What must be possible."""
        fetch, complete = self.rings.fetch, self.rings.complete
        ar, w, b = fetch.ar, complete.w, complete.b
        second = ar.payload.address != places["prefetch.ring_base"]
        m.d.comb += [
            Cover(ar.valid & ar.ready & ar.payload.id & second),
            Cover(w.valid & w.ready & w.payload.last),
            Cover(b.valid & b.ready & (b.payload.resp.as_value() == 2)),
        ]


def _fields(record: Value) -> list[tuple[str, tuple[int, Value]]]:
    """The fields of a record."""
    return [(name, (len(Value.cast(record[name])), Value.cast(record[name]))) for name, _ in record.shape()]


PROOFS = [
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
        cover=42,
        quick=False,
    )
]
