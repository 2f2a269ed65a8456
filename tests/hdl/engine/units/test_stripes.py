"""What a unit's writer is told of the stripe after the one in hand. The stripes of a descriptor, against arithmetic on
its addresses.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.sim import Simulator

from cdma.hdl.axi.ports import PortShape
from cdma.hdl.engine.units.stores import Ahead, UnitPlan, early_stripes
from cdma.hdl.engine.units.stripes import StripeWalk
from cdma.hdl.spec.engine import EngineConfig
from tests.support.stimuli import sometimes
from tests.support.stream_bench import StreamBench

_DEPTH = 8


@pytest.mark.parametrize("seed", range(4))
def test_it_speaks_of_the_next_stripe(seed: int) -> None:
    """Against a queue of the stripes that are in the commands' queue, of which the oldest is in hand."""
    source = random.Random(seed)
    dut = Ahead(_DEPTH)
    seen = {"ahead": 0, "alone": 0, "short": 0}

    async def bench(ctx: Any) -> None:
        inside: list[
            tuple[int, int]
        ] = []  # When it is at the output of the commands' queue, and whether it is whole.
        held = 0  # Cycles for which the command has been in hand.
        for cycle in range(3000):
            gives = len(inside) < _DEPTH and source.random() < (0.2, 0.5, 0.05, 0.9)[seed]
            whole = source.randrange(2)
            busy = bool(inside) and inside[0][0] <= cycle
            taken = busy and held > 2 and source.random() < 0.3
            ctx.set(dut.given, gives)
            ctx.set(dut.whole, whole)
            ctx.set(dut.busy, busy)
            ctx.set(dut.taken, taken)
            ahead = ctx.get(dut.ahead)
            there = len(inside) > 1 and inside[1][0] <= cycle
            if not busy or held == 0 or not there or not inside[1][1]:
                assert not ahead, cycle
                seen["alone" if not there else "short"] += busy
            elif held > 2 and inside[1][0] + 2 <= cycle:
                assert ahead, cycle
                seen["ahead"] += 1
            held = held + 1 if busy and not taken else 0
            if taken:
                inside.pop(0)
            if gives:
                inside.append((cycle + 2, whole))
            await ctx.tick()

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert all(seen.values()), seen


@pytest.mark.parametrize(
    ("stripe_bytes", "bits", "burst", "early"),
    [(256, 256, 32, True), (256, 512, 32, False), (512, 512, 32, True), (4096, 256, 4, False)],
)
def test_only_where_a_stripe_is_long_enough(stripe_bytes: int, bits: int, burst: int, early: bool) -> None:
    config = EngineConfig(
        units=2, stripe_bytes=stripe_bytes, dev_data_bits=bits, burst_beats=burst, lanes=bits // 32
    )
    shape = PortShape(data_bits=bits, address_bits=64, word_bits=32, burst=burst, outstanding=16, buffer=128)
    assert early_stripes(UnitPlan(config, shape, shape)) == early


_ADDRESS_BITS = 40


