"""Shares and limits: hardware chooses as the model does, and what is moved is as the weights."""

from __future__ import annotations

import random

import pytest

from cdma.hdl.engine.pairs.account import Account
from cdma.hdl.engine.pairs.shares import Shares
from cdma.sim.engine.shares import ShareModel
from tests.support.simulate import simulate

_COST_BITS = 12


def _chosen(ctx, dut):
    choice = ctx.get(dut.choice)
    assert choice & choice - 1 == 0
    return choice.bit_length() - 1 if choice else None


@pytest.mark.parametrize("count", [2, 5, 8])
def test_hardware_chooses_as_the_model_does(count):
    rng = random.Random(count)
    dut = Shares(count, _COST_BITS, step_log2=1)
    weights = [rng.choice((0, 1, 3, 9)) for _ in range(count)]
    levels = [rng.choice((0, 1, 1, 3)) for _ in range(count)]
    model = ShareModel(weights, levels, step_log2=1)

    async def testbench(ctx):
        for number in range(count):
            ctx.set(dut.weights[number], weights[number])
            ctx.set(dut.levels[number], levels[number])
        chosen = set()
        for _ in range(1000):
            asks = rng.choice((0, (1 << count) - 1, rng.getrandbits(count)))
            ctx.set(dut.asks, asks)
            await ctx.tick()
            ctx.set(dut.asks, rng.getrandbits(count))
            ctx.set(dut.look, 1)
            await ctx.tick()
            ctx.set(dut.look, 0)
            expected = model.look([bool(asks >> number & 1) for number in range(count)])
            assert _chosen(ctx, dut) == expected
            chosen.add(expected)
            cost = rng.choice((rng.randint(1, 40), rng.randint(1, (1 << _COST_BITS) - 1)))
            if expected is not None:
                model.charge(expected, cost)
                ctx.set(dut.charge, 1)
                ctx.set(dut.cost, cost)
            await ctx.tick()
            ctx.set(dut.charge, 0)
            await ctx.tick().repeat(rng.choice((1, 1, 2)))
        assert len(chosen) > 2

    simulate(dut, testbench)


def test_bytes_moved_are_as_the_weights_however_long_descriptors_are():
    weights, longest = (1, 2, 5), (60, 7, 31)
    model = ShareModel(weights, (0, 0, 0), step_log2=2)
    rng = random.Random(3)
    moved = [0, 0, 0]
    while sum(moved) < 100_000:
        number = model.look([True] * 3)
        if number is not None:
            units = rng.randint(1, longest[number])
            moved[number] += units
            model.charge(number, units)
    for weight, units in zip(weights, moved, strict=True):
        assert abs(units / sum(moved) - weight / sum(weights)) < 0.01


def test_an_account_loses_no_amount_and_saves_none():
    dut = Account(4, 6, often_log2=1)
    rng = random.Random(1)
    amount = 9

    async def testbench(ctx):
        balance, late, settles = 0, False, 0
        ctx.set(dut.amount, amount)
        await ctx.tick()
        for _ in range(600):
            deep = balance + 2 * amount <= 0
            if not settles:
                assert ctx.get(dut.balance) == balance
                assert (ctx.get(dut.rich), ctx.get(dut.deep)) == (balance > 0, deep)
            adds, often, cost = rng.random() < 0.2, rng.random() < 0.5, rng.randint(1, 63)
            charges = balance > 0 and not settles and rng.random() < 0.5
            ctx.set(dut.add, adds)
            ctx.set(dut.often, often)
            ctx.set(dut.charge, charges)
            ctx.set(dut.cost, cost)
            await ctx.tick()
            late |= adds
            if charges:
                balance -= cost
            elif settles or not late:
                settles = max(0, settles - 1)
                continue
            else:
                late = False
                if often and deep:
                    balance += 2 * amount
                else:
                    balance = amount + (0 if often else min(balance, 0))
            settles = 2

    simulate(dut, testbench)
