"""Where something was timed: the GPU, and what of its software a time depends on. Tensors as words and streams, on the
GPU where they are; and what is refused before anything is written.

Numbers as integers of 8 bits and back, within the kernels: bit for bit those of the hardware's error-bounded stage.

A number is scaled by a power of two, so that its integer is the nearest one. That is exact, but where it becomes so small
that it rounds to zero either way.

How a format looks to the kernels: constants, which they are compiled for, and tables, which they read.

A **group** is the windows of 512 bytes of raw data, and a **block** is 32 groups, one for each thread of a warp. The
index of a stream has a row of nine 64-bit numbers for each block: where its stream begins, and then how far behind that
each of its groups does, 32 numbers of 16 bits. That is 72 bytes for 16 KiB of raw data. Positions are in stream words.
"""

from __future__ import annotations

import math
import platform
import subprocess
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format, StreamFormat, require_stream_format
from cdma.sim.codec.words import require_byte_words


def where(card: bool) -> dict[str, Any]:
    """Its name, and the versions of its tools."""
    if not card:
        return {"card": "cpu", "tools": {"python": platform.python_version(), "torch": torch.__version__}}
    query = ("nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0")
    try:
        driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        driver = "unknown"
    return {
        "card": torch.cuda.get_device_name(),
        "tools": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "triton": import_module("triton").__version__,
            "driver": driver,
        },
    }


#: Numbers of 64 bits of what is found; see :func:`said`.
FOUND = 4
#: Numbers near it have steps of 1, and the lowest bits of such a number are those of an integer.
_NEAR = tl.constexpr(1.5 * (1 << 23))


@triton.jit
def integers_of(number, scale, KEEP: tl.constexpr):
    """The integers as words, the scaled numbers, and what integers differ from these by.

    If ``KEEP``, what is not zero does not become zero.
    """
    if number.dtype == tl.bfloat16:
        # The upper half of the bits; the interpreter's conversion does not know subnormal numbers.
        number = (number.to(tl.uint16, bitcast=True).to(tl.uint32) << 16).to(tl.float32, bitcast=True)
    number = number.to(tl.float32)
    steps = number * scale
    near = steps + _NEAR
    if KEEP:
        lost = (near == _NEAR) & (number != 0)
        near = tl.where(lost, tl.where(number < 0, _NEAR - 1, _NEAR + 1), near)
    return near.to(tl.uint32, bitcast=True) & 0xFF, steps, steps - (near - _NEAR)


@triton.jit
def numbers_of(word, scale):
    """The numbers of integers."""
    return word.to(tl.uint8).to(tl.int8, bitcast=True).to(tl.float32) * scale


@triton.jit
def said(found, largest, error, squares, numbers):
    """Adds to what is ``found`` what a block has.

    That is the bits of the largest magnitude, in which NaN is larger than all, and those of the largest error, as 32 bits;
    and the sums of the squares of errors and of numbers, as 64 bits. All are in steps.
    """
    narrow, wide = found.to(tl.pointer_type(tl.int32)), found.to(tl.pointer_type(tl.float64))
    tl.atomic_max(narrow, _most(largest), sem="relaxed")
    tl.atomic_max(narrow + 2, _most(error.to(tl.int32, bitcast=True)), sem="relaxed")
    tl.atomic_add(wide + 2, _sum(squares), sem="relaxed")
    tl.atomic_add(wide + 3, _sum(numbers), sem="relaxed")


@triton.jit
def _most(tile):
    return tl.max(tl.max(tl.max(tile, axis=2), axis=1), axis=0)


@triton.jit
def _sum(tile):
    return tl.sum(tl.sum(tl.sum(tile, axis=2), axis=1), axis=0).to(tl.float64)


_GROUP_BYTES = 512
#: Groups of a block.
GROUPS = 32
#: 64-bit numbers of a block in the index: one position, and 16 bits for each group.
INDEX_COLUMNS = 1 + GROUPS // 4


