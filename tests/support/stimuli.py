"""Which words of a packet are literals, for tests of the models of cycles. The random designs of a run, by its seed. When
the two sides of a stream rest. Tensors for tests, and files of them.
"""

from __future__ import annotations

import itertools
import json
import random
import struct
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cdma import CodecConfig
from cdma.hdl.spec.codec import BLOCKS
from cdma.sim.codec.fit import profile
from cdma.sim.codec.number_types import quantise
from cdma.verif.campaigns.soak.soak import any_design
from cdma.verif.simulator.simulate import Design
from cdma.verif.stream.codec import stimulus


def packet_shape(rng: np.random.Generator, config: CodecConfig, *, periodic: bool) -> NDArray[np.bool_]:
    """Some windows that repeat, which find what a single window cannot, or a mixture of all kinds of data."""
    if periodic:
        return stimulus.periodic(rng, config, 8)
    return stimulus.mixed(rng, 20 * config.format.window, config)


def random_codecs(seed: str, count: int) -> list[Design]:
    """So many compressors and decompressors."""
    rng = random.Random(seed)
    found: list[Design] = []
    while len(found) < count:
        design = any_design(rng)
        if design.block in BLOCKS:
            found.append(design)
    return found


#: Asked once per cycle: whether to rest in it.
Pause = Callable[[], bool]


def never() -> bool:
    """No pauses."""
    return False


def sometimes(seed: object, share: float) -> Pause:
    """Pauses at random, for the given share of cycles."""
    source = random.Random(repr(seed))
    return lambda: source.random() < share


def by_phases(seed: object) -> Pause:
    """Pauses never, sometimes or mostly, in phases of 25 decisions."""
    source = random.Random(repr(seed))
    phases = (source.choice((0, 0, 0.3, 0.8)) for _ in itertools.count())
    shares = itertools.chain.from_iterable([share] * 25 for share in phases)
    return lambda: source.random() < next(shares)


def tensor(density=0.25, size=4096, seed=1, dtype=np.float32):
    """Numbers of which exactly that part is not zero."""
    random = np.random.default_rng(seed)
    flat = np.zeros(size, dtype)
    places = random.permutation(size)[: round(density * size)]
    flat[places] = random.standard_normal(len(places)) * 2
    return flat


def rectified(shape=(4, 8, 6, 6), density=0.4, seed=1):
    """Activations behind a ReLU: none is negative, and about that part is not zero."""
    random = np.random.default_rng(seed)
    return (random.exponential(1, shape) * (random.random(shape) < density)).astype(np.float32)


def noise(density=0.25, size=4096, seed=1):
    """Words of which exactly that part is not zero, and has nothing in common: a code says nothing of its parts."""
    random = np.random.default_rng(seed)
    flat = np.zeros(size, np.uint32)
    places = random.permutation(size)[: round(density * size)]
    flat[places] = random.integers(1, 1 << 32, len(places))
    return flat


def unlike_tensors():
    """Profiles of tensors that no one format suits: an engine for both has words of 8 bits."""
    quantised, _ = quantise(tensor(0.3), affine=True)
    return profile("f", tensor(0.2)), profile("q", quantised)


def safetensors(header, data=b""):
    """A safetensors file with that header and those data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data
