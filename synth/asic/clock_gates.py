"""The clock gates of a circuit as cells of a library, as a team puts them into its netlist."""

from __future__ import annotations

import re

from cdma.synth.asic.library.library import Library
from cdma.synth.errors import LibraryError

__all__ = ["library_gates"]

#: The module of a clock gate.
_MODULE = re.compile(r"^module (\w*clock_gate) \(.*?^endmodule$", re.MULTILINE | re.DOTALL)


def library_gates(verilog: str, library: Library) -> str:
    """The text, in which the module of its clock gates has a cell of the library; the same text if it has no such module."""
    if not _MODULE.search(verilog):
        return verilog
    gate = library.clock_gate
    if gate is None:
        raise LibraryError(
            f"{library.name} has no clock gate for a rising clock; measure without clock_gates"
        )
    pins = {pin.gating: pin.name for pin in gate.pins if pin.gating}
    test = "test" in pins
    connected = {
        "clock": "clk",
        "enable": "enable" if test else "enable | scan_enable",
        "test": "scan_enable",
        "out": "gated",
    }
    given = ", ".join(f".{name}({connected[role]})" for role, name in pins.items())
    shown = ", ".join(f"{'output' if role == 'out' else 'input'} {name}" for role, name in pins.items())
    body = (
        "module {name} (input clk, input enable, input scan_enable, output gated);\n"
        f"  {gate.name} gate ({given});\n"
        "endmodule\n"
        f"(* blackbox *) module {gate.name} ({shown});\nendmodule"
    )
    return _MODULE.sub(lambda found: body.format(name=found[1]), verilog)
