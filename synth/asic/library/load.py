"""Reads cell libraries, and checks them for what a measurement needs.

Yosys, ABC and OpenSTA read the files again. They are read here as well because each tool answers an unsuitable library
in its own way, from a crash to a silent zero, and because a measurement needs figures that no tool gives: the NAND2
that areas are divided by, the buffer that drives the inputs, the gate that stops a clock.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Sequence
from pathlib import Path

from cdma.synth.errors import LibraryError

from .cells import Cell, Pin
from .liberty import Group, read_liberty
from .library import Library

__all__ = ["load_libraries", "merge_libraries", "parse_library"]


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
