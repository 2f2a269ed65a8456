"""Codes and headers of windows, words in memory, and the cycles that a plain compressor takes for a packet.

Words lie in memory little-endian; words of 4 bits two to a byte, the low one first, with a zero after an odd number.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format

from .fit import Kinds, worst_circle
from .words import Words, rotated, stream_dtype, words_to_bytes


def to_memory(words: Words, bits: int) -> bytes:
    """The bytes of an array of words, or of stream words, of 4 bits or of whole bytes."""
    if bits != 4:
        return words_to_bytes(words)
    nibbles = np.zeros(len(words) + len(words) % 2, np.uint8)
    nibbles[: len(words)] = words
    return (nibbles[0::2] | nibbles[1::2] << np.uint8(4)).tobytes()


def from_memory(data: bytes | bytearray | memoryview, bits: int) -> Words:
    """The words, or stream words, of so many bits that these bytes are; those of a word that is not whole are ignored."""
    if bits != 4:
        word = np.dtype(f"<u{bits // 8}")
        return np.frombuffer(data, word, memoryview(data).nbytes // word.itemsize).astype(
            word.newbyteorder("="), copy=False
        )
    source = np.frombuffer(data, np.uint8)
    return np.stack([source & np.uint8(15), source >> np.uint8(4)], axis=1).reshape(-1)


#: One code per element.
Codes = NDArray[np.uint8]

#: Words of a block, few enough for its intermediate results to stay in a cache.
_BLOCK = 1 << 14


def codes_of(words: Words, format: Format) -> Codes:
    """Returns the code of every word: the lowest that stands for it, or the literal code."""
    if format.field_bits:
        return _codes_of_fields(words, format)
    if format.code_bits == 1:
        return (words != words.dtype.type(format.values[0])).view(np.uint8)
    return _codes_in_table(words, format)


def _codes_of_fields(words: Words, format: Format) -> Codes:
    fields = rotated(words, format) >> words.dtype.type(format.word_bits - format.field_bits)
    if format.field_bits <= 16:
        codes_by_field = _codes_in_table(np.arange(1 << format.field_bits), format)
        codes = np.take(codes_by_field, fields)
    else:
        codes = _codes_in_table(fields, format)
    if format.zero:
        codes[words == 0] = 0
    return codes


def _codes_in_table(entries: NDArray[Any], format: Format) -> Codes:
    """Returns the codes of words, or of fields, by the table alone."""
    # An entry equals at most one of the different values, so at most one term of the sum is not 0.
    below_literal = np.zeros(entries.shape, np.uint8)
    for code, value in enumerate(format.values, int(format.zero)):
        if value not in format.values[: code - format.zero]:
            equal = (entries == entries.dtype.type(value)).view(np.uint8)
            equal *= np.uint8(format.literal_code - code)
            below_literal += equal
    return np.subtract(np.uint8(format.literal_code), below_literal, out=below_literal)


def parts_of_codes(format: Format) -> NDArray[np.uint8]:
    """Returns for every code how many stream words of its word are stored, the low ones first."""
    parts = np.full(1 << format.code_bits, format.parts - (format.field_bits // 8 or 1), np.uint8)
    if format.zero:
        parts[0] = 0
    parts[-1] = format.parts
    return parts


def window_lengths(codes: Codes, format: Format) -> NDArray[np.int64]:
    """Returns the stream words of windows with these codes, a row for each: header, stored parts and padding."""
    lengths = np.take(parts_of_codes(format), codes).sum(axis=1, dtype=np.int64) + format.header_words
    return lengths + -lengths % format.align_words


def pack(codes: Codes, format: Format) -> Words:
    """Returns the stream words of headers, one row per window, of codes with one row per window."""
    word = stream_dtype(format)
    if format.word_bits < 8:
        bits = np.unpackbits(codes[..., None], axis=-1, count=format.code_bits, bitorder="little")
        fields = bits.reshape(len(codes), format.header_words, format.word_bits)
        return np.packbits(fields, axis=-1, bitorder="little")[..., 0]
    flat = np.ascontiguousarray(codes).reshape(-1)
    if format.code_bits == 1:
        packed = np.packbits(flat, bitorder="little")
    elif format.code_bits == 2:
        # Four codes stand in the four bytes: the product gathers them in its top byte, without a carry.
        packed = (flat.view("<u4") * np.uint32(0x01041040) >> np.uint32(24)).astype(np.uint8)
    elif format.code_bits == 3:
        # Eight codes in eight bytes move together: two by two, four by four, and all into three bytes.
        eight = flat.view("<u8")
        eight = (eight | eight >> np.uint64(5)) & np.uint64(0x003F003F003F003F)
        eight = (eight | eight >> np.uint64(10)) & np.uint64(0x00000FFF00000FFF)
        eight |= eight >> np.uint64(20)
        packed = np.ascontiguousarray(eight.view(np.uint8).reshape(-1, 8)[:, :3]).reshape(-1)
    else:
        pairs = flat.view("<u2")
        packed = (pairs | pairs >> np.uint16(4)).astype(np.uint8)
    return (
        packed.view(word.newbyteorder("<")).astype(word, copy=False).reshape(len(codes), format.header_words)
    )


@cache
def _codes_of_byte(code_bits: int) -> NDArray[Any]:
    """Returns for every byte of a header the codes in it, side by side in one unsigned integer."""
    bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=-1, bitorder="little")
    codes = np.packbits(bits.reshape(256, 8 // code_bits, code_bits), axis=-1, bitorder="little")
    return np.ascontiguousarray(codes[..., 0]).view(f"u{8 // code_bits}")[:, 0]


def unpack(headers: Words, format: Format) -> Codes:
    """Returns codes, one row per window, of the stream words of headers with one row per window."""
    shape = (len(headers), format.window)
    if format.word_bits < 8:
        bits = np.unpackbits(headers[..., None], axis=-1, count=format.word_bits, bitorder="little")
        return np.packbits(bits.reshape(*shape, format.code_bits), axis=-1, bitorder="little")[..., 0]
    octets = np.ascontiguousarray(headers, headers.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
    if format.code_bits == 1:
        return np.unpackbits(octets, bitorder="little").reshape(shape)
    if format.code_bits == 3:
        eight = np.zeros((len(octets) // 3, 8), np.uint8)
        eight[:, :3] = octets.reshape(-1, 3)
        spread = eight.view("<u8")
        spread = (spread | spread << np.uint64(20)) & np.uint64(0x00000FFF00000FFF)
        spread = (spread | spread << np.uint64(10)) & np.uint64(0x003F003F003F003F)
        spread = (spread | spread << np.uint64(5)) & np.uint64(0x0707070707070707)
        return spread.view(np.uint8).reshape(shape)
    return np.take(_codes_of_byte(format.code_bits), octets).view(np.uint8).reshape(shape)


def lengths_at(stream: Words, format: Format) -> NDArray[Any]:
    """Returns, for every position that a header fits at, the stream words of a whole window that begins there."""
    positions = max(0, len(stream) - format.header_words + 1)
    least, middle, most = parts_of_codes(format)[[0, -2, -1]].tolist()
    longest = format.bound(format.window)
    lengths = np.full(positions, format.header_words + format.window * least, np.min_scalar_type(longest))
    lengths += _codes_at(stream, positions, format, all_ones=True) * lengths.dtype.type(most - middle)
    if middle > least:
        lengths += _codes_at(stream, positions, format, all_ones=False) * lengths.dtype.type(middle - least)
    if format.align_words > 1:
        lengths += -lengths % lengths.dtype.type(format.align_words)
    return lengths


def _codes_at(stream: Words, positions: int, format: Format, *, all_ones: bool) -> NDArray[np.uint8]:
    """Counts the codes of all ones, or else those that are not 0, in the headers at the first positions of a stream."""
    if format.word_bits < 8:
        headers = sliding_window_view(stream, format.header_words) if positions else stream[:0, None]
        codes = unpack(headers, format)
        return np.count_nonzero(codes == format.literal_code, axis=1).astype(np.uint8)
    if format.code_bits == 3:
        # Eight codes fill three bytes, and need not begin with a stream word.
        octets = stream.astype(stream.dtype.newbyteorder("<"), copy=False).view(np.uint8).astype(np.uint32)
        cells = octets[:-2] | octets[1:-1] << np.uint32(8) | octets[2:] << np.uint32(16)
        step, cell_bits = stream.itemsize, 24
    else:
        cells, step, cell_bits = stream, 1, stream.itemsize * 8
    per_cell = np.empty(len(cells), np.uint8)
    for begin in range(0, len(cells), _BLOCK):
        block = cells[begin : begin + _BLOCK]
        # Each code is gathered in its lowest bit.
        bits = block
        for shift in range(1, format.code_bits):
            shifted = block >> block.dtype.type(shift)
            bits = bits & shifted if all_ones else bits | shifted
        if format.code_bits > 1:
            bits = bits & block.dtype.type(((1 << cell_bits) - 1) // format.literal_code)
        np.bitwise_count(bits, out=per_cell[begin : begin + _BLOCK])
    apart = cell_bits // 8 if format.code_bits == 3 else 1
    found = np.zeros(positions, np.uint8)
    if positions:
        for cell in range(format.window * format.code_bits // cell_bits):
            found += per_cell[cell * apart :: step][:positions]
    return found


@dataclass(frozen=True)
class _Step:
    """What a beat of raw words adds to the stream, or what a part of a long header adds."""

    words: int
    last: bool
    #: A word of the packet is known to follow. Parts of a header do not ask.
    more: bool


def packing_cycles(stored: NDArray[Any], config: CodecConfig) -> int:
    """The cycles from the first step of a packet to its last beat out, both counted.

    ``stored`` has for each raw word how many stream words are stored of it. The source is always valid and the sink is
    always ready. The first step comes as soon as the first window has arrived; following packets come without a gap.
    """
    steps = _steps(stored, config)
    return _through_queue(steps, config) if config.work_conserving else _beat_by_beat(steps, config.units)


def shared_cycles(stored: NDArray[Any], config: CodecConfig) -> float:
    """What the contract of a work-conserving codec allows for a packet, without the constant and not rounded."""
    fmt = config.format
    loads = [
        max(len(window) * fmt.parts, _padded(fmt.header_words + int(window.sum()), config))
        for window in np.split(stored, range(fmt.window, len(stored), fmt.window))
    ]
    return sum(loads) / config.units + max(0, config.header_beats - 1) * len(loads)


def worst_windows(config: CodecConfig, repeats: int) -> NDArray[np.bool_]:
    """Windows that cost a compressor with less than two queued beats the most cycles for their words, over and over.

    Tries every number of literals in each beat of a window, so a window must have few beats of few words, and its header
    must fit a beat.
    """
    fmt, lanes, beats = config.format, config.lanes, config.beats
    #: For each fill of the incomplete beat before a window and after it: cycles, those of the contract, literals.
    windows: dict[tuple[int, int], Kinds] = {}
    for held, counts in itertools.product(
        range(lanes + 1), itertools.product(range(lanes + 1), repeat=beats)
    ):
        fill, cycles = held + fmt.header_words, 0
        for count in counts:
            fill += count
            out = _beats_out(fill, lanes, more=True)
            fill, cycles = fill - out * lanes, cycles + max(1, out)
        allowed = max(fmt.window, fmt.header_words + sum(counts)) / lanes
        windows.setdefault((held, fill), {}).setdefault((cycles, allowed), counts)
    circle = worst_circle(windows, lanes + 1) or {0: (0,) * beats}
    # A window before them brings the incomplete beat to where the circle can begin.
    fills, counts_of = list(circle), list(circle.values())
    first = next(index for index, held in enumerate(fills) if (0, held) in windows)
    lead = next(iter(windows[0, fills[first]].values()))
    circle_from = counts_of[first:] + counts_of[:first]
    return np.concatenate(
        [np.arange(lanes) < count for counts in [lead, *circle_from * repeats] for count in counts]
    )


def _steps(stored: NDArray[Any], config: CodecConfig) -> Iterator[_Step]:
    fmt, lanes = config.format, config.lanes
    beats = -(-len(stored) // lanes)
    padded = np.zeros(beats * lanes, np.intp)
    padded[: len(stored)] = stored
    counts = padded.reshape(beats, lanes).sum(axis=1).tolist()
    full_parts = max(0, config.header_beats - 1)
    rest = fmt.header_words - full_parts * config.units
    total = 0
    for beat, count in enumerate(counts):
        first = beat % config.beats == 0
        if first:
            for _ in range(full_parts):
                yield _Step(config.units, last=False, more=False)
        total = (0 if first else total) + count
        ends = beat == beats - 1 or (beat + 1) % config.beats == 0
        padding = _padded(fmt.header_words + total, config) - fmt.header_words - total if ends else 0
        more = (beat // config.beats + 1) * config.beats < beats
        yield _Step(count + rest * first + padding, beat == beats - 1, more)


def _padded(words: int, config: CodecConfig) -> int:
    """The stream words of a window with its padding."""
    return words + -words % config.format.align_words


def _beat_by_beat(steps: Iterator[_Step], units: int) -> int:
    """One beat leaves in a cycle at most: a step takes a cycle for each of its beats, and at least one."""
    held = cycles = 0
    for step in steps:
        held += step.words
        out = -(-held // units) if step.last else _beats_out(held, units, more=step.more)
        held -= out * units
        cycles += max(1, out)
    return cycles


def _beats_out(held: int, units: int, *, more: bool) -> int:
    """The beats that leave; one that is just full waits for the next word if it may be the last of its packet."""
    return 1 if more and held == units else max(0, held - 1) // units


def _through_queue(steps: Iterator[_Step], config: CodecConfig) -> int:
    """Two beats enter the queue in a cycle and one leaves it, a cycle later at the earliest."""
    units = config.units
    depth = 2 if min(config.format.header_words, units) == 1 else 3
    held = queued = cycles = 0
    for step in steps:
        held += step.words
        out = max(0, held - 1) // units
        rest = step.last and out == 2
        pushed = out + (step.last and not rest)
        while True:
            cycles += 1
            queued = max(0, queued - 1)
            if queued + pushed <= depth:
                queued += pushed
                break
        held -= out * units
        if rest:
            while True:
                cycles += 1
                queued = max(0, queued - 1)
                if queued + 1 <= depth:
                    queued += 1
                    break
    return cycles + queued
