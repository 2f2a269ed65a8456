"""The printed Verilog is the netlist that it was printed from: Yosys proves it for every module."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cdma.hdl.codec.generate import codec_design, codec_shell
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.codecs import BLOCKS
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.verilog.dialect import SYSTEM_VERILOG
from cdma.hdl.verilog.style import Style
from cdma.verif.engine.design import SMALL
from cdma.verif.proofs.equivalence import Equivalence, Printed, Revisions, Whole, printed
from cdma.verif.proofs.result import FAILED, PROVEN
from cdma.verif.proofs.source import PROOFS, shell_of
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


_TINY = CodecConfig(Format(8, 8), lanes=2)


@pytest.mark.slow
@pytest.mark.parametrize("block", BLOCKS)
def test_system_verilog_is_the_same_logic_from_its_initial_values_on(block: str) -> None:
    text = codec_design(block, _TINY, style=Style(SYSTEM_VERILOG)).text
    whole = Whole(codec_shell(block, _TINY), text, f"cdma_{block}", SYSTEM_VERILOG)
    assert whole.compare(600)[0] == PROVEN
    changed = text.replace(" = 1'b0;", " = 1'b1;", 1)
    assert changed != text
    assert Whole(whole.shell, changed, whole.top, SYSTEM_VERILOG).compare(600)[0] == FAILED


@pytest.mark.slow
def test_another_text_of_the_same_logic_is_proven_and_another_logic_found() -> None:
    text = codec_design("compressor", _TINY).text
    renamed = text.replace("channel", "way").replace(" over_one", " beyond").replace("(over_one", "(beyond")
    assert Revisions(text, renamed, "cdma_compressor").compare(600)[0] == PROVEN
    broken = text.replace(" & ", " | ", 1)
    assert broken != text
    assert Revisions(text, broken, "cdma_compressor").compare(600)[0] == FAILED


@pytest.mark.slow
@pytest.mark.parametrize(
    ("block", "config"),
    cases_of(
        {"pipelined": ("compressor", replace(_TINY, pipelined=True)), "engine": ("engine", SMALL)}, {"engine"}
    ),
)
def test_every_module_of_system_verilog_is_the_same_logic(
    block: str, config: CodecConfig | EngineConfig
) -> None:
    sides = printed(shell_of(block, config), SYSTEM_VERILOG)
    assert "always_ff" in sides.verilog
    assert "typedef enum" in sides.verilog or block != "engine"
    status, bits, detail = sides.compare(1800)
    assert (status, detail) == (PROVEN, "")
    assert bits > 100