def _expected(first: int, size: int, units: int, stripe: int, word: int) -> list[tuple[int, ...]]:
    """Unit, first and last byte, words, and bytes of the last word of each stripe."""
    found, end = [], first + size
    while first < end:
        after = min(end, (first // stripe + 1) * stripe)
        found.append((first // stripe % units, first, after - 1, -(-(after - first) // word), after % word))
        first = after
    return found


@pytest.mark.parametrize("units", [2, 4, 6, 8])
@pytest.mark.parametrize(("stripe", "word", "tails"), [(256, 4, 0), (4096, 1, 0), (512, 2, 0), (256, 4, 2)])
def test_stripes_cover_the_data_in_order(units: int, stripe: int, word: int, tails: int) -> None:
    """Of whole words, or of any bytes."""
    source = random.Random(units * stripe + word)
    jobs = []
    for _ in range(12):
        first = source.choice((0, source.getrandbits(_ADDRESS_BITS - 1), (1 << 34) - 2 * stripe)) // 64 * 64
        words = source.choice((1, stripe // word, source.randint(1, 9 * stripe // word)))
        jobs.append((first, words * word - (source.randrange(word) if tails else 0)))
    want = [_expected(first, size, units, stripe, word) for first, size in jobs]
    # Other stripes of the same units, some beyond a multiple of what is counted.
    apart = [
        units * stripe * source.choice((0, 1, source.randrange((1 << 33) // units // stripe))) for _ in jobs
    ]
    dut = StripeWalk(_ADDRESS_BITS, units, stripe, 8 * word, tail_bits=tails, based=True)
    bench = StreamBench(dut)
    bench.source(
        "base",
        [
            {"first": first + step, "last": first + step + size - 1, "delta": number % 3 > 0}
            for number, ((first, size), step) in enumerate(zip(jobs, apart, strict=True))
        ],
    )
    # The last address that a command may reach is beyond what its words need.
    bench.source("command", [{"first": first, "last": first + size + stripe} for first, size in jobs])
    bench.source(
        "route",
        [
            {"raw": number % 2, "zeros": number // 2 % 2, "words": -(-size // word)}
            | ({"tail": size % word} if tails else {})
            for number, (_, size) in enumerate(jobs)
        ],
    )
    got = bench.collect("stripes", sum(map(len, want)), sometimes((units, stripe), 0.3))
    bench.run(4000)

    stripes = iter(got)
    for number, found in enumerate(want):
        for at, each in enumerate(found):
            _, stripe_ = next(stripes)
            *found_of, tail = each
            assert [stripe_.unit, stripe_.first, stripe_.last, stripe_.words] == found_of
            assert not tails or stripe_.tail == tail
            assert (stripe_.raw, stripe_.zeros) == (number % 2, number // 2 % 2)
            assert stripe_.final == (at == len(found) - 1)
            assert stripe_.delta == (number % 3 > 0)
            assert stripe_.base == (stripe_.first + apart[number]) // stripe


@pytest.mark.parametrize("units", [2, 6])
def test_extents_are_walked_one_after_the_other(units: int) -> None:
    """The rows of a shape lie where they lie, and padding goes to the next unit; the last stripe of all is final."""
    source = random.Random(units)
    rows = [
        (source.random() < 0.4, 64 * source.randrange(1 << 20), 64 * source.randint(1, 20)) for _ in range(60)
    ]
    dut = StripeWalk(_ADDRESS_BITS, units, 256, 32, shaped=True)
    bench = StreamBench(dut)
    # The last address of a row is that of a command; five rows are a descriptor.
    bench.source(
        "command",
        [
            {
                "first": 0 if padding else first,
                "last": 0 if padding else first + size - 1,
                "more": number % 5 != 4,
                "padding": padding,
            }
            for number, (padding, first, size) in enumerate(rows)
        ],
    )
    bench.source("route", [{"raw": 0, "zeros": 0, "words": size // 4} for _, _, size in rows])
    wanted = [_expected(0 if padding else first, size, units, 256, 4) for padding, first, size in rows]
    got = bench.collect("stripes", sum(map(len, wanted)), sometimes(units, 0.3))
    bench.run(4000)
    stripes, unit = (stripe for _, stripe in got), 0
    for number, ((padding, _, _), want) in enumerate(zip(rows, wanted, strict=True)):
        for at, (of_address, first, last, words, _) in enumerate(want):
            stripe = next(stripes)
            assert (stripe.padding, stripe.words) == (padding, words)
            assert padding or (stripe.unit, stripe.first, stripe.last) == (of_address, first, last)
            assert not (padding and number) or stripe.unit == unit, number
            assert stripe.final == (number % 5 == 4 and at == len(want) - 1)
            unit = (stripe.unit + 1) % units


def test_a_stripe_per_cycle() -> None:
    dut = StripeWalk(_ADDRESS_BITS, 4, 256, 32)
    bench = StreamBench(dut)
    bench.source("command", [{"first": 0, "last": 255}] * 3)
    bench.source("route", [{"raw": 0, "zeros": 0, "words": 64 * 20}] * 3)
    got = bench.collect("stripes", 60)
    bench.run(200)
    assert got[-1][0] - got[0][0] <= 59 + 2 * 2


def test_the_unit_of_a_long_address_is_found_with_few_gates() -> None:
    """Six units need a remainder of three, whose text grows with the bits of an address alone."""
    small, large = (len(rtlil.convert(StripeWalk(bits, 6, 4096, 32))) for bits in (24, 64))
    assert large < 5 * small
