"""The blocks that move shapes, against shapes as plain data: the runs, the padding, the bursts, and what is refused."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import pytest
from amaranth.lib import wiring
from amaranth.sim import Simulator

from cdma.hdl.axi.arbiter import Scatter
from cdma.hdl.axi.ports import SPAN_BITS, PortShape
from cdma.hdl.engine.channel.shape_measure import ShapeMeasure
from cdma.hdl.engine.shapes.padding import Dropper, Filler
from cdma.hdl.engine.shapes.segments import AFTER, BEFORE, FIRST, PADDED, RUN, SIZE
from cdma.hdl.engine.shapes.walker import ShapeFeed
from cdma.hdl.spec.records import SHAPE_RECORD, RecordOptions, shape_values
from cdma.hdl.spec.shape import COUNT_BITS, PADDING_BITS, SPAN_LIMIT, Dimension, Shape, queued_rows
from cdma.sim.engine.shaped import runs

_BEAT = 8
_BITS = 40
_FIELDS = {field.name: 0 for field in SHAPE_RECORD}


def turns(measure: ShapeMeasure) -> Callable:
    """Shows the half of a request that is needed, a cycle later."""

    async def shown(ctx) -> None:
        while True:
            await ctx.tick()
            ctx.set(measure.extended, ctx.get(measure.wants_extension))

    return shown


def simulate(dut: wiring.Component, *processes: Callable) -> None:
    """Runs the processes until all have come to their end."""
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    for process in processes:
        simulator.add_testbench(process, background=process.__name__ == "shown")
    simulator.run()


def random_shape(rng: random.Random, dimensions: int, limit: int = SPAN_LIMIT, unit: int = _BEAT) -> Shape:
    """A shape of so many bytes each that spans so many at most, also one that overlaps itself, or whose rows touch."""
    run = unit * rng.randint(1, 3 * _BEAT // unit)
    shape = Shape(
        run,
        tuple(
            Dimension(
                rng.choice((1, 2, 3, 4, 40)),
                rng.choice((run, unit * rng.randint(-9, 9), rng.choice((-1, 1)) << 31)),
                rng.choice((0, 0, 1)),
                rng.choice((0, 0, 2)),
            )
            for _ in range(rng.randint(0, dimensions))
        ),
        unit * rng.choice((0, 0, 1)),
        unit * rng.choice((0, 0, 2)),
    )
    return shape if shape.span <= limit else random_shape(rng, dimensions, limit, unit)


def _of_few_rows(rng: random.Random, dimensions: int, unit: int) -> Shape:
    """A shape of 1,200 rows at most, which are more than anything here keeps."""
    shape = random_shape(rng, dimensions, unit=unit)
    few = math.prod(each.total for each in shape.dimensions) <= 1200
    return shape if few else _of_few_rows(rng, dimensions, unit)


async def give(ctx, stream, payload) -> None:
    """Offers one transfer until it is taken."""
    ctx.set(stream.payload, payload)
    ctx.set(stream.valid, 1)
    await ctx.tick().until(stream.ready)
    ctx.set(stream.valid, 0)


async def push(ctx, port, first: int, shape: Shape, dimensions: int) -> None:
    """Writes the numbers of a shape, as its measure does, once there is room."""
    whole = [*shape.dimensions, *[Dimension(1, 0)] * (dimensions - len(shape.dimensions))]
    lengths = {RUN: shape.run, BEFORE: shape.before, AFTER: shape.after, PADDED: shape.row}
    numbers = [(row, length - 1, row == SIZE, 1) for row, length in lengths.items()]
    for number, axis in enumerate(whole, 1):
        numbers.append((2 * number, axis.stride, 1, 0))
        extent = axis.count | axis.before << COUNT_BITS | axis.after << COUNT_BITS + PADDING_BITS
        numbers.append((2 * number + 1, extent, 1, 0))
    await ctx.tick().until(port.room)
    ctx.set(port.frame, {"before": bool(shape.before), "after": bool(shape.after), "frequent": 0})
    for row, value, walks, cuts in (*numbers, (FIRST, first, 1, 0)):
        ctx.set(port.row, row)
        ctx.set(port.value, value % (1 << SPAN_BITS))
        ctx.set(port.walks, walks)
        ctx.set(port.cuts, cuts)
        ctx.set(port.push, row == FIRST and not cuts)
        await ctx.tick()
    ctx.set(port.push, 0)
    ctx.set(port.walks, 0)


async def take(ctx, stream, rng: random.Random):
    """Takes one transfer, at times after a pause."""
    while rng.random() < 0.3:
        await ctx.tick()
    ctx.set(stream.ready, 1)
    for _ in range(10_000):
        *_, payload, valid = await ctx.tick().sample(stream.payload, stream.valid)
        if valid:
            ctx.set(stream.ready, 0)
            return payload
    raise AssertionError("nothing comes")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dimensions", "lane_bits", "reads"), [(1, 0, True), (4, 0, True), (2, 3, True), (2, 2, False)]
)
def test_every_row_of_a_shape_is_moved_once_and_in_order(
    dimensions: int, lane_bits: int, reads: bool
) -> None:
    """In whole beats, and in words of a byte and of two."""
    rng = random.Random(dimensions)
    unit = _BEAT >> lane_bits
    feed = ShapeFeed(dimensions, _BITS, 3, outstanding=2, lane_bits=lane_bits, reads=reads)
    most = 1 if lane_bits else queued_rows(2)
    jobs = [
        (
            rng.choice((1 << 36, (1 << 34) - 64, 3 << 33)) + rng.randrange(0, _BEAT, unit),
            None if rng.random() < 0.2 else _of_few_rows(rng, dimensions, unit),
        )
        for _ in range(60)
    ]

    async def shapes(ctx) -> None:
        for address, shape in jobs:
            if shape is not None:
                await push(ctx, feed.shapes, address, shape, dimensions)

    async def commands(ctx) -> None:
        for address, shape in jobs:
            low, span = (0, 4096) if shape is None else (shape.lowest, shape.span)
            first = address + low
            await give(
                ctx, feed.input, {"first": first, "last": first + span - 1, "shaped": int(shape is not None)}
            )

    async def given(ctx) -> None:
        own = random.Random(7)
        for address, shape in jobs:
            wanted = [(address, 4096)] if shape is None else list(runs(address, shape, most))
            for number, (first, count) in enumerate(wanted):
                got = await take(ctx, feed.command, own)
                assert (got.first, got.last) == (first, first + count - 1), shape
                assert got.more == (number < len(wanted) - 1), shape

    async def marked(ctx) -> None:
        own = random.Random(8)
        for address, shape in jobs:
            if shape is None:
                got = await take(ctx, feed.segments, own)
                assert (got.whole, got.last) == (1, 1)
                if lane_bits:
                    _check_lanes(got, address, 0, unit, reads)
                continue
            wanted, at, places = [], 0, (row for row in shape.rows() if row is not None)
            for row in shape.rows():
                parts = (
                    [(1, shape.row)] if row is None else [(1, shape.before), (0, shape.run), (1, shape.after)]
                )
                wanted += [(padding, count) for padding, count in parts if count]
            for number, (padding, count) in enumerate(wanted):
                got = await take(ctx, feed.segments, own)
                assert (got.whole, got.padding) == (0, padding), shape
                first = at if padding else _check_lanes(got, address + next(places), at, unit, reads)
                assert got.beats + 1 == -(-(first % _BEAT + count) // _BEAT), shape
                if lane_bits:
                    assert (got.first, got.final) == (
                        first % _BEAT // unit,
                        (first + count - 1) % _BEAT // unit,
                    )
                    assert not padding or (got.shift, got.wraps) == (0, 0)
                at += count
                assert got.last == (number == len(wanted) - 1), shape

    simulate(feed, shapes, commands, given, marked)


def test_a_run_goes_before_the_padding_behind_it() -> None:
    """However much that is: nothing of it is cut before the data of the run have come."""
    feed = ShapeFeed(2, _BITS, 3, outstanding=2)
    shape = Shape(8, (Dimension(3, 8, after=200), Dimension(2, 1 << 20)))

    async def given(ctx) -> None:
        await push(ctx, feed.shapes, 64, shape, 2)
        ctx.set(feed.input.payload, {"first": 64, "last": 64 + shape.span - 1, "shaped": 1})
        ctx.set(feed.input.valid, 1)
        await ctx.tick().repeat(100)
        run = ctx.get(feed.command.payload)
        assert ctx.get(feed.command.valid)
        assert (run.first, run.last, run.more) == (64, 87, 1)

    simulate(feed, given)


def _check_lanes(got, address: int, at: int, unit: int, reads: bool) -> int:
    """Looks where a row is moved, whose address and place in the stream are given; gives where it comes from."""
    comes, goes = (address, at) if reads else (at, address)
    if unit < _BEAT:
        comes, goes = (place % _BEAT // unit for place in (comes, goes))
        assert (got.first, got.shift, got.wraps) == (comes, (goes - comes) % (_BEAT // unit), comes > goes)
        return comes * unit
    return 0


def _segments(rng: random.Random) -> list[tuple[int, int]]:
    """Segments of a shape, one of them at least of data."""
    found = [(rng.randint(0, 1), rng.randint(1, 4)) for _ in range(rng.randint(1, 5))]
    return [*found, (0, 2)] if all(padding for padding, _ in found) else found


def test_padding_goes_in_and_out_of_packets() -> None:
    rng = random.Random(3)
    filler, dropper = Filler(8, 1), Dropper(8, 1)
    packets = [_segments(rng) for _ in range(80)]
    beats = [
        [
            (0xFE if padding else rng.randint(0, 99), padding)
            for padding, count in packet
            for _ in range(count)
        ]
        for packet in packets
    ]
    # Every other packet ends early on its way back.
    ends = [rng.randint(1, len(packet)) if number % 2 else len(packet) for number, packet in enumerate(beats)]

    def segments(dut: Filler | Dropper) -> Callable:
        async def given(ctx) -> None:
            for packet in packets:
                for number, (padding, count) in enumerate(packet):
                    last = int(number == len(packet) - 1)
                    await give(
                        ctx,
                        dut.segments,
                        {"whole": 0, "padding": padding, "last": last, "beats": count - 1, "frequent": 1},
                    )

        return given

    async def data_in(ctx) -> None:
        for packet in beats:
            for value, padding in packet:
                if not padding:
                    await give(ctx, filler.input, {"data": [value], "keep": 1, "last": 0})

    async def filled(ctx) -> None:
        ctx.set(filler.fill, 0xFE)
        for packet in beats:
            for number, (value, _) in enumerate(packet):
                got = await take(ctx, filler.output, rng)
                assert (got.data[0], got.keep, got.last) == (value, 1, number == len(packet) - 1)

    async def stream_in(ctx) -> None:
        for packet, end in zip(beats, ends, strict=True):
            for number, (value, _) in enumerate(packet[:end]):
                await give(ctx, dropper.input, {"data": [value], "keep": 1, "last": int(number == end - 1)})

    async def dropped(ctx) -> None:
        for packet, end in zip(beats, ends, strict=True):
            wanted = [value for value, padding in packet[:end] if not padding]
            got, last = [], 0
            while not last:
                beat = await take(ctx, dropper.output, rng)
                got += [beat.data[0]] if beat.keep else []
                last = beat.last
            assert got == wanted

    simulate(filler, segments(filler), data_in, filled)
    simulate(dropper, segments(dropper), stream_in, dropped)


def test_a_packet_that_ends_in_padding_waits_for_no_row() -> None:
    """Its end may be taken only when a row behind the padding has come, and that when the padding is passed over."""
    dropper = Dropper(8, 1)
    rows = 20

    async def check(ctx) -> None:
        await give(ctx, dropper.segments, {"padding": 1, "beats": 3})
        ctx.set(dropper.input.payload, {"data": [1], "keep": 1, "last": 1})
        ctx.set(dropper.input.valid, 1)
        for _ in range(8):
            if ctx.get(dropper.input.ready):
                break
            await ctx.tick()
        assert ctx.get(dropper.input.ready), "the end is taken"
        await ctx.tick()
        ctx.set(dropper.input.valid, 0)
        for number in range(rows):
            ctx.set(dropper.segments.payload, {"padding": number < rows - 1, "last": number == rows - 1})
            ctx.set(dropper.segments.valid, 1)
            for _ in range(4):
                if ctx.get(dropper.segments.ready):
                    break
                await ctx.tick()
            assert ctx.get(dropper.segments.ready), f"{number} rows are passed over"
            await ctx.tick()
        ctx.set(dropper.segments.valid, 0)
        end = await take(ctx, dropper.output, random.Random(1))
        assert (end.keep, end.last) == (0, 1)

    simulate(dropper, check)


def test_bursts_have_every_beat_of_the_runs_and_none_besides() -> None:
    rng = random.Random(4)
    shape = PortShape(
        word_bits=32, data_bits=64, address_bits=_BITS, burst=4, outstanding=4, buffer=16, rows=True
    )
    scatter = Scatter(shape)
    packets = []
    for _ in range(150):
        places = [(8 * rng.randint(0, 1 << 20), rng.randint(1, 11)) for _ in range(rng.randint(1, 4))]
        total = sum(count for _, count in places)
        packets.append((places, total if rng.random() < 0.6 else rng.randint(1, total), rng.randint(0, 2)))

    async def commands(ctx) -> None:
        for places, _, _ in packets:
            for number, (first, count) in enumerate(places):
                more = int(number < len(places) - 1)
                await give(
                    ctx, scatter.command, {"first": first, "last": first + 8 * count - 1, "more": more}
                )

    async def data_in(ctx) -> None:
        ctx.set(scatter.admit, 1)
        for _, beats, words in packets:
            for number in range(beats):
                last = number == beats - 1
                keep = (1 << words) - 1 if last else 3
                await give(ctx, scatter.input, {"data": [number, number], "keep": keep, "last": int(last)})

    async def given(ctx) -> None:
        for places, beats, words in packets:
            got, stored, end = [], 0, 0
            while not end:
                _, _, burst, valid, keeps = await ctx.tick().sample(
                    scatter.bursts.payload, scatter.bursts.valid, scatter.store.valid
                )
                stored += keeps
                if not valid:
                    continue
                if not burst.none:
                    assert burst.beat % 4 + burst.len < 4
                    got += [8 * (burst.beat + beat) for beat in range(burst.len + 1)]
                end = burst.end
            addresses = [first + 8 * beat for first, size in places for beat in range(size)]
            there = beats - (words == 0)
            assert got == addresses[:there]
            assert stored == there

    async def counted(ctx) -> None:
        for _, beats, words in packets:
            (count,) = await ctx.tick().sample(scatter.end).until(scatter.ended)
            assert count == 8 * (beats - 1) + 4 * words

    simulate(scatter, commands, data_in, given, counted)


@pytest.mark.parametrize("bits", [64, 256])
def test_beats_beyond_the_capacity_are_dropped_from_the_first_on(bits: int) -> None:
    """Packets of any length for commands of any, which may end within a beat."""
    rng = random.Random(bits)
    size, lanes = bits // 8, bits // 32
    shape = PortShape(
        word_bits=32,
        data_bits=bits,
        address_bits=_BITS,
        burst=4,
        outstanding=4,
        buffer=16,
        rows=True,
        limited=True,
    )
    scatter = Scatter(shape)
    packets = []
    for _ in range(150):
        places = [
            (size * rng.randint(0, 1 << 20), size * rng.randint(1, 11)) for _ in range(rng.randint(1, 4))
        ]
        first, room = places[-1]
        places[-1] = first, max(1, room - rng.randint(0, size))
        total = sum(room for _, room in places) // 4 or 1
        packets.append(
            (places, max(1, rng.choice((total, total + rng.randint(-9, 9), rng.randint(1, 2 * total)))))
        )

    async def commands(ctx) -> None:
        for places, _ in packets:
            for number, (first, room) in enumerate(places):
                last, more = first + room - 1, int(number < len(places) - 1)
                await give(ctx, scatter.command, {"first": first, "last": last, "more": more})

    async def data_in(ctx) -> None:
        ctx.set(scatter.admit, 1)
        for _, words in packets:
            for left in range(words, 0, -lanes):
                keep = (1 << min(left, lanes)) - 1
                await give(ctx, scatter.input, {"keep": keep, "last": int(left <= lanes)})

    async def given(ctx) -> None:
        for places, words in packets:
            got, stored, end = [], 0, 0
            while not end:
                _, _, burst, valid, keeps = await ctx.tick().sample(
                    scatter.bursts.payload, scatter.bursts.valid, scatter.store.valid
                )
                stored += keeps
                if valid and not burst.none:
                    got += [size * (burst.beat + beat) for beat in range(burst.len + 1)]
                end = valid and burst.end
            addresses = [first + at for first, room in places for at in range(0, room, size)]
            room = sum(room for _, room in places)
            lost = 4 * words > room
            whole = room // size if lost else -(-4 * words // size)
            assert got == addresses[:whole]
            assert stored == whole
            assert burst.overflow == lost
            if lost:
                beyond = addresses[whole - 1] + size if whole == len(addresses) else addresses[whole]
                assert size * burst.beat == beyond

    async def counted(ctx) -> None:
        for places, words in packets:
            room = sum(room for _, room in places)
            (count,) = await ctx.tick().sample(scatter.end).until(scatter.ended)
            assert count == (size * (room // size) if 4 * words > room else 4 * words)

    simulate(scatter, commands, data_in, given, counted)


def test_the_rest_of_a_command_is_passed_over_at_once() -> None:
    """However much room it has: a capacity may be far beyond what comes."""
    shape = PortShape(
        word_bits=32, data_bits=64, address_bits=_BITS, burst=4, outstanding=4, buffer=16, rows=True
    )
    scatter = Scatter(shape)

    async def commands(ctx) -> None:
        for first in (0, 1 << 34):
            await give(ctx, scatter.command, {"first": first, "last": first + (1 << 32) - 1, "more": 0})

    async def data_in(ctx) -> None:
        ctx.set(scatter.admit, 1)
        for _ in range(2):
            await give(ctx, scatter.input, {"data": [1, 2], "keep": 3, "last": 1})

    async def given(ctx) -> None:
        found = []
        for _ in range(40):
            if ctx.get(scatter.bursts.valid):
                burst = ctx.get(scatter.bursts.payload)
                found.append((burst.beat, burst.len, burst.end))
            await ctx.tick()
        assert found == [(0, 0, 1), (1 << 31, 0, 1)]

    simulate(scatter, commands, data_in, given)


@pytest.mark.parametrize("compressing", [True, False], ids=["read", "written"])
def test_a_shape_is_measured_and_refused_as_its_data_say(compressing: bool) -> None:
    rng = random.Random(5)
    measure = ShapeMeasure(RecordOptions(dimensions=3), compressing=compressing, align_log2=3)
    refused = 0

    async def check(ctx) -> None:
        nonlocal refused
        ctx.set(measure.run, 1)
        ctx.set(measure.walk.room, 1)
        for number in range(150):
            shape = random_shape(rng, 3, 8 * SPAN_LIMIT)
            if number == 0:
                # Four steps of 4 GiB: a multiple of what the sum has room for.
                shape = Shape(8, (Dimension(5, 1 << 32),))
            elif rng.random() < 0.1:
                shape = Shape(shape.run + 4 * rng.randint(0, 1), shape.dimensions, 0, 4 * rng.randint(0, 1))
            length = shape.length + (8 if number and rng.random() < 0.1 else 0)
            address = 1 << rng.choice((20, 36, 40))
            fields = _FIELDS | shape_values(shape)
            twice = number > 0 and rng.random() < 0.05
            if twice:
                fields |= {"order_1": 1, "order_2": 1}
            name = "source" if compressing else "destination"
            descriptor = {name: address, "length": length, "shaped": 1}
            ctx.set(measure.input.valid, 1)
            if rng.random() < 0.5:
                # One of many bytes is given up amid its measurement, and nothing of it is added to the next one.
                far = Shape(8, (Dimension(rng.randint(2, 40), (1 << 33) - 8),))
                ctx.set(
                    measure.input.payload,
                    {"descriptor": descriptor, "extension": _FIELDS | shape_values(far)},
                )
                await ctx.tick().repeat(rng.randint(4, 12))
                ctx.set(measure.run, 0)
                await ctx.tick()
                ctx.set(measure.run, 1)
            ctx.set(measure.input.payload, {"descriptor": descriptor, "extension": fields})
            (got,) = await ctx.tick().sample(measure.measured).until(measure.output.valid)
            ctx.set(measure.output.ready, 1)
            await ctx.tick()
            ctx.set(measure.output.ready, 0)
            ctx.set(measure.input.valid, 0)
            await ctx.tick()
            why = shape.objection(align=8, dimensions=3, writes=not compressing)
            assert got.wrong == bool(why or twice or length != shape.length), (shape, why)
            assert got.reserved == 0
            refused += got.wrong
            if not got.wrong:
                assert got.span == shape.span
                assert not compressing or got.moved == shape.moved
                assert (got.lowest - (got.beneath << 64)) == address + shape.lowest
        assert 20 < refused < 140

    simulate(measure, check, turns(measure))


@pytest.mark.parametrize("dimensions", [1, 3])
def test_everything_that_must_be_zero_in_an_extension_is_seen(dimensions: int) -> None:
    """A reserved field is one, and a field of a dimension that the engine does not have makes the shape none that it takes.
    The order of such dimensions is ignored."""
    measure = ShapeMeasure(RecordOptions(dimensions=dimensions), compressing=True, align_log2=3)
    missing = [
        f"{name}_{n}" for n in range(dimensions + 1, 5) for name in ("stride", "count", "before", "after")
    ]
    ignored = [f"order_{n}" for n in range(dimensions + 1, 5)]
    plain = _FIELDS | shape_values(Shape(64)) | dict.fromkeys(ignored, 0)

    async def check(ctx) -> None:
        ctx.set(measure.run, 1)
        ctx.set(measure.walk.room, 1)
        ctx.set(measure.input.payload.descriptor, {"length": 64, "shaped": 1})
        for field in SHAPE_RECORD:
            for bit in (0, field.bits // 2, field.bits - 1):
                ctx.set(measure.input.payload.extension, plain | {field.name: plain[field.name] ^ 1 << bit})
                ctx.set(measure.input.valid, 1)
                (got,) = await ctx.tick().sample(measure.measured).until(measure.output.valid)
                assert got.reserved == field.reserved, field
                if field.name in (*missing, *ignored):
                    assert got.wrong == (field.name in missing), field
                ctx.set(measure.output.ready, 1)
                await ctx.tick()
                ctx.set(measure.output.ready, 0)
                ctx.set(measure.input.valid, 0)
                await ctx.tick()

    simulate(measure, check, turns(measure))
