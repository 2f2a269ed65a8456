"""What elaboration promises: a module calculates an expression once, and modules stay apart. Python's collector is as it
was after an elaboration, also one that failed. Beside a declaration of the Verilog stands the comment of its source.
"""

from __future__ import annotations

import gc
from collections import Counter

import pytest
from amaranth.hdl import Cat, Fragment, Module, Mux, Signal, Value, _dsl
from amaranth.lib.memory import Memory

from cdma.hdl.engine.engine import engine_shell
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.verilog.elaborate import elaborate, no_collection
from cdma.hdl.verilog.emit import emit
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


def test_no_expression_of_an_engine_is_repeated_in_each_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    """Amaranth walks every expression as a tree, which without a wire has the whole beat in each lane of a rotation."""
    walked = 0

    def counted(value: Value) -> None:
        nonlocal walked
        walked += 1
        assert walked < 600_000
        check(value)

    check = _dsl._check_rhs
    monkeypatch.setattr(_dsl, "_check_rhs", counted)
    Fragment.get(engine_shell(EngineConfig(alignment="byte")), None)


def test_nothing_is_collected_inside() -> None:
    with no_collection():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_collects_again_after_a_failure() -> None:
    with pytest.raises(ValueError, match="in between"), no_collection():
        raise ValueError("in between")
    assert gc.isenabled()


def test_it_leaves_a_collector_that_was_off_as_it_is() -> None:
    gc.disable()
    try:
        with no_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


class _SourcesBlock(Shell):
    """A register with a comment above its declaration."""

    def __init__(self) -> None:
        super().__init__((*CLOCK_AND_RESET, Port("a", "input", 4), Port("y", "output", 4)))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m)
        #: Beats that have
        #: come, with ``last``.
        count = Signal(4)
        m.d.sync += count.eq(count + self.port("a"))
        m.d.comb += self.port("y").eq(count ^ self.port("a"))
        return m


def test_a_declaration_has_the_comment_of_its_source() -> None:
    text = emit(_SourcesBlock(), "noted").text
    assert "\n  reg  [3:0] count; // Beats that have come, with last.\n" in text
