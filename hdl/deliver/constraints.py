"""Timing constraints of a module: its clock, and the delays outside of its ports."""

from __future__ import annotations

from collections.abc import Sequence

from cdma.hdl.verilog.ports import SCAN_ENABLE, Port

from .buses import clocks_of
from .crossing_constraints import crossing_lines

__all__ = ["sdc", "xdc"]

_TEXT = """\
# Timing constraints of {name}, for a clock period of {period:g} ns. Change the two numbers to those of your design.
set period {period:g}
# The part of a period that is spent outside, before an input and behind an output.
set outside {outside:g}
create_clock -name aclk -period $period [get_ports aclk]
set_input_delay  -clock aclk [expr {{$period * $outside}}] [get_ports {{ {inputs} }}]
set_output_delay -clock aclk [expr {{$period * $outside}}] [get_ports {{ {outputs} }}]
{ways}"""
_SYNCHRONOUS = (
    "# aresetn is synchronous to aclk: it is a path like any other, and nothing here is a false path.\n"
)
_WITH_REQUEST = """\
# aresetn is synchronous to aclk: it is a path like any other. qreqn is not: two flip-flops synchronise it.
set_false_path -from [get_ports qreqn]
"""
_GATED = """\
# What is timed is the function, in which enables alone open the clock gates. An enable has to be there before {clock} rises:
# tools infer that check from a gate, and the command may add a margin.
set_case_analysis 0 [get_ports scan_enable]
set_clock_gating_check -setup 0 -hold 0 [get_clocks {clock}]
"""
_OUT_OF_CONTEXT = """\
# For the module by itself (out of context). In a block design Vivado knows the clock and the neighbours:
# mark this file as out_of_context there.
"""
#: A part of a period that leaves as much for the other side as for this one.
_OUTSIDE = 0.4


def _pattern(port: Port) -> str:
    return port.name if port.width == 1 else f"{port.name}[*]"


def _port(ports: Sequence[Port], name: str) -> Port | None:
    return next((port for port in ports if port.name == name), None)


def _gated(ports: Sequence[Port]) -> str:
    """What is said of clock gates, if there are any."""
    scan_enable = _port(ports, SCAN_ENABLE.name)
    return _GATED.format(clock=scan_enable.clock) if scan_enable else ""


def sdc(name: str, ports: Sequence[Port], period: float) -> str:
    """Synopsys design constraints, as most synthesis and timing tools read them."""
    if len(clocks_of(ports)) > 1:
        return _of_several(name, ports, period, vivado=False)
    apart = ("aclk", SCAN_ENABLE.name)
    inputs = [_pattern(port) for port in ports if port.direction == "input" and port.name not in apart]
    outputs = [_pattern(port) for port in ports if port.direction == "output"]
    return _TEXT.format(
        name=name,
        period=period,
        outside=_OUTSIDE,
        inputs=" ".join(inputs),
        outputs=" ".join(outputs),
        ways=(_WITH_REQUEST if _port(ports, "qreqn") else _SYNCHRONOUS) + _gated(ports),
    )


def xdc(name: str, ports: Sequence[Port], period: float) -> str:
    """Constraints for Vivado, for the module by itself out of context.

    Inside a design the tool derives all of this from the clock of the whole: then leave the file out.
    """
    if len(clocks_of(ports)) > 1:
        return _OUT_OF_CONTEXT + _of_several(name, ports, period, vivado=True)
    return _OUT_OF_CONTEXT + sdc(name, ports, period)


def _of_several(name: str, ports: Sequence[Port], period: float, *, vivado: bool) -> str:
    """The constraints of a module with several clocks."""
    lines = [
        f"# Timing constraints of {name}. Change the numbers to those of your design: a period in ns for each clock, and",
        "# the part of a period that is spent outside, before an input and behind an output.",
        f"set outside {_OUTSIDE:g}",
    ]
    for clock in clocks_of(ports):
        apart = (clock, SCAN_ENABLE.name)
        own = [port for port in ports if port.clock == clock and port.name not in apart]
        lines += [
            f"set period_{clock} {period:g}",
            f"create_clock -name {clock} -period $period_{clock} [get_ports {clock}]",
        ]
        for direction in ("input", "output"):
            named = " ".join(_pattern(port) for port in own if port.direction == direction)
            lines.append(
                f"set_{direction}_delay -clock {clock} [expr {{$period_{clock} * $outside}}] [get_ports {{ {named} }}]"
            )
    if _port(ports, "qreqn"):
        lines += ["# Two flip-flops synchronise it.", "set_false_path -from [get_ports qreqn]"]
    return "\n".join([*lines, *crossing_lines(ports, vivado=vivado), _gated(ports)])
