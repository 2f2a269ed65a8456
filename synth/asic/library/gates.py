"""The project's own table of gates, for figures without a maker's cell library.

The area of a gate is counted in columns of a row of standard cells: one for each pair of transistors, and one that
separates it from its neighbour. A NAND2 has three columns and is one gate equivalent (GE). All gates are static CMOS
of one size; the flip-flop is the usual one of two transmission-gate latches, 16 columns and the separating one. The
table has no delays: the speed of a gate depends on a process, and this table belongs to none.
"""

from __future__ import annotations

from functools import cache

from .library import Library
from .load import merge_libraries, parse_library

__all__ = ["ASSUMPTION", "NAME", "normalised_library"]

NAME = "normalised"

ASSUMPTION = (
    "gate equivalents of the project's own table: NAND2 = 1, a column per transistor pair and one apart "
    "(inverter 0.67, MUX2 2.33, flip-flop without enable or reset 5.67), no delays"
)

_COLUMNS_PER_GE = 3

#: Name: columns, inputs, function of the output Y.
_GATES = {
    "INV": (2, "A", "!A"),
    "BUF": (3, "A", "A"),
    "NAND2": (3, "A B", "!(A & B)"),
    "NOR2": (3, "A B", "!(A | B)"),
    "AND2": (4, "A B", "A & B"),
    "OR2": (4, "A B", "A | B"),
    "NAND3": (4, "A B C", "!(A & B & C)"),
    "NOR3": (4, "A B C", "!(A | B | C)"),
    "AND3": (5, "A B C", "A & B & C"),
    "OR3": (5, "A B C", "A | B | C"),
    "NAND4": (5, "A B C D", "!(A & B & C & D)"),
    "NOR4": (5, "A B C D", "!(A | B | C | D)"),
    "AOI21": (4, "A B C", "!((A & B) | C)"),
    "OAI21": (4, "A B C", "!((A | B) & C)"),
    "AOI22": (5, "A B C D", "!((A & B) | (C & D))"),
    "OAI22": (5, "A B C D", "!((A | B) & (C | D))"),
    "XOR2": (6, "A B", "A ^ B"),
    "XNOR2": (6, "A B", "!(A ^ B)"),
    "MUX2": (7, "A B S", "(S & B) | (!S & A)"),
}
_FLIP_FLOP_COLUMNS = 17
_CLOCK_GATE_COLUMNS = 13


def _input(name: str, more: str = "") -> str:
    return f"    pin ({name}) {{ direction : input; capacitance : 1; {more}}}"


def _text() -> str:
    cells = []
    for name, (columns, inputs, function) in _GATES.items():
        pins = [
            *map(_input, inputs.split()),
            f'    pin (Y) {{ direction : output; function : "{function}"; }}',
        ]
        cells.append((name, columns, "", pins))
    cells.append(
        (
            "DFF",
            _FLIP_FLOP_COLUMNS,
            '    ff (IQ, IQN) { clocked_on : "CK"; next_state : "D"; }\n',
            [
                _input("D"),
                _input("CK", "clock : true; "),
                '    pin (Q) { direction : output; function : "IQ"; }',
            ],
        )
    )
    cells.append(
        (
            "CLOCKGATE",
            _CLOCK_GATE_COLUMNS,
            '    clock_gating_integrated_cell : "latch_posedge";\n    dont_use : true;\n',
            [
                _input("CK", "clock_gate_clock_pin : true; "),
                _input("E", "clock_gate_enable_pin : true; "),
                "    pin (GCK) { direction : output; clock_gate_out_pin : true; }",
            ],
        )
    )
    body = "\n".join(
        f"  cell ({name}) {{\n    area : {columns / _COLUMNS_PER_GE:.6f};\n{more}" + "\n".join(pins) + "\n  }"
        for name, columns, more, pins in cells
    )
    return f'library ({NAME}) {{\n  time_unit : "1ns";\n  capacitive_load_unit (1, ff);\n{body}\n}}\n'


@cache
def normalised_library() -> Library:
    """Returns the table as a library, with areas in gate equivalents."""
    return merge_libraries([(NAME, parse_library(_text().encode(), NAME))])
