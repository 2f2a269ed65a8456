"""What the bench of the codec in software measures each codec for."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cdma.sim.codec.software_bench import Codec, measure


def test_a_codec_is_not_charged_with_the_memory_of_the_one_before_it() -> None:
    """Giving back what a codec returned takes about as long as copying it, so it is gone before the next one begins."""
    returned: list[weakref.ref[NDArray[Any]]] = []

    def copied(source: NDArray[Any]) -> NDArray[Any]:
        assert all(reference() is None for reference in returned), "still in memory"
        return source.copy()

    def kept(source: NDArray[Any]) -> NDArray[Any]:
        restored = source.copy()
        returned.append(weakref.ref(restored))
        return restored

    tensor = np.arange(100, dtype=np.float32)
    rounds = list(measure(tensor, [Codec(name, copied, kept) for name in ("one", "another")], 2))
    assert [row.codec for row in rounds[-1]] == ["one", "another"]
    assert len(returned) == 4
