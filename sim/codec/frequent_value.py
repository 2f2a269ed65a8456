"""The model of the codec of zeros and frequent values, whose format is ``docs/format.md``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.format import Format

from . import groups
from .container import Frames
from .headers import Codes, codes_of, parts_of_codes, unpack, window_lengths
from .model import (
    CODE,
    NONE,
    PADDING,
    TRAILING,
    TRUNCATED,
    CodecModel,
    CorruptStream,
    PacketReport,
    PacketResult,
)
from .unpacking import find_headers
from .words import Words, word_dtype


class FrequentValueModel(CodecModel[Format]):
    """A header of codes for every window, then its literals; fast enough to be used as a codec."""

    def stored(self, words: Words, format: Format) -> NDArray[np.bool_]:
        """Which words have the literal code."""
        return codes_of(words, format) == format.literal_code

    def stream_words_of_each(self, words: Words, format: Format) -> NDArray[np.integer[Any]]:
        """How many stream words the stream stores of each word: as its code says."""
        return np.take(parts_of_codes(format), codes_of(words, format))

    def stored_after(self, header: Words, format: Format) -> int:
        """How many stream words follow a header: as its codes say."""
        return int(np.take(parts_of_codes(format), unpack(header[None], format)).sum(dtype=np.int64))

    def compressed(self, words: Words, format: Format) -> Iterator[Words]:
        """The compressed stream in parts."""
        if format.levels == 2:
            yield from groups.compressed(words, format)
            return
        frames = Frames(format)
        step = frames.capacity * format.window
        for begin in range(0, len(words), step):
            yield frames.compress(words[begin : begin + step])

    def stream_words(self, words: Words, format: Format) -> int:
        """How many stream words the compressed stream of a packet has."""
        if format.levels == 2:
            return groups.stream_words(words, format)
        codes = codes_of(words, format)
        if format.align_words == 1:
            parts = int(np.take(parts_of_codes(format), codes).sum(dtype=np.int64))
            return -(-len(words) // format.window) * format.header_words + parts
        whole = len(words) - len(words) % format.window
        lengths = window_lengths(codes[:whole].reshape(-1, format.window), format)
        return int(lengths.sum()) + (
            int(window_lengths(codes[None, whole:], format)[0]) if whole < len(words) else 0
        )

    def decompressed(self, stream: Words, words: int, format: Format) -> Words:
        """The ``words`` words that a stream stands for; raises :class:`.CorruptStream`."""
        if format.levels == 2:
            return self._decompressed_groups(stream, words, format)
        windows = -(-words // format.window)
        starts, end = find_headers(stream, windows, format)
        if windows and len(starts) == windows:
            end = int(starts[-1]) + _last_length(stream, int(starts[-1]), words, format)
        if len(starts) < windows or end > len(stream):
            _checked_codes(stream, starts, 0, words, format)
            window = len(starts) - (end > len(stream))
            raise CorruptStream(
                "truncated",
                len(stream),
                f"the stream ends after {len(stream)} words, in window {window} of {windows}",
            )
        result = np.empty(words, word_dtype(format))
        frames = Frames(format)
        bounds = np.append(starts, end)
        for first in range(0, windows, frames.capacity):
            group = starts[first : first + frames.capacity]
            codes = _checked_codes(stream, group, first, words, format)
            part = stream[group[0] : bounds[first + len(group)]]
            begin = first * format.window
            frames.decompress(part, codes, result[begin : begin + codes.size])
        if end < len(stream):
            raise CorruptStream(
                "trailing",
                end,
                f"{words} words are complete before stream word {end}, but {len(stream) - end} more follow",
            )
        return result

    def _decompressed_groups(self, stream: Words, words: int, format: Format) -> Words:
        """The same of two levels: the windows that the stream has are a stream of one level, between masks."""
        windows = -(-words // format.window)
        cut = groups.cut(stream, windows, format)
        last_word = len(cut.present) == windows and windows and bool(cut.present[-1])
        stored = int(cut.present.sum()) * format.window - (-words % format.window if last_word else 0)
        try:
            result = self.decompressed(groups.joined(stream, cut), stored, groups.one_level(format))
        except CorruptStream as error:
            place = cut.place_of(error.word)
            raise CorruptStream(
                error.kind, place, f"stream word {place}, of the windows that masks let through: {error}"
            ) from None
        if cut.fault:
            groups.refuse(*cut.fault)
        return groups.restored(result, cut.present, words, format)

    def decode_packet(self, stream: Words, words: int, format: Format, lanes: int) -> PacketResult:
        """What the decompressor with ``lanes`` lanes delivers and reports for any stream and any asked length.

        Output goes beat by beat. A beat is delivered if its window's header is there, its codes are defined and
        what is stored of its words is there. The codes past the packet's end belong to its last beat, and padding to the
        last beat of its window. After the first beat that is not delivered the packet ends, with an
        empty beat, and the rest of the stream is discarded. The error is that of :meth:`decompressed`: where a beat
        lacks something, an undefined code anywhere in its window counts before that. Of a packet of no words all of
        the stream is left over. With two levels, windows of the last mask past the packet's end belong to its last beat.
        """
        total, window, parts = len(stream), format.window, parts_of_codes(format)
        frames = Frames(format)
        out = np.zeros(min(words, total * format.group_words), word_dtype(format))
        delivered = position = literals = 0
        mask = np.zeros(0, np.bool_)

        def result(error: int) -> PacketResult:
            return PacketResult(out[:delivered].copy(), PacketReport(total, delivered, literals, error))

        while delivered < words:
            if not len(mask) and format.mask_words:
                bits = stream[position : position + format.mask_words]
                position += format.mask_words
                if position > total:
                    return result(TRUNCATED)
                mask, padding = np.split(groups.bits_of(bits, format), [format.group])
                if padding.any():
                    return result(PADDING)
            codes = np.zeros(window, np.uint8)
            begin = position
            present, mask = mask[:1].all(), mask[1:]
            if present:
                position += format.header_words
                if position > total:
                    return result(TRUNCATED)
                codes = unpack(stream[None, begin:position], format)[0]
            used = min(window, words - delivered)
            undefined = _undefined(codes, format)
            undefined[used:] = codes[used:] != 0
            if delivered + used == words:
                undefined[used - 1] |= mask.any()
            for first in range(0, used, lanes):
                last = min(first + lanes, used)
                beat = codes[first:last]
                if undefined[first : window if last == used else last].any():
                    return result(CODE)
                count = int(parts[beat].sum())
                if position + count > total:
                    return result(CODE if undefined.any() else TRUNCATED)
                end = position + count
                if last == used:
                    end += (begin - end) % format.align_words
                    if end > total:
                        return result(TRUNCATED)
                    if stream[position + count : end].any():
                        return result(PADDING)
                out[delivered : delivered + last - first] = frames.words_of(
                    beat, stream[position : position + count]
                )
                delivered += last - first
                position = end
                literals += int(np.count_nonzero(beat == format.literal_code))
        return result(TRAILING if position < total or words == 0 else NONE)


def _last_length(stream: Words, start: int, words: int, format: Format) -> int:
    """The stream words of the last window, whose header is at ``start``: nothing is stored of places past the end."""
    codes = unpack(stream[None, start : start + format.header_words], format)
    return int(window_lengths(codes[:, : (words - 1) % format.window + 1], format)[0])


def _undefined(codes: Codes, format: Format) -> NDArray[np.bool_]:
    """Which codes are past the table."""
    return (codes >= len(format.values) + format.zero) & (codes != format.literal_code)


def _checked_codes(stream: Words, starts: NDArray[np.intp], first: int, words: int, format: Format) -> Codes:
    """The codes of the windows from ``first`` on, whose headers are at ``starts``, if they and the padding are right."""
    codes = unpack(stream[starts[:, None] + np.arange(format.header_words)], format)
    undefined = np.zeros(codes.shape, bool)
    if len(format.values) < format.table_entries:
        undefined = _undefined(codes, format)
    past_end = (first + len(codes)) * format.window - words
    if past_end > 0:
        undefined[-1, -past_end:] = codes[-1, -past_end:] != 0
    wrong = undefined.any()
    window, place = divmod(int(undefined.argmax()) if wrong else codes.size, format.window)
    if format.align_words > 1:
        _check_padding(stream, starts[:window], codes[:window], first, words, format)
    if wrong:
        at = int(starts[window]) + place * format.code_bits // format.stream_bits
        word = (first + window) * format.window + place
        why = (
            f"past the packet's end at word {words}, where only code 0 may be"
            if word >= words
            else f"past the table of {len(format.values)} values"
        )
        raise CorruptStream(
            "code", at, f"stream word {at} holds code {codes[window, place]} for word {word}, {why}"
        )
    return codes


def _check_padding(
    stream: Words, starts: NDArray[np.intp], codes: Codes, first: int, words: int, format: Format
) -> None:
    """Refuses padding that is not zero, in those of the windows that are wholly in the stream."""
    counts = np.full(len(codes), format.window)
    counts[-1:] = np.minimum(counts[-1:], words - (first + len(codes) - 1) * format.window)
    stored = np.take(parts_of_codes(format), codes).astype(np.intp)
    stored[np.arange(format.window) >= counts[:, None]] = 0
    ends = starts + format.header_words + stored.sum(axis=1)
    places = ends[:, None] + np.arange(format.align_words - 1)
    padded = places < (ends + -(ends - starts) % format.align_words)[:, None]
    padded &= (
        padded.any(axis=1, keepdims=True)
        & (np.max(places * padded, axis=1, initial=0) < len(stream))[:, None]
    )
    wrong = padded & (np.take(stream, places, mode="clip") != 0)
    if wrong.any():
        window, place = divmod(int(wrong.argmax()), format.align_words - 1)
        at = int(places[window, place])
        raise CorruptStream(
            "padding",
            at,
            f"stream word {at}, padding after window {first + window}, is {stream[at]:#x} instead of 0",
        )


#: The one model of this codec; it keeps no state.
MODEL = FrequentValueModel()
