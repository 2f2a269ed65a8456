"""Liberty's boolean expressions. The project's own table of gates. Liberty files: what is read from them, and what is
refused.
"""

from __future__ import annotations

import gzip
import itertools
import re

import pytest

from cdma.synth.asic.library.liberty import load_libraries, normalised_library, parse_library
from cdma.synth.asic.paths import LibraryError
from tests.support.paths import TINY


def cell(body: str) -> str:
    return f"library (x) {{ cell (C) {{ area : 1; {body} }} }}"


@pytest.mark.parametrize(
    ("function", "meaning"),
    [
        ("A", lambda a, b, c: a),
        ("A'", lambda a, b, c: not a),
        ("!A", lambda a, b, c: not a),
        ("!!A", lambda a, b, c: a),
        ("A B", lambda a, b, c: a and b),
        ("A*B'", lambda a, b, c: a and not b),
        ("(A & B) | !C", lambda a, b, c: (a and b) or not c),
        ("A + B C", lambda a, b, c: a or (b and c)),
        ("A ^ B & C", lambda a, b, c: a != (b and c)),
        ("A | B ^ C", lambda a, b, c: a or (b != c)),
        ("(A+B)' C", lambda a, b, c: not (a or b) and c),
        ("((A))", lambda a, b, c: a),
        ("1", lambda a, b, c: True),
        ("A * 0", lambda a, b, c: False),
    ],
)
def test_functions(function, meaning):
    pins = "".join(f"pin ({name}) {{ direction : input; }} " for name in "ABC")
    text = cell(f'{pins} pin (Y) {{ direction : output; function : "{function}"; }}')
    rows = [meaning(*row[::-1]) for row in itertools.product((False, True), repeat=3)]
    assert parse_library(text.encode(), "x").cells["C"].truth_table == tuple(map(bool, rows))


@pytest.mark.parametrize("function", ["A &", "(A", "A)", "D", "A & @", ""])
def test_function_that_says_nothing(function):
    text = cell(
        f'pin (A) {{ direction : input; }} pin (Y) {{ direction : output; function : "{function}"; }}'
    )
    assert parse_library(text.encode(), "x").cells["C"].truth_table is None


def test_the_project_s_own_table():
    library = normalised_library()
    assert library.kge == 1000
    assert not library.timed
    assert library.cells["INV"].area == pytest.approx(2 / 3)
    assert library.flip_flop.area == pytest.approx(17 / 3)
    assert library.mux2 is not None
    assert library.mux2.area == pytest.approx(7 / 3)
    # Every gate of the table is what its name says: the function and its inverse have inverse tables.
    for name in ("AND2", "OR2", "AND3", "OR3", "XOR2"):
        inverse = {"AND": "NAND", "OR": "NOR", "XOR": "XNOR"}[name[:-1]] + name[-1]
        table, other = library.cells[name].truth_table, library.cells[inverse].truth_table
        assert table is not None
        assert other == tuple(not value for value in table)


def test_a_library_has_the_cells_that_measurements_need(tiny):
    assert tiny.name == "tiny"
    assert (tiny.nand2.name, tiny.nand2.area, tiny.kge) == ("NAND2", 3.0, 3000.0)
    assert (tiny.driver.name, tiny.load_ff) == ("BUF", 4.0)
    assert tiny.mux2 is not None
    assert tiny.mux2.name == "MUX2"
    assert tiny.clock_gate is not None
    assert tiny.clock_gate.name == "CLOCKGATE"
    assert {pin.gating: pin.name for pin in tiny.clock_gate.pins} == {
        "clock": "CK",
        "enable": "E",
        "out": "GCK",
    }
    assert tiny.timed


def test_flip_flop_with_enable_is_not_plain(tiny):
    assert [cell.name for cell in tiny.flip_flops] == ["DFF"]
    assert not tiny.cells["DFF_ENABLE"].plain
    assert tiny.cells["LATCH"].is_sequential
    assert not tiny.cells["LATCH"].is_flip_flop


def test_cells_that_are_not_for_logic(tiny):
    assert tiny.cells["CLOCKGATE"] not in tiny.usable
    text = TINY.read_text().replace("  cell (INV) {", "  cell (INV) {\n    is_isolation_cell : true;")
    assert parse_library(text.encode(), "x").cells["INV"].dont_use


def test_packed_or_not_is_the_same_library(tiny, tmp_path):
    packed = tmp_path / "tiny.lib.gz"
    packed.write_bytes(gzip.compress(TINY.read_bytes()))
    assert load_libraries([packed]).digest == tiny.digest


def test_cell_of_no_area_is_not_free(tiny):
    text = TINY.read_text().replace("cell (NAND2) {\n    area : 3", "cell (NAND2) {\n    area : 0")
    library = parse_library(text.encode(), "x")
    assert library.nand2.name == "NAND2_2"


