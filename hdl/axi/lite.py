"""AXI4-Lite."""

from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .ports import Response

__all__ = ["AxiLiteSignature"]


class AxiLiteSignature(wiring.Signature):
    """AXI4-Lite with 32 data bits, seen from the manager: flat members with the names of the specification."""

    def __init__(self, address_bits: int) -> None:
        self.address_bits = address_bits
        super().__init__(
            {
                "awaddr": Out(address_bits),
                "awprot": Out(3),
                "awvalid": Out(1),
                "awready": In(1),
                "wdata": Out(32),
                "wstrb": Out(4),
                "wvalid": Out(1),
                "wready": In(1),
                "bresp": In(Response),
                "bvalid": In(1),
                "bready": Out(1),
                "araddr": Out(address_bits),
                "arprot": Out(3),
                "arvalid": Out(1),
                "arready": In(1),
                "rdata": In(32),
                "rresp": In(Response),
                "rvalid": In(1),
                "rready": Out(1),
            }
        )
