"""The package of a block in SystemVerilog: its records as packed structures, and the names of their values."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

from cdma.hdl.codec.parts.streams import Error, Report
from cdma.hdl.lossy.range_report import OutOfRange
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, Mode, RecordField, Status
from cdma.hdl.spec.stage import STAGES, StageConfig

from .designs import Config

__all__ = ["sv_package", "sv_package_file"]

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
    """The file of the package."""
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
