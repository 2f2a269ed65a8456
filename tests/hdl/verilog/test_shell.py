"""How a shell resets what is in it, and the template of an instance."""

from __future__ import annotations

import re
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.sim import Simulator

from cdma.hdl.deliver.instance import instance_template
from cdma.hdl.verilog.ports import CLOCK_AND_RESET, Port
from cdma.hdl.verilog.shell import Shell


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
