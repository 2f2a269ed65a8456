"""A port of AXI4 with the rules on it and any legal subordinate behind it."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import C, Cat, ClockSignal, Instance, Module, Signal, Value
from amaranth.utils import exact_log2

from .bench import free

__all__ = ["RULES", "Subordinate", "legal_subordinate"]

#: The file of the rules.
RULES = "axi4_manager.sv"

_INCR = 1


class Subordinate:
    """What benches need of the port besides the rules.

    ``write_open``, ``write_address``
        Whether a write burst is open, and the address of its beat that comes next.
    ``idle``
        Nothing is in flight.
    """

    def __init__(self, address_bits: int) -> None:
        self.write_open = Signal(name="write_open")
        self.write_address = Signal(address_bits, name="write_address")
        self.idle = Signal(name="port_idle")


def legal_subordinate(
    m: Module,
    *,
    read: Any = None,
    write: Any = None,
    data_bits: int,
    address_bits: int,
    word_bits: int,
    outstanding: int,
    longest: int,
    taken_within: int = 0,
) -> Subordinate:
    """Puts the rules on the ports of a manager, of which there may be one for reading and one for writing.

    What the subordinate answers, and when, is anything that the rules allow.
    """
    sides = Subordinate(address_bits)
    ports: dict[str, Any] = {
        "i_clk": ClockSignal(),
        "i_resetn": C(1),
        "o_write_address": sides.write_address,
        "o_write_open": sides.write_open,
        "o_idle": sides.idle,
    }
    for channel, port in (("ar", read), ("aw", write)):
        stream = getattr(port, channel, None)
        for name, bits in (("addr", address_bits), ("len", 8), ("size", 3)):
            member = "address" if name == "addr" else name
            ports[f"i_{channel}{name}"] = C(0, bits) if stream is None else stream.payload[member]
        ports[f"i_{channel}id"] = C(0, 1)
        ports[f"i_{channel}burst"] = C(_INCR, 2)
        _handshake(m, ports, channel, stream, answers=False)
    r = getattr(read, "r", None)
    for name, bits in (("data", data_bits), ("resp", 2), ("last", 1)):
        ports[f"i_r{name}"] = C(0, bits) if r is None else free(m, f"r{name}", Value.cast(r.payload[name]))
    ports["i_rid"] = C(0, 1)
    _handshake(m, ports, "r", r, answers=True)
    w = getattr(write, "w", None)
    keep = C(0, data_bits // 8)
    if w is not None:
        keep = Cat(lane.replicate(word_bits // 8) for lane in w.payload.keep)
    ports["i_wdata"] = C(0, data_bits) if w is None else w.payload.data
    ports["i_wstrb"] = keep
    ports["i_wlast"] = C(0, 1) if w is None else w.payload.last
    _handshake(m, ports, "w", w, answers=False)
    b = getattr(write, "b", None)
    ports["i_bresp"] = C(0, 2) if b is None else free(m, "bresp", Value.cast(b.payload.resp))
    ports["i_bid"] = C(0, 1)
    _handshake(m, ports, "b", b, answers=True)
    m.submodules.rules = Instance(
        "axi4_manager",
        p_ID_BITS=1,
        p_ADDRESS_BITS=address_bits,
        p_DATA_BITS=data_bits,
        p_OUTSTANDING=outstanding,
        p_LONGEST=longest,
        # The longest burst divides 4 KiB, so what crosses none of its multiples does not cross 4 KiB.
        p_BOUNDARY_LOG2=exact_log2(longest * data_bits // 8),
        p_ALIGNED=1,
        p_NO_EMPTY_STROBES=1,
        p_TAKEN_WITHIN=taken_within,
        **ports,
    )
    return sides


def _handshake(m: Module, ports: dict[str, Any], channel: str, stream: Any, *, answers: bool) -> None:
    """Valid and ready of a channel, of which the subordinate's is free."""
    for name, is_free in (("valid", answers), ("ready", not answers)):
        if stream is None:
            value = C(0, 1)
        else:
            value = getattr(stream, name)
            if is_free:
                free(m, f"{channel}{name}", value)
        ports[f"i_{channel}{name}"] = value
