"""Where the rows of a shape lie, with addresses and strides of all bits: the proof of the walk compares the lower ones."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from amaranth.sim import Simulator

from cdma.hdl.axi.ports import SPAN_BITS
from cdma.hdl.engine.shapes.segments import FIRST, SHAPES, SIZE
from cdma.hdl.engine.shapes.walker import Walker
from cdma.hdl.spec.shape import COUNT_BITS, PADDING_BITS, Dimension


def _some_dimension(rng: random.Random) -> Dimension:
    return Dimension(
        rng.randint(1, 3), rng.randrange(-(1 << 62), 1 << 62), rng.randint(0, 2), rng.randint(0, 2)
    )


#: Bytes of a row.
_RUN = 24


def _numbers(first: int, dimensions: list[Dimension]) -> list[tuple[int, int]]:
    """What a shape is walked by, and in which row it is."""
    numbers = [(SIZE, _RUN - 1), (FIRST, first)]
    for number, axis in enumerate(dimensions, 1):
        extent = axis.count | axis.before << COUNT_BITS | axis.after << COUNT_BITS + PADDING_BITS
        numbers += [(2 * number, axis.stride % (1 << SPAN_BITS)), (2 * number + 1, extent)]
    return numbers


def _rows(first: int, dimensions: list[Dimension]) -> list[int | None]:
    """Where each row lies; None for padding."""
    places: list[int | None] = []
    for outer_first in itertools.product(*(range(axis.total) for axis in reversed(dimensions))):
        steps = [index - axis.before for index, axis in zip(reversed(outer_first), dimensions, strict=True)]
        inside = all(0 <= step < axis.count for step, axis in zip(steps, dimensions, strict=True))
        place = first + sum(step * axis.stride for step, axis in zip(steps, dimensions, strict=True))
        places.append(place % (1 << SPAN_BITS) if inside else None)
    return places


@pytest.mark.parametrize("dimensions", [1, 2, 4])
def test_rows_lie_where_index_times_stride_says(dimensions: int) -> None:
    """Rows wait now and then, and one shape follows another."""
    rng = random.Random(dimensions)
    shapes = [
        (rng.getrandbits(SPAN_BITS), [_some_dimension(rng) for _ in range(dimensions)]) for _ in range(4)
    ]
    walker = Walker(dimensions)
    simulator = Simulator(walker)
    simulator.add_clock(1e-9)

    async def give(ctx: Any) -> None:
        for index, shape in enumerate(shapes):
            ctx.set(walker.shape, index % SHAPES)
            for row, value in _numbers(*shape):
                ctx.set(walker.row, row)
                ctx.set(walker.value, value)
                ctx.set(walker.write, 1)
                await ctx.tick()
            ctx.set(walker.write, 0)
            ctx.set(walker.end, index + 1)

    async def take(ctx: Any) -> None:
        for place in itertools.chain.from_iterable(_rows(*shape) for shape in shapes):
            await ctx.tick().repeat(rng.choice((1, 1, 4)))
            ctx.set(walker.rows.ready, 1)
            (row,) = await ctx.tick().sample(walker.rows.payload).until(walker.rows.valid)
            ctx.set(walker.rows.ready, 0)
            assert (row.first if row.inside else None) == place
            assert row.last == (row.first + _RUN - 1) % (1 << SPAN_BITS)

    simulator.add_testbench(give, background=True)
    simulator.add_testbench(take)
    simulator.run()
