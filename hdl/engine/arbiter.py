"""Several clients on one AXI4 port: the ID of a transaction is its client's number."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .axi import ReadPort, WritePort, WriteResponse
from .axi_lite import SkidBuffer
from .fifo import Fifo

__all__ = ["ReadArbiter", "WriteArbiter"]

#: Writes whose data may follow each other without a gap.
_OWNERS = 4


def _grant(m: Module, asking: list, port: stream.Interface, free: Signal) -> None:
    """Takes the address of the highest client that asks into ``port``, a register, whenever it is
    ``free``.
    """
    winner = Signal(range(len(asking)))
    any_asks = Signal()
    m.d.comb += any_asks.eq(Cat(client.valid for client in asking).any())
    for number, client in enumerate(asking):
        with m.If(client.valid):
            m.d.comb += winner.eq(number)
    with m.If(free):
        m.d.sync += port.valid.eq(any_asks)
        for number, client in enumerate(asking):
            with m.If(winner == number):
                m.d.comb += client.ready.eq(1)
                m.d.sync += port.payload.id.eq(number)
                m.d.sync += [
                    port.payload[name].eq(client.payload[name]) for name in ("address", "len", "size")
                ]
    with m.Elif(port.ready):
        m.d.sync += port.valid.eq(0)


class ReadArbiter(wiring.Component):
    """Clients with higher numbers go first: they are the rings, which ask seldom and for little.

    A client must be able to take the data of all it has asked for, at any time: the port is always ready.
    """

    def __init__(self, clients: int, data_bits: int, address_bits: int, id_bits: int) -> None:
        assert clients <= 1 << id_bits
        self.clients = clients
        super().__init__(
            {
                **{f"client_{n}": In(ReadPort(data_bits, address_bits)) for n in range(clients)},
                "port": Out(ReadPort(data_bits, address_bits, id_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        clients = [getattr(self, f"client_{n}") for n in range(self.clients)]
        free = Signal()
        m.d.comb += free.eq(~self.port.ar.valid | self.port.ar.ready)
        _grant(m, [client.ar for client in clients], self.port.ar, free)
        r = self.port.r
        m.d.comb += r.ready.eq(1)
        for number, client in enumerate(clients):
            m.d.comb += [
                client.r.payload.data.eq(r.payload.data),
                client.r.payload.resp.eq(r.payload.resp),
                client.r.payload.last.eq(r.payload.last),
                client.r.valid.eq(r.valid & (r.payload.id == number)),
            ]
        return m


class WriteArbiter(wiring.Component):
    """Clients with higher numbers go first. Data follow the addresses, in their order.

    A client offers the data of a burst without waiting for anything but its address being taken.
    """

    def __init__(self, clients: int, data_bits: int, address_bits: int, word_bits: int, id_bits: int) -> None:
        assert clients <= 1 << id_bits
        self.clients = clients
        self.id_bits = id_bits
        super().__init__(
            {
                **{f"client_{n}": In(WritePort(data_bits, address_bits, word_bits)) for n in range(clients)},
                "port": Out(WritePort(data_bits, address_bits, word_bits, id_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        clients = [getattr(self, f"client_{n}") for n in range(self.clients)]
        aw, w = self.port.aw, self.port.w

        # A client's place in `owners` is reserved when its address is taken, and filled when the bus has it.
        m.submodules.owners = owners = Fifo(range(self.clients), _OWNERS)
        reserved = Signal(range(_OWNERS + 1))
        free, taken, finished = Signal(), Signal(), Signal()
        m.d.comb += free.eq((~aw.valid | aw.ready) & (reserved != _OWNERS))
        _grant(m, [client.aw for client in clients], aw, free)
        m.d.comb += [
            taken.eq(free & Cat(client.aw.valid for client in clients).any()),
            owners.input.valid.eq(aw.valid & aw.ready),
            owners.input.payload.eq(aw.payload.id),
            owners.output.ready.eq(finished),
            finished.eq(w.valid & w.ready & w.payload.last),
        ]
        m.d.sync += reserved.eq(reserved + taken - finished)
        with m.If(owners.output.valid):
            for number, client in enumerate(clients):
                with m.If(owners.output.payload == number):
                    m.d.comb += [
                        w.valid.eq(client.w.valid),
                        w.payload.eq(client.w.payload),
                        client.w.ready.eq(w.ready),
                    ]

        m.submodules.responses = responses = SkidBuffer(WriteResponse(self.id_bits))
        wiring.connect(m, wiring.flipped(self.port.b), responses.i)
        id = responses.o.payload.id
        for number, client in enumerate(clients):
            m.d.comb += [
                client.b.payload.resp.eq(responses.o.payload.resp),
                client.b.valid.eq(responses.o.valid & (id == number)),
            ]
            with m.If(id == number):
                m.d.comb += responses.o.ready.eq(client.b.ready)
        return m
