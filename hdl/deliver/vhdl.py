"""A block in a design in VHDL: its component, and a wrapper whose ports are buses."""

from __future__ import annotations

from collections.abc import Sequence

from cdma.hdl.verilog.ports import Direction, Port

from .buses import AXI4, AXI_LITE, STREAM, Bus, buses_of

__all__ = ["vhdl_files"]

_PACKAGE = """\
-- The component {name}, and for each of its buses two records: what the block takes, and what it drives.
library ieee;
use ieee.std_logic_1164.all;

package {name}_pkg is
  component {name} is
    port (
{ports}
    );
  end component {name};
{records}
end package {name}_pkg;
"""

_WRAPPER = """\
-- {name} with a record for each direction of a bus: BUS_i is what the block takes, BUS_o what it drives.
library ieee;
use ieee.std_logic_1164.all;
use work.{name}_pkg.all;

entity {name}_wrapper is
  port (
{ports}
  );
end entity {name}_wrapper;

architecture rtl of {name}_wrapper is
begin
  block_0 : component {name}
    port map (
{pins}
    );
end architecture rtl;
"""

#: What the names of the wrapper's ports, and of the types of their records, end with.
_ENDS: dict[Direction, str] = {"input": "_i", "output": "_o"}
_MODES: dict[Direction, str] = {"input": "in", "output": "out"}


def vhdl_files(name: str, ports: Sequence[Port]) -> dict[str, str]:
    """The package ``NAME_pkg`` and the entity ``NAME_wrapper``, by their files, in the order of analysis."""
    buses = [bus for bus in buses_of(ports)[0] if bus.kind in (AXI4, AXI_LITE, STREAM)]
    inside = {port.name for bus in buses for port in bus.signals.values()}
    alone = [port for port in ports if port.name not in inside]
    sides = [(bus, direction) for bus in buses for direction in _ENDS]
    outer = [_declared(port) for port in alone]
    outer += [
        f"{bus.name}{_ENDS[direction]} : {_MODES[direction]} {_record(name, bus, direction)}"
        for bus, direction in sides
    ]
    pins = [f"{port.name} => {port.name}" for port in alone]
    pins += [
        f"{port.name} => {bus.name}{_ENDS[port.direction]}.{signal}"
        for bus in buses
        for signal, port in bus.signals.items()
    ]
    records = "".join(_record_type(name, bus, direction) for bus, direction in sides)
    return {
        f"{name}_pkg.vhd": _PACKAGE.format(
            name=name, ports=_lines([*map(_declared, ports)], ";", 6), records=records
        ),
        f"{name}_wrapper.vhd": _WRAPPER.format(
            name=name, ports=_lines(outer, ";", 4), pins=_lines(pins, ",", 6)
        ),
    }


def _lines(entries: Sequence[str], separator: str, indent: int) -> str:
    """The entries of a list, one a line."""
    pad = " " * indent
    return f"{separator}\n".join(f"{pad}{entry}" for entry in entries)


def _declared(port: Port) -> str:
    return f"{port.name} : {_MODES[port.direction]} {_type(port)}"


def _type(port: Port) -> str:
    return "std_logic" if port.width == 1 else f"std_logic_vector({port.width - 1} downto 0)"


def _record(name: str, bus: Bus, direction: Direction) -> str:
    """The name of the type of one side of a bus."""
    return f"{name}_{bus.name}{_ENDS[direction]}"


def _record_type(name: str, bus: Bus, direction: Direction) -> str:
    """The declaration of that type."""
    record = _record(name, bus, direction)
    fields = "".join(
        f"    {signal} : {_type(port)};\n"
        for signal, port in bus.signals.items()
        if port.direction == direction
    )
    return f"\n  type {record} is record\n{fields}  end record {record};\n"
