"""AXI4 as the engine's blocks see it: five streams, reading and writing apart.

Bursts are always INCR. Clients of an arbiter have no ID; the arbiter gives them one.
"""

from typing import Any

from amaranth.hdl import Module
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = [
    "AddressBeat",
    "ReadData",
    "ReadPort",
    "Response",
    "WriteData",
    "WritePort",
    "WriteResponse",
    "connect_ports",
    "each_port",
    "port_members",
]


class Response(enum.Enum, shape=2):
    """What RRESP and BRESP say."""

    OKAY = 0
    EXOKAY = 1
    SLVERR = 2
    DECERR = 3


class AddressBeat(data.StructLayout):
    """AR or AW: ``len`` is the number of beats less one, ``size`` the logarithm of a beat's bytes, ``owner`` whose it is."""

    def __init__(self, address_bits: int, id_bits: int = 0, owner_bits: int = 0) -> None:
        owner = {"owner": owner_bits} if owner_bits else {}
        super().__init__({"id": id_bits, "address": address_bits, "len": 8, "size": 3, **owner})


class ReadData(data.StructLayout):
    """R."""

    def __init__(self, data_bits: int, id_bits: int = 0) -> None:
        super().__init__({"id": id_bits, "data": data_bits, "resp": Response, "last": 1})


class WriteData(data.StructLayout):
    """W; ``keep`` has a strobe for each word, not for each byte: only whole words are written."""

    def __init__(self, data_bits: int, word_bits: int) -> None:
        super().__init__({"data": data_bits, "keep": data_bits // word_bits, "last": 1})


class WriteResponse(data.StructLayout):
    """B."""

    def __init__(self, id_bits: int = 0) -> None:
        super().__init__({"id": id_bits, "resp": Response})


class ReadPort(wiring.Signature):
    """The reading half, seen from the manager."""

    def __init__(self, data_bits: int, address_bits: int, id_bits: int = 0, owner_bits: int = 0) -> None:
        super().__init__(
            {
                "ar": Out(stream.Signature(AddressBeat(address_bits, id_bits, owner_bits))),
                "r": In(stream.Signature(ReadData(data_bits, id_bits))),
            }
        )


class WritePort(wiring.Signature):
    """The writing half, seen from the manager."""

    def __init__(
        self, data_bits: int, address_bits: int, word_bits: int, id_bits: int = 0, owner_bits: int = 0
    ) -> None:
        super().__init__(
            {
                "aw": Out(stream.Signature(AddressBeat(address_bits, id_bits, owner_bits))),
                "w": Out(stream.Signature(WriteData(data_bits, word_bits))),
                "b": In(stream.Signature(WriteResponse(id_bits))),
            }
        )


def port_members(signature: wiring.Signature, ports: int) -> wiring.Member:
    """A member for one port, or an array of several."""
    return Out(signature) if ports == 1 else Out(signature).array(ports)


def each_port(member: Any) -> list[Any]:
    """The ports of a member made by :func:`port_members`."""
    return list(member) if isinstance(member, list | tuple) else [member]


def connect_ports(m: Module, inner: Any, outer: Any) -> None:
    """Connects ports of a submodule with those of the component around it, in their order."""
    for one, other in zip(each_port(inner), each_port(outer), strict=True):
        wiring.connect(m, one, wiring.flipped(other))
