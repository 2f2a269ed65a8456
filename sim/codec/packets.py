"""What the hardware must deliver and report for a packet, whole or corrupt.

The codec of :mod:`cdma.sim.codec.model` refuses a corrupt stream as a whole. The hardware has by then sent
beats on: this module says which.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cdma.hdl.spec.format import Format

from .headers import codes_of, unpack
from .model import compress_words
from .words import Words, as_words

__all__ = [
    "CODE",
    "NONE",
    "TRAILING",
    "TRUNCATED",
    "PacketReport",
    "PacketResult",
    "decode_packet",
    "encode_packet",
]

# The error codes of a report, as hdl/codec/parts/streams.py has them; that module needs Amaranth, this one must not.
NONE, TRUNCATED, TRAILING, CODE = range(4)


@dataclass(frozen=True)
class PacketReport:
    """The fields of the report of one packet."""

    #: Words of the packet that came in, all of them, also those discarded after an error.
    words_in: int
    #: Words delivered.
    words_out: int
    #: Literals among the words compressed, or among those delivered.
    literals: int
    #: ``NONE``, ``TRUNCATED``, ``TRAILING`` or ``CODE``.
    error: int = NONE


@dataclass(frozen=True)
class PacketResult:
    """The words that a block delivers for one packet, and its report."""

    words: Words
    report: PacketReport


def encode_packet(words: ArrayLike, format: Format) -> PacketResult:
    """What the compressor delivers and reports for a packet of ``words``."""
    source = as_words(words, format)
    stream = compress_words(source, format)
    literals = int(np.count_nonzero(codes_of(source, format) == format.literal_code))
    return PacketResult(stream, PacketReport(len(source), len(stream), literals))


def decode_packet(stream: ArrayLike, words: int, format: Format, lanes: int) -> PacketResult:
    """What the decompressor with ``lanes`` lanes delivers and reports for any stream and any asked length.

    Output goes beat by beat. A beat is delivered if its window's header is there, its codes are defined and
    its literals are there; codes are looked at before literals. The codes past the packet's end belong to its
    last beat. After the first beat that is not delivered the packet ends, with an empty beat, and the rest of
    the stream is discarded. Of a packet of no words all of the stream is left over.
    """
    format.bound(words)
    source = as_words(stream, format)
    total, window, literal_code = len(source), format.window, format.literal_code
    table = np.zeros(1 << format.code_bits, source.dtype)
    table[: len(format.values)] = format.values
    out = np.zeros(min(words, total * window), source.dtype)
    delivered = position = literals = 0

    def result(error: int) -> PacketResult:
        return PacketResult(out[:delivered].copy(), PacketReport(total, delivered, literals, error))

    while delivered < words:
        end = position + format.header_words
        if end > total:
            return result(TRUNCATED)
        codes = unpack(source[None, position:end], format)[0]
        position = end
        used = min(window, words - delivered)
        for first in range(0, used, lanes):
            last = min(first + lanes, used)
            beat = codes[first:last]
            is_literal = beat == literal_code
            undefined = (beat >= len(format.values)) & ~is_literal
            if undefined.any() or (last == used and codes[used:].any()):
                return result(CODE)
            count = int(np.count_nonzero(is_literal))
            if position + count > total:
                return result(TRUNCATED)
            out_beat = table[beat]
            out_beat[is_literal] = source[position : position + count]
            out[delivered : delivered + last - first] = out_beat
            delivered += last - first
            position += count
            literals += count
    return result(TRAILING if position < total or words == 0 else NONE)
