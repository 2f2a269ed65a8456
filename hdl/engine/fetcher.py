"""Keeps descriptors of a ring fetched ahead."""

from amaranth.hdl import C, Cat, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..params import EngineConfig
from .axi import ReadPort, Response
from .descriptor import Request, StatusShape
from .fifo import Fifo
from .interfaces import Window
from .records import RECORD_BYTES, Status

__all__ = ["Fetcher", "in_window", "slot_address"]

_RECORD_LOG2 = RECORD_BYTES.bit_length() - 1
_PAGE_LOG2 = 12


def slot_address(base: Value, index: Value, ring_log2: Value) -> Value:
    """Where in memory the record with a free-running ``index`` lies."""
    mask = (C(1, len(index)) << ring_log2)[: len(index)] - 1
    return (base[_RECORD_LOG2:] + (index & mask))[: 64 - _RECORD_LOG2] << _RECORD_LOG2


def in_window(address: Value, window: data.View, address_bits: int) -> Value:
    """Whether a record lies in ``window`` and in the port's address space: it never crosses a page."""
    page = address[_PAGE_LOG2:]
    return (
        ~address[address_bits:].any()
        & (page >= window.base[_PAGE_LOG2:])
        & (page <= window.limit[_PAGE_LOG2:])
    )


class Fetcher(wiring.Component):
    """Fetches the descriptors from index ``head`` up to ``tail``, up to ``config.descriptors`` ahead, in
    order.

    A descriptor outside the window is not fetched; it, or one whose read was answered with an error, comes
    out as a request with that fault.

    ``enable``
        While low, ``head`` is 0 and what was fetched is forgotten; a request that is ``held`` is kept until
        it is not.
    ``stop``, ``idle``
        While ``stop`` is high nothing new is asked for; ``idle``: nothing is under way.
    ``progress``, ``oldest``
        For a watchdog.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.data_bits = config.host_data_bits
        self.address_bits = config.host_address_bits
        self.part_bits = min(self.data_bits, 8 * RECORD_BYTES)
        self.parts = 8 * RECORD_BYTES // self.part_bits
        super().__init__(
            {
                "enable": In(1),
                "base": In(64),
                "ring_log2": In(4),
                "tail": In(config.index_bits),
                "head": Out(config.index_bits),
                "window": In(Window),
                "requests": Out(stream.Signature(Request)),
                "held": In(1),
                "port": Out(ReadPort(self.data_bits, self.address_bits)),
                "stop": In(1),
                "idle": Out(1),
                "progress": Out(1),
                "oldest": Out(64),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        depth = self.config.descriptors
        ar, r = self.port.ar, self.port.r
        running = Signal()
        inside = Signal()
        under_way = Signal(range(depth + 1))
        m.d.comb += inside.eq((self.enable | self.held) & running)
        with m.If(running):
            m.d.sync += running.eq(inside)
        with m.Elif(self.enable & (under_way == 0) & ~ar.valid & ~self.stop):
            m.d.sync += running.eq(1)

        # One queue for each beat of a descriptor: none has to be put together in registers.
        keep = ResetInserter(~running)
        queues = [Fifo(self.part_bits, depth) for _ in range(self.parts)]
        for number, queue in enumerate(queues):
            m.submodules[f"part_{number}"] = keep(queue)
        fault_shape = data.StructLayout({"fault": StatusShape, "address": 64})
        faults = Fifo(fault_shape, depth)
        m.submodules.faults = keep(faults)

        # Asking.
        asked = Signal.like(self.head)
        free = Signal(range(depth + 1), init=depth)
        address = Signal(64)
        wanted, allowed, ask, refuse, leave = Signal(), Signal(), Signal(), Signal(), Signal()
        m.d.comb += [
            address.eq(slot_address(self.base, asked, self.ring_log2)),
            wanted.eq(
                inside
                & self.enable
                & ~self.stop
                & (asked != self.tail)
                & (free != 0)
                & (~ar.valid | ar.ready)
            ),
            allowed.eq(in_window(address, self.window, self.address_bits)),
            ask.eq(wanted & allowed),
            refuse.eq(wanted & ~allowed & (under_way == 0)),
            ar.payload.len.eq(self.parts - 1),
            ar.payload.size.eq((self.part_bits // 8).bit_length() - 1),
        ]
        with m.If(ask):
            m.d.sync += [ar.valid.eq(1), ar.payload.address.eq(address)]
        with m.Elif(ar.ready):
            m.d.sync += ar.valid.eq(0)

        # Receiving.
        part = Signal(range(self.parts))
        fault = Signal(StatusShape)
        worst = Signal(StatusShape)
        received = Signal.like(self.head)
        here = Signal(64)
        last = Signal()
        m.d.comb += [
            r.ready.eq(1),
            here.eq(slot_address(self.base, received, self.ring_log2)),
            last.eq(r.valid & r.payload.last),
            worst.eq(fault),
        ]
        with m.If((fault == Status.OK) & (r.payload.resp == Response.SLVERR)):
            m.d.comb += worst.eq(Status.FETCH_SLVERR)
        with m.If((fault == Status.OK) & (r.payload.resp == Response.DECERR)):
            m.d.comb += worst.eq(Status.FETCH_DECERR)
        with m.If(r.valid):
            m.d.sync += [part.eq(Mux(last, 0, part + 1)), fault.eq(Mux(last, Status.OK, worst))]
        words = r.payload.data
        if self.data_bits > self.part_bits:
            words = Mux(here[_RECORD_LOG2], words[self.part_bits :], words[: self.part_bits])
        for number, queue in enumerate(queues):
            m.d.comb += [
                queue.input.payload.eq(words),
                queue.input.valid.eq(inside & ((r.valid & (part == number)) | refuse)),
                queue.output.ready.eq(leave),
            ]
        m.d.comb += [
            faults.input.valid.eq(inside & (last | refuse)),
            faults.input.payload.address.eq(here),
            faults.input.payload.fault.eq(Mux(refuse, Status.WINDOW, worst)),
            faults.output.ready.eq(leave),
        ]

        request = self.requests
        m.d.comb += [
            request.valid.eq(faults.output.valid & inside),
            request.payload.descriptor.eq(Cat(queue.output.payload for queue in queues)),
            request.payload.fault.eq(faults.output.payload.fault),
            request.payload.address.eq(faults.output.payload.address),
            leave.eq(request.valid & request.ready),
            self.head.eq(received),
            self.idle.eq(~ar.valid & (under_way == 0)),
            self.progress.eq((ar.valid & ar.ready) | r.valid),
            self.oldest.eq(here),
        ]
        m.d.sync += under_way.eq(under_way + ask - last)
        with m.If(running):
            m.d.sync += [
                free.eq(free - (ask | refuse) + leave),
                asked.eq(asked + (ask | refuse)),
                received.eq(received + (last | refuse)),
            ]
        with m.Else():
            m.d.sync += [free.eq(depth), asked.eq(0), received.eq(0)]
        return m
