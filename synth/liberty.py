"""Cell libraries in the Liberty format: read, checked for what a measurement needs, and summed up.

Yosys, ABC and OpenSTA read the file again for themselves. It is parsed here as well because each of them
answers an unsuitable library in its own way, from a crash to a silent zero, and because a measurement needs
figures none of them gives: the NAND2 that areas are divided by, the buffer that drives the inputs, the gate
that stops a clock.
"""

from __future__ import annotations

import gzip
import hashlib
import itertools
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from .errors import LibraryError

__all__ = ["Cell", "Library", "Pin", "load_libraries", "parse_library"]


@dataclass(frozen=True)
class Pin:
    """A pin: ``capacitance`` is in the library's own unit, ``function`` is Liberty's expression or empty.

    ``gating`` is the pin's part in a clock gate: ``clock``, ``enable``, ``test``, ``out`` or empty.
    """

    name: str
    direction: str
    capacitance: float
    function: str
    timed: bool
    gating: str


@dataclass(frozen=True)
class Cell:
    """A cell: ``area`` is in the library's own unit, for nearly all libraries µm².

    ``groups`` are the kinds of the groups it contains, ``clock_pin`` is what clocks a flip-flop, and
    ``clock_gate`` is Liberty's name for the sort of clock gate it is; both are empty elsewhere. ``plain``
    says that a flip-flop takes what is at one pin, with no enable and no scan input before it.
    """

    name: str
    area: float
    pins: tuple[Pin, ...]
    groups: frozenset[str]
    clock_pin: str
    plain: bool
    clock_gate: str
    dont_use: bool

    @property
    def inputs(self) -> list[Pin]:
        return [pin for pin in self.pins if pin.direction == "input"]

    @property
    def outputs(self) -> list[Pin]:
        return [pin for pin in self.pins if pin.direction == "output"]

    @property
    def is_flip_flop(self) -> bool:
        return "ff" in self.groups

    @property
    def is_sequential(self) -> bool:
        return bool(self.groups & {"ff", "ff_bank", "latch", "latch_bank", "statetable"}) or bool(
            self.clock_gate
        )

    @cached_property
    def truth_table(self) -> tuple[bool, ...] | None:
        """The output for every input, the first changing fastest; None unless a gate with one output."""
        if self.is_sequential or len(self.outputs) != 1 or not 1 <= len(self.inputs) <= 6:
            return None
        names = [pin.name for pin in self.inputs]
        expression = _python_expression(self.outputs[0].function, names)
        if expression is None:
            return None
        rows = itertools.product((False, True), repeat=len(names))
        return tuple(bool(eval(expression, {"__builtins__": {}}, {"v": row[::-1]})) for row in rows)


