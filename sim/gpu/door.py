"""The door: tensors on a card go to the kernels there, and everything else to the codec of the host.

A card is any device of PyTorch but its CPU. Nothing is loaded before a tensor needs it.
"""

from __future__ import annotations

import sys
from typing import Any

from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stream_format import StreamFormat
from cdma.sim.codec import model, software
from cdma.sim.codec.fit import fit as fit_on_host
from cdma.sim.codec.model import ZVC
from cdma.sim.codec.native import CHUNK_BYTES
from cdma.sim.codec.results import Analysis

from .extras import kernels_in

__all__ = ["analyse", "compress", "decompress", "fit"]


def compress(
    array: Any,
    format: StreamFormat = ZVC,
    *,
    out: Any = None,
    threads: int = 1,
    chunk_bytes: int = CHUNK_BYTES,
) -> Any:
    """The compressed stream of a tensor of any shape, by bit pattern; see :func:`decompress`.

    ``array``
        An array or any buffer of numbers, those of ``ml_dtypes`` and of PyTorch among them. What is contiguous and
        little-endian is not copied. The stream of a tensor on a card is a tensor of bytes there, and else ``bytes``.
    ``out``
        A buffer for the stream, for a tensor on a card a tensor of bytes there, with at least
        ``format.bound_bytes(words)`` bytes, none of ``array``; the part of it that the stream takes is returned.
    ``threads``, ``chunk_bytes``
        How many threads of the host compress at once, where there are kernels in C, and how many bytes of raw data each of
        them takes at once; ``cdma tune software`` times what is best.
    """
    if not on_card(array):
        return software.compress(array, format, out=out, threads=threads, chunk_bytes=chunk_bytes)
    return kernels_in("compress").stream_of(array, format, out)


def decompress(
    data: Any,
    words: int,
    format: StreamFormat = ZVC,
    *,
    out: Any = None,
    threads: int = 1,
    chunk_bytes: int = CHUNK_BYTES,
) -> Any:
    """The ``words`` unsigned words that ``data`` stands for; ``.view(dtype).reshape(shape)`` undoes the rest.

    Those of a stream on a card are a tensor there. Raises :class:`.CorruptStream` for every stream whose length or codes
    show that it is not whole.

    ``out``
        A buffer for the words, for a stream on a card a tensor there, none of ``data``; the result is a view of it. After
        an error it holds anything.
    ``threads``, ``chunk_bytes``
        How many threads of the host decompress at once, and how many bytes of words each of them makes at once.
    """
    if not on_card(data):
        return software.decompress(data, words, format, out=out, threads=threads, chunk_bytes=chunk_bytes)
    return kernels_in("decompress").decompress(data, words, format, out=out)


def analyse(array: Any, format: StreamFormat = ZVC) -> Analysis:
    """Counts what :func:`compress` would store, of a tensor on a card there."""
    if not on_card(array):
        return model.analyse(array, format)
    counted: Analysis = kernels_in("compress").analyse(array, format)
    return counted


def fit(array: Any, format: Format, *, whole: bool = False) -> Format:
    """The format with the table that makes the stream of a tensor shortest.

    Of a tensor of more than a million words evenly spaced runs of words decide, a million in all, or with ``whole`` all
    of them. Where there is nothing to learn from, the table stays as it is. Words of a tensor on a card are counted there.
    """
    if not on_card(array):
        return fit_on_host(array, format, whole=whole)
    fitted: Format = kernels_in("fit").fit(array, format, whole=whole)
    return fitted


def on_card(array: Any) -> bool:
    """Whether something is a tensor of PyTorch that is not on the CPU."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor) and array.device.type != "cpu"
