"""What elaboration promises: a module calculates an expression once, and modules stay apart."""

from __future__ import annotations

from collections import Counter

import pytest
from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory

from cdma.hdl.verilog.elaborate import elaborate
from cdma.hdl.verilog.netlist.model import width_of
from cdma.hdl.verilog.netlist.parse import parse
from cdma.hdl.verilog.shell import CLOCK_AND_RESET, Port, Shell


class _Store(Shell):
    """A memory of four words."""

    def __init__(self, words: list[int]) -> None:
        super().__init__((*CLOCK_AND_RESET, Port("y", "output", 8)))
        self.words = words

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m)
        m.submodules.store = store = Memory(shape=8, depth=4, init=self.words)
        m.d.comb += self.port("y").eq(store.read_port().data)
        return m


class _Block(Shell):
    """Registers that each take a sum with an expression of their own, in the top and in ``parts`` submodules."""

    def __init__(self, parts: int) -> None:
        ports = (Port("a", "input", 4), Port("b", "input", 4), Port("y", "output", 8))
        super().__init__((*CLOCK_AND_RESET, *ports))
        self.parts = parts

    def _sum(self, constant: int) -> Value:
        a, b = self.port("a"), self.port("b")
        return Mux(a[0], Cat(a[1:3], b).word_select(a[2:], 2), 1) + constant

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m)
        kept = [Signal(8, name=f"kept_{index}") for index in range(3 + self.parts)]
        m.d.sync += [kept[0].eq(self._sum(5)), kept[1].eq(self._sum(5)), kept[2].eq(self._sum(6))]
        for index in range(self.parts):
            m.submodules[f"part_{index}"] = part = Module()
            part.d.sync += kept[3 + index].eq(self._sum(5))
        m.d.comb += self.port("y").eq(Cat(signal.xor() for signal in kept))
        return m


def _kinds(parts: int) -> list[Counter[str]]:
    """For each module, how often it has each kind of cell."""
    return [
        Counter(cell.kind for cell in module.cells) for module in parse(elaborate(_Block(parts), "top").text)
    ]


def test_equal_expressions_are_calculated_once() -> None:
    (kinds,) = _kinds(0)
    assert (kinds["$mux"], kinds["$shift"]) == (1, 1)


def test_expressions_that_differ_in_a_constant_stay_two() -> None:
    (kinds,) = _kinds(0)
    assert kinds["$add"] == 2


def test_each_module_calculates_its_own() -> None:
    top, *parts = _kinds(2)
    assert top["$add"] == 2
    assert [part["$add"] for part in parts] == [1, 1]


@pytest.mark.parametrize(("words", "bits"), [([], 0), ([0, 0, 1], 32)])
def test_only_words_that_are_not_all_zero_are_written(words: list[int], bits: int) -> None:
    modules = parse(elaborate(_Store(words), "top").text)
    (cell,) = (cell for module in modules for cell in module.cells if cell.kind == "$meminit_v2")
    assert (width_of(cell.ports["\\DATA"]), cell.parameters["\\WORDS"]) == (bits, "4")


def test_the_top_has_the_ports_of_the_shell() -> None:
    (module,) = parse(elaborate(_Block(0), "top").text)
    directions = {name[1:]: wire.direction for name, wire in module.wires.items() if wire.direction}
    assert directions == {
        "aclk": "input",
        "aresetn": "input",
        "a": "input",
        "b": "input",
        "y": "output",
    }
