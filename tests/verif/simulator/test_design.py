"""Designs: they travel as JSON, and their Verilog is kept by what it is made from."""

from __future__ import annotations

import dataclasses

import pytest

from cdma import CodecConfig, Format
from cdma.hdl.spec.codec import CODECS
from cdma.hdl.spec.stage import StageConfig
from cdma.verif.engine.design import SMALL, EngineDesign
from cdma.verif.simulator.simulate import Design
from cdma.verif.stream.codec.design import CodecDesign
from cdma.verif.stream.stage.design import StageDesign
from tests.support.verbatim.description import LINE, Verbatim

DESIGNS = [
    CodecDesign("decompressor", CodecConfig(Format(8, 64, 2, (0, 5)), 4, pipelined=True), init=False),
    EngineDesign(dataclasses.replace(SMALL, burst_beats=16)),
    StageDesign("dequantiser", StageConfig(lanes=4)),
]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.block)
def test_travels_as_json(design: Design) -> None:
    assert type(design).from_json(design.to_json()) == design


def test_says_what_it_is() -> None:
    assert str(DESIGNS[0]).startswith("decompressor 4x8, window 64")
    assert str(DESIGNS[0]).endswith(", pipelined, no initial values")
    assert str(DESIGNS[1]).startswith("engine dev 64, host 128 bits, registers, codecs 4x16, window 32")


@pytest.fixture
def made(monkeypatch, tmp_path):
    """The designs whose Verilog was made, rather than kept."""
    monkeypatch.setenv("CDMA_CACHE", str(tmp_path))
    made = []
    monkeypatch.setattr(CodecDesign, "generate", lambda design: made.append(design) or f"text of {design}")
    return made


def test_verilog_is_kept(made) -> None:
    design, other = CodecDesign("compressor"), CodecDesign("compressor", init=False)
    assert design.verilog() == design.verilog() == f"text of {design}"
    assert other.verilog() == f"text of {other}"
    assert made == [design, other]


def test_the_sources_of_a_codec_count(made, monkeypatch) -> None:
    """Also where they lie outside of the generator."""
    monkeypatch.setitem(CODECS, "verbatim", LINE["verbatim"])
    design = CodecDesign("compressor", CodecConfig(Verbatim()))
    design.verilog()
    monkeypatch.setattr(Design, "_codec_sources", lambda design: [b"changed"])
    design.verilog()
    assert made == [design, design]