def block_count(words: int, format: Format) -> int:
    """Blocks of a packet, the last of which may be partial."""
    return -(-words * format.word_bits // (8 * _GROUP_BYTES * GROUPS))


def windows_of_block(format: Format) -> int:
    """Windows of a block that is full."""
    return GROUPS * _GROUP_BYTES * 8 // (format.word_bits * format.window)


def whole(words: int, format: Format) -> bool:
    """Whether a packet has no partial block."""
    return words % (GROUPS * _GROUP_BYTES * 8 // format.word_bits) == 0


@dataclass(frozen=True)
class Shape:
    """A format as kernels are compiled for it; sizes are in bytes, where nothing else is said.

    ``PER``, ``LANES``: Words of a lane, of 16 bytes and codes of 32 bits at most; and lanes of a window.
    ``GROUP``: Windows of a group.
    ``HEADER``, ``ALIGN``: Stream words of a header, and stream words that windows are padded to multiples of.
    ``KEY``, ``LOW``: Bytes of what codes are about, and bytes of a word below it.
    ``DEFINED``: Codes from here on are undefined, but for the literal.
    ``BITS``, ``SPAN``, ``SHARE``, ``PARTS``: Bits of a lane's codes, and stream words that these lie in; lanes whose
        codes together are whole stream words, and how many these are.
    """

    WORD: int
    UNIT: int
    WINDOW: int
    CODE: int
    PER: int
    LANES: int
    GROUP: int
    HEADER: int
    ALIGN: int
    FIELD: int
    KEY: int
    LOW: int
    ROTATE: int
    ZERO: int
    DEFINED: int
    BITS: int
    SPAN: int
    SHARE: int
    PARTS: int


@cache
def shape_of(format: Format) -> Shape:
    """The shape of a format."""
    word, unit, field = format.word_bits // 8, format.stream_bits // 8, format.field_bits // 8
    per = min(16 // word, format.window, 32 if format.code_bits == 1 else 16 if format.code_bits == 2 else 8)
    key, bits = field or word, per * format.code_bits
    share = math.lcm(bits, 8 * unit) // bits
    return Shape(
        WORD=word,
        UNIT=unit,
        WINDOW=format.window,
        CODE=format.code_bits,
        PER=per,
        LANES=format.window // per,
        GROUP=_GROUP_BYTES // (word * format.window),
        HEADER=format.header_words,
        ALIGN=format.align_words if format.padded else 1,
        FIELD=field,
        KEY=key,
        LOW=word - key,
        ROTATE=format.rotate,
        ZERO=int(format.zero),
        DEFINED=len(format.values) + format.zero,
        BITS=bits,
        SPAN=(bits - math.gcd(bits, 8 * unit) - 1) // (8 * unit) + 2,
        SHARE=share,
        PARTS=share * bits // (8 * unit),
    )


@lru_cache(maxsize=256)
def code_tables(format: Format, device: torch.device) -> tuple[Tensor, Tensor]:
    """The value of each code, and the code of each key of 8 bits; wider keys are compared with the values."""
    values = torch.zeros(16, dtype=torch.int64)
    codes = torch.full((256,), format.literal_code, dtype=torch.uint8)
    for code, value in reversed([*enumerate(format.values, int(format.zero))]):
        values[code] = value
        if format.entry_bits == 8:
            codes[value] = code
    return values.to(torch.uint32).to(device), codes.to(device)


#: Unsigned types by their bytes, and those of as many bits that PyTorch computes with.
UNSIGNED = {1: torch.uint8, 2: torch.uint16, 4: torch.uint32}
SIGNED = {1: torch.uint8, 2: torch.int16, 4: torch.int32}

_HERE = nullcontext()


def require_format(format: StreamFormat) -> Format:
    """The format, if :mod:`cdma.gpu` has streams of it, which have an index."""
    found = require_codec(format)
    if found.levels != 1:
        raise ParameterError(
            f"levels is {found.levels}; it must be 1 for cdma.gpu; cdma.compress has 2 on a GPU"
        )
    return found


def require_codec(format: StreamFormat) -> Format:
    """The format, if there are kernels for it."""
    require_stream_format(format)
    if not isinstance(format, Format):
        raise ParameterError(
            f"the format is one of the codec {format.codec}; a GPU has kernels for {Format.codec} alone"
        )
    require_byte_words(format)
    return format


def require_tensor(what: str, value: object) -> None:
    """Refuses what is no tensor."""
    if not isinstance(value, Tensor):
        raise ParameterError(f"{what} is {type(value).__name__}; it must be a torch.Tensor on a GPU")


def require_card(device: torch.device) -> None:
    """Refuses a device that Triton has no kernels for: it has some for the CPU where it interprets them."""
    if device.type == "cpu" and not triton.knobs.runtime.interpret:
        raise ParameterError("the tensor is on the CPU; it must be on a GPU, or TRITON_INTERPRET must be 1")
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
    """Makes a GPU the one that kernels run on, in the CUDA stream that is current there."""
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
    if flat.stride() != (1,):
        # A single element may have any.
        flat = flat.as_strided((flat.numel(),), (1,))
    if flat.is_complex():
        flat = torch.view_as_real(flat).reshape(-1)
    return words_in(flat, word)


def base_of(base: Tensor | None, words: int, format: Format, device: torch.device) -> Tensor | None:
    """The words of a base for a tensor of so many ``words`` on a device, if there is one."""
    if base is None:
        return None
    require_tensor("the base", base)
    if base.device != device:
        raise ParameterError(
            f"the base is on {base.device} and the tensor on {device}; they must be on one device"
        )
    try:
        found = words_of(base, format)
    except ParameterError as error:
        raise ParameterError(f"base is no tensor for this format: {error}") from None
    if found.numel() != words:
        raise ParameterError(f"the base has {found.numel()} words; it must have {words}, as the tensor has")
    return found


def xored(words: Tensor, other: Tensor | None) -> Tensor:
    """Words XORed with those of a base, if there is one."""
    if other is None:
        return words
    signed = SIGNED[words.element_size()]
    return (words.view(signed) ^ other.view(signed)).view(words.dtype)


def words_in(flat: Tensor, word: int) -> Tensor:
    """The words, of so many bytes, of elements in one dimension on a GPU, where kernels can read 16 bytes at a time."""
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


def overlap(one: Tensor, other: Tensor) -> bool:
    """Whether two contiguous tensors have a byte in common."""
    begins, ends = zip(
        *((each.data_ptr(), each.data_ptr() + each.nbytes) for each in (one, other)), strict=True
    )
    return max(begins) < min(ends)


@dataclass(frozen=True, slots=True)
class Packed:
    """A stream on a GPU, and what stands beside it.

    ``data``: Bytes that begin with the stream, if it fits; else they are as they were.
    ``length``: The bytes that the stream has, or would have: one 64-bit number on the GPU.
    ``words``: Words of the packet.
    ``index``: Where parts of the stream begin, for a faster way back; at most 0.5 % of the raw data, but 72 bytes at
        least.
    ``crc``: The CRC-32C of the raw data, if it was asked for: one 64-bit number on the GPU.
    """

    data: Tensor
    length: Tensor
    words: int
    format: Format
    index: Tensor
    crc: Tensor | None = None

    @property
    def stream(self) -> Tensor:
        """The stream: a view of ``data``. This waits for the GPU, which says how long it is."""
        length = int(self.length)
        if length > self.data.numel():
            raise ParameterError(f"the stream has {length} bytes; there was space for {self.data.numel()}")
        return self.data[:length]


def require_packed(value: object) -> None:
    """Refuses what is not packed."""
    if not isinstance(value, Packed):
        raise ParameterError(f"packed is {type(value).__name__}; it must be what cdma.gpu.compress gives")
