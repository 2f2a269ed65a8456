"""Tensors as words and streams, on the card where they are; and what is refused before anything is written."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache

import torch
import triton
from torch import Tensor

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stream_format import StreamFormat
from cdma.sim.codec.words import require_byte_words

__all__ = [
    "UNSIGNED",
    "aligned",
    "bytes_of",
    "current",
    "require_card",
    "require_format",
    "require_tensor",
    "words_in",
    "words_of",
]

#: Unsigned types by their bytes.
UNSIGNED = {1: torch.uint8, 2: torch.uint16, 4: torch.uint32}

_HERE = nullcontext()


def require_format(format: StreamFormat) -> Format:
    """The format, if there are kernels for it."""
    if not isinstance(format, Format):
        raise ParameterError(
            f"the format is one of the codec {format.codec}; a card has kernels for {Format.codec} alone"
        )
    require_byte_words(format)
    return format


def require_tensor(what: str, value: object) -> None:
    """Refuses what is no tensor."""
    if not isinstance(value, Tensor):
        raise ParameterError(f"{what} is {type(value).__name__}; it must be a torch.Tensor on a card")


def require_card(device: torch.device) -> None:
    """Refuses a device that Triton has no kernels for: it has some for the CPU where it interprets them."""
    if device.type == "cpu" and not triton.knobs.runtime.interpret:
        raise ParameterError("the tensor is on the CPU; it must be on a card, or TRITON_INTERPRET must be 1")
    if device.type not in ("cpu", "cuda"):
        raise ParameterError(
            f"the tensor is on a device of the type {device.type}; there are kernels for cuda alone"
        )
    if device.type == "cuda" and torch.version.hip is None and _capability(device) < (7, 5):
        name, (major, minor) = torch.cuda.get_device_name(device), _capability(device)
        raise ParameterError(
            f"{name} has the architecture sm_{major}{minor}; the kernels need sm_75 or newer"
        )


@cache
def _capability(device: torch.device) -> tuple[int, int]:
    return torch.cuda.get_device_capability(device)


def current(device: torch.device) -> AbstractContextManager[object]:
    """Makes a card the one that kernels run on, in the stream of work that is current there."""
    if device.type != "cuda" or device.index == torch.cuda.current_device():
        return _HERE
    return torch.cuda.device(device)


def words_of(tensor: Tensor, format: Format) -> Tensor:
    """The words of a tensor in C order, bit for bit: a view of one that is contiguous and begins at a multiple of 16
    bytes, else a copy."""
    require_tensor("the tensor", tensor)
    require_card(tensor.device)
    word = format.word_bits // 8
    if tensor.layout is not torch.strided or tensor.is_nested or tensor.is_quantized:
        raise ParameterError("the tensor is sparse, nested or quantised; it must be a plain one")
    if tensor.element_size() % word:
        raise ParameterError(
            f"the tensor holds {str(tensor.dtype).removeprefix('torch.')}, {tensor.element_size() * 8} bits; that is not "
            f"a whole number of words of {format.word_bits} bits"
        )
    flat = tensor.detach()
    if tensor.dim() != 1 or tensor.is_complex() or tensor.is_neg() or not tensor.is_contiguous():
        flat = flat.resolve_conj().resolve_neg().contiguous().reshape(-1)
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    return words_in(flat, word)


def words_in(flat: Tensor, word: int) -> Tensor:
    """The words, of so many bytes, of elements in one dimension on a card, where kernels can read 16 bytes at a time."""
    return aligned(flat).view(UNSIGNED[word])


def aligned(flat: Tensor) -> Tensor:
    """Elements where kernels can read 16 bytes at a time: a copy of those that begin elsewhere."""
    return flat.clone() if flat.data_ptr() % 16 else flat


def bytes_of(stream: Tensor, format: Format) -> Tensor:
    """A stream's bytes where its words may be read: a copy of one that begins within a word or has gaps."""
    require_tensor("the stream", stream)
    require_card(stream.device)
    if stream.dtype != torch.uint8 or stream.dim() != 1:
        raise ParameterError("the stream must be a tensor of uint8 of one dimension")
    stream = stream.detach().contiguous()
    return stream.clone() if stream.data_ptr() % (format.stream_bits // 8) else stream
