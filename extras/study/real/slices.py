"""The recorded activations that come with cdma: parts of what trained networks compute, each under its network's licence."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import ParameterError

from .taps import Tapped

#: By network: what the name of a tensor begins with, what it is called, and the images, channels, rows and columns of its
#: part, or tokens and features.
_SLICES: dict[str, tuple[tuple[str, str, tuple[int, ...]], ...]] = {
    "basic-pitch": (("Relu__38", "relu38", (1, 4, 32, 64)),),
    "crepe": (("relu2", "relu2", (2, 128, 64, 1)), ("relu5", "relu5", (2, 256, 16, 1))),
    "face": (("activation_2", "relu2", (1, 8, 32, 32)), ("activation_9", "relu9", (1, 32, 16, 16))),
    "hand": (
        ("model_1/model/re_lu_2/", "relu2", (1, 16, 32, 32)),
        ("model_1/model/re_lu_22/", "relu22", (1, 64, 14, 14)),
        ("model_1/model/re_lu_31/", "relu31", (1, 128, 7, 7)),
    ),
    "pose": (
        ("model_1/model/re_lu_39/", "relu39", (1, 8, 32, 32)),
        ("model_1/model/max_pooling2d/", "pool", (1, 288, 4, 4)),
    ),
    "silero-vad": (("/Relu_3", "relu3", (32, 128)),),
    "smollm2": (
        ("layers.8.input_layernorm", "norm", (64, 192)),
        ("layers.3.self_attn.k_proj", "keys", (64, 192)),
        ("layers.2.self_attn.v_proj", "values", (64, 192)),
        ("layers.3.mlp.act_fn", "silu", (64, 192)),
    ),
}


def slices(network: str, tensors: Iterable[Tapped]) -> dict[str, NDArray[np.float32 | np.uint16]]:
    """The parts of a network's tensors by ``network.name``, from their middle, channels first; bfloat16 by its bits."""
    by_name = [(tap.name, tap) for tap in tensors]
    found = {}
    for prefix, name, shape in _SLICES.get(network, ()):
        tap = next((tap for known, tap in by_name if known.startswith(prefix)), None)
        if tap is None:
            raise ParameterError(f"{network} computes no tensor that is called {prefix}")
        numbers = np.moveaxis(tap.numbers, tap.channels, 1) if len(shape) == 4 else tap.numbers.squeeze()
        starts = [(side - part) // 2 for side, part in zip(numbers.shape, shape, strict=True)]
        box = tuple(slice(start, start + part) for start, part in zip(starts, shape, strict=True))
        found[f"{network}.{name}"] = np.ascontiguousarray(numbers[box])
    return found
