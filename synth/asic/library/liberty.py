"""Reads cell libraries in Liberty, and checks them for what a measurement needs; has a table of gates for use without one.

Yosys, ABC and OpenSTA read the files again. They are read here as well because each tool answers an unsuitable library
in its own way, from a crash to a silent zero, and because a measurement needs figures that no tool gives: the NAND2
that areas are divided by, the buffer that drives the inputs, the gate that stops a clock.

The project's own table counts the area of a gate in columns of a row of standard cells: one for each pair of
transistors, and one that separates it from its neighbour. A NAND2 has three columns and is one gate equivalent (GE).
All gates are static CMOS of one size; the flip-flop is the usual one of two transmission-gate latches, 16 columns and
the separating one. The table has no delays, because these depend on a process.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cdma.synth.asic.paths import LibraryError

from .library import Cell, Library, Pin

_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|\\\r?\n|"(?:[^"\\]|\\.)*"|[{}();:,]|[^\s{}();:,"]+|\s+', re.DOTALL)
_BRACE = re.compile(r'/\*.*?\*/|"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
# Some writers leave out the semicolon at the end of a line or of a group.
_VALUE = re.compile(r'[ \t]*("(?:[^"\\]|\\.)*"|[^";}\s][^;}\n]*)[ \t]*;?', re.DOTALL)
_SKIPPED = frozenset(
    {
        *("internal_power", "leakage_power", "operating_conditions", "lu_table_template"),
        *("power_lut_template", "wire_load"),
    }
)
_SKIPPED_INSIDE = frozenset({"timing", "statetable", "test_cell", "dynamic_current", "receiver_capacitance"})


@dataclass
class Group:
    """A group of a file: its kind, its arguments, its simple attributes and the groups in it."""

    kind: str
    arguments: list[str]
    attributes: dict[str, str]
    groups: list[Group]

    def of(self, kind: str) -> list[Group]:
        return [group for group in self.groups if group.kind == kind]


#: Attributes that a group has several times.
_REPEATED = frozenset({"fanout_length"})


class _Reader:
    """A recursive-descent reader that skips the inside of tables, which are most of a library; with ``whole``, all cells but
    those, and nothing of them."""

    def __init__(self, text: str, source: str, whole: Collection[str] | None = None) -> None:
        self.text = text
        self.source = source
        self.whole = whole
        self.position = 0

    def skips(self, group: Group) -> bool:
        if self.whole is None:
            return group.kind in _SKIPPED or group.kind in _SKIPPED_INSIDE
        return group.kind == "cell" and "".join(group.arguments[:1]) not in self.whole

    def fail(self, what: str) -> LibraryError:
        line = self.text.count("\n", 0, self.position) + 1
        return LibraryError(f"{self.source}, line {line}: {what}")

    def token(self) -> str:
        while True:
            match = _TOKEN.match(self.text, self.position)
            if match is None:
                if self.position >= len(self.text):
                    raise self.fail("the file ends inside a group: it is cut short")
                raise self.fail("a string or a comment does not end")
            self.position = match.end()
            token = match[0]
            if not token.isspace() and not token.startswith(("/*", "//", "\\\n", "\\\r")):
                return token.strip('"') if token.startswith('"') else token

    def skip_body(self) -> None:
        """Skips a group up to its closing brace, after its opening brace."""
        depth = 1
        for match in _BRACE.finditer(self.text, self.position):
            depth += {"{": 1, "}": -1}.get(match[0], 0)
            if not depth:
                self.position = match.end()
                return
        self.position = len(self.text)
        raise self.fail("the file ends inside a group: it is cut short")

    def arguments(self) -> list[str]:
        """Reads up to the closing bracket, after the opening one."""
        result: list[str] = []
        while (token := self.token()) != ")":
            if token in "{};":
                raise self.fail(f"{token!r} where a list of arguments should go on")
            if token != ",":
                result.append(token)
        return result

    def body(self, group: Group) -> None:
        """Reads up to the closing brace, after the opening one."""
        while (name := self.token()) != "}":
            if name == ";":
                continue
            mark = self.token()
            if mark == ":":
                match = _VALUE.match(self.text, self.position)
                if match is None:
                    raise self.fail(f"{name!r} has no value, or one that does not end")
                self.position = match.end()
                value = re.sub(r"/\*.*?\*/", "", match[1]) if match[1][0] != '"' else match[1]
                group.attributes[name] = re.sub(r"\\\r?\n", " ", value).strip().strip('"')
            elif mark == "(":
                arguments = self.arguments()
                after = self.position
                try:
                    opens = self.token() == "{"
                except LibraryError:
                    opens = False
                if not opens:
                    # A complex attribute; its semicolon, if any, is skipped by the loop.
                    self.position = after
                    value = ",".join(arguments)
                    more = name in _REPEATED and name in group.attributes
                    group.attributes[name] = f"{group.attributes[name]};{value}" if more else value
                    continue
                inner = Group(name, arguments, {}, [])
                group.groups.append(inner)
                if self.skips(inner):
                    self.skip_body()
                else:
                    self.body(inner)
            else:
                raise self.fail(f"{mark!r} after {name!r}, where ':' or '(' should be")

    def library(self) -> Group:
        try:
            start = [self.token() for _ in range(2)]
        except LibraryError:
            start = []
        if start != ["library", "("]:
            raise LibraryError(
                f"{self.source} is not a Liberty library: it does not begin with library (NAME) {{"
            )
        group = Group("library", self.arguments(), {}, [])
        if self.token() != "{":
            raise self.fail("the library's name is not followed by '{'")
        self.body(group)
        return group


def read_liberty(text: str, source: str, whole: Collection[str] | None = None) -> Group:
    """Reads the group ``library`` of a file; ``source`` names the file in messages.

    Tables are left out, but for the cells of the names in ``whole``: if these are given, they alone are read.
    """
    return _Reader(text, source, whole).library()


def _number(text: str, what: str, source: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise LibraryError(f"{source}: {what} is {text!r}, not a number") from None
    if not 0 <= value < float("inf"):
        raise LibraryError(f"{source}: {what} is {text}; it must be a number, 0 or more")
    return value


#: Attributes that keep a cell out of ordinary logic: its maker says so, or it has a part in switching supplies.
_NOT_LOGIC = ("dont_use", "is_isolation_cell", "is_level_shifter", "always_on")
_GATING = ("clock", "enable", "test", "out")


def _cell(group: Group, default_capacitance: float, source: str) -> Cell:
    name = group.arguments[0] if group.arguments else "?"
    pins = []
    for pin in group.of("pin"):
        capacitance = pin.attributes.get("capacitance")
        for pin_name in pin.arguments:
            pins.append(
                Pin(
                    pin_name,
                    pin.attributes.get("direction", "").strip(),
                    default_capacitance
                    if capacitance is None
                    else _number(capacitance, f"the capacitance of {name}/{pin_name}", source),
                    pin.attributes.get("function", ""),
                    bool(pin.of("timing")),
                    next((part for part in _GATING if f"clock_gate_{part}_pin" in pin.attributes), ""),
                )
            )
    pin_names = [pin.name for pin in pins]
    return Cell(
        name=name,
        area=_number(group.attributes.get("area", "0"), f"the area of {name}", source),
        pins=tuple(pins),
        groups=frozenset(inner.kind for inner in group.groups),
        clock_pin=next((ff.attributes.get("clocked_on", "") for ff in group.of("ff")), "").strip("() "),
        plain=any(ff.attributes.get("next_state", "").strip("() ") in pin_names for ff in group.of("ff")),
        clock_gate=group.attributes.get("clock_gating_integrated_cell", ""),
        dont_use=any(group.attributes.get(mark, "").strip().lower() == "true" for mark in _NOT_LOGIC),
    )


_TIME_UNITS = {"1ps": 1e-3, "10ps": 1e-2, "100ps": 1e-1, "1ns": 1.0}
_CAPACITANCE_UNITS = {"ff": 1.0, "pf": 1000.0}


def parse_library(content: bytes, source: str) -> Library:
    """Reads one Liberty file, packed with gzip or not; ``source`` names it in messages."""
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            raise LibraryError(f"{source} cannot be unpacked: {error}") from None
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    if "\0" in text:
        raise LibraryError(f"{source} is not a Liberty library: it is a binary file")
    group = read_liberty(text, source)

    time_unit = group.attributes.get("time_unit", "1ns").replace(" ", "")
    if time_unit not in _TIME_UNITS:
        raise LibraryError(
            f"{source}: time_unit is {time_unit!r}; it must be one of {', '.join(_TIME_UNITS)}"
        )
    scale, _, unit = group.attributes.get("capacitive_load_unit", "1,pf").partition(",")
    if unit.strip().lower() not in _CAPACITANCE_UNITS:
        raise LibraryError(f"{source}: capacitive_load_unit is in {unit!r}; it must be in ff or pf")
    capacitance_ff = _number(scale, "capacitive_load_unit", source) * _CAPACITANCE_UNITS[unit.strip().lower()]

    default = _number(group.attributes.get("default_input_pin_cap", "0"), "default_input_pin_cap", source)
    cells: dict[str, Cell] = {}
    for inner in group.of("cell"):
        cell = _cell(inner, default, source)
        if cell.name in cells:
            raise LibraryError(f"{source} has the cell {cell.name} twice")
        cells[cell.name] = cell
    if not cells:
        raise LibraryError(f"{source} has no cells")
    name = group.arguments[0] if group.arguments else source
    return Library(name, cells, _TIME_UNITS[time_unit], capacitance_ff, (content,))


def _check_suitable(library: Library, source: str) -> None:
    """Refuses a library that circuits cannot be mapped to; the message says what is missing."""
    missing = []
    if not any(cell.area > 0 for cell in library.cells.values()):
        raise LibraryError(f"{source} is unsuitable: no cell has an area")
    if library.smallest((True, True, True, False)) is None:
        missing.append("no two-input NAND, which is the unit of gate equivalents")
    if library.smallest((True, False)) is None:
        missing.append("no inverter")
    if not any(cell.is_flip_flop for cell in library.usable):
        missing.append("no flip-flop")
    if missing:
        raise LibraryError(
            f"{source} is unsuitable: of its {len(library.cells)} cells, {len(library.usable)} usable, "
            f"there is {' and '.join(missing)}"
        )


def load_libraries(paths: Sequence[str | Path]) -> Library:
    """Reads the Liberty files of one corner, such as one of gates and one of clock gates, as one library.

    They must have the same units and no cell in common: two corners of one library are two measurements.
    """
    parts: list[tuple[str, Library]] = []
    for path in paths:
        try:
            content = Path(path).read_bytes()
        except OSError as error:
            raise LibraryError(f"the library {path} cannot be read: {error.strerror}") from None
        parts.append((str(path), parse_library(content, str(path))))
    if not parts:
        raise LibraryError("no library was given")
    return merge_libraries(parts)


def merge_libraries(parts: Sequence[tuple[str, Library]]) -> Library:
    """Returns one library from several, each with its name in messages; refuses one without the cells that are needed."""
    first_source, first = parts[0]
    cells = dict(first.cells)
    for source, part in parts[1:]:
        if (part.time_ns, part.capacitance_ff) != (first.time_ns, first.capacitance_ff):
            raise LibraryError(
                f"{first_source} and {source} have different units; give libraries of one corner"
            )
        for name, cell in part.cells.items():
            if name in cells:
                raise LibraryError(
                    f"{first_source} and {source} both have the cell {name}; give libraries of one corner, "
                    "and measure another corner by itself"
                )
            cells[name] = cell
    library = Library(
        "+".join(part.name for _, part in parts),
        cells,
        first.time_ns,
        first.capacitance_ff,
        tuple(text for _, part in parts for text in part.texts),
    )
    _check_suitable(library, " with ".join(source for source, _ in parts))
    return library


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
