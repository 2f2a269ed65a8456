"""Beside the Verilog stands what its source says of it: comments of declarations and, if asked for, places."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import data

from cdma.hdl.codec.generate import codec_design
from cdma.hdl.engine.generate import engine_design
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.verilog.emit import emit
from cdma.hdl.verilog.names import Style
from cdma.hdl.verilog.shell import CLOCK_AND_RESET, Port, Shell
from cdma.verif.engine.design import SMALL, EngineDesign
from tests.support.paths import ROOT

_PLACES = Style(source_lines=True)
_PLACE = re.compile(r"\bcdma/(\S+\.py):(\d+(?:, \d+)*)")


class _Block(Shell):
    """Registers, one of which a net is an alias of, and a structure whose fields are given separately."""

    def __init__(self) -> None:
        super().__init__((*CLOCK_AND_RESET, Port("a", "input", 4), Port("y", "output", 4)))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m)
        #: Beats that have
        #: come, with ``last``.
        count = Signal(4)
        pair = Signal(data.StructLayout({"low": 2, "high": 2}), name="pair")  # pair
        with m.If(self.port("a")[0]):
            m.d.sync += count.eq(count + self.port("a"))  # more
        with m.Else():
            m.d.sync += count.eq(0)  # none
        m.d.sync += pair.low.eq(count[:2] ^ pair.low)  # low
        m.d.sync += pair.high.eq(count[2:] + pair.low)  # high
        m.d.comb += self.port("y").eq(pair.as_value() ^ self.port("a"))  # out
        return m


_SOURCE = Path(__file__).read_text().splitlines()


def _place(*marks: str) -> str:
    numbers = (next(n for n, line in enumerate(_SOURCE, 1) if line.endswith(f"  # {mark}")) for mark in marks)
    return f"tests/hdl/verilog/test_sources.py:{', '.join(map(str, numbers))}"


def test_a_declaration_has_the_comment_of_its_source() -> None:
    text = emit(_Block(), "noted").text
    assert "\n  reg  [3:0] count; // Beats that have come, with last.\n" in text
    assert ".py:" not in text


def test_a_statement_has_the_places_that_it_is_from() -> None:
    lines = [line.strip() for line in emit(_Block(), "noted", style=_PLACES).text.splitlines()]

    def noted(start: str) -> str:
        """What is said beside or above the last line that begins so."""
        number = max(n for n, line in enumerate(lines) if line.startswith(start))
        _, mark, behind = lines[number].partition(" // ")
        return behind if mark else lines[number - 1].removeprefix("// ")

    assert noted("reg  [1:0] pair_low;") == _place("pair")
    assert noted("pair_low <=") == _place("low")
    assert noted("pair_high <=") == _place("high")
    assert noted("count <= count") == _place("more", "none")
    assert noted("assign y =") == _place("out")


@cache
def _engine_with_places() -> str:
    return engine_design(SMALL, style=_PLACES).text


def _without_comments(text: str) -> list[str]:
    return [code for line in text.splitlines() if (code := line.partition("//")[0].rstrip())]


@pytest.mark.slow
def test_places_are_comments_alone() -> None:
    plain, noted = EngineDesign(SMALL).verilog(), _engine_with_places()
    assert _without_comments(plain) == _without_comments(noted)
    assert max(map(len, noted.splitlines())) <= 100


@pytest.mark.slow
def test_a_place_is_a_line_of_the_generator() -> None:
    text = _engine_with_places()
    found = {(file, int(number)) for file, numbers in _PLACE.findall(text) for number in numbers.split(",")}
    assert len(found) > 500
    files = {file: (ROOT / file).read_text().splitlines() for file, _ in found}
    assert not [(file, number) for file, number in found if not files[file][number - 1].strip()]
    assert not re.search(r"/(?:home|root|usr|tmp|work|site-packages)\b", text)


@pytest.mark.slow
def test_most_registers_have_a_place() -> None:
    text = codec_design("compressor", CodecConfig(Format()), style=_PLACES).text
    declared = re.findall(r"(.*)\n +reg +(?:\[\d+:0\] )?\w+;(.*)", text)
    assert sum(".py:" in above + behind for above, behind in declared) > 0.9 * len(declared)
