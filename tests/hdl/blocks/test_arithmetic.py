"""Ones counted by full adders. CRC-32C as linear functions, against the model, and the networks that compute them. Small
functions of values. The registers that a pipelined module has, and ports of an option.
"""

from __future__ import annotations

import random
from functools import reduce
from operator import xor
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, Module, Signal
from amaranth.sim import Simulator

from cdma.hdl.blocks.arithmetic import (
    CRC_BITS,
    CRC_INIT,
    CRC_XOR,
    after_bits,
    after_zeros,
    before_zeros,
    count_ones,
    first_set,
    is_next,
    one_of,
    xor_network,
)
from cdma.hdl.blocks.elaboration import Pace, optional
from cdma.sim.codec.container import crc32c
from tests.support.simulate import simulate


@pytest.mark.parametrize("width", [1, 2, 3, 4, 7, 8, 31, 32])
def test_counts(width: int) -> None:
    source = random.Random(width)
    m = Module()
    bits = Signal(width)
    count = Signal(8)
    found = count_ones(m, bits, "adder")
    assert len(found) == width.bit_length()
    m.d.comb += count.eq(found)

    async def testbench(ctx: Any) -> None:
        for value in [0, (1 << width) - 1, *(source.getrandbits(width) for _ in range(40))]:
            ctx.set(bits, value)
            assert ctx.get(count) == value.bit_count()

    simulate(m, testbench)


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 6, 10, 64, 128])
def test_finds_the_lowest_bit(width: int) -> None:
    source = random.Random(width)
    m = Module()
    bits = Signal(width)
    number = Signal(8)
    m.d.comb += number.eq(first_set(bits))

    async def testbench(ctx: Any) -> None:
        for value in [
            0,
            *(1 << bit for bit in range(width)),
            *(source.getrandbits(width) for _ in range(40)),
        ]:
            ctx.set(bits, value)
            assert ctx.get(number) == max((value & -value).bit_length() - 1, 0)

    simulate(m, testbench)


def _sum(columns: list[int], bits: int) -> int:
    return reduce(xor, (column for bit, column in enumerate(columns) if bits >> bit & 1), 0)


@pytest.mark.parametrize("size", [1, 2, 4, 5, 32])
def test_bytes_make_the_crc_of_the_model(size):
    data = random.Random(size).randbytes(size)
    after = _sum(after_zeros(8 * size), CRC_INIT) ^ _sum(after_bits(8 * size), int.from_bytes(data, "little"))
    assert after ^ CRC_XOR == crc32c(data)


def test_zeros_are_taken_back():
    register = 0x12345678
    for bits in (1, 8, 32, 40):
        assert _sum(before_zeros(bits), _sum(after_zeros(bits), register)) == register


@pytest.mark.parametrize("bits", [8, 64])
def test_network_is_the_sum_of_its_columns(bits):
    columns = after_bits(bits)
    m = Module()
    given, made = Signal(bits), Signal(CRC_BITS)
    m.d.comb += made.eq(xor_network(m, given, columns, CRC_BITS))
    simulator = Simulator(m)
    rng = random.Random(bits)

    async def process(ctx):
        for value in [0, *(1 << bit for bit in range(bits)), *(rng.getrandbits(bits) for _ in range(20))]:
            ctx.set(given, value)
            assert ctx.get(made) == _sum(columns, value)

    simulator.add_testbench(process)
    simulator.run()


def test_the_next_number_is_known_without_a_carry() -> None:
    """For all pairs of numbers of four bits, among them the last one, after which the first comes."""
    m = Module()
    first, second, found = Signal(4), Signal(4), Signal()
    m.d.comb += found.eq(is_next(first, second))

    async def bench(ctx: Any) -> None:
        for a in range(16):
            for b in range(16):
                ctx.set(first, a)
                ctx.set(second, b)
                await ctx.delay(1e-9)
                assert ctx.get(found) == ((a + 1) % 16 == b), (a, b)

    simulator = Simulator(m)
    simulator.add_testbench(bench)
    simulator.run()


@pytest.mark.parametrize("widths", [(), (0, 0), (1, 4), (3, 3, 3)])
def test_a_selection_is_as_wide_as_its_widest_value(widths: tuple[int, ...]) -> None:
    assert len(one_of(*((Signal(), Signal(width)) for width in widths))) == max(widths, default=0)


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
