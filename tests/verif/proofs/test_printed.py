"""Printed Verilog that is broken on purpose: the rules at its ports and the comparison with its source find it."""

from __future__ import annotations

import pytest

from cdma.hdl.codec.generate import codec_ports, codec_shell, codec_verilog
from cdma.hdl.engine.control.register_file import RegisterFile
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.verif.proofs.equivalence import Whole
from cdma.verif.proofs.printed import _MAP, LITE_RULES, STREAM_RULES, CodecPorts, LitePort
from cdma.verif.proofs.proof import FAILED, Proof, Result
from cdma.verif.proofs.runner import run_proof
from tests.support.verilog_designs import wrapped

pytestmark = pytest.mark.slow

SMALL = CodecConfig(Format(8, 8), 2)
TOP = "cdma_compressor"


def _ports(expressions: dict[str, str], state: str, depth: int) -> Result:
    """What becomes of the rules at the ports of a compressor with such expressions for its ports."""
    text = codec_verilog("compressor", SMALL, init=False)
    broken = wrapped(text, TOP, codec_ports(SMALL, length=False), expressions, state)
    proof = Proof(
        name="broken",
        config="on purpose",
        claim="",
        bench=lambda: CodecPorts("compressor", SMALL),
        method="bmc",
        depth=depth,
        rules=(STREAM_RULES,),
        verilog=lambda: broken,
    )
    return run_proof(proof, use_cache=False)


def test_a_valid_that_falls() -> None:
    toggles = "  reg on;\n  always @(posedge aclk) on <= aresetn & ~on;"
    result = _ports(
        {"m_axis_tvalid": "x_m_axis_tvalid & on", "m_axis_tready": "m_axis_tready & on"}, toggles, 9
    )
    assert result.status == FAILED
    assert "axi_stream.sv" in result.detail


def test_an_answer_that_comes_late() -> None:
    proof = Proof(
        name="broken",
        config="on purpose",
        claim="",
        bench=lambda: LitePort(RegisterFile(_MAP, pipelined=True), 1),
        rules=(LITE_RULES,),
    )
    result = run_proof(proof, use_cache=False)
    assert result.status == FAILED
    assert "axi_lite_subordinate.sv" in result.detail


def test_another_logic() -> None:
    text = codec_verilog("compressor", SMALL)
    bits = sum(port.width for port in codec_ports(SMALL, length=False) if port.direction == "output")
    broken = text.replace(" & ", " | ", 1)
    assert broken != text
    assert Whole(codec_shell("compressor", SMALL), broken, TOP).compare(600)[:2] == (FAILED, bits)
