"""An instantiation of a module, for its user to copy from. A generated module with all that is known of it: what its
package is made from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from cdma.hdl.deliver.bench.opening import Vectors
from cdma.hdl.spec.registers.description import RegisterMap
from cdma.hdl.verilog.emit import Verilog
from cdma.hdl.verilog.shell import Port

from .document import Part
from .languages import VERILOG, Config

__all__ = ["Block", "instance_template", "pin_lines", "reset_note"]


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


@dataclass(frozen=True)
class Block:
    """A module and what goes with it.

    ``name``, ``title``, ``version``
        Its name, what it is in a few words, and the version of the generator.
    ``kind``, ``config``
        Which block it is, such as ``compressor``, and what it was made from.
    ``ports``, ``design``
        Its ports, and its Verilog with its memories.
    ``parameters``, ``facts``
        The parameters of that, and what it does with that (throughput, latency, ...), as one reads them.
    ``vectors``
        What its first bench sends, and what must come of it.
    ``period``
        The clock period in ns that its constraints say.
    ``language``
        That of the design which takes it, one of :data:`~cdma.hdl.deliver.languages.LANGUAGES`.
    ``area``
        What was measured of it on a cell library, as one reads it; empty if nothing was.
    ``simulated``
        What was measured of it in simulation, as parts of a document; empty if nothing was.
    ``registers``, ``texts``
        The registers behind its AXI4-Lite port, and the texts about them and the driver, by file name.
    """

    name: str
    title: str
    version: str
    kind: str
    config: Config
    ports: Sequence[Port]
    design: Verilog
    parameters: Mapping[str, object]
    facts: Mapping[str, str]
    vectors: Vectors
    period: float = 1.0
    language: str = VERILOG
    registers: RegisterMap | None = None
    texts: Mapping[str, str] = field(default_factory=dict)
    area: Mapping[str, str] = field(default_factory=dict)
    simulated: Sequence[Part] = ()
