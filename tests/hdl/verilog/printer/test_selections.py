"""Selections by one signal are ``case``, which are known and unknown where conditional operators are."""

from __future__ import annotations

import re

import pytest
from amaranth.hdl import Module

from cdma.hdl.verilog.dialect import SYSTEM_VERILOG
from cdma.hdl.verilog.emit import emit
from cdma.hdl.verilog.ports import CLOCK_AND_RESET, Port
from cdma.hdl.verilog.shell import Shell
from cdma.hdl.verilog.style import Style
from cdma.verif.proofs.equivalence import printed
from cdma.verif.proofs.result import FAILED, PROVEN


class _Select(Shell):
    """One of three words by some of the values of ``by``, and the last one otherwise."""

    def __init__(self, width: int, values: tuple[int, ...]) -> None:
        self.values = values
        words = [Port(name, "input", 4) for name in "abcd"]
        super().__init__([*CLOCK_AND_RESET, Port("by", "input", width), *words, Port("z", "output", 4)])

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m)
        with m.Switch(self.port("by")):
            for value, word in zip(self.values, "abc", strict=False):
                with m.Case(value):
                    m.d.comb += self.port("z").eq(self.port(word))
            with m.Default():
                m.d.comb += self.port("z").eq(self.port("d"))
        return m


def _body(shell: Shell) -> str:
    return re.sub(r"\n +", " ", emit(shell, "choice").text.partition(");\n")[2])


@pytest.mark.parametrize(
    ("width", "values", "items"),
    [
        (2, (0, 1, 2), "2'd0: z = a; 2'd1: z = b; 2'd2: z = c; 2'd3: z = d;"),
        (3, (6, 1), "3'd0, 3'd2, 3'd3, 3'd4, 3'd5, 3'd7: z = d; 3'd1: z = b; 3'd6: z = a;"),
    ],
)
def test_all_values_are_listed_so_that_an_unknown_one_stays_unknown(
    width: int, values: tuple[int, ...], items: str
) -> None:
    shell = _Select(width, values)
    assert f"always @* begin case (by) {items} default: z = {{4{{1'bx}}}}; endcase end" in _body(shell)
    sides = printed(shell)
    assert sides.compare(60)[0] == PROVEN
    broken = sides.after.replace("1: z = b", "1: z = a")
    assert type(sides)(sides.before, broken).compare(60)[0] == FAILED


@pytest.mark.parametrize(("width", "values"), [(2, (1,)), (7, (1, 2, 3))])
def test_two_results_and_sparse_values_are_conditional_operators(width: int, values: tuple[int, ...]) -> None:
    assert "case" not in _body(_Select(width, values))


def test_it_is_always_comb_in_system_verilog() -> None:
    assert "always_comb begin" in emit(_Select(2, (0, 1, 2)), "choice", style=Style(SYSTEM_VERILOG)).text
