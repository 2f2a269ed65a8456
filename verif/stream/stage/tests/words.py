"""What becomes of words: of every one, at every place, at any step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from cdma.hdl.spec.stage import Quantisation
from cdma.verif.simulator.monitors.rules import RuleError
from cdma.verif.simulator.monitors.stream_ends import PATTERNS, never_first
from cdma.verif.simulator.plan import planned
from cdma.verif.stream import bench
from cdma.verif.stream.bench import in_any_order, random_traffic, same_from_any_start
from cdma.verif.stream.packet import broken_keeps
from cdma.verif.stream.stage.context import Context, stage_test
from cdma.verif.stream.stage.packet import unkept


def _exponents(form: Quantisation) -> tuple[int, int, int]:
    return form.least_exponent, -3, form.greatest_exponent


def _at(form: Quantisation, exponent: int, half_steps: int) -> int | None:
    """The bits of so many halves of a step; None where that is no normal number."""
    number = form.number_type
    place = half_steps.bit_length() - 1
    stored = exponent - 1 + place + number.bias
    if not 0 < stored < (1 << number.exponent_bits) - 1:
        return None
    return stored << number.fraction_bits | (half_steps << number.fraction_bits >> place) - (
        1 << number.fraction_bits
    )


def _around(form: Quantisation, exponent: int) -> Iterator[int]:
    """Numbers at and beside each half step up to beyond the limit: all of them for integers of 8 bits, else some."""
    top = 2 * form.limit + 4
    for half_steps in range(1, top, max(1, top // 600)):
        bits = _at(form, exponent, half_steps)
        if bits is not None:
            for beside in (bits - 1, bits, bits + 1):
                yield from _both_signs(form, beside)


def _both_signs(form: Quantisation, bits: int) -> tuple[int, int]:
    return bits, bits | 1 << (form.number_type.bits - 1)


@planned(
    "every length up to three beats, at the least, a middle and the greatest step",
    "every bit of every word, keep, last and report",
)
@stage_test
async def fills(context: Context) -> None:
    for exponent in _exponents(context.config.form):
        lengths = range(1, 3 * context.config.lanes + 1)
        await in_any_order(context, [context.any_packet(length, exponent) for length in lengths])


@planned(
    "every integer, or every number of 16 bits, at the least, a middle and the greatest step; of fp32 "
    "numbers around each integer of a step and each half of one",
    "every bit of every word, keep, last and report",
    weight=8,
)
@stage_test
async def every(context: Context) -> None:
    form, bits = context.config.form, context.design.bits_in
    for exponent in _exponents(form):
        words = list(range(1 << bits)) if bits <= 16 else list(_around(form, exponent))
        context.rng.shuffle(words)
        context.bench.set_pauses()
        size = 40 * context.config.lanes + 1
        packets = [words[start : start + size] for start in range(0, len(words), size)]
        await context.bench.run([context.packet(packet, exponent) for packet in packets])


@planned(
    "infinities, NaN, subnormal numbers, the largest, and those at and below the limit of the integers, "
    "at each place of a beat, with the least, a middle and the greatest step",
    "every bit of every word, keep, last and report",
    needs=lambda design: design.quantises,
)
@stage_test
async def special(context: Context) -> None:
    form, lanes = context.config.form, context.config.lanes
    number = form.number_type
    infinite = ((1 << number.exponent_bits) - 1) << number.fraction_bits
    numbers = [
        0,
        1,
        (1 << number.fraction_bits) - 1,
        infinite - 1,
        infinite,
        infinite + 1,
        infinite | infinite >> 1,
    ]
    packets = []
    for exponent in _exponents(form):
        # The limit, the least that is out of range, and what is just below them.
        ends = [_at(form, exponent, 2 * form.limit), _at(form, exponent, 2 * form.limit + 1)]
        beside = [bits - below for bits in ends if bits is not None for below in (0, 1)]
        for word in (word for bits in (*numbers, *beside) for word in _both_signs(form, bits)):
            for lane in range(lanes):
                before = [0] * (lane + lanes * context.rng.randint(0, 3))
                words = [*before, word, *[0] * context.rng.randint(0, lanes)]
                packets.append(context.packet(words, exponent))
    for pauses in ({}, context.any_pauses()):
        context.bench.set_pauses(**pauses)
        await context.bench.run(packets)


@planned(
    "packets of numbers that are all out of range, with each stream held back in turn",
    "every bit of every word, keep, last and report",
    needs=lambda design: design.quantises,
)
@stage_test
async def beyond(context: Context) -> None:
    form, lanes, rng = context.config.form, context.config.lanes, context.rng
    largest = (((1 << form.number_type.exponent_bits) - 1) << form.number_type.fraction_bits) - 1
    for pauses in ({}, *({end: PATTERNS["scattered"](rng)} for end in ("input", "output", "report"))):
        packets = []
        for exponent in _exponents(form):
            for length in (1, lanes, 3 * lanes + 1):
                words = [rng.choice(_both_signs(form, largest + rng.randint(0, 2))) for _ in range(length)]
                packets += [context.packet(words, exponent)] * 4
        context.bench.set_pauses(**pauses)
        await context.bench.run(packets)


traffic = planned(
    "random packets, lengths and steps under random pauses on every stream; the port step is right only "
    "in the cycles of the contract",
    "every bit of every word, keep, last and report",
    weight=8,
)(stage_test(random_traffic, "traffic"))
starts = planned(
    "the same traffic from several random start values of the registers",
    "no output differs on any cycle",
    starts=3,
)(stage_test(same_from_any_start, "starts"))


@planned(
    "long packets without pauses, back to back",
    "a beat per cycle, for a quantiser a cycle more for each packet, and the latency of the contract",
)
@stage_test
async def rate(context: Context) -> None:
    bench, lanes = context.bench, context.config.lanes
    quantises = context.design.quantises
    between = 2 if quantises else 1
    bench.set_pauses()
    for length in (1, 2, 3, 64):
        deliveries = await bench.run([context.any_packet(length * lanes, 0) for _ in range(5)])
        for index, delivery in enumerate(deliveries):
            if delivery.latency != between and not index:
                raise RuleError(
                    f"the first beat comes out {delivery.latency} cycles after it went in, not {between}"
                )
            if delivery.given[-1] - delivery.given[0] != length - 1:
                raise RuleError(f"a packet of {length} beats comes out in more cycles: {delivery.given}")
            if index and delivery.given[0] - deliveries[index - 1].given[-1] > between:
                raise RuleError(f"more than a cycle passes between packets of {length} beats")
            context.tally.checks += 3


@planned(
    "sinks that wait for valid, long stalls on each stream in turn, late reports",
    "valid does not wait for ready; nothing hangs or is lost",
)
@stage_test
async def waiting(context: Context) -> None:
    await bench.long_stalls(context)


resets = planned("reset in mid-packet at any moment", "the next packet is whole", weight=2)(
    stage_test(bench.resets, "resets")
)


@planned(
    "beats with a hole, with a part of a word, without a word", "no word is kept; the next packet is unharmed"
)
@stage_test
async def holes(context: Context) -> None:
    keeps, lanes = max(1, context.design.bits_in // 8), context.config.lanes
    for keep in chain((0,), broken_keeps(context.rng, lanes, keeps)):
        for pauses in ({}, *(context.any_pauses() for _ in range(3)), {"output": never_first(context.rng)}):
            context.bench.set_pauses(**pauses)
            whole = context.any_packet(lanes)
            await context.bench.run([context.any_packet(), unkept(whole, keep), context.any_packet()])
