"""The printed Verilog is the netlist that it was printed from: Yosys proves it for every module."""

from __future__ import annotations

import pytest

from cdma.verif.proofs.equivalence import Equivalence, Printed
from cdma.verif.proofs.result import FAILED, PROVEN
from cdma.verif.proofs.source import PROOFS
from tests.support.thorough import cases_of

_BY_MODULE = {proof.name: proof for proof in PROOFS if proof.method == "equiv"}


# The modules of an engine take a minute, and codecs have nearly all of their constructs.
@pytest.mark.slow
@pytest.mark.parametrize("proof", cases_of(_BY_MODULE, {"engine_modules"}))
def test_it_is_the_same_logic(proof: Equivalence) -> None:
    status, bits, detail = proof.sides().compare(1800)
    assert (status, detail) == (PROVEN, "")
    assert bits > 100


def test_another_logic_is_found() -> None:
    sides = _BY_MODULE["compressor_modules"].sides()
    assert isinstance(sides, Printed)
    broken = sides.verilog.replace(" & ", " | ", 1)
    assert broken != sides.verilog
    status, _, detail = Printed(sides.netlist, broken).compare(60)
    assert status == FAILED
    assert "unproven" in detail
