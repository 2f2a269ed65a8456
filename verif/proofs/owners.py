"""An address says whose it is: the owner that its descriptor was checked with, and no other."""

from __future__ import annotations

from dataclasses import replace

from amaranth.hdl import Assert, Assume, Cat, ClockDomain, Cover, DomainRenamer, Module, Value

from cdma.hdl.axi.ports import PortShape
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.engine.channel.slots import Slots
from cdma.hdl.engine.control.register_file import RegisterFile
from cdma.hdl.spec.records import RecordOptions
from cdma.hdl.spec.registers.description import RegisterMap
from cdma.hdl.spec.registers.optional import owner_block

from .axi import Reading, Writing
from .axi_port import RULES, Side
from .bench import Bench, last_cycle, started
from .design import engine_with
from .proof import REDUCED, Proof
from .slots import Keeping
from .window_lock import any_access

__all__ = ["PROOFS", "REGISTERS", "SHAPE", "LockedOwners", "OwnedReading", "OwnedWriting"]

#: A port that is as small as ports can be.
SHAPE = PortShape(
    word_bits=8, data_bits=8, address_bits=6, burst=2, outstanding=2, buffer=8, span_bits=5, owner_bits=1
)


def _by_address(m: Module, command: Value) -> None:
    """Memory has two owners, one of either half, and each command keeps to its half: so an address tells whose it is."""
    first, last, owner = command.payload.first, command.payload.last, command.payload.owner
    m.d.comb += Assume(~command.valid | ((first[-1] == owner) & (last[-1] == owner)))


class OwnedReading(Reading):
    """Addresses of a reader are of the owner of their command."""

    def describe(self, m: Module) -> None:
        super().describe(m)
        _by_address(m, self.reader.command)
        ar = self.reader.port.ar
        m.d.comb += [
            Assert(~ar.valid | (ar.payload.owner == ar.payload.address[-1])),
            Cover(ar.valid & ar.payload.owner),
        ]


class OwnedWriting(Writing):
    """Addresses of a writer are of the owner of their command."""

    def claim(self, m: Module, dut: AxiWriter, port: Side, first: Value) -> None:
        super().claim(m, dut, port, first)
        _by_address(m, dut.command)
        aw = dut.port.aw
        m.d.comb += [
            Assert(~aw.valid | (aw.payload.owner == aw.payload.address[-1])),
            Cover(last_cycle(m, aw.valid & aw.payload.owner, "was_mine") & ~aw.valid),
        ]


class LockedOwners(Bench):
    """A register file of owners, with anything on its bus and at ``soft_reset`` at any time."""

    def __init__(self, file: RegisterFile) -> None:
        super().__init__()
        self.file = file

    def describe(self, m: Module) -> None:
        dut = self.file
        # Its flip-flops have no reset of their own, so that their domain needs one.
        m.domains.registers = registers = ClockDomain("registers")
        m.submodules.dut = DomainRenamer("registers")(dut)
        m.d.comb += [registers.clk.eq(self.domain.clk), registers.rst.eq(~started(m))]
        any_access(m, dut)
        for name in ("offload", "prefetch"):
            owners = getattr(dut, f"{name}_owner")
            locked = owners.lock.locked
            words = {
                part: Cat(getattr(getattr(owners, part), field) for field in ("substream", "stream"))
                for part in ("value", "mask", "ring")
            }
            was_locked = last_cycle(m, locked, f"{name}_was_locked")
            for part, word in words.items():
                before = last_cycle(
                    m, word, f"{name}_{part}_before", init=(1 << len(word)) - 1 if part == "mask" else 0
                )
                m.d.comb += Assert(~was_locked | (word == before))
                # Nothing else than a write changes it: a soft reset does not.
                m.d.comb += Assert(
                    (word == before) | last_cycle(m, dut.bus.awready, f"{name}_{part}_written")
                )
            m.d.comb += [
                Assert(~was_locked | locked),
                Cover(was_locked & words["value"].any() & last_cycle(m, dut.soft_reset, f"{name}_was_reset")),
            ]


#: The registers of both channels.
REGISTERS = RegisterMap(
    "owners",
    "Owners.",
    (
        replace(
            owner_block(RecordOptions(stream_id_bits=2, substream_id_bits=2).owner_fields),
            instances=(("offload_owner", 0x0), ("prefetch_owner", 0x20)),
        ),
    ),
    6,
)

PROOFS = [
    Proof(
        name="owner_read",
        config="1 lane, bursts of 2",
        claim="every address of a reader is of the owner of its command",
        blocks=(AxiReader,),
        built_so=engine_with(owners=True, units=True),
        bench=lambda: OwnedReading(AxiReader(SHAPE)),
        rules=(RULES,),
        cover=24,
        quick=False,
    ),
    Proof(
        name="owner_written",
        config="1 lane, bursts of 2",
        claim="every address of a writer is of the owner of its command",
        blocks=(AxiWriter,),
        built_so=engine_with(owners=True, units=True),
        bench=lambda: OwnedWriting(AxiWriter(SHAPE)),
        rules=(RULES,),
        prepare=REDUCED,
        cover=24,
        quick=False,
    ),
    Proof(
        name="owner_kept",
        config="2 slots",
        claim="the commands of a descriptor are of its owner, and all else is as without owners",
        blocks=(Slots,),
        built_so=engine_with(owners=True, realign=True),
        bench=lambda: Keeping(Slots(8, 8, 2, options=RecordOptions(stream_id_bits=2))),
        quick=False,
    ),
    Proof(
        name="owner_lock",
        config="2 bits of each ID",
        claim="owners that are allowed, and that of rings, change by writes alone, and not once they are locked, over a "
        "soft reset too",
        blocks=(RegisterFile,),
        built_so=engine_with(owners=True, realign=True, units=True),
        bench=lambda: LockedOwners(RegisterFile(REGISTERS)),
        cover=24,
    ),
]
