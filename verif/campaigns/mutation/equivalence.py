"""Whether a mutant differs at all from the design, in what anyone may look at: a proof, not a simulation.

Mutant and design run side by side with the same inputs, which may be anything that keeps the rules of streams. ABC merges
the registers and gates that it can prove to be the same in both, and tries to prove the rest by property-directed
reachability. Registers without an initial value, such as those that a memory is read into, start at 0 in both.

Memories stay outside: what each one reads is an input of both, which may be anything, and what goes into it is looked at. So
the proof of an engine is of its logic alone and takes minutes. A difference that it finds may be one that no memory ever
shows, and says nothing then.
"""

from __future__ import annotations

from collections.abc import Sequence

from cdma.base.errors import ToolError
from cdma.base.yosys import WRITE_AIGER, decide_miter, find_yosys, scratch
from cdma.verif.simulator.monitors.rules import channel_valid, observed
from cdma.verif.simulator.simulate import Design

from .mutants import READ, Mutant, Socket, flatten, memory_modules, sockets

__all__ = ["is_equivalent"]

_COPY = """\
design -load start
{mutate}
{flatten}rename {top} {name}
design -stash {name}
"""
_MITER = """\
design -copy-from original original
design -copy-from mutant mutant
read_verilog miter.v
hierarchy -top miter
proc
flatten
memory_map
setundef -init -zero
"""


def is_equivalent(design: Design, mutant: Mutant, seconds: int = 60) -> bool | None:
    """True if no input whatever shows a difference, False if some input does, None if that does not come out in the time."""
    text = design.verilog()
    # The memory that has the fault is looked into.
    modules = [module for module in memory_modules(text) if module != mutant.module]
    memories = sockets(text, design.top, modules)
    script = [
        READ.format(top=design.top),
        "design -save start",
        _COPY.format(mutate="", flatten=flatten(modules), top=design.top, name="original"),
        _COPY.format(mutate=mutant.command, flatten=flatten(modules), top=design.top, name="mutant"),
        _MITER,
        WRITE_AIGER,
    ]
    with scratch() as folder:
        (folder / "design.v").write_text(text)
        (folder / "miter.v").write_text(_miter(design, memories))
        try:
            find_yosys().run("\n".join(script), folder)
        except ToolError:
            # It declines a register that is stuck at another value than its initial one.
            return None
        merge = "&get; &scorr; &put" if memories else "scorr"
        try:
            same = decide_miter(folder, merge, seconds, 4 * seconds + 60)
        except ToolError:
            return None
    return None if memories and not same else same


def _miter(design: Design, memories: Sequence[Socket]) -> str:
    """A module with the design and a mutant of it, whose output is 1 while someone may see a difference.

    Nothing counts after a payload or a valid of an input has changed while it waited for ready, as no stream may.
    """
    inputs = [port for port in design.ports if port.direction == "input"]
    outputs = [port for port in design.ports if port.direction == "output"]
    read = [port for socket in memories for port in socket.inputs]
    given_to = [port for socket in memories for port in socket.outputs]
    lines = ["module miter (", *(f"  input wire {port.range}{port.name}," for port in [*inputs, *read])]
    lines += ["  output wire differs", ");"]
    for name in ("original", "mutant"):
        lines += [f"  wire {port.range}{name}_{port.name};" for port in [*outputs, *given_to]]
        given = [f"    .{port.name}({port.name})" for port in inputs]
        given += [f"    .{port.name}({name}_{port.name})" for port in outputs]
        for socket in memories:
            given += [f"    .{socket.pin(port)}({port.name})" for port in socket.inputs]
            given += [f"    .{socket.pin(port)}({name}_{port.name})" for port in socket.outputs]
        lines += [f"  {name} {name}_0 (", ",\n".join(given), "  );"]
    differences = [each for socket in memories for each in socket.differences("original_", "mutant_")]
    for output in observed(design.ports):
        difference = f"({output.value('original_')} != {output.value('mutant_')})"
        # The valid itself is compared, so that of one of the two is enough.
        differences.append(
            difference if output.valid is None else f"(original_{output.valid.name} && {difference})"
        )
    broken = []
    for port in inputs:
        valid = port if port.name.endswith("valid") else channel_valid(port, design.ports)
        if valid is not None:
            lines += [
                f"  reg {port.range}was_{port.name} = 0;",
                f"  always @(posedge aclk) was_{port.name} <= {port.name};",
            ]
            broken.append(f"(waits_{valid.name} && {port.name} != was_{port.name})")
        if valid is port:
            ready = f"original_{port.name.removesuffix('valid')}ready"
            lines += [
                f"  reg waits_{port.name} = 0;",
                f"  always @(posedge aclk) waits_{port.name} <= aresetn && {port.name} && !{ready};",
            ]
    lines += [
        "  reg was_broken = 0;",
        f"  wire broken = was_broken || (aresetn && ({' || '.join(broken)}));",
        "  always @(posedge aclk) was_broken <= broken;",
        "  assign differs = !broken && (",
        " ||\n".join(f"    {difference}" for difference in differences) + ");",
        "endmodule",
        "",
    ]
    return "\n".join(lines)
