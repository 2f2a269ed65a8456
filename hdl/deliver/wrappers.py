"""The buses among the ports of a block. Its types as a package of SystemVerilog, and its component as one of VHDL."""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from cdma.hdl.codec.lossy import OutOfRange
from cdma.hdl.codec.parts.interface import Error, Report
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import OWNER_PORTS
from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, Mode, RecordField, Status
from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.hdl.verilog.shell import Port

from .block import Config

AXI4, AXI_LITE, STREAM = "AXI4", "AXI4-Lite", "AXI4-Stream"
CLOCK, RESET, INTERRUPT = "clock", "reset", "interrupt"
#: What each kind of bus is by, and in which version.
STANDARDS = {
    AXI4: "AMBA AXI4, Arm IHI 0022, issue H",
    AXI_LITE: "AMBA AXI4-Lite, Arm IHI 0022, issue H",
    STREAM: "AMBA AXI4-Stream, Arm IHI 0051, issue A",
}
#: What AXI4 does not have, although addresses do.
_OF_AXI5 = tuple(OWNER_PORTS.values())


@dataclass(frozen=True)
class Bus:
    """A bus interface.

    ``name``: What the names of its ports begin with.
    ``kind``: One of the constants of this module.
    ``drives``: Whether the module is its manager or its transmitter.
    ``signals``: Its ports by the standard's name of the signal, in lower case.
    """

    name: str
    kind: str
    drives: bool
    signals: dict[str, Port]

    @property
    def clock(self) -> str:
        """The clock of its ports."""
        return next(iter(self.signals.values())).clock

    @property
    def is_timing(self) -> bool:
        """Whether it is a clock or a reset."""
        return self.kind in (CLOCK, RESET)

    @property
    def data_bits(self) -> int:
        """The width of its data; 1 where it has none."""
        data = self.signals.get("tdata", self.signals.get("wdata"))
        return 1 if data is None else data.width


def role_of(bus: Bus) -> str:
    """Who the module is on a bus; empty where that is no question."""
    if len(bus.signals) < 2:
        return ""
    if bus.kind == STREAM:
        return "transmitter" if bus.drives else "receiver"
    return "manager" if bus.drives else "subordinate"


def clocks_of(ports: Sequence[Port]) -> list[str]:
    return [port.name for port in ports if port.name == port.clock]


def clocking(ports: Sequence[Port], quote: str = "") -> str:
    """How all ports are clocked, in a sentence or two; names stand in ``quote``."""
    clocks = clocks_of(ports)
    if len(clocks) == 1:
        clock, reset = (f"{quote}{name}{quote}" for name in ("aclk", "aresetn"))
        return (
            f"Everything happens at the rising edge of {clock}. {reset} is active low and synchronous to it."
        )
    sentences = []
    for clock in clocks:
        buses = [bus.name for bus in buses_of(ports)[0] if bus.clock == clock and not bus.is_timing]
        named = ", ".join(f"{quote}{name}{quote}" for name in buses)
        reset = clock.replace("aclk", "aresetn")
        sentences.append(f"{quote}{clock}{quote} with {quote}{reset}{quote} clocks {named}.")
    return " ".join(
        [*sentences, "The clocks need no relation. A reset is active low and synchronous to its clock."]
    )


def buses_of(ports: Sequence[Port]) -> tuple[list[Bus], list[Port]]:
    """The bus interfaces in the order of their first ports, and the ports that belong to none."""
    prefixes = [found[1] for port in ports if (found := re.fullmatch(r"(\w+)_(?:t|aw)valid", port.name))]
    groups: dict[str, dict[str, Port]] = {}
    single = []
    for port in ports:
        near = () if port.times else prefixes
        name = next((prefix for prefix in near if port.name.startswith(f"{prefix}_")), port.name)
        if (name == port.name and not port.times and name != "irq") or port.name.endswith(_OF_AXI5):
            single.append(port)
        else:
            groups.setdefault(name, {})[port.name.removeprefix(f"{name}_")] = port
    return [_bus(name, signals) for name, signals in groups.items()], single


