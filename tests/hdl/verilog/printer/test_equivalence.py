"""The printed Verilog is the netlist that it was printed from: Yosys proves it for every module."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from cdma.hdl.codec.generate import codec_design, codec_shell
from cdma.hdl.deliver.languages import VERILOG
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.codecs import BLOCKS
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.verilog.dialect import SYSTEM_VERILOG
from cdma.hdl.verilog.style import Style
from cdma.verif.engine.design import SMALL
from cdma.verif.proofs.equivalence import Equivalence, Modules, Revisions, Whole, printed
from cdma.verif.proofs.result import FAILED, PROVEN
from cdma.verif.proofs.source import PROOFS, shell_of
from tests.support.thorough import cases_of
from tests.support.verilog_designs import DESIGNS

_TINY = CodecConfig(Format(8, 8), lanes=2)

_BY_MODULE = {proof.label: proof for proof in PROOFS if proof.method == "equiv"}


# The modules of engines take a minute or two, and codecs have nearly all of their constructs.
@pytest.mark.slow
@pytest.mark.parametrize("proof", cases_of(_BY_MODULE, {name for name in _BY_MODULE if "engine" in name}))
def test_it_is_the_same_logic(proof: Equivalence) -> None:
    status, bits, detail = proof.sides().compare(1800)
    assert (status, detail) == (PROVEN, "")
    assert bits > 100


@cache
def _with_memory() -> Modules:
    return printed(codec_shell("compressor", replace(_TINY, pipelined=True)))


def test_another_logic_is_found() -> None:
    sides = _with_memory()
    broken = sides.after.replace(" & ", " | ", 1)
    assert broken != sides.after
    status, _, detail = Modules(sides.before, broken).compare(60)
    assert status == FAILED
    assert "unproven" in detail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "instead", "said"),
    [
        ("<= {input_malformed, ", "<= {~input_malformed, ", "unproven"),
        ("if (input_valid) begin\n      memory", "if (~input_valid) begin\n      memory", "unproven"),
        ("memory[write_index[3:0]]", "memory[~write_index[3:0]]", "unproven"),
        ("memory[read_index[3:0]]", "memory[write_index[3:0]]", "unproven"),
        ("reg [64:0] memory [0:15]", "reg [64:0] memory [0:14]", "memory is not the same on both sides"),
        ("if (memory_read_enable)", "if (~memory_read_enable)", "unproven"),
    ],
    ids=["data", "write", "written", "read", "words", "enable"],
)
def test_another_use_of_a_memory_is_found(text: str, instead: str, said: str) -> None:
    """Memories are cut out: what they are given is compared, and what they are."""
    sides = _with_memory()
    assert text in sides.after
    status, _, detail = Modules(sides.before, sides.after.replace(text, instead, 1)).compare(60)
    assert status == FAILED
    assert said in detail


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in DESIGNS if DESIGNS[name].language == VERILOG])
def test_every_shape_is_the_same_logic(name: str) -> None:
    block, config, *_ = DESIGNS[name]
    status, bits, detail = printed(shell_of(block, config)).compare(1800)
    assert (status, detail) == (PROVEN, "")
    assert bits > 10


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
    assert "always_ff" in sides.after
    assert "typedef enum" in sides.after or block != "engine"
    status, bits, detail = sides.compare(1800)
    assert (status, detail) == (PROVEN, "")
    assert bits > 100
