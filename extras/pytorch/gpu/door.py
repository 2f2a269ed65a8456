"""Tensors on a GPU, for :mod:`cdma.door`: they go to the kernels there. Nothing is loaded before a tensor needs it."""

from __future__ import annotations

from typing import Any

import torch

from cdma.hdl.spec.format import Format, StreamFormat
from cdma.sim.codec.model import Analysis

from .extras import kernels_in


def takes(array: Any) -> bool:
    """Whether something is a tensor of PyTorch on a GPU, which is any device but its CPU."""
    return isinstance(array, torch.Tensor) and array.device.type != "cpu"


def compress(array: Any, format: StreamFormat, *, base: Any = None, out: Any = None) -> Any:
    """The compressed stream of a tensor, a tensor of bytes there."""
    return kernels_in("tensors").compress(array, format, base=base, out=out)


def decompress(data: Any, words: int, format: StreamFormat, *, base: Any = None, out: Any = None) -> Any:
    """The unsigned words of a stream, a tensor there."""
    return kernels_in("tensors").decompress(data, words, format, base=base, out=out)


def analyse(array: Any, format: StreamFormat, *, base: Any = None) -> Analysis:
    """Counts what :func:`compress` would store."""
    counted: Analysis = kernels_in("tensors").analyse(array, format, base=base)
    return counted


def fit(array: Any, format: Format, *, base: Any = None, whole: bool = False) -> Format:
    """The format with the table that makes the stream of a tensor shortest."""
    fitted: Format = kernels_in("tensors").fit(array, format, base=base, whole=whole)
    return fitted
