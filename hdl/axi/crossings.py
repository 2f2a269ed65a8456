"""Ports and accesses that cross to another clock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import DomainRenamer, Module, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.clocks import AsyncFifo
from cdma.hdl.blocks.queues import LinkEnd, join_ends
from cdma.hdl.blocks.registers import StreamRegister

from .answers import Answering
from .bursts import Finishing
from .ports import AxiLiteSignature, ReadPort, Response, WritePort

_DEPTH = 2


class AccessCrossing(wiring.Component):
    """Takes requests from the domain ``bus`` to the domain ``sync``, and their answers back; either may be reset alone.

    If the registers are lost, an access that is open is answered with SLVERR, and later ones wait. If the bus is lost, an
    access that has come over is finished, and its answer is dropped.

    ``asked``, ``answer``: The bus.
    ``request``, ``answered``: The registers.
    ``linked``: Low while one of both is lost.
    """

    def __init__(self, request: ShapeLike, answer: data.StructLayout, *, bus: str) -> None:
        self.bus = bus
        self.request_shape, self.answer_shape = request, answer
        super().__init__(
            {
                "asked": In(stream.Signature(request)),
                "answer": Out(stream.Signature(answer)),
                "request": Out(stream.Signature(request)),
                "answered": In(stream.Signature(answer)),
                "linked": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.core_end = here = LinkEnd()
        there = LinkEnd()
        m.submodules.bus_end = DomainRenamer(self.bus)(there)
        join_ends(m, here, there)
        m.submodules.requests = requests = AsyncFifo(
            self.request_shape, _DEPTH, writes=self.bus, reads="sync"
        )
        m.submodules.answers = answers = AsyncFifo(self.answer_shape, _DEPTH, writes="sync", reads=self.bus)
        m.d.comb += [
            self.linked.eq(here.open),
            requests.write_clear.eq(there.clear),
            requests.read_clear.eq(here.clear),
            answers.write_clear.eq(here.clear),
            answers.read_clear.eq(there.clear),
        ]
        self._from_bus(m, there, requests.input, answers.output)
        self._to_registers(m, here, requests.output, answers.input)
        return m

    def _from_bus(self, m: Module, end: LinkEnd, asked: stream.Interface, answered: stream.Interface) -> None:
        busy = Signal(name="bus_busy")
        held = Signal(name="answer_held")
        passes = end.open | held
        m.d.comb += [
            asked.payload.eq(self.asked.payload),
            asked.valid.eq(self.asked.valid & end.open & ~busy),
            self.asked.ready.eq(asked.ready & end.open & ~busy),
            self.answer.payload.eq(answered.payload),
            self.answer.valid.eq(busy & (answered.valid | ~passes)),
            answered.ready.eq(self.answer.ready & busy & passes),
            end.settled.eq(~busy),
        ]
        with m.If(~passes):
            m.d.comb += self.answer.payload.resp.eq(Response.SLVERR)
        ends = self.answer.valid & self.answer.ready
        m.d[self.bus] += [
            held.eq(passes & self.answer.valid & ~self.answer.ready),
            busy.eq((busy & ~ends) | (asked.valid & asked.ready)),
        ]

    def _to_registers(
        self, m: Module, end: LinkEnd, requests: stream.Interface, answers: stream.Interface
    ) -> None:
        busy = Signal()
        held = Signal(name="request_held")
        passes: Any = (end.open | held) & ~busy
        begins: Value = self.request.valid & self.request.ready
        m.d.comb += [
            self.request.payload.eq(requests.payload),
            self.request.valid.eq(requests.valid & passes),
            requests.ready.eq(self.request.ready & passes),
            answers.payload.eq(self.answered.payload),
            answers.valid.eq(self.answered.valid & end.open),
            self.answered.ready.eq(answers.ready | ~end.open),
            end.settled.eq(~(busy | held)),
        ]
        m.d.sync += [
            held.eq(self.request.valid & ~self.request.ready),
            busy.eq((busy & ~(self.answered.valid & self.answered.ready)) | begins),
        ]


class LiteCrossing(wiring.Component):
    """Takes accesses from the domain ``bus`` to the registers in the domain ``sync``: one read and one write at a time.

    ``bus_port``: The bus.
    ``registers``: The register block.
    ``linked``: Low while one of both is lost, and may have something open that the other one has not.
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
        taken = Signal(2)
        ready = Signal(2)
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


#: Entries of the FIFOs of data, which keep the rate of the slower clock, and of the others.
_DATA, _FEW = 8, 4


class PortCrossing(wiring.Component):
    """Takes the five channels of AXI4 to another clock domain; either domain may be reset alone.

    ``read``, ``write``: The engine, in the domain ``sync``.
    ``bus_read``, ``bus_write``: The bus, in the domain ``bus``. All outputs come from flip-flops or pass a gate after
        them.
    ``linked``: Low while one of both is lost, and may have something open that the other one has not.
    ``ids``, ``most``: See :class:`.Answering`.
    """

    def __init__(self, read: ReadPort, write: WritePort, ids: Sequence[int], most: int, *, bus: str) -> None:
        self.shapes = read, write
        self.ids, self.most, self.bus = ids, most, bus
        super().__init__(
            {
                "read": In(read),
                "write": In(write),
                "bus_read": Out(read),
                "bus_write": Out(write),
                "linked": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        near = Answering(*self.shapes, self.ids, self.most)
        far = Finishing(*self.shapes, self.most * len(self.ids))
        here, there = LinkEnd(), LinkEnd()
        m.submodules.answering, m.submodules.core_end = near, here
        m.submodules.finishing = DomainRenamer(self.bus)(far)
        m.submodules.bus_end = DomainRenamer(self.bus)(there)
        join_ends(m, here, there)
        m.d.comb += self.linked.eq(here.open)
        for end, side in ((here, near), (there, far)):
            m.d.comb += [side.open.eq(end.open), end.settled.eq(side.settled)]
        wiring.connect(m, wiring.flipped(self.read), near.read)
        wiring.connect(m, wiring.flipped(self.write), near.write)
        wiring.connect(m, far.bus_read, wiring.flipped(self.bus_read))
        wiring.connect(m, far.bus_write, wiring.flipped(self.bus_write))
        for name, source, sink, depth in (
            ("ar", near.far_read.ar, far.read.ar, _FEW),
            ("aw", near.far_write.aw, far.write.aw, _FEW),
            ("w", near.far_write.w, far.write.w, _DATA),
            ("r", far.read.r, near.far_read.r, _DATA),
            ("b", far.write.b, near.far_write.b, _FEW),
        ):
            leaves = name in ("ar", "aw", "w")
            writes, reads = ("sync", self.bus) if leaves else (self.bus, "sync")
            writer, reader = (here, there) if leaves else (there, here)
            fifo = AsyncFifo(source.payload.shape(), depth, writes=writes, reads=reads)
            m.submodules[name] = fifo
            m.d.comb += [fifo.write_clear.eq(writer.clear), fifo.read_clear.eq(reader.clear)]
            wiring.connect(m, source, fifo.input)
            wiring.connect(m, fifo.output, sink)
        return m
