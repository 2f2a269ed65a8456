"""Corrupted streams: what is drawn, and how it is damaged. Case N of a seed is always the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import Mode
from cdma.sim.engine.transfer import TransferRules
from cdma.verif.engine.transfer import random_words, stream_of

__all__ = ["INTACT", "KINDS", "Damaged", "damaged_stream", "some_stream"]

#: About how many bytes of raw data the longest stream stands for.
_MOST_BYTES = 200
#: The kind of a stream that is whole.
INTACT = "intact"


@dataclass(frozen=True)
class Damaged:
    """One prefetch of a stream that is not what a compressor wrote for it.

    ``kind``
        How it was damaged: one of :data:`KINDS`, or :data:`INTACT`.
    ``raw``
        The data that were meant.
    ``stream``
        What lies in host memory.
    ``length``, ``compressed_length``
        What the descriptor says.
    """

    kind: str
    mode: Mode
    raw: bytes
    stream: bytes
    length: int
    compressed_length: int


def some_stream(
    rng: np.random.Generator, rules: TransferRules, mode: Mode, table: tuple[int, ...]
) -> tuple[bytes, bytes]:
    """Raw data, and the stream that stands for them."""
    config = rules.config
    words = int(rng.integers(1, _MOST_BYTES * 8 // config.format.word_bits))
    raw = random_words(rng, words, config, table)
    if mode == Mode.RAW:
        return raw, raw
    form = rules.format(mode, table)
    return raw, stream_of(raw, form)


def damaged_stream(rng: np.random.Generator, rules: TransferRules, table: tuple[int, ...]) -> Damaged:
    """A stream of any mode with any damage. Streams through the codec are drawn more often than copies."""
    modes = [Mode.RAW, *3 * [Mode.ZVC], *3 * [Mode.FVC]] if table else [Mode.RAW, *3 * [Mode.ZVC]]
    mode = modes[rng.integers(len(modes))]
    kind = KINDS[rng.integers(len(KINDS))]
    while True:
        raw, stream = some_stream(rng, rules, mode, table)
        compressed = 0 if mode == Mode.RAW else len(stream)
        if kind == "lengths":
            length, longer = _lengths(rng, rules.config, len(raw), compressed)
            return Damaged(kind, mode, raw, stream, length, longer)
        other = some_stream(rng, rules, mode, table)[1] if kind == "splices" else b""
        bad = _DAMAGE[kind](rng, stream, other, rules.config.format.moved_bits // 8)
        if bad and bad != stream:
            return Damaged(kind, mode, raw, bad, len(raw), 0 if mode == Mode.RAW else len(bad))


def _flips(rng: np.random.Generator, stream: bytes, other: bytes, word: int) -> bytes:
    """One to four bits are inverted, most often one."""
    bad = bytearray(stream)
    for _ in range(int(rng.choice((1, 1, 1, 2, 4)))):
        bad[rng.integers(len(bad))] ^= 1 << int(rng.integers(8))
    return bytes(bad)


def _cuts(rng: np.random.Generator, stream: bytes, other: bytes, word: int) -> bytes:
    """The stream ends early, after a whole number of words."""
    return stream[: int(rng.integers(1, len(stream) // word + 1)) * word]


def _splices(rng: np.random.Generator, stream: bytes, other: bytes, word: int) -> bytes:
    """The beginning of the stream, and the end of another."""
    head = int(rng.integers(0, len(stream) // word + 1)) * word
    tail = int(rng.integers(0, len(other) // word + 1)) * word
    return stream[:head] + other[tail:]


def _random(rng: np.random.Generator, stream: bytes, other: bytes, word: int) -> bytes:
    """Random bytes from some place on, or in the place of the whole stream."""
    start = int(rng.integers(0, len(stream) // word)) * word if rng.random() < 0.5 else 0
    return stream[:start] + rng.bytes(len(stream) - start)


def _lengths(rng: np.random.Generator, config: EngineConfig, length: int, compressed: int) -> tuple[int, int]:
    """The lengths of the descriptor are not those of the stream, or none."""
    word, stream_word = config.format.raw_bytes, config.format.moved_bits // 8
    while True:
        new = length, compressed
        if rng.random() < 0.5:
            new = length + int(rng.integers(-8, 9)) * (1 if rng.random() < 0.2 else word), compressed
        elif compressed:
            step = 1 if rng.random() < 0.2 else stream_word
            new = length, compressed + int(rng.integers(-8, 9)) * step
        if rng.random() < 0.02:
            new = new[0], 0
        if new != (length, compressed) and min(new) >= 0:
            return new


_DAMAGE: dict[str, Callable[[np.random.Generator, bytes, bytes, int], bytes]] = {
    "flips": _flips,
    "cuts": _cuts,
    "splices": _splices,
    "random": _random,
}
#: Every kind of damage.
KINDS = (*_DAMAGE, "lengths")
