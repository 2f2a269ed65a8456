"""The pieces of a compressed packet, which engines with several units cut and join."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from cdma.hdl.spec.format import Format
from cdma.sim.codec.unpacking import find_headers
from cdma.sim.codec.words import Words, as_stream


def split_packet(stream: ArrayLike, pieces: Sequence[int], format: Format) -> list[Words]:
    """The streams of consecutive pieces of a packet; ``pieces`` has the raw words of each.

    Every piece but the last is a whole number of windows, and gets the words of these windows. The last one gets what
    is left, words too many among them. If the stream ends early, a piece gets what there is of it, which may be
    nothing.
    """
    words = as_stream(stream, format)
    windows = [-(-count // format.window) for count in pieces[:-1]]
    ends = np.cumsum(windows, dtype=np.int64)
    positions, end = find_headers(words, int(ends[-1]) + 1 if windows else 0, format)
    # A header that does not fit the stream is part of its window all the same.
    known = [*positions.tolist(), end]
    cuts = [min(known[number] if number < len(known) else len(words), len(words)) for number in ends.tolist()]
    return [words[begin:stop] for begin, stop in zip([0, *cuts], [*cuts, len(words)], strict=True)]
