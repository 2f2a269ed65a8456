"""Cutting a stream into the streams of pieces: each is what its words alone are compressed to."""

from __future__ import annotations

import random

import numpy as np
import pytest

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.sim.codec.model import compress_words
from cdma.sim.codec.unpacking import split_packet
from tests.support.codec_bench import CONFIGS, random_words

_CONFIGS = [
    *CONFIGS,
    CodecConfig(Format(16, 32, 2, (0x3F,), field_bits=8, rotate=1, zero=True, align=8), 8),
    CodecConfig(Format(8, 64, 1, align=4), 8),
]


@pytest.mark.parametrize("config", _CONFIGS, ids=lambda config: config.summary())
def test_pieces_are_what_their_words_compress_to(config: CodecConfig) -> None:
    source = random.Random(config.summary())
    window = config.format.window
    for density in (0.0, 0.4, 1.0):
        pieces = [source.randint(1, 3) * window for _ in range(4)] + [source.randint(1, window)]
        words = np.array(random_words(source, config, sum(pieces), density), np.uint32)
        parts = [
            compress_words(part, config.format).tolist() for part in np.split(words, np.cumsum(pieces[:-1]))
        ]
        stream = [word for part in parts for word in part]
        assert [part.tolist() for part in split_packet(stream, pieces, config.format)] == parts
        assert split_packet([*stream, 1, 0], pieces, config.format)[-1].tolist() == [*parts[-1], 1, 0]
        for cut in (0, 1, source.randrange(len(stream)), len(stream) - 1):
            short = split_packet(stream[:cut], pieces, config.format)
            assert [word for part in short for word in part.tolist()] == stream[:cut]
            assert all(len(part) in (0, len(want)) for part, want in _but_one(short, parts))


def _but_one(short: list, parts: list) -> list:
    """All pairs without the first whose stream is cut."""
    pairs = list(zip(short, parts, strict=True))
    cut = next((place for place, (part, want) in enumerate(pairs) if len(part) < len(want)), None)
    return pairs if cut is None else pairs[:cut] + pairs[cut + 1 :]
