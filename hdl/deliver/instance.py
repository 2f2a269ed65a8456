"""An instantiation of a module, for its user to copy from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from cdma.hdl.verilog.ports import Port

__all__ = ["instance_template", "pin_lines", "reset_note"]


def pin_lines(ports: Sequence[Port], values: Mapping[str, str] = MappingProxyType({})) -> str:
    """The connection of every port: to its value in ``values``, or to the net of its name."""
    longest = max(len(port.name) for port in ports)
    return ",\n".join(f"  .{port.name:{longest}} ({values.get(port.name, port.name)})" for port in ports)


def reset_note(ports: Sequence[Port]) -> str:
    """What an instance says of its resets."""
    if any(port.times and port.clock != "aclk" for port in ports):
        return "Each reset is synchronous to its clock and active low."
    return "aresetn is synchronous to aclk and active low."


def instance_template(name: str, ports: Sequence[Port]) -> str:
    """An instance of the module ``name`` with a wire for every port, of the port's name."""
    wires = "\n".join(f"wire {port.range}{port.name};" for port in ports)
    return (
        f"// An instance of {name}. {reset_note(ports)}\n"
        f"{wires}\n\n{name} u_{name} (\n{pin_lines(ports)}\n);\n"
    )