@dataclass(frozen=True)
class Library:
    """One or several Liberty files of one corner, as one set of cells; see :func:`load_libraries`."""

    name: str
    cells: dict[str, Cell]
    time_ns: float
    capacitance_ff: float
    texts: tuple[bytes, ...] = field(repr=False)

    @cached_property
    def digest(self) -> str:
        """Identifies the contents, whatever the files are called and however they are packed."""
        return hashlib.sha256(b"".join(hashlib.sha256(text).digest() for text in self.texts)).hexdigest()

    def smallest(self, table: tuple[bool, ...]) -> Cell | None:
        """The smallest usable cell of this truth table."""
        found = (cell for cell in self.usable if cell.truth_table == table)
        return min(found, key=lambda cell: (cell.area, cell.name), default=None)

    @property
    def usable(self) -> list[Cell]:
        """Cells that synthesis may choose; a cell of no area is a filler or a mistake, never a free gate."""
        return [cell for cell in self.cells.values() if not cell.dont_use and cell.area > 0]

    @cached_property
    def nand2(self) -> Cell:
        """The smallest two-input NAND: its area is one gate equivalent."""
        cell = self.smallest((True, True, True, False))
        assert cell is not None, "checked when the library was loaded"
        return cell

    @cached_property
    def driver(self) -> Cell:
        """What is taken to drive the inputs: the smallest buffer, or the inverter where there is none."""
        cell = self.smallest((False, True)) or self.smallest((True, False))
        assert cell is not None, "checked when the library was loaded"
        return cell

    @cached_property
    def load_ff(self) -> float:
        """What an output is taken to drive, in femtofarads: four inputs of the driver."""
        return 4 * self.driver.inputs[0].capacitance * self.capacitance_ff

    @cached_property
    def flip_flops(self) -> list[Cell]:
        """The flip-flops that registers are mapped to: the plain ones.

        One with an enable is left out, because ABC would not see the load of all the enable pins on what
        drives them, and would leave that load unbuffered. A multiplexer takes less than the difference, too.
        """
        found = [cell for cell in self.usable if cell.is_flip_flop]
        return [cell for cell in found if cell.plain] or found

    @cached_property
    def flip_flop(self) -> Cell:
        """The smallest flip-flop: the area of a stored bit in the structural floor."""
        return min(self.flip_flops, key=lambda cell: (cell.area, cell.name))

    @cached_property
    def clock_gate(self) -> Cell | None:
        """The gate that stops a clock which rises to work: without test pins if there is one, then the
        smallest.

        Libraries often mark them ``dont_use``, lest synthesis take them for logic; here they are asked for by
        name.
        """
        found = [
            cell
            for cell in self.cells.values()
            if cell.clock_gate.startswith("latch_posedge")
            and cell.area > 0
            and {"clock", "enable", "out"} <= {pin.gating for pin in cell.pins}
        ]
        return min(found, key=lambda cell: (len(cell.inputs), cell.area, cell.name), default=None)

    @cached_property
    def mux2(self) -> Cell | None:
        """The smallest two-input multiplexer, whatever the order of its pins."""
        tables = {
            tuple(bool(row[data1] if row[select] else row[data0]) for row in _rows(3))
            for select, data0, data1 in itertools.permutations(range(3))
        }
        found = [cell for table in tables if (cell := self.smallest(table)) is not None]
        return min(found, key=lambda cell: (cell.area, cell.name), default=None)

    @cached_property
    def timed(self) -> bool:
        """Whether the gates have delays; without them there is an area and no clock."""
        return all(pin.timed for cell in (self.nand2, self.flip_flop) for pin in cell.outputs[:1])

    @property
    def kge(self) -> float:
        """Area of a thousand gate equivalents."""
        return 1000 * self.nand2.area


def _rows(inputs: int) -> Iterator[tuple[bool, ...]]:
    for row in itertools.product((False, True), repeat=inputs):
        yield row[::-1]


# Liberty's boolean expressions ----------------------------------------------------------------------------

_FUNCTION_TOKEN = re.compile(r"\s*([A-Za-z_]\w*(?:\[\d+\])?|[()!'&*|+^]|[01])")


def _python_expression(function: str, names: list[str]) -> str | None:
    """The expression over the tuple ``v``, or None where it is empty or names another pin.

    The result holds nothing but indices, brackets and operators: it is safe to evaluate.
    """
    tokens = []
    position = 0
    text = function.strip()
    while position < len(text):
        match = _FUNCTION_TOKEN.match(text, position)
        if match is None:
            return None
        tokens.append(match[1])
        position = match.end()
    try:
        result, rest = _parse_or(tokens, names)
    except (IndexError, ValueError):
        return None
    return result if not rest else None


def _parse_or(tokens: list[str], names: list[str]) -> tuple[str, list[str]]:
    result, tokens = _parse_xor(tokens, names)
    while tokens and tokens[0] in "|+":
        right, tokens = _parse_xor(tokens[1:], names)
        result = f"({result} or {right})"
    return result, tokens


def _parse_xor(tokens: list[str], names: list[str]) -> tuple[str, list[str]]:
    result, tokens = _parse_and(tokens, names)
    while tokens and tokens[0] == "^":
        right, tokens = _parse_and(tokens[1:], names)
        result = f"({result} != {right})"
    return result, tokens


def _parse_and(tokens: list[str], names: list[str]) -> tuple[str, list[str]]:
    result, tokens = _parse_not(tokens, names)
    while tokens and tokens[0] not in ("|", "+", "^", ")"):  # a blank between operands also means AND
        right, tokens = _parse_not(tokens[1:] if tokens[0] in "&*" else tokens, names)
        result = f"({result} and {right})"
    return result, tokens