def test_every_way_to_write_a_library_is_read():
    """Comments, missing semicolons, quoted numbers, continued lines, groups without arguments."""
    text = """
    /* a { in a comment */ library ("quoted name") {
      time_unit : "1ps" ; capacitive_load_unit (1, pf) // no semicolon
      define (own, cell, string);
      cell ("C") { area : "2.5"
        leakage_power () { value : 1; when : "}"; }
        pin (A, B) { direction : "input"; capacitance : 0.5 /* fF */ }
        pin (Y) { direction : output; function : "A \\
          & B"; timing () { related_pin : "A"; cell_rise (t) { values ("1, 2", \\
            "3, 4"); } } }
      }
    }
    """
    library = parse_library(text.encode(), "x")
    assert library.name == "quoted name"
    assert (library.time_ns, library.capacitance_ff) == (0.001, 1000.0)
    found = library.cells["C"]
    assert found.area == 2.5
    assert [(pin.name, pin.capacitance, pin.timed) for pin in found.pins] == [
        ("A", 0.5, False),
        ("B", 0.5, False),
        ("Y", 0.0, True),
    ]
    assert found.truth_table == (False, False, False, True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "x is not a Liberty library: it does not begin with library (NAME) {"),
        (b"module m; endmodule", "x is not a Liberty library: it does not begin with library (NAME) {"),
        (b"\x7fELF\0\0", "x is not a Liberty library: it is a binary file"),
        (gzip.compress(b"library (x) { }", mtime=0)[:-5], "x cannot be unpacked: "),
        (b"library (x) { }", "x has no cells"),
        (
            b"library (x) {\n cell (C) {\n area : 1;",
            "x, line 3: the file ends inside a group: it is cut short",
        ),
        (b"library (x) { cell (C) { area 1; } }", "x, line 1: '1' after 'area', where ':' or '(' should be"),
        (
            b'library (x) {\n cell (C) { function : "A; } }',
            "x, line 2: 'function' has no value, or one that does not end",
        ),
        (b"library (x) { cell (C) { area : big; } }", "x: the area of C is 'big', not a number"),
        (
            b"library (x) { cell (C) { area : -1; } }",
            "x: the area of C is -1; it must be a number, 0 or more",
        ),
        (b"library (x) { cell (C) { area : 1; } cell (C) { area : 1; } }", "x has the cell C twice"),
        (
            b'library (x) { time_unit : "1fs"; }',
            "x: time_unit is '1fs'; it must be one of 1ps, 10ps, 100ps, 1ns",
        ),
        (
            b"library (x) { capacitive_load_unit (1, nf); }",
            "x: capacitive_load_unit is in 'nf'; it must be in ff or pf",
        ),
    ],
)
def test_broken_files(content, message):
    with pytest.raises(LibraryError, match=f"^{re.escape(message)}"):
        parse_library(content, "x")


@pytest.mark.parametrize("end", range(100, len(TINY.read_bytes()) - 10, 997))
def test_a_library_cut_anywhere_is_refused(end):
    with pytest.raises(LibraryError):
        parse_library(TINY.read_bytes()[:end], "x")


def without(*names: str) -> str:
    text = TINY.read_text()
    for name in names:
        text = re.sub(rf"  cell \({name}\) {{.*?\n  }}\n", "", text, flags=re.DOTALL)
    return text


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        (("NAND2", "NAND2_2"), "there is no two-input NAND, which is the unit of gate equivalents"),
        (("INV", "INV_2"), "there is no inverter"),
        (("DFF", "DFF_ENABLE"), "there is no flip-flop"),
        (("INV", "INV_2", "DFF", "DFF_ENABLE"), "there is no inverter and no flip-flop"),
    ],
)
def test_unsuitable_libraries(tmp_path, names, missing):
    path = tmp_path / "part.lib"
    path.write_text(without(*names))
    with pytest.raises(LibraryError, match=f"{re.escape(missing)}$"):
        load_libraries([path])


def test_no_areas(tmp_path):
    path = tmp_path / "flat.lib"
    path.write_text(re.sub(r"area : \d+", "area : 0", TINY.read_text()))
    with pytest.raises(LibraryError, match=r"flat\.lib is unsuitable: no cell has an area$"):
        load_libraries([path])


def test_libraries_in_parts(tmp_path, tiny):
    gates, registers = tmp_path / "gates.lib", tmp_path / "registers.lib"
    gates.write_text(without("DFF", "DFF_ENABLE", "LATCH", "CLOCKGATE"))
    rest = [name for name in tiny.cells if name not in ("DFF", "CLOCKGATE")]
    registers.write_text(without(*rest).replace("library (tiny)", "library (tiny_registers)"))
    both = load_libraries([gates, registers])
    assert both.name == "tiny+tiny_registers"
    assert set(both.cells) == set(tiny.cells) - {"DFF_ENABLE", "LATCH"}
    with pytest.raises(LibraryError, match=r"both have the cell INV; give libraries of one corner"):
        load_libraries([gates, TINY])
    registers.write_text(registers.read_text().replace('"1ns"', '"1ps"'))
    with pytest.raises(LibraryError, match=r"have different units; give libraries of one corner$"):
        load_libraries([gates, registers])


def test_missing_file(tmp_path):
    with pytest.raises(
        LibraryError, match=r"^the library .*none\.lib cannot be read: No such file or directory$"
    ):
        load_libraries([tmp_path / "none.lib"])
