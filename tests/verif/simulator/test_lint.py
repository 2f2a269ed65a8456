"""Verilator's complaints: none of what is printed, each that is put in, and how many each waiver hides."""

from __future__ import annotations

import pytest

from cdma.hdl.deliver.flows import verilator_waivers, waivers
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.verif.simulator.build import BuildError, lint
from cdma.verif.stream.codec.design import CodecDesign

TINY = CodecDesign("compressor", CodecConfig(Format(8, 8), 2))


def test_each_rule_that_is_waived_has_a_reason() -> None:
    assert [each.rule for each in waivers()] == [
        line.split()[-1] for line in verilator_waivers().splitlines() if line.startswith("lint_off")
    ]
    assert all(each.reason.endswith(".") for each in waivers())


@pytest.mark.verilator
def test_printed_verilog_is_clean_and_waivers_are_counted() -> None:
    found = lint(TINY.verilog(), TINY.top)
    assert found.complaints == []
    assert {each.rule: count > 0 for each, count in found.waived.items()}["DECLFILENAME"]


@pytest.mark.verilator
def test_a_fault_is_a_complaint_with_its_place() -> None:
    text = TINY.verilog().replace("endmodule", "wire [3:0] narrow = 5'd3;\nendmodule", 1)
    (complaint,) = lint(text, TINY.top).complaints
    assert complaint.startswith(f"%Warning-WIDTHTRUNC: {TINY.top}.v:")


@pytest.mark.verilator
def test_text_that_is_no_verilog_is_an_error() -> None:
    with pytest.raises(BuildError, match=r"cannot lint cdma_compressor\.v"):
        lint("module cdma_compressor;", TINY.top)