def _parse_not(tokens: list[str], names: list[str]) -> tuple[str, list[str]]:
    head, tokens = tokens[0], tokens[1:]
    if head == "!":
        result, tokens = _parse_not(tokens, names)
        return f"(not {result})", tokens
    if head == "(":
        result, tokens = _parse_or(tokens, names)
        if tokens[0] != ")":
            raise ValueError("unbalanced")
        tokens = tokens[1:]
    elif head in "01":
        result = str(bool(int(head)))
    else:
        result = f"v[{names.index(head)}]"
    while tokens and tokens[0] == "'":
        result, tokens = f"(not {result})", tokens[1:]
    return result, tokens


# The file -------------------------------------------------------------------------------------------------

_TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|\\\r?\n|"(?:[^"\\]|\\.)*"|[{}();:,]|[^\s{}();:,"]+|\s+', re.DOTALL)
_BRACE = re.compile(r'/\*.*?\*/|"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)
# Some writers leave out the semicolon at the end of a line or of a group.
_VALUE = re.compile(r'[ \t]*("(?:[^"\\]|\\.)*"|[^";}\s][^;}\n]*)[ \t]*;?', re.DOTALL)
_SKIPPED = frozenset(
    {
        "internal_power",
        "leakage_power",
        "operating_conditions",
        "lu_table_template",
        "power_lut_template",
        "wire_load",
    }
)
_SKIPPED_INSIDE = frozenset({"timing", "statetable", "test_cell", "dynamic_current", "receiver_capacitance"})


@dataclass
class _Group:
    """A group of the file: its kind, its arguments, its simple attributes and the groups in it."""

    kind: str
    arguments: list[str]
    attributes: dict[str, str]
    groups: list[_Group]

    def of(self, kind: str) -> list[_Group]:
        return [group for group in self.groups if group.kind == kind]


class _Reader:
    """A recursive-descent reader that skips the inside of tables, which are most of a library."""

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self.position = 0

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
        """Past the closing brace of a group whose opening brace has been read."""
        depth = 1
        for match in _BRACE.finditer(self.text, self.position):
            depth += {"{": 1, "}": -1}.get(match[0], 0)
            if not depth:
                self.position = match.end()
                return
        self.position = len(self.text)
        raise self.fail("the file ends inside a group: it is cut short")

    def arguments(self) -> list[str]:
        """Up to the closing bracket, whose opening one has been read."""
        result: list[str] = []
        while (token := self.token()) != ")":
            if token in "{};":
                raise self.fail(f"{token!r} where a list of arguments should go on")
            if token != ",":
                result.append(token)
        return result

    def body(self, group: _Group) -> None:
        """Up to the closing brace, whose opening one has been read."""
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
                    group.attributes[name] = ",".join(arguments)
                    continue
                inner = _Group(name, arguments, {}, [])
                group.groups.append(inner)
                if name in _SKIPPED or name in _SKIPPED_INSIDE:
                    self.skip_body()
                else:
                    self.body(inner)
            else:
                raise self.fail(f"{mark!r} after {name!r}, where ':' or '(' should be")

    def library(self) -> _Group:
        try:
            start = [self.token() for _ in range(2)]
        except LibraryError:
            start = []
        if start != ["library", "("]:
            raise LibraryError(
                f"{self.source} is not a Liberty library: it does not begin with library (NAME) {{"
            )
        group = _Group("library", self.arguments(), {}, [])
        if self.token() != "{":
            raise self.fail("the library's name is not followed by '{'")
        self.body(group)
        return group


def _number(text: str, what: str, source: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise LibraryError(f"{source}: {what} is {text!r}, not a number") from None
    if not 0 <= value < float("inf"):
        raise LibraryError(f"{source}: {what} is {text}; it must be a number, 0 or more")
    return value


#: What keeps a cell out of ordinary logic: its maker's word, or a part in switching supplies.
_NOT_LOGIC = ("dont_use", "is_isolation_cell", "is_level_shifter", "always_on")
_GATING = ("clock", "enable", "test", "out")


def _cell(group: _Group, default_capacitance: float, source: str) -> Cell:
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
    """Reads one Liberty file, packed with gzip or not; ``source`` is what messages call it."""
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
    group = _Reader(text, source).library()

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
    """Refuses a library that circuits cannot be mapped to, saying what is missing."""
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
    """Reads the Liberty files of one corner, such as gates and clock gates apart, as one library.

    They must agree in their units and have no cell in common: two corners of one library are two
    measurements.
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
    """One library from several and what messages call each; checked for what a measurement needs."""
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
