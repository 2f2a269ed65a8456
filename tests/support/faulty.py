"""A design with faults at its ports, one of which is chosen when the simulation starts: one build for them all."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["faulty"]

_PORT = re.compile(r"^  (input|output)\s+(?:wire|reg)\s+(\[\d+:0\])?\s*(\w+)", re.MULTILINE)


def faulty(text: str, top: str, faults: Mapping[str, Mapping[str, str]], state: str = "") -> str:
    """The module ``top`` of ``text`` inside a module of the same name and ports.

    ``faults`` says, for each fault, which ports are driven by other expressions, in which ``x_port`` is the port of
    the design itself and ``state`` may have registers. ``+fault=N`` chooses the N-th, from 1; 0 is none.
    """
    header = re.search(rf"^module {top} \(\n(.*?)^\);$", text, re.MULTILINE | re.DOTALL)
    assert header is not None
    ports = _PORT.findall(header[1])
    changed = {port for changes in faults.values() for port in changes}
    assert changed <= {name for _, _, name in ports}, changed

    def driven(name: str, sound: str) -> str:
        choice = sound
        for number, changes in enumerate(faults.values(), 1):
            if name in changes:
                choice = f"fault == {number} ? ({changes[name]}) : {choice}"
        return choice

    lines = [f"module {top} ("]
    lines.append(",\n".join(f"  {direction} wire {width} {name}" for direction, width, name in ports))
    lines += [
        ");",
        "  reg [31:0] fault;",
        '  initial if (!$value$plusargs("fault=%d", fault)) fault = 0;',
        state,
    ]
    for direction, width, name in ports:
        inner = f"x_{name}"
        lines.append(f"  wire {width} {inner};")
        if direction == "output":
            lines.append(f"  assign {name} = {driven(name, inner)};")
        else:
            lines.append(f"  assign {inner} = {driven(name, name)};")
    lines.append("  inner sound (" + ", ".join(f".{name}(x_{name})" for _, _, name in ports) + ");")
    lines.append("endmodule")
    renamed = re.sub(rf"^module {top} \(", "module inner (", text, flags=re.MULTILINE)
    return renamed + "\n" + "\n".join(lines) + "\n"
