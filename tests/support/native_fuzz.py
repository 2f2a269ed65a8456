"""Random words and damaged streams of every shape of format through kernels, in buffers without a byte to spare.

Run as a program, with the path of a built module, a seed, a number of rounds and which shapes: for sanitizers, which need a
process of their own.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from cdma.hdl.spec.format import Format
from cdma.hdl.spec.presets import PRESETS
from cdma.sim.codec import model
from cdma.sim.codec.hostile import SHAPES, damaged, draw, draw_words
from cdma.sim.codec.native import Kernels
from cdma.sim.codec.results import CorruptStream
from cdma.sim.codec.words import Words

__all__ = ["check", "check_all"]


def check(kernels: Kernels, format: Format, words: Words, rng: np.random.Generator) -> None:
    """Compares kernels with the golden model, on words and on four streams that may be damaged."""
    what = f"{kernels.name}, {format}, {len(words)} words"
    stream = model.compress(words, format)
    target = np.empty(format.bound_bytes(len(words)), np.uint8)
    assert target[: kernels.compress(words, format, target)].tobytes() == stream, what
    for data in (stream, *(damaged(rng, stream) for _ in range(4))):
        try:
            expected = model.decompress(data, len(words), format)
        except CorruptStream:
            expected = None
        result = np.empty(len(words), words.dtype)
        took = kernels.decompress(np.frombuffer(data, np.uint8), result, format)
        assert (took == len(data)) == (expected is not None), what
        assert expected is None or np.array_equal(result, expected), what


def check_all(kernels: Kernels, rng: np.random.Generator, every: int = 1) -> int:
    """Compares kernels with the golden model once on every so many-th shape, and on every preset; returns how often."""
    drawn = [draw(rng, shape) for shape in SHAPES[::every]]
    drawn += [(format, draw_words(rng, format)) for format in map(Format.preset, PRESETS)]
    for format, words in drawn:
        check(kernels, format, words, rng)
    return len(drawn)


def _main(path: str, seed: str, rounds: str, every: str) -> None:
    from tests.support.native_build import load

    module = load(Path(path))
    rng = np.random.default_rng(int(seed))
    count = 0
    for level in list(module.levels()) * int(rounds):
        count += check_all(Kernels(module, level), rng, int(every))
    print(f"{count} packets by {', '.join(module.levels())}")


if __name__ == "__main__":
    _main(*sys.argv[1:])
