"""Accesses to registers in another clock domain than the bus, one at a time."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import DomainRenamer, Module, ShapeLike, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.async_fifo import AsyncFifo
from cdma.hdl.blocks.link_end import LinkEnd, join_ends

from .ports import Response

__all__ = ["AccessCrossing"]

_DEPTH = 2


class AccessCrossing(wiring.Component):
    """Takes requests from the domain ``bus`` to the domain ``sync``, and their answers back; either may be reset alone.

    If the registers are lost, an access that is open is answered with SLVERR, and later ones wait. If the bus is lost, an
    access that has come over is finished, and its answer is dropped.

    ``asked``, ``answer``
        The bus.
    ``request``, ``answered``
        The registers.
    ``linked``
        Low while one of both is lost.
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
