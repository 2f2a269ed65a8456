"""The bus interfaces of a module, found by the names of its ports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cdma.hdl.spec.owner import OWNER_PORTS
from cdma.hdl.verilog.ports import Port

__all__ = [
    "AXI4",
    "AXI_LITE",
    "CLOCK",
    "INTERRUPT",
    "RESET",
    "STANDARDS",
    "STREAM",
    "Bus",
    "buses_of",
    "clocking",
    "clocks_of",
    "role_of",
]

AXI4, AXI_LITE, STREAM = "AXI4", "AXI4-Lite", "AXI4-Stream"
CLOCK, RESET, INTERRUPT = "clock", "reset", "interrupt"
#: What each kind of bus is by, and in which version.
STANDARDS = {
    AXI4: "AMBA AXI4, Arm IHI 0022, issue H",
    AXI_LITE: "AMBA AXI4-Lite, Arm IHI 0022, issue H",
    STREAM: "AMBA AXI4-Stream, Arm IHI 0051, issue A",
}
#: What AXI4 does not have, although addresses do.
_OF_AXI5 = tuple(OWNER_PORTS.values())


@dataclass(frozen=True)
class Bus:
    """A bus interface.

    ``name``
        What the names of its ports begin with.
    ``kind``
        One of the constants of this module.
    ``drives``
        Whether the module is its manager or its transmitter.
    ``signals``
        Its ports by the standard's name of the signal, in lower case.
    """

    name: str
    kind: str
    drives: bool
    signals: dict[str, Port]

    @property
    def clock(self) -> str:
        """The clock of its ports."""
        return next(iter(self.signals.values())).clock

    @property
    def is_timing(self) -> bool:
        """Whether it is a clock or a reset."""
        return self.kind in (CLOCK, RESET)

    @property
    def data_bits(self) -> int:
        """The width of its data; 1 where it has none."""
        data = self.signals.get("tdata", self.signals.get("wdata"))
        return 1 if data is None else data.width


def role_of(bus: Bus) -> str:
    """Who the module is on a bus; empty where that is no question."""
    if len(bus.signals) < 2:
        return ""
    if bus.kind == STREAM:
        return "transmitter" if bus.drives else "receiver"
    return "manager" if bus.drives else "subordinate"


def clocks_of(ports: Sequence[Port]) -> list[str]:
    """The clocks."""
    return [port.name for port in ports if port.name == port.clock]


def clocking(ports: Sequence[Port], quote: str = "") -> str:
    """How all ports are clocked, in a sentence or two; names stand in ``quote``."""
    clocks = clocks_of(ports)
    if len(clocks) == 1:
        clock, reset = (f"{quote}{name}{quote}" for name in ("aclk", "aresetn"))
        return (
            f"Everything happens at the rising edge of {clock}. {reset} is active low and synchronous to it."
        )
    said = []
    for clock in clocks:
        buses = [bus.name for bus in buses_of(ports)[0] if bus.clock == clock and not bus.is_timing]
        named = ", ".join(f"{quote}{name}{quote}" for name in buses)
        reset = clock.replace("aclk", "aresetn")
        said.append(f"{quote}{clock}{quote} with {quote}{reset}{quote} clocks {named}.")
    return " ".join(
        [*said, "The clocks need no relation. A reset is active low and synchronous to its clock."]
    )


def buses_of(ports: Sequence[Port]) -> tuple[list[Bus], list[Port]]:
    """The bus interfaces in the order of their first ports, and the ports that belong to none."""
    prefixes = [found[1] for port in ports if (found := re.fullmatch(r"(\w+)_(?:t|aw)valid", port.name))]
    groups: dict[str, dict[str, Port]] = {}
    single = []
    for port in ports:
        near = () if port.times else prefixes
        name = next((prefix for prefix in near if port.name.startswith(f"{prefix}_")), port.name)
        if (name == port.name and not port.times and name != "irq") or port.name.endswith(_OF_AXI5):
            single.append(port)
        else:
            groups.setdefault(name, {})[port.name.removeprefix(f"{name}_")] = port
    return [_bus(name, signals) for name, signals in groups.items()], single


def _bus(name: str, signals: dict[str, Port]) -> Bus:
    if (port := signals.get(name)) is not None:
        kind = INTERRUPT if not port.times else CLOCK if name == port.clock else RESET
        return Bus(name, kind, port.direction == "output", signals)
    kind = STREAM if "tvalid" in signals else AXI4 if "awlen" in signals else AXI_LITE
    return Bus(name, kind, signals["tvalid" if kind == STREAM else "awvalid"].direction == "output", signals)
