"""AXI4-Lite in another clock domain than the registers."""

from __future__ import annotations

from amaranth.hdl import DomainRenamer, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.stream_register import StreamRegister

from .access_crossing import AccessCrossing
from .lite import AxiLiteSignature
from .ports import Response

__all__ = ["LiteCrossing"]


class LiteCrossing(wiring.Component):
    """Takes accesses from the domain ``bus`` to the registers in the domain ``sync``: one read and one write at a time.

    ``bus_port``
        The bus.
    ``registers``
        The register block.
    ``linked``
        Low while one of both is lost, and may have something open that the other one has not.
    """

    def __init__(self, address_bits: int, *, bus: str) -> None:
        self.bus = bus
        self.address = data.StructLayout({"addr": address_bits, "prot": 3})
        port = AxiLiteSignature(address_bits)
        super().__init__({"bus_port": In(port), "registers": Out(port), "linked": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bus, registers = self.bus_port, self.registers
        words = data.StructLayout({"data": 32, "strb": 4})
        reads = AccessCrossing(self.address, data.StructLayout({"data": 32, "resp": Response}), bus=self.bus)
        writes = AccessCrossing(
            data.StructLayout({"address": self.address, "word": words}),
            data.StructLayout({"resp": Response}),
            bus=self.bus,
        )
        m.submodules.reads, m.submodules.writes = reads, writes
        m.d.comb += self.linked.eq(reads.linked & writes.linked)
        m.d.comb += [
            *(reads.asked.payload[name].eq(getattr(bus, f"ar{name}")) for name in self.address.members),
            reads.asked.valid.eq(bus.arvalid),
            bus.arready.eq(reads.asked.ready),
            *(getattr(bus, f"r{name}").eq(reads.answer.payload[name]) for name in ("data", "resp")),
            bus.rvalid.eq(reads.answer.valid),
            reads.answer.ready.eq(bus.rready),
            *(
                getattr(registers, f"ar{name}").eq(reads.request.payload[name])
                for name in self.address.members
            ),
            registers.arvalid.eq(reads.request.valid),
            reads.request.ready.eq(registers.arready),
            *(reads.answered.payload[name].eq(getattr(registers, f"r{name}")) for name in ("data", "resp")),
            reads.answered.valid.eq(registers.rvalid),
            registers.rready.eq(reads.answered.ready),
            bus.bresp.eq(writes.answer.payload.resp),
            bus.bvalid.eq(writes.answer.valid),
            writes.answer.ready.eq(bus.bready),
            writes.answered.payload.resp.eq(registers.bresp),
            writes.answered.valid.eq(registers.bvalid),
            registers.bready.eq(writes.answered.ready),
        ]
        self._join(m, writes)
        self._part(m, writes)
        return m

    def _join(self, m: Module, writes: AccessCrossing) -> None:
        """Address and data of a write cross together, whichever comes first."""
        asked = writes.asked
        parts = {"aw": asked.payload.address, "w": asked.payload.word}
        waiting = {}
        for channel, payload in parts.items():
            waiting[channel] = register = StreamRegister(payload.shape())
            m.submodules[f"{channel}_waits"] = DomainRenamer(self.bus)(register)
            for name in payload.shape().members:
                m.d.comb += register.input.payload[name].eq(getattr(self.bus_port, f"{channel}{name}"))
            m.d.comb += [
                register.input.valid.eq(getattr(self.bus_port, f"{channel}valid")),
                getattr(self.bus_port, f"{channel}ready").eq(register.input.ready),
                payload.eq(register.output.payload),
            ]
        both = [register.output for register in waiting.values()]
        m.d.comb += asked.valid.eq(both[0].valid & both[1].valid)
        for each in both:
            m.d.comb += each.ready.eq(asked.valid & asked.ready)

    def _part(self, m: Module, writes: AccessCrossing) -> None:
        """The register block takes address and data apart."""
        request, registers = writes.request, self.registers
        taken, ready = Signal(2), Signal(2)
        for index, (channel, payload) in enumerate(
            (("aw", request.payload.address), ("w", request.payload.word))
        ):
            for name in payload.shape().members:
                m.d.comb += getattr(registers, f"{channel}{name}").eq(payload[name])
            m.d.comb += [
                getattr(registers, f"{channel}valid").eq(request.valid & ~taken[index]),
                ready[index].eq(taken[index] | getattr(registers, f"{channel}ready")),
            ]
        m.d.comb += request.ready.eq(ready.all())
        with m.If(request.valid):
            for index in range(2):
                m.d.sync += taken[index].eq(ready[index] & ~ready.all())
