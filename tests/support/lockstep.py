"""A block with clock gates beside the same block without, given the same: a simulation ends where they differ."""

from __future__ import annotations

import dataclasses

from cdma.hdl.deliver.designs import block_design
from cdma.hdl.verilog.ports import SCAN_ENABLE
from cdma.verif.simulator.design import Design

__all__ = ["DIFFERS", "in_lockstep"]

#: What is said of the first cycle that differs.
DIFFERS = "the block with clock gates differs"


def in_lockstep(design: Design) -> str:
    """The Verilog of a top like that of ``design``, which has clock gates."""
    top, ports = design.top, design.ports
    texts = [
        block_design(design.block, config, name=f"{top}_{name}", init=design.init).text
        for name, config in (
            ("gated", design.config),
            ("plain", dataclasses.replace(design.config, clock_gates=False)),
        )
    ]
    outputs = [port for port in ports if port.direction == "output"]
    # What a payload is while it is not valid, nobody may look at.
    valid = {port.name.removesuffix("valid"): port.name for port in outputs if port.name.endswith("valid")}

    def when(name: str) -> str:
        return next(
            (f"{each} && " for stem, each in valid.items() if name != each and name.startswith(stem)), ""
        )

    inputs = [port for port in ports if port.direction == "input"]

    def instance(name: str) -> str:
        pins = [f".{port.name}({port.name})" for port in inputs if (name, port) != ("plain", SCAN_ENABLE)]
        pins += [
            f".{port.name}({port.name if name == 'gated' else f'plain_{port.name}'})" for port in outputs
        ]
        return f"  {top}_{name} {name} ({', '.join(pins)});"

    lines = [
        *texts,
        f"module {top} (",
        ",\n".join(f"  {port.direction} wire {port.range}{port.name}" for port in ports),
        ");",
        *(f"  wire {port.range}plain_{port.name};" for port in outputs),
        instance("gated"),
        instance("plain"),
        "  always @(posedge aclk) begin",
        *(
            f'    if ({when(port.name)}{port.name} != plain_{port.name}) $fatal(1, "{DIFFERS} at {port.name}");'
            for port in outputs
        ),
        "  end",
        "endmodule",
    ]
    return "\n".join(lines) + "\n"
