"""Which words of a packet are literals, for tests of the models of cycles."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cdma import CodecConfig
from cdma.verif.stream.codec import stimulus

__all__ = ["packet_shape"]


def packet_shape(rng: np.random.Generator, config: CodecConfig, *, periodic: bool) -> NDArray[np.bool_]:
    """Some windows that repeat, which find what a single window cannot, or a mixture of all kinds of data."""
    if periodic:
        return stimulus.periodic(rng, config, 8)
    return stimulus.mixed(rng, 20 * config.format.window, config)
