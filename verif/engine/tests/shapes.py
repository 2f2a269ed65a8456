"""Shapes that are refused, that reach to the edges of a window, whose rows lie far apart, that fail in a row, and whose
extensions come late or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cocotbext.axi import AxiResp

from cdma.hdl.spec.options import PAGE_BYTES
from cdma.hdl.spec.records import RECORD_BYTES, Mode, Status, shape_values
from cdma.hdl.spec.shape import SPAN_LIMIT, Dimension, Shape
from cdma.sim.engine.shaped import runs
from cdma.verif.engine.bench import CHANNELS, EngineBench
from cdma.verif.engine.context import (
    BUS_ERRORS,
    abort,
    both,
    completed,
    engine_test,
    expect_end,
    expect_failure,
    expect_refusal,
)
from cdma.verif.engine.memory import AROUND, GUARD, SIZE
from cdma.verif.engine.ring import Ring, RingBench
from cdma.verif.engine.shaped import ShapedTransfer, some_shape, wide_shape
from cdma.verif.engine.transfer import stream_of
from cdma.verif.simulator.plan import planned

#: Cycles from the software's write until a shape is measured and checked, and some more.
_MEASURED = 80


def _made(bench: EngineBench, channel: str, shape: Shape, **options: Any) -> ShapedTransfer:
    made = bench.transfer(channel, 0, shape=shape, **options)
    assert isinstance(made, ShapedTransfer)
    return made


def _some(bench: EngineBench, channel: str, most: int, **options: Any) -> ShapedTransfer:
    shape = some_shape(bench.rng, bench.config, most, reads=channel == "offload")
    return _made(bench, channel, shape, **options)


@planned(
    "every objection to a shape, and shapes beyond what addresses of the port reach",
    "nothing moves, cause and address are reported, the next descriptor runs",
    needs=lambda design: design.config.dimensions,
)
@engine_test
async def shape_refusals(bench: EngineBench, budget: int) -> None:
    unit, dimensions = bench.config.align("dev"), bench.config.dimensions
    row = 2 * unit
    plain = Shape(row, (Dimension(3, 4 * row),))
    bench.pauses(0.2)

    async def job(channel: str) -> None:
        reads = channel == "offload"
        await bench.channels[channel].enable()

        async def refuse(status: Status, *, address: int = 0, shape: Shape = plain, **said: int) -> None:
            made = _made(bench, channel, plain, mode=Mode.RAW)
            made.descriptor["length"] = shape.length
            made.extension = shape_values(shape) | said
            await expect_refusal(bench, channel, made, status, address)
            bench.check_memory(channel, made)
            await bench.run(channel, [bench.any_transfer(channel, 9)])

        async def take(**said: int) -> None:
            made = _made(bench, channel, plain, mode=Mode.RAW)
            made.extension = shape_values(plain) | said
            await bench.run(channel, [made])

        await refuse(Status.SHAPE, run=0)
        await refuse(Status.SHAPE, order_1=3)
        if dimensions > 1:
            await refuse(Status.SHAPE, order_1=1)
        else:
            # Of an order that is none: this engine has one dimension.
            await take(order_2=0, order_3=0, order_4=0)
        await refuse(Status.SHAPE, count_1=4)
        await refuse(Status.SHAPE, after_1=1)
        await refuse(Status.SHAPE, before_run=unit)
        await refuse(Status.RESERVED, reserved_shape=1)
        await _wrong_lengths(bench, channel, plain)
        for number in range(dimensions + 1, 5):
            for name in ("stride", "count", "before", "after"):
                more: dict[str, Any] = {f"{name}_{number}": 1}
                await refuse(Status.SHAPE, **more)
        half = unit // 2
        ragged = (
            replace(plain, run=row + half, before=half),
            replace(plain, run=row + half, after=half),
            replace(plain, before=half, after=half),
            Shape(row, (Dimension(2, 4 * row + half),)),
        )
        for shape in (
            *(ragged if unit > 1 else ()),
            Shape(row, (Dimension(2, SPAN_LIMIT),)),
            Shape(row, (Dimension(2, -SPAN_LIMIT),)),
            Shape(row, (Dimension(2, -(1 << 63)),)),
        ):
            await refuse(Status.SHAPE, shape=shape)
        overlapping = Shape(row, (Dimension(3, unit),))
        if reads:
            await bench.run(channel, [_made(bench, channel, overlapping)])
        else:
            await refuse(Status.SHAPE, shape=overlapping)
        await _outside(bench, channel, row)

    await both(bench, job)


@planned(
    "aborts in every cycle in which a shape is measured and checked",
    "each is ABORTED or done, and the next shape is measured anew",
    needs=lambda design: design.config.dimensions,
)
@engine_test
async def shape_aborts(bench: EngineBench, budget: int) -> None:
    unit = bench.config.align("dev")

    async def job(channel: str) -> None:
        end = bench.channels[channel]
        await end.enable()
        for wait in range(_MEASURED):
            stride = bench.rng.choice((-9, 9)) * unit
            made = _made(bench, channel, Shape(unit, (Dimension(2, stride),)))
            await end.submit([made.record()])
            await bench.after(wait)
            await abort(bench, channel)
            await expect_end(bench, channel, made)
        await end.disable()

    # One after the other, so that no access to registers of the other one shifts a cycle.
    for channel in CHANNELS:
        await job(channel)


async def _wrong_lengths(bench: EngineBench, channel: str, shape: Shape) -> None:
    """A length that is wrong in one bit."""
    word, most = bench.config.format.raw_bytes, bench.config.most_bytes
    lengths = [shape.length ^ 1 << bit for bit in range(most.bit_length())]
    for length in lengths:
        if length % word == 0 and length <= most:
            made = _made(bench, channel, shape, mode=Mode.RAW)
            right = dict(made.descriptor)
            made.descriptor |= {"length": length, "capacity": most}
            await expect_refusal(bench, channel, made, Status.SHAPE, 0)
            made.descriptor |= right
            bench.check_memory(channel, made)


async def _outside(bench: EngineBench, channel: str, row: int) -> None:
    """Shapes whose first or whose last byte is beyond what addresses of the port reach, and below 0."""
    reads = channel == "offload"
    field = "source" if reads else "destination"
    top = 1 << bench.config.dev_address_bits
    for stride, at in ((4 * row, top - 5 * row), (-4 * row, top), (-4 * row, 4 * row)):
        if at >> 64:
            # A descriptor has no address beyond those of such a port.
            continue
        made = _made(bench, channel, Shape(row, (Dimension(3, stride),)), mode=Mode.RAW)
        before = made.descriptor[field]
        made.descriptor[field] = at
        address = (at + made.shape.lowest) % (1 << 64)
        await expect_refusal(bench, channel, made, Status.WINDOW, address)
        made.descriptor[field] = before
        bench.check_memory(channel, made)
    if not reads:
        made = _made(bench, channel, Shape(row, (Dimension(3, 4 * row),)), mode=Mode.RAW)
        made.descriptor["capacity"] = made.shape.length - 1
        address = made.descriptor["destination"] + made.descriptor["capacity"]
        await expect_refusal(bench, channel, made, Status.CAPACITY, address)


@planned(
    "shapes with large numbers that reach to the first or the last byte of a window, and beyond it by a step or more",
    "those outside are refused, with the address of their lowest byte; the others arrive",
    needs=lambda design: design.config.dimensions,
)
@engine_test
async def shape_windows(bench: EngineBench, budget: int) -> None:
    unit, page = bench.config.align("dev"), PAGE_BYTES
    for channel in CHANNELS:
        for _ in range(max(4, budget // 4)):
            later = _some(bench, channel, 64)
            made = _made(bench, channel, wide_shape(bench.rng, bench.config, reads=channel == "offload"))
            # Either the first byte of the lowest row is that of the window, or the last one of the highest row.
            lowest, span = bench.memory["dev"].size // 2, made.shape.span
            if bench.rng.random() < 0.5:
                lowest += -span % page
            low, high = lowest // page * page, -(-(lowest + span) // page) * page
            await bench.set_window("dev", low, high - 1)
            await bench.channels[channel].enable()
            _put(bench, channel, made, lowest)
            descriptor, expected = dict(made.descriptor), made.expected
            beyond = bench.rng.randrange(0, page, unit)
            for outside in (low - unit, high - span + unit, low - unit - beyond, high - span + unit + beyond):
                _point(channel, made, outside)
                await expect_refusal(bench, channel, made, Status.WINDOW, outside)
            made.descriptor, made.expected = descriptor, expected
            _point(channel, later, high + beyond)
            await expect_refusal(bench, channel, later, Status.WINDOW, high + beyond, behind=[made])
            await bench.channels[channel].disable()


def _put(bench: EngineBench, channel: str, made: ShapedTransfer, lowest: int) -> None:
    """Moves a shape in device memory so that its lowest byte is at ``lowest``."""
    memory = bench.memory["dev"]
    rows = made.writable() if channel == "prefetch" else []
    for offset, count in rows:
        memory.allow(made.descriptor["destination"] + offset, count, False)
    _point(channel, made, lowest)
    for offset, count in rows:
        memory.allow(made.descriptor["destination"] + offset, count)
    memory.write(lowest - AROUND, bytes([GUARD]) * (made.shape.span + 2 * AROUND))
    if channel == "offload":
        memory.write(lowest, made.source)


def _point(channel: str, made: ShapedTransfer, lowest: int) -> None:
    """Has the descriptor say that the lowest byte of its shape is at ``lowest``."""
    made.descriptor["source" if channel == "offload" else "destination"] = lowest - made.shape.lowest


@planned(
    "SLVERR and DECERR in the first, the last and any row of a shape; streams of shapes that are cut or prolonged",
    "reported with the address of the row; no byte between rows is written, and the next descriptor runs",
    needs=lambda design: design.config.dimensions,
)
@engine_test
async def shape_errors(bench: EngineBench, budget: int) -> None:
    bench.pauses(0.2)
    config = bench.config
    beat = config.dev_data_bits // 8
    block = config.burst("dev") * beat
    statuses = {"offload": BUS_ERRORS["read"], "prefetch": BUS_ERRORS["write"]}

    async def fails(channel: str, response: AxiResp, which: int) -> None:
        memory = bench.memory["dev"]
        made = _some(bench, channel, 20 * beat, mode=Mode.RAW)
        first = made.descriptor["source" if channel == "offload" else "destination"]
        rows = list(runs(first, made.shape, config.run_rows))
        start, count = rows[which]
        at = start + bench.rng.randrange(count)
        here = at // beat * beat
        # Of rows that share a beat, the first one fails.
        start = next(row for row, size in rows if row < here + beat and here < row + size)
        address = here if channel == "offload" else max(start, at // block * block)
        memory.spoil({at: response})
        await bench.channels[channel].submit([made.record()])
        got = await expect_failure(bench, channel, made, statuses[channel][response], address)
        assert got["bytes_read"] == made.expected.bytes_read, (made, got)
        memory.mend(at)
        bench.check_memory(channel, made, exact=False)
        await bench.run(channel, [bench.any_transfer(channel, 30)])

    async def job(channel: str) -> None:
        await bench.channels[channel].enable()
        for response in (AxiResp.SLVERR, AxiResp.DECERR):
            for which in (0, -1, 0, -1):
                await fails(channel, response, which)
        if channel == "prefetch":
            await _damaged(bench)

    await both(bench, job)


async def _damaged(bench: EngineBench) -> None:
    """Streams of shapes that end too early or too late, at every place of a row."""
    config = bench.config
    beat, word = config.dev_data_bits // 8, config.format.moved_bits // 8
    for _ in range(30):
        shape = some_shape(bench.rng, config, 20 * beat, reads=False)
        form = bench.rules["prefetch"].format(Mode.ZVC, bench.tables["prefetch"])
        raw = bench.np.integers(0, 2, shape.length, "u1").tobytes()
        stream = stream_of(raw, form)
        cut = stream[: word * bench.rng.randint(1, len(stream) // word)]
        stream = bench.rng.choice((cut, cut, stream + bytes(word * bench.rng.randint(1, 9))))
        made = _made(bench, "prefetch", shape, mode=Mode.ZVC, stream=stream)
        await bench.run("prefetch", [made, bench.any_transfer("prefetch", 20)])


@planned(
    "an extension that comes late, that a fetch fails for, that a pushed descriptor overtakes; shapes through registers",
    "every descriptor once, with its own shape; a lost extension is reported and the next descriptor runs",
    needs=lambda design: (
        design.config.dimensions and design.config.registers and design.config.ring_entries >= 8
    ),
)
@engine_test
async def shape_rings(bench: RingBench, budget: int) -> None:
    host = bench.memory["host"]
    bench.pauses(0.2)

    async def late(channel: str, ring: Ring) -> None:
        """The tail moves past the descriptor, and past its extension later; twice a pushed one goes first meanwhile."""
        for number in range(3):
            made = _some(bench, channel, 200)
            record = made.record()
            await ring.submit([record[:RECORD_BYTES]])
            await bench.after(bench.rng.randint(60, 200))
            assert ring.completion() is None, "a descriptor began before its extension"
            if number:
                pushed = _some(bench, channel, 200)
                await bench.push(channel, pushed.record())
                bench.check(channel, pushed, await ring.next())
            slot = ring.base + ring.submitted % ring.size * RECORD_BYTES
            host.write(slot, record[RECORD_BYTES:])
            bench.tell_submitted(channel, [record])
            ring.submitted += 1
            mask = 2 * bench.config.ring_entries - 1
            await bench.poke(f"{channel}.ring_tail", value=ring.submitted & mask)
            bench.check(channel, made, await ring.next())

    async def lost(channel: str, ring: Ring) -> None:
        """The fetch of an extension fails, and then that of its descriptor, whose extension is then refused as one."""
        for response, status in (
            (AxiResp.SLVERR, Status.FETCH_SLVERR),
            (AxiResp.DECERR, Status.FETCH_DECERR),
        ):
            for entry in (1, 0):
                made = _some(bench, channel, 200)
                at = ring.high + ring.base + (ring.submitted + entry) % ring.size * RECORD_BYTES
                host.spoil({at + 9: response})
                await ring.submit([made.record()])
                got = await completed(bench, channel)
                assert (got["status"], got["address"], got["tag"]) == (status, at, 0), got
                if not entry:
                    assert (await completed(bench, channel))["status"] == Status.RESERVED
                await ring.clear_error()
                host.mend(at + 9)
                bench.check_memory(channel, made, exact=False)
                bench.transfers += 1
                bench.checks += 1
                await bench.run(channel, [bench.any_transfer(channel, 20) for _ in range(3)])

    async def job(channel: str) -> None:
        ring = bench.rings[channel]
        await ring.enable()
        await late(channel, ring)
        await lost(channel, ring)
        await ring.disable()
        # Without rings, and with what the ring has left behind forgotten.
        await ring.enable()
        await ring.submit([_some(bench, channel, 200).record()[:RECORD_BYTES]])
        await bench.after(100)
        await ring.disable()
        await ring.enable()
        await bench.run(channel, [bench.any_transfer(channel, 50) for _ in range(4)])

    # One after the other: both push through the same registers.
    for channel in CHANNELS:
        await job(channel)


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
