"""Verilog around a design for a four-state simulator, which makes the most of X.

- The payload of a channel that the bench drives is X while its valid is low, so that whatever looks at it becomes X.
- A register or memory without an initial value forgets what it holds when a reset begins, so every reset is like the
  first one. With several clocks all of them have to be in reset, and what their crossings agree by has its initial value:
  no reset reaches all of that, and from X nothing finds into a handshake, from other values it does.
- One vector says which outputs are X that must not be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cdma.hdl.spec.options import reset_of
from cdma.hdl.verilog.shell import Port
from cdma.verif.simulator.monitors.rules import UNKNOWN, channel_valid, unknown_conditions

#: A register or a memory, as the design declares it.
_REGISTER = re.compile(
    r"^ *(?:output +)?reg +(?:\[\d+:\d+\] +)?(?P<name>\w+|\\\S+ )(?: +\[(?P<first>\d+):(?P<last>\d+)\])?;?,?(?: //.*)?$",
    re.MULTILINE,
)

#: A module, and the line before it if its registers are handshakes between two clocks.
_MODULE = re.compile(
    r"^(// Source: \S*, (?:LinkEnd|Synchroniser|AccessCrossing|Answering|Finishing)\n)?"
    r"(module .*?^endmodule)$",
    re.MULTILINE | re.DOTALL,
)


def four_state_name(top: str) -> str:
    return f"{top}_four_state"


def four_state_text(verilog: str, top: str, ports: Sequence[Port], *, trace: bool = False) -> str:
    """A design with top ``top``, and the module around it with the same ports; with ``trace`` it writes a VCD into
    ``+trace-file=``."""
    around = four_state_name(top)
    resets = dict.fromkeys(f"{around}.{reset_of(port.clock)}" for port in ports)
    forgetful = _MODULE.sub(
        lambda found: (found[1] or "") + _forgetting(found[2], " | ".join(resets), agrees=bool(found[1])),
        verilog,
    )
    return "\n".join(["`timescale 1ps / 1ps", forgetful, *_around(top, ports, trace)]) + "\n"


def _forgetting(module: str, reset: str, *, agrees: bool) -> str:
    """A module whose registers and memories become X when ``reset`` falls, or, where it ``agrees`` with another clock's,
    initial."""
    body = []
    for register in _REGISTER.finditer(module):
        name, first, last = register.group("name", "first", "last")
        if first is None:
            value = f"'b{int(name == 'restart')}" if agrees else "'bx"
            body.append(f"    {name} = {value};")
        else:
            low, high = sorted((int(first), int(last)))
            body.append(f"    for (four_state_index = {low}; four_state_index <= {high};")
            body.append(f"         four_state_index = four_state_index + 1) {name}[four_state_index] = 'bx;")
    if not body:
        return module
    lines = ["  integer four_state_index;", f"  always @(negedge {reset}) begin", *body, "  end", "endmodule"]
    return module.removesuffix("endmodule") + "\n".join(lines)


def _around(top: str, ports: Sequence[Port], trace: bool) -> Iterator[str]:
    conditions = unknown_conditions(ports)
    yield f"module {four_state_name(top)} ("
    yield ",\n".join(f"  {port.direction} wire {port.range}{port.name}" for port in ports)
    yield ");"
    yield f"  wire [{len(conditions) - 1}:0] {UNKNOWN} = {{"
    yield ",\n".join(f"    {condition}" for condition in reversed(conditions.values()))
    yield "  };"
    yield f"  {top} dut ("
    yield ",\n".join(f"    .{port.name}({_connection(port, ports)})" for port in ports)
    yield "  );"
    if trace:
        yield "  reg [8 * 4096 - 1:0] trace_file;"
        yield '  initial if ($value$plusargs("trace-file=%s", trace_file)) begin'
        yield "    $dumpfile(trace_file);"
        yield "    $dumpvars(0, dut);"
        yield "  end"
    yield "endmodule"


def _connection(port: Port, ports: Sequence[Port]) -> str:
    valid = channel_valid(port, ports) if port.direction == "input" else None
    return port.name if valid is None else f"{valid.name} === 1'b1 ? {port.name} : {{{port.width}{{1'bx}}}}"
