"""Shapes whose rows lie far apart: each bit of a stride, of an address and of what a shape spans counts."""

from __future__ import annotations

from dataclasses import replace

from cdma.hdl.spec.records import Status, shape_values
from cdma.hdl.spec.shape import SPAN_LIMIT, Dimension, Shape
from cdma.verif.engine.bench import CHANNELS, EngineBench
from cdma.verif.engine.context import engine_test, expect_refusal
from cdma.verif.engine.memory import SIZE
from cdma.verif.engine.shaped import ShapedTransfer
from cdma.verif.simulator.plan import planned


def _near_and_far(bench: EngineBench, distance: int) -> tuple[Shape, Shape]:
    """A small shape, and the same with a stride that is longer by a ``distance``."""
    unit, rng = bench.config.align("dev"), bench.rng
    number = rng.randrange(bench.config.dimensions)
    # Of long rows, the bytes that are moved are counted with all of the lower bits.
    long = rng.random() < 0.3
    run = unit * rng.randint(1, -(-6144 // unit) if long else 6)
    dimensions = [
        Dimension(rng.randint(1, 2), run * 3**place)
        if long
        else Dimension(rng.randint(1, 3), run * 3**place, rng.choice((0, 1)), rng.choice((0, 2)))
        for place in range(bench.config.dimensions)
    ]
    stride = run * 3 ** len(dimensions) + unit * rng.randint(0, 9)
    sign = rng.choice((-1, 1))
    dimensions[number] = replace(dimensions[number], count=2, stride=sign * stride)
    near = Shape(run, tuple(dimensions))
    dimensions[number] = replace(dimensions[number], stride=sign * (stride + distance))
    return near, Shape(run, tuple(dimensions))


def _transfer(bench: EngineBench, channel: str, near: Shape, far: Shape) -> ShapedTransfer:
    """A transfer of the small shape that says the other one: the memory is where its rows are as well."""
    made = bench.transfer(channel, 0, shape=near)
    assert isinstance(made, ShapedTransfer)
    made.extension = shape_values(far)
    field = "source" if channel == "offload" else "destination"
    # The lowest row goes anywhere; often the lower 34 bits of addresses, which the engine counts, come round within.
    most = ((1 << bench.config.dev_address_bits) - far.span) // SIZE - 1
    round_at = max(0, 2 * SPAN_LIMIT - far.span // 2) // SIZE
    up = bench.rng.choice((bench.rng.randint(0, most), min(most, round_at)))
    made.descriptor[field] += up * SIZE + near.lowest - far.lowest
    for offset in far.rows():
        if offset is not None:
            place = (made.descriptor[field] + offset) // SIZE * SIZE
            bench.memory["dev"].repeat(place)
    return made


@planned(
    "shapes whose rows lie 2^k bytes and a few more apart, up and down, anywhere; and a row beyond the last address",
    "every byte in its row; those beyond are refused",
    needs=lambda design: design.config.dimensions,
)
@engine_test
async def far_rows(bench: EngineBench, budget: int) -> None:
    bits = bench.config.dev_address_bits
    for channel in CHANNELS:
        await bench.channels[channel].enable()
        field = "source" if channel == "offload" else "destination"
        for log2 in range(SIZE.bit_length() - 1, min(bits - 1, SPAN_LIMIT.bit_length() - 2) + 1):
            near, far = _near_and_far(bench, 1 << log2)
            made = _transfer(bench, channel, near, far)
            inside, expected = made.descriptor[field], made.expected
            beyond = (1 << bits) - far.span - far.lowest + bench.config.align("dev")
            if beyond >> 64 == 0:
                made.descriptor[field] = beyond
                await expect_refusal(bench, channel, made, Status.WINDOW, beyond + far.lowest)
            made.descriptor[field], made.expected = inside, expected
            await bench.run(channel, [made])
        await bench.channels[channel].disable()