def _bus(name: str, signals: dict[str, Port]) -> Bus:
    if (port := signals.get(name)) is not None:
        kind = INTERRUPT if not port.times else CLOCK if name == port.clock else RESET
        return Bus(name, kind, port.direction == "output", signals)
    kind = STREAM if "tvalid" in signals else AXI4 if "awlen" in signals else AXI_LITE
    return Bus(name, kind, signals["tvalid" if kind == STREAM else "awvalid"].direction == "output", signals)


#: Fields that have another name than in the documents: C++, which Verilator writes, has a use for ``interrupt``.
_RENAMED = {"interrupt": "interrupt_"}

_TEXT = """\
// What {name} takes and gives beside words, as types. Generated from the description that the hardware is made from.
package {name}_pkg;
{types}endpackage
"""


class _Field(NamedTuple):
    """A field of a structure, of a type or of some bits, with what it means."""

    name: str
    bits: int
    kind: str = ""
    meaning: str = ""

    @property
    def line(self) -> str:
        span = "" if self.bits == 1 else f" [{self.bits - 1}:0]"
        meaning = f" // {self.meaning}" if self.meaning else ""
        return f"    {self.kind or f'logic{span}'} {self.name};{meaning}\n"


def sv_package_file(name: str) -> str:
    return f"{name}_pkg.sv"


def sv_package(block: str, config: Config, name: str) -> str:
    """The package ``NAME_pkg``; empty for a block that has no such thing."""
    if isinstance(config, EngineConfig):
        types = [
            _enumeration("mode", Mode),
            _enumeration("status", Status),
            _structure("descriptor", "a descriptor", _record(DESCRIPTOR)),
            _structure("completion", "a completion", _record(COMPLETION)),
        ]
    elif not isinstance(config, StageConfig):
        kinds = {"error": "error_t"}
        fields = [_Field(key, field.width, kinds.get(key, "")) for key, field in Report.as_shape()]
        types = [_enumeration("error", Error), _structure("report", "m_report_tdata", fields)]
    elif block == STAGES[0]:
        fields = [_Field(key, field.width) for key, field in OutOfRange()]
        types = [_structure("report", "m_report_tdata", fields)]
    else:
        return ""
    return _TEXT.format(name=name, types="\n".join(types))


def _record(record: Sequence[RecordField]) -> list[_Field]:
    kinds = {"mode": "mode_t", "status": "status_t"}
    return [
        _Field(
            _RENAMED.get(field.name, field.name),
            field.bits,
            kinds.get(field.name, ""),
            f"from byte {field.byte}",
        )
        for field in record
    ]


def _enumeration(name: str, kind: type[enum.Enum]) -> str:
    """The type ``NAME_t`` of the names of numbers of 8 bits."""
    rows = ",\n".join(f"    {name.upper()}_{member.name} = 8'd{member.value}" for member in kind)
    return f"  typedef enum logic [7:0] {{\n{rows}\n  }} {name}_t;\n"


def _structure(name: str, what: str, fields: Sequence[_Field]) -> str:
    """The type ``NAME_t`` of fields, the first of which has the lowest bits."""
    rows = "".join(field.line for field in reversed(fields))
    bits = sum(field.bits for field in fields)
    return f"  // The {bits} bits of {what}, the highest first.\n  typedef struct packed {{\n{rows}  }} {name}_t;\n"


_PACKAGE = """\
-- The component {name}, for a design in VHDL.
library ieee;
use ieee.std_logic_1164.all;

package {name}_pkg is
  component {name} is
    port (
{ports}
    );
  end component {name};
end package {name}_pkg;
"""


def vhdl_package(name: str, ports: Sequence[Port]) -> str:
    """The package ``NAME_pkg`` with the component of the block."""
    return _PACKAGE.format(name=name, ports=";\n".join(f"      {_declared(port)}" for port in ports))


def _declared(port: Port) -> str:
    kind = "std_logic" if port.width == 1 else f"std_logic_vector({port.width - 1} downto 0)"
    return f"{port.name} : {'in' if port.direction == 'input' else 'out'} {kind}"
