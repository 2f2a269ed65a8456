"""Tensors for tests, and files of them."""

import json
import struct

import numpy as np

from cdma.sim.codec.number_types import quantise
from cdma.sim.codec.tensor_profile import profile

__all__ = ["noise", "rectified", "safetensors", "tensor", "unlike_tensors"]


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
