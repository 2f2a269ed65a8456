"""The model of the codec of zeros and frequent values, whose format is ``docs/format.md``."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.format import Format

from .codec_model import CodecModel
from .frames import Frames
from .headers import Codes, codes_of, unpack
from .results import CODE, NONE, TRAILING, TRUNCATED, CorruptStream, PacketReport, PacketResult
from .walk import find_headers
from .words import Words

__all__ = ["MODEL", "FrequentValueModel"]


class FrequentValueModel(CodecModel[Format]):
    """A header of codes for every window, then its literals; fast enough to be used as a codec."""

    def stored(self, words: Words, format: Format) -> NDArray[np.bool_]:
        """Which words have the literal code."""
        return codes_of(words, format) == format.literal_code

    def literals_after(self, header: Words, format: Format) -> int:
        """How many literals follow a header: one for each literal code."""
        return int(np.count_nonzero(unpack(header[None], format) == format.literal_code))

    def compressed(self, words: Words, format: Format) -> Iterator[Words]:
        """The compressed stream in parts."""
        frames = Frames(format)
        step = frames.capacity * format.window
        whole = len(words) - len(words) % format.window
        for begin in range(0, whole, step):
            yield frames.compress(words[begin : min(begin + step, whole)])
        if whole < len(words):
            # The word of code 0 fills the last window: the places past the end have code 0 and no literals.
            last = np.full(format.window, format.values[0], words.dtype)
            last[: len(words) - whole] = words[whole:]
            yield frames.compress(last)

    def decompressed(self, stream: Words, words: int, format: Format) -> Words:
        """The ``words`` words that a stream stands for; raises :class:`.CorruptStream`."""
        windows = -(-words // format.window)
        starts, end = find_headers(stream, windows, format)
        if len(starts) < windows or end > len(stream):
            _checked_codes(stream, starts, 0, words, format)
            window = len(starts) - (end > len(stream))
            raise CorruptStream(
                "truncated",
                len(stream),
                f"the stream ends after {len(stream)} words, in window {window} of {windows}",
            )
        result = np.empty(windows * format.window, stream.dtype)
        frames = Frames(format)
        bounds = np.append(starts, end)
        for first in range(0, windows, frames.capacity):
            group = starts[first : first + frames.capacity]
            codes = _checked_codes(stream, group, first, words, format)
            part = stream[group[0] : bounds[first + len(group)]]
            frames.decompress(part, codes, result[first * format.window :][: len(group) * format.window])
        if end < len(stream):
            raise CorruptStream(
                "trailing",
                end,
                f"{words} words are complete before stream word {end}, but {len(stream) - end} more follow",
            )
        return result[:words]

    def decode_packet(self, stream: Words, words: int, format: Format, lanes: int) -> PacketResult:
        """What the decompressor with ``lanes`` lanes delivers and reports for any stream and any asked length.

        Output goes beat by beat. A beat is delivered if its window's header is there, its codes are defined and
        its literals are there. The codes past the packet's end belong to its last beat. After the first beat that is
        not delivered the packet ends, with an empty beat, and the rest of the stream is discarded. The error is that of
        :meth:`decompressed`: where a beat lacks literals, an undefined code anywhere in its window counts before them.
        Of a packet of no words all of the stream is left over.
        """
        total, window, literal_code = len(stream), format.window, format.literal_code
        table = np.zeros(1 << format.code_bits, stream.dtype)
        table[: len(format.values)] = format.values
        out = np.zeros(min(words, total * window), stream.dtype)
        delivered = position = literals = 0

        def result(error: int) -> PacketResult:
            return PacketResult(out[:delivered].copy(), PacketReport(total, delivered, literals, error))

        while delivered < words:
            end = position + format.header_words
            if end > total:
                return result(TRUNCATED)
            codes = unpack(stream[None, position:end], format)[0]
            position = end
            used = min(window, words - delivered)
            undefined = (codes >= len(format.values)) & (codes != literal_code)
            undefined[used:] = codes[used:] != 0
            for first in range(0, used, lanes):
                last = min(first + lanes, used)
                beat = codes[first:last]
                is_literal = beat == literal_code
                if undefined[first : window if last == used else last].any():
                    return result(CODE)
                count = int(np.count_nonzero(is_literal))
                if position + count > total:
                    return result(CODE if undefined.any() else TRUNCATED)
                out_beat = table[beat]
                out_beat[is_literal] = stream[position : position + count]
                out[delivered : delivered + last - first] = out_beat
                delivered += last - first
                position += count
                literals += count
        return result(TRAILING if position < total or words == 0 else NONE)


def _checked_codes(stream: Words, starts: NDArray[np.intp], first: int, words: int, format: Format) -> Codes:
    """The codes of the windows from ``first`` on, whose headers are at ``starts``, if all are defined."""
    codes = unpack(stream[starts[:, None] + np.arange(format.header_words)], format)
    undefined = np.zeros(codes.shape, bool)
    if len(format.values) < format.literal_code:
        undefined = (codes >= len(format.values)) & (codes != format.literal_code)
    past_end = (first + len(codes)) * format.window - words
    if past_end > 0:
        undefined[-1, -past_end:] = codes[-1, -past_end:] != 0
    if undefined.any():
        window, place = divmod(int(undefined.argmax()), format.window)
        at = int(starts[window]) + place * format.code_bits // format.word_bits
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


#: The one model of this codec; it keeps no state.
MODEL = FrequentValueModel()
