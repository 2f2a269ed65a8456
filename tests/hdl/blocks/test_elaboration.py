"""The registers that a pipelined module has, and ports of an option."""

import pytest
from amaranth.hdl import ClockDomain, Module, Signal
from amaranth.sim import Simulator

from cdma.hdl.blocks.elaboration import Pace, optional


class _Pipelined:
    pipelined = True


@pytest.mark.parametrize(("pipelined", "cycles"), [(False, 0), (True, 1), (_Pipelined(), 1)])
def test_values_are_a_cycle_later_if_pipelined(pipelined: object, cycles: int) -> None:
    m = Module()
    m.domains += ClockDomain("sync")
    value, assigned, sink = (Signal(4) for _ in range(3))
    pace = Pace(m, pipelined)
    late = pace.late(value, "late")
    early = pace.early(sink, "early")
    pace.d += [assigned.eq(value), early.eq(value)]
    with m.If(value == 3):
        pace.d += assigned.eq(0)
    seen = []

    async def bench(ctx: object) -> None:
        for number in range(1, 6):
            ctx.set(value, number)
            seen.append([ctx.get(each) for each in (late, assigned, sink)])
            await ctx.tick()

    simulator = Simulator(m)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    given = [[number, 0 if number == 3 else number, number] for number in range(6)]
    assert seen[1:] == given[2 - cycles : 6 - cycles]
    assert isinstance(late, Signal)
    assert (late is value) == (not cycles)


def test_members_of_an_option() -> None:
    assert {**optional(True, crc=32), **optional(0, step=8)} == {"crc": 32}
