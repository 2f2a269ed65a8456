"""An instantiation of a module, for its user to copy from."""

from __future__ import annotations

from collections.abc import Sequence

from cdma.hdl.verilog.ports import Port

__all__ = ["instance_template"]


def instance_template(name: str, ports: Sequence[Port]) -> str:
    """An instance of the module ``name`` with a wire for every port, of the port's name."""
    wires = [f"wire {port.range}{port.name};" for port in ports]
    longest = max(len(port.name) for port in ports)
    pins = [f"  .{port.name:{longest}} ({port.name})" for port in ports]
    return (
        f"// An instance of {name}. aresetn is synchronous to aclk and active low.\n"
        + "\n".join(wires)
        + f"\n\n{name} u_{name} (\n"
        + ",\n".join(pins)
        + "\n);\n"
    )
