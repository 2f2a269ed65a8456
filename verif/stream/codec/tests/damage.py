"""Packets that break the rules of packing, and streams that are damaged."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from cdma.hdl.spec.codec import CodecConfig
from cdma.sim.codec.model import PADDING, compress_words
from cdma.sim.codec.words import Words
from cdma.verif.simulator.monitors.rules import Beat, RuleError
from cdma.verif.simulator.monitors.stream_ends import spaced
from cdma.verif.simulator.plan import planned
from cdma.verif.stream.codec import stimulus
from cdma.verif.stream.codec.context import Context, codec_test
from cdma.verif.stream.codec.stimulus import CodecPacket, corrupt_packet, malformed_packet
from cdma.verif.stream.packet import broken_keeps

#: Streams of sparse windows that are cut after each word.
_SPARSE = 6
#: Bits of the length of a packet.
_LENGTH_BITS = 32


def _keeps(context: Context) -> tuple[int, int]:
    """The bits of ``keep`` of a word at the input, and the words of a beat."""
    bits = context.design.bits_in
    return max(1, bits // 8), context.config.data_bits // bits


def _break_beats(context: Context, beats: Sequence[Beat]) -> list[Beat]:
    """The beats with one of them made malformed: a hole, a cut word, nothing in it, or too little."""
    size, words = _keeps(context)
    whole = (1 << size * words) - 1
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
        keep = whole >> (size * context.rng.randint(1, words - 1)) if whole >> size else 0
    elif kind == "hole":
        lane = context.rng.randrange(keep.bit_length() // size - 1)
        keep &= ~(((1 << size) - 1) << (lane * size))
    elif kind == "no first lane":
        keep &= ~((1 << size) - 1)
    else:
        keep = keep >> context.rng.randint(1, size - 1)
    return [*beats[:index], Beat(beat.data, keep, beat.last), *beats[index + 1 :]]


@planned(
    "holes and cut words in each lane, empty beats, early partial beats",
    "error 4; the next packet is unharmed",
    weight=2,
)
@codec_test
async def malformed(context: Context) -> None:
    bench = context.bench
    keeps, words = _keeps(context)
    for keep in broken_keeps(context.rng, words, keeps):
        for pauses in ({}, context.any_pauses()):
            bench.set_pauses(**pauses)
            good = context.any_packet(context.rng.randint(1, 2 * context.config.lanes))
            beats = [*good.beats[:-1], Beat(good.beats[-1].data, keep, True)]
            await bench.run([malformed_packet(beats, good.length), context.any_packet()])
    for _ in range(max(12, context.budget // 20)):
        bench.set_pauses(**(context.any_pauses() if context.rng.random() < 0.7 else {}))
        good = context.any_packet()
        bad = malformed_packet(_break_beats(context, good.beats), good.length)
        await bench.run([context.any_packet(), bad, context.any_packet()])


def _corruptions(context: Context) -> list[CodecPacket]:
    """One stream, damaged in every way there is."""
    rng, config = context.rng, context.config
    form = config.format
    length = stimulus.some_length(context.np, config)
    words = context.fill(stimulus.mixed(context.np, length, config))
    stream = compress_words(words, form)
    top = 1 << form.stream_bits
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
        flipped[rng.randrange(len(stream))] ^= 1 << rng.randrange(form.stream_bits)
        damaged.append((flipped, length))
    if form.header_words:
        # The header of the last window, where codes past the end must be 0.
        windows = -(-length // form.window)
        before = compress_words(words[: (windows - 1) * form.window], form) if windows > 1 else stream[:0]
        begin = len(before) + form.mask_words * ((windows - 1) % form.group == 0)
        if begin < len(stream):
            header = stream.copy()
            header[begin + rng.randrange(form.header_words)] ^= 1 << rng.randrange(form.stream_bits)
            damaged.append((header, length))
            # The same, and nothing after it: the code is wrong, and words are missing.
            damaged.append((header[: begin + form.header_words], length))
    if form.mask_words:
        # The mask of the last group, where bits of windows past the end must be 0.
        mask = stream.copy()
        begin = len(compress_words(words[: length - (length - 1) % form.group_words - 1], form))
        mask[begin + rng.randrange(form.mask_words)] ^= 1 << rng.randrange(form.stream_bits)
        damaged.append((mask, length))
    if form.padded:
        # The last byte, where the last window often has padding.
        padding = stream.copy()
        padding[-1] ^= 1 << rng.randrange(form.stream_bits)
        damaged.append((padding, length))
    garbage = context.np.integers(0, top, rng.randint(1, 4 * form.window), np.uint64).astype(stream.dtype)
    damaged.append((garbage, rng.randint(0, 5 * form.window)))
    return [corrupt_packet(stream, length, config) for stream, length in damaged]


def _pads(config: CodecConfig) -> bool:
    """Whether any window has padding: without an entry in the table all words have whole parts."""
    form = config.format
    whole = math.gcd(form.header_words, form.parts) % form.align_words == 0
    return form.padded and not (whole and form.field_bits and not config.table_size)


def _cut_beats(context: Context) -> Iterator[CodecPacket]:
    """Streams of literals but for a word, cut after each of their beats: of some beat all words are there but one."""
    config, form = context.config, context.config.format
    for start in range(0, form.window, config.lanes):
        mask = np.ones(form.window, bool)
        mask[start + context.rng.randrange(min(config.lanes, form.window))] = False
        stream = compress_words(context.fill(mask), form)
        for end in range(config.units, len(stream), config.units):
            yield corrupt_packet(stream[:end], len(mask), config)


def _cut_words(context: Context) -> Iterator[CodecPacket]:
    """Streams of sparse windows, cut after each of their words: each header and mask is missing once, whole or in part, and
    they begin in many lanes. The last window is partial, so that codes in place of missing ones may be wrong."""
    config, form = context.config, context.config.format
    for _ in range(_SPARSE):
        mask = np.zeros(form.group_words + context.rng.randint(1, form.window), bool)
        for start in (0, form.group_words // 2, form.group_words):
            literals = context.rng.randint(1, config.lanes)
            windows = min(form.window, len(mask) - start)
            mask[start + context.np.choice(windows, min(literals, windows), replace=False)] = True
        stream = compress_words(context.fill(mask), form)
        for end in range(1, len(stream)):
            yield corrupt_packet(stream[:end], len(mask), config)


def _cut_heads(context: Context) -> Iterator[CodecPacket]:
    """Streams that end within the last header or mask, which is that of a partial window: by itself, and downstream of
    literals, in each lane. Words beyond the stream are noise, so a missing code may be wrong past the packet's end. The last
    cut leaves the header whole; one more stream has a wrong code there.
    """
    config, form = context.config, context.config.format
    for before in sorted({0, form.window, form.group_words}):
        for zeros in range(config.units if before else 1):
            for literals in (0, 1):
                rest = np.arange(context.rng.randint(1, form.window)) < literals
                mask = np.concatenate([np.arange(before) >= zeros, rest])
                stream = compress_words(context.fill(mask), form)
                last = len(stream) - literals
                for end in range(max(1, last - form.header_words - form.mask_words), last + 1):
                    yield corrupt_packet(stream[:end], len(mask), config)
                # The last bit is of a code, or a window, past the end.
                if last:
                    stray = stream[:last].copy()
                    stray[-1] ^= 1 << form.stream_bits - 1
                    yield corrupt_packet(stray, len(mask), config)


def _wrong_lengths(context: Context) -> Iterator[CodecPacket]:
    """A small packet, with each bit of its length wrong."""
    config, form = context.config, context.config.format
    length = context.rng.randint(1, form.window)
    stream = compress_words(context.fill(np.ones(length, bool)), form)
    for bit in range(_LENGTH_BITS):
        yield corrupt_packet(stream, length ^ 1 << bit, config)


def _stray_codes(context: Context) -> Iterator[CodecPacket]:
    """Packets that end in each beat of a window, with each code past their end wrong in turn: whole, and cut after the
    header, whose code is wrong before words are missing. None in a format without codes."""
    config, form = context.config, context.config.format
    for beat in range(0, form.window, config.lanes):
        length = min(form.window, beat + context.rng.randint(1, config.lanes))
        stream = compress_words(context.fill(np.ones(length, bool)), form)
        first = form.mask_words * form.stream_bits
        for word in range(length, form.window if form.code_bits else 0):
            at = first + word * form.code_bits + context.rng.randrange(form.code_bits)
            changed = stream.copy()
            changed[at // form.stream_bits] ^= 1 << at % form.stream_bits
            for end in (len(changed), form.mask_words + form.header_words):
                yield corrupt_packet(changed[:end], length, config)


@planned(
    "streams cut short or prolonged, undefined codes, flipped bits, garbage, wrong and zero lengths",
    "error 1, 2 or 3; the next packet is unharmed",
    needs=lambda design: design.decompresses,
    weight=6,
)
@codec_test
async def corrupt(context: Context) -> None:
    bench = context.bench
    errors: dict[int, int] = {}
    # The decompressor has beats in store, or waits for each.
    for pauses in ({}, {"input": spaced(4)}):
        bench.set_pauses(**pauses)
        for kind in (_cut_beats, _cut_words, _cut_heads, _stray_codes, _wrong_lengths):
            for packet in kind(context):
                await bench.run([packet])
    for _ in range(max(8, context.budget // 40)):
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
    known = context.codec_bench.errors | ({PADDING} if _pads(context.config) else set())
    if not known <= errors.keys():
        raise RuleError(f"not every kind of corruption came up: {errors}")
