"""Above each module stands what it is for."""

from __future__ import annotations

import re

from amaranth.hdl import Fragment, Module, ResetInserter
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.verilog.contracts import contract
from cdma.verif.engine.design import SMALL, EngineDesign
from tests.support.paths import ROOT


class Adder(wiring.Component):
    """Adds ``left`` and :class:`~cdma.hdl.blocks.Something`, which is a long name, and stops at the end of the line
    of a comment.

    Two cycles later it is
    ``done`` and at rest.

    ``left``, ``right``
        The numbers.
    ``width``
        Is no port.

    ``done``
        Pulse.
    """

    __module__ = "cdma.hdl.adder"

    def __init__(self) -> None:
        super().__init__({"left": In(1), "right": In(1), "done": Out(1)})

    def elaborate(self, platform: object) -> Module:
        return Module()


ABOVE = """\
// Adds left and Something, which is a long name, and stops at the end of the line of a comment.
//
// Two cycles later it is done and at rest.
//
// left, right
//   The numbers.
// done
//   Pulse.
//
// Source: cdma/hdl/adder.py, Adder"""


def test_a_contract_has_its_paragraphs_and_the_meaning_of_its_ports() -> None:
    assert "\n".join(contract(Fragment.get(Adder(), None).origins)) == ABOVE


def test_wrappers_do_not_hide_the_contract_of_a_component() -> None:
    alone, within = (Fragment.get(each, None) for each in (Adder(), ResetInserter({})(Adder())))
    assert contract(within.origins) == contract(alone.origins)
    assert contract(Fragment.get(Module(), None).origins) == []


def test_every_module_of_an_engine_says_what_it_is_for_and_where_it_is_from() -> None:
    lines = EngineDesign(SMALL).verilog().splitlines()
    begins = [number for number, line in enumerate(lines) if line.startswith("module ")]
    without = [lines[number] for number in begins if not lines[number - 1].startswith("// ")]
    assert not without
    sources = {line for line in lines if line.startswith("// Source: ")}
    assert len(sources) > 40
    for source in sources:
        file, kind = re.fullmatch(r"// Source: cdma/(\S+), (\w+)", source).groups()  # type: ignore[union-attr]
        assert f"class {kind}(" in (ROOT / file).read_text(), source
    assert max(map(len, lines)) <= 100
    comments = sum(line.lstrip().startswith("//") for line in lines)
    assert comments > 0.08 * (len(lines) - comments)
