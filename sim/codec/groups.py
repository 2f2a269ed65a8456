"""Two levels: groups of windows behind masks. What remains without the masks is a stream of one level.

A group is absent windows, of which the stream has nothing, and others. Masks are cut out of a stream, and put into one;
all else is the matter of the windows that are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cdma.hdl.spec.format import Format

from .container import FRAME_WORDS, Frames
from .headers import codes_of, lengths_at, window_lengths
from .model import CorruptStream, Kind
from .words import Words, stream_dtype, word_dtype


@cache
def one_level(format: Format) -> Format:
    """The format of the windows of a group."""
    return replace(format, levels=1, group=Format.group)


def _present(words: Words, format: Format) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Which windows the stream has, and the stream words of each of these."""
    windows = -(-len(words) // format.window)
    padded = np.zeros(windows * format.window, np.uint8)
    padded[: len(words)] = codes_of(words, format)
    codes = padded.reshape(windows, format.window)
    present: NDArray[np.bool_] = np.any(codes, axis=1)
    return present, window_lengths(codes[present], format)


def _words_of(windows: NDArray[np.bool_], words: int, format: Format) -> NDArray[np.bool_]:
    """Which of so many words are in these windows."""
    return np.repeat(windows, format.window)[:words]


def _masks(present: NDArray[np.bool_], format: Format) -> Words:
    """The masks of groups, a row for each, with their padding."""
    groups = -(-len(present) // format.group)
    bits = np.zeros((groups, format.mask_words * format.stream_bits), bool)
    padded = np.zeros(groups * format.group, bool)
    padded[: len(present)] = present
    bits[:, : format.group] = padded.reshape(groups, format.group)
    packed = np.packbits(
        bits.reshape(groups, format.mask_words, format.stream_bits), axis=-1, bitorder="little"
    )
    word = stream_dtype(format)
    return packed.reshape(groups, -1).view(word.newbyteorder("<")).astype(word, copy=False)


def compressed(words: Words, format: Format) -> Iterator[Words]:
    """The compressed stream of a packet, in parts of whole groups."""
    frames = Frames(one_level(format))
    for begin in range(0, len(words), FRAME_WORDS):
        part = words[begin : begin + FRAME_WORDS]
        present, lengths = _present(part, format)
        stream = frames.compress(part[_words_of(present, len(part), format)])
        masks = _masks(present, format)
        before = np.concatenate([[0], np.cumsum(present)])[np.arange(len(masks)) * format.group]
        places = np.concatenate([[0], np.cumsum(lengths)])[before]
        yield np.insert(stream, np.repeat(places, format.mask_words), masks.reshape(-1))


def stream_words(words: Words, format: Format) -> int:
    """How many stream words the compressed stream of a packet has."""
    present, lengths = _present(words, format)
    return -(-len(present) // format.group) * format.mask_words + int(lengths.sum())


@dataclass(frozen=True)
class Cut:
    """A stream without its masks.

    ``present``: Which windows it has, up to where it ends or a mask is wrong.
    ``pieces``: Where the windows of each group begin and end.
    ``fault``: What is wrong with the mask after these, or with what follows the last group: kind, stream word and why.
    """

    present: NDArray[np.bool_]
    pieces: list[tuple[int, int]]
    fault: tuple[Kind, int, str] | None

    def place_of(self, at: int) -> int:
        """Where the word at a place of the pieces is in the stream."""
        for begin, end in self.pieces:
            if at < end - begin:
                return begin + at
            at -= end - begin
        return self.pieces[-1][1]


def cut(stream: Words, windows: int, format: Format) -> Cut:
    """Finds the masks of a stream of so many windows, and what is between them."""
    lengths = lengths_at(stream, one_level(format)).data
    total, known, header = len(stream), len(lengths), format.header_words
    present: list[int] = []
    pieces: list[tuple[int, int]] = []
    position = 0
    for first in range(0, windows, format.group):
        mask, fault = _mask_at(stream, position, first, windows, format)
        if fault:
            return Cut(np.array(present, bool), pieces, fault)
        position += format.mask_words
        begin = position
        for bit in mask:
            # Where no header fits a window is missing, and what there is of it belongs to the piece.
            if bit:
                position += lengths[position] if position < known else header
            if position > total:
                break
        present += mask
        pieces.append((begin, min(position, total)))
        if position > total:
            return Cut(np.array(present, bool), pieces, ("truncated", total, "in a window"))
    if position < total:
        return Cut(np.array(present, bool), pieces, ("trailing", position, f"{total - position} more follow"))
    return Cut(np.array(present, bool), pieces, None)


def bits_of(mask: Words, format: Format) -> NDArray[np.bool_]:
    """The bits of a mask, least significant first."""
    places = np.arange(format.stream_bits, dtype=mask.dtype)
    bits: NDArray[np.bool_] = (mask[:, None] >> places & mask.dtype.type(1)).astype(bool).reshape(-1)
    return bits


def _mask_at(
    stream: Words, begin: int, first: int, windows: int, format: Format
) -> tuple[list[int], tuple[Kind, int, str] | None]:
    """The bits of the mask of the group whose first window is ``first``; and what is wrong with it."""
    size, total = format.group // format.stream_bits, len(stream)
    group = f"the mask of the group from window {first} on"
    if begin + size > total:
        return [], ("truncated", total, f"in {group}")
    bits = bits_of(stream[begin : begin + size], format)
    here = min(format.group, windows - first)
    if bits[here:].any():
        bit = here + int(bits[here:].argmax())
        at = begin + bit // format.stream_bits
        return [], ("code", at, f"{group} has bit {bit}, of {here} windows")
    padding = stream[begin + size : begin + format.mask_words]
    if begin + format.mask_words > total:
        return [], ("truncated", total, f"in the padding of {group}")
    if padding.any():
        at = begin + size + int((padding != 0).argmax())
        return [], ("padding", at, f"padding of {group} is {stream[at]:#x} instead of 0")
    return bits[:here].tolist(), None


def joined(stream: Words, parts: Cut) -> Words:
    """The windows of a stream without its masks."""
    return np.concatenate([stream[:0], *(stream[begin:end] for begin, end in parts.pieces)])


def restored(stored: Words, present: NDArray[np.bool_], words: int, format: Format) -> Words:
    """All words of a packet, from those of the windows that its stream has."""
    absent = 0 if format.zero else format.values[0]
    result = np.full(words, absent, word_dtype(format))
    result[_words_of(present, words, format)] = stored
    return result


def refuse(kind: Kind, word: int, why: str) -> None:
    """Raises the error of a stream."""
    said = {"truncated": f"the stream ends after {word} words, {why}"}
    raise CorruptStream(kind, word, said.get(kind, f"stream word {word}: {why}"))
