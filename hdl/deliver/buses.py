"""The bus interfaces of a module, found by the names of its ports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cdma.hdl.verilog.ports import Port

__all__ = [
    "AXI4",
    "AXI_LITE",
    "CLOCK",
    "CLOCKING",
    "INTERRUPT",
    "RESET",
    "STANDARDS",
    "STREAM",
    "Bus",
    "buses_of",
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
#: How all of them are clocked.
CLOCKING = "Everything happens at the rising edge of `aclk`. `aresetn` is active low and synchronous to it."
_SINGLE = {"aclk": CLOCK, "aresetn": RESET, "irq": INTERRUPT}


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


def buses_of(ports: Sequence[Port]) -> tuple[list[Bus], list[Port]]:
    """The bus interfaces in the order of their first ports, and the ports that belong to none."""
    prefixes = [found[1] for port in ports if (found := re.fullmatch(r"(\w+)_(?:t|aw)valid", port.name))]
    groups: dict[str, dict[str, Port]] = {}
    single = []
    for port in ports:
        name = next((prefix for prefix in prefixes if port.name.startswith(f"{prefix}_")), port.name)
        if name == port.name and name not in _SINGLE:
            single.append(port)
        else:
            groups.setdefault(name, {})[port.name.removeprefix(f"{name}_")] = port
    return [_bus(name, signals) for name, signals in groups.items()], single


def _bus(name: str, signals: dict[str, Port]) -> Bus:
    if name in _SINGLE:
        return Bus(name, _SINGLE[name], signals[name].direction == "output", signals)
    kind = STREAM if "tvalid" in signals else AXI4 if "awlen" in signals else AXI_LITE
    return Bus(name, kind, signals["tvalid" if kind == STREAM else "awvalid"].direction == "output", signals)
