"""A port of AXI4 with the rules on it, and at its other side anything that they allow."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import C, Cat, ClockSignal, Instance, Module, Signal, Value
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import PortShape

from .bench import free

__all__ = ["RULES", "Side", "legal_manager", "legal_subordinate"]

#: The file of the rules.
RULES = "axi4_manager.sv"

_INCR = 1
#: The channels whose valid is the manager's, and what each carries.
_CARRIES = {
    "ar": ("addr", "len", "size"),
    "aw": ("addr", "len", "size"),
    "w": ("data", "last"),
    "r": ("data", "resp", "last"),
    "b": ("resp",),
}
_OF_MANAGER = ("ar", "aw", "w")


class Side:
    """What benches need of the port besides the rules.

    ``write_open``, ``write_address``
        Whether a write burst is open, and the address of its beat that comes next.
    ``idle``
        Nothing is in flight.
    """

    def __init__(self, name: str, address_bits: int) -> None:
        self.write_open = Signal(name=f"{name}_write_open")
        self.write_address = Signal(address_bits, name=f"{name}_write_address")
        self.idle = Signal(name=f"{name}_idle")


def legal_subordinate(m: Module, shape: PortShape, name: str = "port", **port: Any) -> Side:
    """Puts the rules on the ports of a manager, of which there may be one for reading and one for writing.

    What the subordinate answers, and when, is anything that the rules allow.
    """
    return _bind(m, shape, name, free_manager=False, **port)


def legal_manager(m: Module, shape: PortShape, name: str, **port: Any) -> Side:
    """Puts the rules on the ports of a subordinate. What the manager asks for is anything that the rules allow."""
    return _bind(m, shape, name, free_manager=True, **port)


def _bind(
    m: Module,
    shape: PortShape,
    name: str,
    *,
    free_manager: bool,
    read: Any = None,
    write: Any = None,
    id_bits: int = 0,
    taken_within: int = 0,
) -> Side:
    side = Side(name, shape.address_bits)
    beat = shape.data_bits // 8
    widths = {"addr": shape.address_bits, "len": 8, "size": 3, "data": shape.data_bits, "resp": 2, "last": 1}
    ports: dict[str, Any] = {
        "i_clk": ClockSignal(),
        "i_resetn": C(1),
        "o_write_address": side.write_address,
        "o_write_open": side.write_open,
        "o_idle": side.idle,
    }
    for channel, members in _CARRIES.items():
        stream: Any = getattr(read if channel in ("ar", "r") else write, channel, None)
        sends = (channel in _OF_MANAGER) == free_manager

        def value(target: Any, kind: str, *, driven: bool, channel: str = channel) -> Value:
            return free(m, f"{name}_{channel}{kind}", Value.cast(target)) if driven else Value.cast(target)

        for kind in ("valid", "ready"):
            driven = sends == (kind == "valid")
            ports[f"i_{channel}{kind}"] = (
                C(0, 1) if stream is None else value(getattr(stream, kind), kind, driven=driven)
            )
        for kind in members:
            member = "address" if kind == "addr" else kind
            ports[f"i_{channel}{kind}"] = (
                C(0, widths[kind]) if stream is None else value(stream.payload[member], kind, driven=sends)
            )
        if channel != "w":
            known = stream is not None and id_bits
            ports[f"i_{channel}id"] = (
                value(stream.payload.id, "id", driven=sends) if known else C(0, max(1, id_bits))
            )
        if channel in ("ar", "aw"):
            ports[f"i_{channel}burst"] = C(_INCR, 2)
            ports[f"i_{channel}beside"] = C(0, 1)
        if channel == "w":
            keep: Value = C(0, beat)
            if stream is not None:
                words = value(stream.payload.keep, "keep", driven=sends)
                keep = Cat(lane.replicate(shape.word_bits // 8) for lane in words)
            ports["i_wstrb"] = keep
    m.submodules[f"{name}_rules"] = Instance(
        "axi4_manager",
        p_ID_BITS=max(1, id_bits),
        p_ADDRESS_BITS=shape.address_bits,
        p_DATA_BITS=shape.data_bits,
        p_OUTSTANDING=shape.outstanding,
        p_LONGEST=shape.burst,
        # The longest burst divides 4 KiB, so what crosses none of its multiples does not cross 4 KiB.
        p_BOUNDARY_LOG2=exact_log2(shape.burst * beat),
        p_ALIGNED=1,
        p_NO_EMPTY_STROBES=1,
        p_TAKEN_WITHIN=taken_within,
        p_MANAGER_ASSUMED=int(free_manager),
        p_SUBORDINATE_ASSERTED=int(free_manager),
        **ports,
    )
    return side
