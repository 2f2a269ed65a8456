"""Decompressing on a card: all groups of windows at once, by an index that comes with the stream or is found in it."""

from __future__ import annotations

import torch
from torch import Tensor

from cdma.base.errors import CdmaError, ParameterError
from cdma.hdl.spec.checks import word_count
from cdma.hdl.spec.format import Format
from cdma.sim.codec import model

from .chain import found_index
from .checksum import checksum
from .decompress_kernel import unpack_kernel
from .layout import INDEX_COLUMNS, block_count
from .packed import Packed
from .plans import arguments
from .tensors import UNSIGNED, bytes_of, current, require_format, require_tensor

__all__ = ["WrongChecksum", "check_index", "decompress", "restored", "restored_numbers"]


class WrongChecksum(CdmaError, ValueError):
    """A stream is whole, but its words have another CRC-32C than they should have."""


def decompress(
    stream: Tensor,
    words: int,
    format: Format,
    *,
    index: Tensor | None = None,
    length: Tensor | None = None,
    crc: Tensor | int | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The ``words`` unsigned words of a stream, where the stream is; waits for the card to say whether they are right.

    Raises :class:`.CorruptStream` as :func:`cdma.decompress` does. An index that is not of the stream costs time and
    nothing else.

    ``index``
        That of the stream; without it one is found in the stream.
    ``length``
        The bytes of the stream in ``stream``, a 64-bit number on the card, if they are not all.
    ``crc``
        The CRC-32C that the words must have; :class:`WrongChecksum` says that they have another one.
    ``out``
        A tensor for the words. After an error it holds anything.
    """
    data = bytes_of(stream, require_format(format))
    words = word_count(words)
    check_index(index, words, format, data)
    if length is not None:
        require_tensor("the length", length)
        if length.device != data.device or length.dtype != torch.int64 or length.numel() != 1:
            raise ParameterError(
                f"the length must be one number of int64 on {data.device}, where the stream is"
            )
    with current(data.device):
        if length is None:
            length = torch.full((), data.numel(), dtype=torch.int64, device=data.device)
        # A stream that is too short for its headers is refused before there is memory for its words.
        windows = -(-words // format.window)
        if not words or windows * format.header_words * format.stream_bits > 8 * data.numel():
            made = _by_model(data, length, words, format)
        else:
            made = _target(out, words, format, data)
            tried = (index, None) if index is not None else (None,)
            if not any(_unpacked(data, length, format, each, made) for each in tried):
                made = _by_model(data, length, words, format)
        if out is not None and words and made.data_ptr() != out.data_ptr():
            made = _target(out, words, format, data).copy_(made)
        if crc is not None and (found := int(checksum(made))) != (wanted := int(crc)):
            raise WrongChecksum(f"the words have the CRC-32C {found:#010x}; it should be {wanted:#010x}")
    return made


def restored(packed: Packed, fault: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The words of a stream that fitted, without waiting for the card.

    ``fault``
        One 32-bit number on the card, which becomes 1 if the stream is no longer whole.
    ``out``
        A tensor for the words.
    """
    with current(packed.data.device):
        target = _target(out, packed.words, packed.format, packed.data)
        _unpack(packed.data, packed.length, packed.format, packed.index, target, fault)
    return target


def restored_numbers(packed: Packed, exponent: int, dtype: torch.dtype, fault: Tensor) -> Tensor:
    """The numbers of a stream of integers of 8 bits, ``2**exponent`` times these; see :func:`restored`."""
    with current(packed.data.device):
        target = torch.empty(packed.words, dtype=dtype, device=packed.data.device)
        _unpack(packed.data, packed.length, packed.format, packed.index, target, fault, 2.0**exponent)
    return target


def _unpacked(data: Tensor, length: Tensor, format: Format, index: Tensor | None, target: Tensor) -> bool:
    """Fills ``target``; returns whether the stream is whole and the index is its own."""
    fault = torch.zeros(1, dtype=torch.int32, device=data.device)
    _unpack(data, length, format, index, target, fault)
    return not int(fault)


def _unpack(
    data: Tensor,
    length: Tensor,
    format: Format,
    index: Tensor | None,
    target: Tensor,
    fault: Tensor,
    scale: float | None = None,
) -> None:
    """Fills ``target``; ``fault`` becomes 1 unless the stream is whole and the index is its own.

    With a ``scale`` the words are integers, and ``target`` is for numbers.
    """
    unit, words = format.stream_bits // 8, target.numel()
    if index is None:
        stream = data[: data.numel() - data.numel() % unit].view(UNSIGNED[unit])
        index = found_index(stream, length, words, format)
    behind = index.new_empty(-(-words // format.window), dtype=torch.int16)
    options = arguments("unpack", format, data.device)
    unpack_kernel[(len(index),)](
        data, index, length, behind, target, fault, words, data.numel() // unit, scale=scale, **options
    )


def _by_model(data: Tensor, length: Tensor, words: int, format: Format) -> Tensor:
    """What the golden model makes of a stream that the kernels did not take: most likely an error."""
    size = int(length)
    if not 0 <= size <= data.numel():
        raise ParameterError(f"the stream has {size} bytes; there was space for {data.numel()}")
    made = model.decompress(data[:size].cpu().numpy().tobytes(), words, format)
    return torch.from_numpy(made.copy()).to(data.device)


def check_index(index: Tensor | None, words: int, format: Format, data: Tensor) -> None:
    """Refuses an index that cannot be that of a stream of so many words."""
    if index is None:
        return
    require_tensor("the index", index)
    if index.device != data.device:
        raise ParameterError(
            f"the index is on {index.device} and the stream on {data.device}; they must be on one device"
        )
    rows = block_count(words, format)
    if index.dtype != torch.int64 or index.shape != (rows, INDEX_COLUMNS) or not index.is_contiguous():
        raise ParameterError(
            f"the index is no contiguous tensor of int64 with the shape ({rows}, {INDEX_COLUMNS}), as that of a stream of "
            f"{words} words is"
        )


def _target(out: Tensor | None, words: int, format: Format, data: Tensor) -> Tensor:
    word = UNSIGNED[format.word_bits // 8]
    if out is None:
        return torch.empty(words, dtype=word, device=data.device)
    require_tensor("out", out)
    if out.device != data.device:
        raise ParameterError(
            f"out is on {out.device} and the stream on {data.device}; they must be on one device"
        )
    if not out.is_contiguous() or out.numel() * out.element_size() < words * word.itemsize:
        size = words * word.itemsize
        raise ParameterError(
            f"out must be a contiguous tensor of at least {size} bytes, which {words} words have"
        )
    if out.data_ptr() % word.itemsize:
        raise ParameterError(
            f"out begins within a word; it must begin at a multiple of {word.itemsize} bytes"
        )
    end = data.data_ptr() + data.numel()
    if out.data_ptr() < end and data.data_ptr() < out.data_ptr() + out.numel() * out.element_size():
        raise ParameterError("out is a part of the stream; it must be another tensor")
    return out.detach().view(-1).view(torch.uint8)[: words * word.itemsize].view(word)
