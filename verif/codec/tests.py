"""The cocotb tests of compressor and decompressor; :mod:`cdma.verif.codec.plan` says what each is about.

They run inside a simulation that :mod:`cdma.verif.simulator.simulate` starts, and leave what they did in a result file.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat

import numpy as np
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from cdma.sim.codec.model import compress_words
from cdma.sim.codec.words import Words
from cdma.verif.monitors.pauses import PATTERNS, always, never_first, pattern
from cdma.verif.monitors.rules import Beat, RuleError

from . import stimulus
from .bench import Delivery
from .context import Context, codec_test
from .traffic import Packet, corrupt_packet, malformed_packet

__all__: list[str] = []


@codec_test
async def lengths(context: Context) -> None:
    for density in (0.0, 0.5, 1.0):
        packets = [
            context.from_mask(stimulus.scattered(context.np, length, density))
            for length in stimulus.boundary_lengths(context.config)
        ]
        context.bench.set_pauses()
        await context.bench.run(packets)
        context.rng.shuffle(packets)
        context.bench.set_pauses(**context.any_pauses())
        await context.bench.run(packets)


@codec_test
async def soak(context: Context) -> None:
    left = context.budget
    while left > 0:
        count = min(left, context.rng.choice((1, 5, 20, 40)))
        context.new_table()
        context.bench.set_pauses(**context.any_pauses())
        await context.bench.run([context.any_packet() for _ in range(count)])
        left -= count


def _check_bound(context: Context, delivery: Delivery, what: str) -> None:
    limit = delivery.packet.cost + context.limits.constant
    context.tally.checks += 1
    slack = limit - delivery.cycles
    notes = context.tally.notes
    notes["least_slack"] = min(slack, notes.get("least_slack", slack))
    if slack < 0:
        raise RuleError(
            f"{what}: {delivery.cycles} cycles from the first beat in to the last beat out, "
            f"the bound is {limit} ({delivery.packet.cost} + {context.limits.constant})"
        )


@codec_test
async def bound(context: Context) -> None:
    config, bench = context.config, context.bench
    repeats = max(4, 64 // config.beats)
    bench.set_pauses()

    async def alone(mask: stimulus.Mask, what: str) -> None:
        for delivery in await bench.run([context.from_mask(mask)]):
            _check_bound(context, delivery, what)

    for index, mask in enumerate(stimulus.adversarial(config, repeats)):
        await alone(mask, f"adversarial pattern {index}")
    window = config.format.window
    for density in (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0):
        await alone(stimulus.scattered(context.np, 12 * window, density), f"density {density}")
        await alone(stimulus.clustered(context.np, 12 * window + 3, density), f"clustered, density {density}")
        await alone(stimulus.alternating(context.np, 13 * window, config), "alternating windows")
    for index in range(max(10, context.budget // 40)):
        await alone(stimulus.periodic(context.np, config, repeats), f"random period {index}")
    for index in range(max(10, context.budget // 20)):
        count = stimulus.some_length(context.np, config)
        await alone(stimulus.mixed(context.np, count, config), f"random packet {index}")


@codec_test
async def back_to_back(context: Context) -> None:
    config, bench = context.config, context.bench
    more = context.limits.back_to_back
    bench.set_pauses()

    async def run(packets: Sequence[Packet], what: str) -> None:
        deliveries = await bench.run(packets)
        start, allowed = deliveries[0].first_in, context.limits.constant
        for index, delivery in enumerate(deliveries):
            allowed += delivery.packet.cost + (more if index else 0)
            context.tally.checks += 1
            if delivery.last_out - start + 1 > allowed:
                raise RuleError(
                    f"{what}: packet {index} is out {delivery.last_out - start + 1} cycles after the first "
                    f"of them began, the bound is {allowed}"
                )

    for density in (0.0, 1.0):
        for length in {1, 2, config.lanes, config.lanes + 1, config.format.window, config.format.window + 1}:
            shape = stimulus.scattered(context.np, length, density)
            await run([context.from_mask(shape) for _ in range(40)], f"packets of {length} words")
    for index in range(max(5, context.budget // 200)):
        await run([context.any_packet() for _ in range(30)], f"random packets {index}")


@codec_test
async def latency(context: Context) -> None:
    config, bench = context.config, context.bench
    bench.set_pauses()
    limit = context.limits.latency
    worst = 0
    for windows in (1, 1, 2, 5):
        mask = np.ones(windows * config.format.window, bool)
        for delivery in await bench.run([context.from_mask(mask)]):
            worst = max(worst, delivery.first_out - delivery.first_in)
            context.tally.checks += 1
    context.tally.notes["latency"] = worst
    if worst > limit:
        raise RuleError(
            f"the first beat of a dense window comes out {worst} cycles after the first in, limit {limit}"
        )


@codec_test
async def patience(context: Context) -> None:
    bench = context.bench
    packets = [context.any_packet() for _ in range(20)]
    bench.set_pauses(output=never_first(context.rng), report=never_first(context.rng))
    await bench.run(packets)
    ends = ["input", "output", "report"] + ([] if context.compresses else ["length"])
    for end in ends:
        for name in ("long_stalls", "scattered"):
            bench.set_pauses(**{end: PATTERNS[name](context.rng)})
            await bench.run(packets)
    # Reports are taken late: what they hold up must go on as soon as they are.
    quiet = 0

    def reports_last(there: bool) -> bool:
        nonlocal quiet
        quiet = quiet + 1 if there else 0
        return quiet < 100

    bench.set_pauses(report=reports_last)
    await bench.run(packets[:6])
    if bench.length is not None:
        waited = 0

        def lengths_late() -> bool:
            nonlocal waited
            waited = (waited + 1) % 80
            return waited != 0

        bench.set_pauses()
        bench.length.gate = lengths_late
        await bench.run(packets[:10])
        bench.length.gate = None


@codec_test
async def reset(context: Context) -> None:
    bench = context.bench
    for _ in range(max(20, context.budget // 20)):
        context.new_table()
        bench.set_pauses(**context.any_pauses())
        bench.offer([context.any_packet() for _ in range(3)])
        for _ in range(context.rng.randint(1, 60)):
            await bench.cycle()
        await bench.reset(context.rng.randint(1, 3))
        bench.set_pauses(**context.any_pauses())
        await bench.run([context.any_packet() for _ in range(2)])


def _break_beats(context: Context, beats: Sequence[Beat]) -> list[Beat]:
    """The beats with one of them made malformed: a hole, a cut word, nothing in it, or too little."""
    config = context.config
    size = config.format.word_bits // 8
    whole = (1 << (config.lanes * size)) - 1
    index = context.rng.randrange(len(beats))
    beat = beats[index]
    kinds = ["empty"]
    if len(beats) > 1:
        kinds.append("early")
    if beat.keep.bit_length() > size:
        kinds += ["hole", "no first lane"]
    if size > 1:
        kinds.append("cut")
    kind = context.rng.choice(kinds)
    keep = beat.keep
    if kind == "empty":
        keep = 0
    elif kind == "early":
        index = context.rng.randrange(len(beats) - 1)
        beat = beats[index]
        keep = whole >> (size * context.rng.randint(1, config.lanes - 1)) if config.lanes > 1 else 0
    elif kind == "hole":
        lane = context.rng.randrange(keep.bit_length() // size - 1)
        keep &= ~(((1 << size) - 1) << (lane * size))
    elif kind == "no first lane":
        keep &= ~((1 << size) - 1)
    else:
        keep = keep >> context.rng.randint(1, size - 1)
    return [*beats[:index], Beat(beat.data, keep, beat.last), *beats[index + 1 :]]


@codec_test
async def malformed(context: Context) -> None:
    bench = context.bench
    for _ in range(max(30, context.budget // 20)):
        bench.set_pauses(**(context.any_pauses() if context.rng.random() < 0.7 else {}))
        good = context.any_packet()
        bad = malformed_packet(_break_beats(context, good.beats), good.length)
        await bench.run([context.any_packet(), bad, context.any_packet()])


def _corruptions(context: Context) -> list[Packet]:
    """One stream, damaged in every way there is."""
    rng, config = context.rng, context.config
    form = config.format
    length = stimulus.some_length(context.np, config)
    words = context.fill(stimulus.mixed(context.np, length, config))
    stream = compress_words(words, form)
    top = 1 << form.word_bits
    damaged: list[tuple[Words, int]] = []
    for cut in {1, len(stream) - 1, *(rng.randint(1, len(stream)) for _ in range(4))}:
        if 0 < cut < len(stream):
            damaged.append((stream[:cut], length))
    for more in (1, rng.randint(1, 3 * form.window)):
        extra = context.np.integers(0, top, more, np.uint64).astype(stream.dtype)
        damaged.append((np.concatenate([stream, extra]), length))
    for offset in (-1, 1, -config.lanes, config.lanes, rng.randint(-length, 2 * form.window)):
        damaged.append((stream, max(0, length + offset)))
    damaged.append((stream, 0))
    damaged.append((stream, rng.getrandbits(32)))
    for _ in range(4):
        flipped = stream.copy()
        flipped[rng.randrange(len(stream))] ^= 1 << rng.randrange(form.word_bits)
        damaged.append((flipped, length))
    if form.header_words:
        # The header of the last window, where codes past the end must be 0.
        header = stream.copy()
        windows = -(-length // form.window)
        before = compress_words(words[: (windows - 1) * form.window], form) if windows > 1 else stream[:0]
        header[len(before) + rng.randrange(form.header_words)] ^= 1 << rng.randrange(form.word_bits)
        damaged.append((header, length))
    garbage = context.np.integers(0, top, rng.randint(1, 4 * form.window), np.uint64).astype(stream.dtype)
    damaged.append((garbage, rng.randint(0, 5 * form.window)))
    return [corrupt_packet(stream, length, config) for stream, length in damaged]


@codec_test
async def corrupt(context: Context) -> None:
    bench = context.bench
    errors: dict[int, int] = {}
    for _ in range(max(20, context.budget // 40)):
        context.new_table()
        packets = _corruptions(context)
        for packet in packets:
            errors[packet.report.error] = errors.get(packet.report.error, 0) + 1
        sound = [context.any_packet() for _ in range(len(packets))]
        order = [packet for pair in zip(packets, sound, strict=True) for packet in pair]
        if context.rng.random() < 0.3:
            context.rng.shuffle(order)
        bench.set_pauses(**(context.any_pauses() if context.rng.random() < 0.7 else {}))
        await bench.run(order)
    context.tally.notes["errors"] = errors
    if not context.codec_bench.errors <= errors.keys():
        raise RuleError(f"not every kind of corruption came up: {errors}")


@codec_test
async def start(context: Context) -> None:
    bench = context.bench
    bench.set_pauses()
    await bench.run([context.any_packet() for _ in range(20)])
    bench.set_pauses(**context.any_pauses())
    await bench.run([context.any_packet() for _ in range(20)])
    context.tally.notes["digest"] = bench.digest


@codec_test
async def interop(context: Context) -> None:
    dut = context.dut
    source = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.aclk, dut.aresetn, False)
    sink = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.aclk, dut.aresetn, False)
    reports = AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_report"), dut.aclk, dut.aresetn, False)
    lengths = None
    if not context.compresses:
        lengths = AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_length"), dut.aclk, dut.aresetn, False)
    ends = [end for end in (source, sink, reports, lengths) if end is not None]
    for end in ends:
        end.log.setLevel("WARNING")
    await ClockCycles(dut.aclk, 2)
    for round_ in range(4):
        for end in ends:
            pause = pattern(context.rng, sink=False)[1] if round_ else always(context.rng)
            end.set_pause_generator(map(pause, repeat(True)))
        packets = [context.any_packet() for _ in range(10)]
        for packet in packets:
            raw = b"".join(beat.data.to_bytes(beat.keep.bit_length(), "little") for beat in packet.beats)
            await source.send(AxiStreamFrame(raw))
            if lengths is not None:
                assert packet.length is not None
                await lengths.send(AxiStreamFrame(packet.length.to_bytes(4, "little")))
        for index, packet in enumerate(packets):
            frame = await sink.recv()
            report = await reports.recv()
            want = packet.report
            fields = (want.words_in, want.words_out, want.literals, want.error)
            expected = sum(value << shift for value, shift in zip(fields, (0, 32, 64, 96), strict=True))
            assert packet.expected is not None
            delivered = b"".join(
                beat.data.to_bytes(beat.keep.bit_length(), "little") for beat in packet.expected
            )
            if bytes(frame.tdata) != delivered or int.from_bytes(report.tdata, "little") != expected:
                raise RuleError(f"round {round_}, packet {index}: data or report differ from the model's")
            context.tally.packets += 1
            context.tally.words += packet.words
            context.tally.checks += 2
