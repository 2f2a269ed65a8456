"""The bus interfaces of a module, found by the names of its ports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cdma.hdl.verilog.ports import Port

__all__ = ["AXI4", "AXI_LITE", "CLOCK", "INTERRUPT", "RESET", "STREAM", "Bus", "buses_of"]

AXI4, AXI_LITE, STREAM, CLOCK, RESET, INTERRUPT = (
    "AXI4",
    "AXI4-Lite",
    "AXI4-Stream",
    "clock",
    "reset",
    "interrupt",
)
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
        data = [port.width for signal, port in self.signals.items() if signal in ("tdata", "wdata")]
        return data[0] if data else 1


def buses_of(ports: Sequence[Port]) -> tuple[list[Bus], list[Port]]:
    """The bus interfaces in the order of their first ports, and the ports that belong to none."""
    buses = list(_buses(ports))
    used = {port.name for bus in buses for port in bus.signals.values()}
    return buses, [port for port in ports if port.name not in used]


def _buses(ports: Sequence[Port]) -> Iterator[Bus]:
    found: set[str] = set()
    for port in ports:
        if port.name in _SINGLE:
            yield Bus(port.name, _SINGLE[port.name], port.direction == "output", {port.name: port})
            continue
        prefix = next((name for name in _prefixes(ports) if port.name.startswith(f"{name}_")), None)
        if prefix is None or prefix in found:
            continue
        found.add(prefix)
        signals = {
            other.name.removeprefix(f"{prefix}_"): other
            for other in ports
            if other.name.startswith(f"{prefix}_")
        }
        kind = STREAM if "tvalid" in signals else AXI4 if "awlen" in signals else AXI_LITE
        valid = signals["tvalid" if kind == STREAM else "awvalid"]
        yield Bus(prefix, kind, valid.direction == "output", signals)


def _prefixes(ports: Sequence[Port]) -> list[str]:
    return [
        port.name.removesuffix(end)
        for port in ports
        for end in ("_tvalid", "_awvalid")
        if port.name.endswith(end)
    ]
