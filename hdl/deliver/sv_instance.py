"""An instance of a block in SystemVerilog, with an interface for each of its buses."""

from __future__ import annotations

from collections.abc import Sequence

from cdma.hdl.verilog.ports import Port

from .buses import AXI4, AXI_LITE, STREAM, Bus, buses_of
from .instance import pin_lines, reset_note

__all__ = ["sv_instance"]

_INTERFACE = """\
interface {name}_{bus}_if;
{signals}
  modport {drives} ({outer});
  modport {follows} ({inner});
endinterface
"""

_MODULE = """\
// An instance of {name}, to copy from or to use as it is. {note}
module {name}_interfaces (
{ports}
);
  {name} u_{name} (
{pins}
  );
endmodule
"""

#: What the standards call the side that begins a transfer, and the other one.
_ROLES = {STREAM: ("transmitter", "receiver"), AXI4: ("manager", "subordinate")}


def sv_instance(name: str, ports: Sequence[Port]) -> str:
    """An interface ``NAME_BUS_if`` for each bus, and the module ``NAME_interfaces``, which has them as its ports."""
    buses = [bus for bus in buses_of(ports)[0] if bus.kind in (AXI4, AXI_LITE, STREAM)]
    places = {port.name: f"{bus.name}.{signal}" for bus in buses for signal, port in bus.signals.items()}
    outer = [f"{port.direction} logic {port.range}{port.name}" for port in ports if port.name not in places]
    outer += [f"{name}_{bus.name}_if.{_roles(bus)[not bus.drives]} {bus.name}" for bus in buses]
    module = _MODULE.format(
        name=name,
        note=reset_note(ports),
        ports=",\n".join(f"  {port}" for port in outer),
        pins="\n".join(f"  {line}" for line in pin_lines(ports, places).splitlines()),
    )
    return "\n".join([*(_interface(name, bus) for bus in buses), module])


def _roles(bus: Bus) -> tuple[str, str]:
    return _ROLES.get(bus.kind, _ROLES[AXI4])


def _interface(name: str, bus: Bus) -> str:
    drives, follows = _roles(bus)
    # From the side that begins a transfer.
    outputs = {signal: (port.direction == "output") == bus.drives for signal, port in bus.signals.items()}
    return _INTERFACE.format(
        name=name,
        bus=bus.name,
        signals="\n".join(f"  logic {port.range}{signal};" for signal, port in bus.signals.items()),
        drives=drives,
        follows=follows,
        outer=_directed(outputs),
        inner=_directed({signal: not output for signal, output in outputs.items()}),
    )


def _directed(outputs: dict[str, bool]) -> str:
    """The signals of a modport, those of each direction together, one line for each."""
    groups = {
        "output": [signal for signal, output in outputs.items() if output],
        "input": [signal for signal, output in outputs.items() if not output],
    }
    return (
        "".join(
            f"\n    {direction} {', '.join(signals)}," for direction, signals in groups.items() if signals
        ).removesuffix(",")
        + "\n  "
    )
