"""The key of the generator. Above each module stands what it is for. How a shell resets what is in it, and the template
of an instance.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Fragment, Module, ResetInserter, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.sim import Simulator

from cdma.hdl.deliver.block import instance_template
from cdma.hdl.verilog import shell as generator
from cdma.hdl.verilog.emit import contract
from cdma.hdl.verilog.shell import CLOCK_AND_RESET, Port, Shell, generator_key
from cdma.verif.engine.design import SMALL, EngineDesign
from tests.support.paths import ROOT


def test_the_key_of_the_generator_depends_on_its_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "verilog").mkdir()
    source = tmp_path / "part.py"
    monkeypatch.setattr(generator, "__file__", str(tmp_path / "verilog" / "generator_key.py"))
    keys = []
    for text in ("a = 1", "a = 2"):
        source.write_text(text)
        generator_key.cache_clear()
        keys.append(generator_key())
    generator_key.cache_clear()
    assert keys[0] != keys[1]


class Adder(wiring.Component):
    """Adds ``left`` and :class:`~cdma.hdl.blocks.Something`, which is a long name, and stops at the end of the line
    of a comment.

    Two cycles later it is
    ``done`` and at rest.

    ``left``, ``right``: The numbers.
    ``width``: Is no port.

    ``done``: Pulse.
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


class _Counting(Shell):
    """Counts the cycles since its reset."""

    def __init__(self, *, registered: bool, longer: bool = False) -> None:
        self.registered = registered
        self.longer = longer
        super().__init__((*CLOCK_AND_RESET, Port("count", "output", 4)))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m, registered=self.registered, longer=self.longer)
        count = Signal(4)
        m.d.sync += count.eq(count + 1)
        m.d.comb += self.port("count").eq(count)
        return m


@pytest.mark.parametrize("registered", [False, True])
def test_a_reset_of_a_cycle_or_more(registered: bool) -> None:
    """``open`` is low in reset and, with a register, for a cycle more, at whose end everything is reset."""
    resets = [0, 0, 1, 1, 1, 0, 1, 1, 1]
    seen = _seen(_Counting(registered=registered), resets)
    is_open = [open_ for open_, _ in seen]
    if registered:
        assert is_open == [0, 0, 0, 1, 1, 0, 0, 1, 1]
        assert [count for _, count in seen[2:]] == [0, 0, 1, 2, 3, 0, 1]
    else:
        assert is_open == resets
        assert [count for _, count in seen[1:]] == [0, 0, 1, 2, 3, 0, 1, 2]


def test_a_reset_of_three_cycles_or_more() -> None:
    """However short ``aresetn`` is low."""
    seen = _seen(_Counting(registered=True, longer=True), [0, 0, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1])
    assert [open_ for open_, _ in seen] == [0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1]
    assert [count for _, count in seen[5:]] == [0, 1, 2, 3, 0, 0, 0, 1]


def _seen(shell: _Counting, resets: list[int]) -> list[tuple[int, int]]:
    """``open`` and the count in each cycle."""
    seen: list[tuple[int, int]] = []

    async def drive(ctx: Any) -> None:
        for aresetn in resets:
            ctx.set(shell.aresetn, aresetn)
            await ctx.delay(1e-9)
            seen.append((ctx.get(shell.open), ctx.get(shell.port("count"))))
            ctx.set(shell.aclk, 1)
            await ctx.delay(1e-9)
            ctx.set(shell.aclk, 0)

    simulator = Simulator(shell)
    simulator.add_testbench(drive)
    simulator.run()
    return seen


def test_the_template_connects_every_port() -> None:
    ports = [Port("aclk", "input", 1), Port("s_axis_tdata", "input", 32), Port("z", "output", 2)]
    text = instance_template("mover", ports)
    wires = re.findall(r"^wire (?:\[(\d+):0\] )?(\w+);$", text, re.MULTILINE)
    assert wires == [("", "aclk"), ("31", "s_axis_tdata"), ("1", "z")]
    instance = text[text.index("mover u_mover (") :]
    assert re.findall(r"^  \.(\w+) +\((\w+)\)", instance, re.MULTILINE) == [
        (port.name, port.name) for port in ports
    ]
