"""The project's own table of gates."""

import pytest

from cdma.synth.asic.library.gates import normalised_library


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
