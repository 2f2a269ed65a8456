"""A design with faults at its ports: the design itself inside a module of the same name and ports."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from cdma.hdl.verilog.ports import Port

__all__ = ["faulty", "wrapped"]


def wrapped(
    text: str, top: str, ports: Sequence[Port], expressions: Mapping[str, str], state: str = ""
) -> str:
    """The module ``top`` of ``text`` with other ``expressions`` for some of its ports, by their names.

    In these and in the declarations ``state``, ``x_port`` is the port of the design itself.
    """
    assert set(expressions) <= {port.name for port in ports}, expressions
    lines = [f"module {top} ("]
    lines.append(",\n".join(f"  {port.direction} wire {port.range}{port.name}" for port in ports))
    lines.append(");")
    lines += [f"  wire {port.range}x_{port.name};" for port in ports]
    lines.append(state)
    for port in ports:
        outer, inner = port.name, f"x_{port.name}"
        target, source = (outer, inner) if port.direction == "output" else (inner, outer)
        lines.append(f"  assign {target} = {expressions.get(outer, source)};")
    lines.append("  inner sound (" + ", ".join(f".{port.name}(x_{port.name})" for port in ports) + ");")
    lines.append("endmodule")
    renamed = re.sub(rf"^module {top} \(", "module inner (", text, flags=re.MULTILINE)
    return renamed + "\n" + "\n".join(lines) + "\n"


def faulty(
    text: str, top: str, ports: Sequence[Port], faults: Mapping[str, Mapping[str, str]], state: str = ""
) -> str:
    """The module ``top`` of ``text`` with all ``faults``, one of which is chosen when the simulation starts, so that
    one build serves them all.

    Each fault has expressions as :func:`wrapped` takes them. ``+fault=N`` chooses the N-th, from 1; 0 is none.
    """
    expressions: dict[str, str] = {}
    for port in ports:
        choice = f"x_{port.name}" if port.direction == "output" else port.name
        for number, changes in enumerate(faults.values(), 1):
            if port.name in changes:
                choice = f"fault == {number} ? ({changes[port.name]}) : {choice}"
        expressions[port.name] = choice
    assert {name for changes in faults.values() for name in changes} <= set(expressions)
    chosen = '  reg [31:0] fault;\n  initial if (!$value$plusargs("fault=%d", fault)) fault = 0;\n'
    return wrapped(text, top, ports, expressions, chosen + state)
