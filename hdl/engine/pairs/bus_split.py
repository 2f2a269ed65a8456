"""One register port for the registers of several pairs."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.lite import AxiLiteSignature
from cdma.hdl.axi.ports import Response

__all__ = ["BusSplit"]

#: Each way of AXI4-Lite: its address, its data where it has any beside that, and its answer.
_WAYS = (("aw", ("w",), "b"), ("ar", (), "r"))
_FIELDS = {
    "aw": ("addr", "prot"),
    "w": ("data", "strb"),
    "ar": ("addr", "prot"),
    "b": ("resp",),
    "r": ("data", "resp"),
}


class BusSplit(wiring.Component):
    """Passes each access on to the page that its address is in, one read and one write at a time. Of a page that is not
    there the answer is SLVERR, and what is read is 0.

    ``bus``
        The port.
    ``page_0``, …
        The pages, each of 2**``page_log2`` bytes.
    """

    def __init__(self, pages: int, page_log2: int, address_bits: int) -> None:
        self.pages = pages
        self.page_log2 = page_log2
        super().__init__(
            {
                "bus": In(AxiLiteSignature(address_bits)),
                **{f"page_{number}": Out(AxiLiteSignature(page_log2)) for number in range(pages)},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for address, data, answer in _WAYS:
            self._way(m, address, data, answer)
        return m

    def _way(self, m: Module, address: str, data: tuple[str, ...], answer: str) -> None:
        """The reads, or the writes."""
        bus = self.bus
        #: An access is under way, to this page; and which of its parts have passed.
        open = Signal(name=f"{address}_open")
        page = Signal(bus.signature.address_bits - self.page_log2, name=f"{address}_page")
        requests = (address, *data)
        passed = Signal(len(requests), name=f"{address}_passed")
        with m.If(~open & getattr(bus, f"{address}valid")):
            m.d.sync += [open.eq(1), passed.eq(0), page.eq(getattr(bus, f"{address}addr")[self.page_log2 :])]
        missing = open & (page >= self.pages)
        for index, channel in enumerate(requests):
            valid, ready = (getattr(bus, f"{channel}{name}") for name in ("valid", "ready"))
            taken: Value = missing & ~passed[index]
            for number in range(self.pages):
                sink = getattr(self, f"page_{number}")
                here = open & (page == number) & ~passed[index]
                m.d.comb += [
                    getattr(sink, f"{channel}{name}").eq(getattr(bus, f"{channel}{name}"))
                    for name in _FIELDS[channel]
                ]
                m.d.comb += getattr(sink, f"{channel}valid").eq(here & valid)
                taken = taken | (here & getattr(sink, f"{channel}ready"))
            m.d.comb += ready.eq(taken)
            with m.If(valid & ready):
                m.d.sync += passed[index].eq(1)
        self._answer(m, answer, open, page, missing & passed.all())

    def _answer(self, m: Module, channel: str, open: Signal, page: Signal, refuses: Value) -> None:
        bus = self.bus
        valid, ready = (getattr(bus, f"{channel}{name}") for name in ("valid", "ready"))
        m.d.comb += [valid.eq(refuses), getattr(bus, f"{channel}resp").eq(Response.SLVERR)]
        for number in range(self.pages):
            source = getattr(self, f"page_{number}")
            with m.If(open & (page == number)):
                m.d.comb += [
                    valid.eq(getattr(source, f"{channel}valid")),
                    getattr(source, f"{channel}ready").eq(ready),
                ]
                m.d.comb += [
                    getattr(bus, f"{channel}{name}").eq(getattr(source, f"{channel}{name}"))
                    for name in _FIELDS[channel]
                ]
        with m.If(valid & ready):
            m.d.sync += open.eq(0)
