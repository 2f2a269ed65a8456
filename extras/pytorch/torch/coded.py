"""A tensor as a stream of the codec: of its elements, where they are, with the kernels of a GPU or in software; or on the
CPU of the integers that its numbers became, which are what the quantiser of the hardware makes, bit for bit.

What is expected of a stream before it is made: as long as the last one was. So much space, and a little more, is taken
for it, and nothing waits for its length. The elements stay until the length has come, and a stream that did not fit is
made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from statistics import median

import numpy as np
import torch
from torch import Tensor

from cdma.door import analyse, fit
from cdma.gpu.door import kernels_in
from cdma.gpu.layout import Packed
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stage import Quantisation
from cdma.sim.codec.model import Analysis
from cdma.sim.codec.software import compress, compress_nibbles, decompress, decompress_nibbles
from cdma.sim.codec.words import Words

#: The number types that the quantiser takes, by their names in torch.
NUMBERS = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}

#: Bytes of a descriptor that say the exponent of the step.
_EXPONENT_BYTES = 1

#: Words whose frequencies stand for those of all.
_SAMPLE = 1 << 14


@dataclass(frozen=True)
class Step:
    """How a tensor becomes integers: its step is ``2**exponent``.

    ``bits``: The bits of the integers, the fewest first; those that hold the largest are taken.
    ``code_bits``: The bits of the codes of the codec behind: 1 for zeros, 2 for the three most frequent integers. The
        one with the fewest bytes is taken.
    ``keep_nonzero``: Whether what is not zero may become zero.
    """

    exponent: int
    bits: tuple[int, ...] = (4, 8)
    code_bits: tuple[int, ...] = (1, 2)
    keep_nonzero: bool = True


@dataclass(frozen=True)
class Integers:
    """Integers of so many bits, in bytes or more; numbers are ``2**exponent`` times as much, but for their errors."""

    whole: Tensor
    bits: int
    exponent: int
    error: float
    squares: float
    numbers: float


@dataclass(frozen=True)
class Coded:
    """A tensor of one dimension as bits; ``restored()`` makes it of them.

    ``size``: Bytes of the stream and of what must be known beside it: the table and the exponent of the step.
    ``error``, ``squares``, ``numbers``: The largest difference, and the sums of the squares of the differences and of
        the numbers; 0 without loss.
    """

    size: int
    restored: Callable[[], Tensor]
    bits: int = 0
    error: float = 0.0
    squares: float = 0.0
    numbers: float = 0.0


def coded(flat: Tensor) -> Coded:
    """Compresses without loss: bit for bit."""
    format = lossless_format(flat.dtype)
    stream = compress(flat, format)
    words = flat.numel() * flat.element_size() * 8 // format.word_bits
    return Coded(len(stream) + _table_bytes(format), _Elements(stream, words, format, flat.dtype))


def integers_of(flat: Tensor, step: Step) -> Integers | None:
    """The integers of numbers; None if one is NaN, infinite or too large, which the hardware reports."""
    dtype = flat.dtype
    for bits in step.bits:
        if bits >= 8 * dtype.itemsize:
            continue
        form = Quantisation(NUMBERS[dtype], bits)
        exponent = min(max(step.exponent, form.least_exponent), form.greatest_exponent)
        if exponent > step.exponent:
            continue
        numbers = flat.float()
        # A power of two times a number is exact, but where the product is so small that it rounds to zero either way.
        whole = (numbers * 2.0**-exponent).round_()
        if step.keep_nonzero:
            whole.add_(numbers.sign().masked_fill_(whole != 0, 0))
        least, most = torch.aminmax(whole)
        # Not true of NaN either.
        if not (float(least) >= -form.limit and float(most) <= form.limit):
            continue
        difference = torch.add(numbers, whole, alpha=-(2.0**exponent))
        error = max(abs(float(end)) for end in torch.aminmax(difference))
        return Integers(
            whole.to(torch.int8 if bits <= 8 else torch.int16),
            bits,
            exponent,
            error,
            float(torch.dot(difference, difference)),
            float(torch.dot(numbers, numbers)),
        )
    return None


def quantised(flat: Tensor, step: Step) -> Coded | None:
    """Compresses the integers of numbers, if they have some."""
    found = integers_of(flat, step)
    if found is None:
        return None
    integers = found.whole.numpy()
    words = integers.view(f"u{integers.dtype.itemsize}")
    if found.bits == 4:
        words = words & np.uint8(15)
    format = integer_format(words[:: sampling(len(words))], len(words), found.bits, step.code_bits)
    stream = compress_nibbles(words, format) if found.bits == 4 else compress(words, format)
    restored = _Integers(stream, len(words), format, found.bits, found.exponent, flat.dtype)
    return as_coded(len(stream), format, restored, found)


def as_coded(stream: int, format: Format, restored: Callable[[], Tensor], found: Integers) -> Coded:
    """Integers that became a stream of so many bytes."""
    size = stream + _table_bytes(format) + _EXPONENT_BYTES
    return Coded(size, restored, found.bits, found.error, found.squares, found.numbers)


@dataclass(frozen=True)
class _Elements:
    """A stream of the elements themselves, in words."""

    stream: bytes
    words: int
    format: Format
    dtype: torch.dtype

    def __call__(self) -> Tensor:
        words = decompress(self.stream, self.words, self.format)
        return torch.from_numpy(words.view(np.uint8)).view(self.dtype)


@dataclass(frozen=True)
class _Integers:
    """A stream of integers, for a tensor of numbers."""

    stream: bytes
    count: int
    format: Format
    bits: int
    exponent: int
    dtype: torch.dtype

    def __call__(self) -> Tensor:
        if self.bits == 4:
            words = decompress_nibbles(self.stream, self.count, self.format)
            signed = (words << np.uint8(4)).view(np.int8) >> np.int8(4)
        else:
            signed = decompress(self.stream, self.count, self.format).view(f"i{self.bits // 8}")
        return (torch.from_numpy(signed).float() * 2.0**self.exponent).to(self.dtype)


def sampling(count: int) -> int:
    """The distance of words of so many whose frequencies stand for those of all."""
    return 1 + count // _SAMPLE


def integer_format(sample: Words, count: int, bits: int, code_bits: tuple[int, ...]) -> Format:
    """The format of fewest bytes for so many words: one bit a code for zeros, more for the most frequent integers."""
    if code_bits == (1,):
        return Format(word_bits=bits)
    counts = np.bincount(sample, minlength=1)
    total = int(counts.sum())

    def of(code: int) -> tuple[float, Format]:
        if code == 1:
            table = np.zeros(1, np.intp)
        else:
            table = np.argsort(-counts, kind="stable")[: (1 << code) - 1]
        literals = total - int(counts[table].sum())
        format = Format(word_bits=bits, code_bits=code, values=tuple(table.tolist()))
        return (code + bits * literals / total) * count + 8 * _table_bytes(format), format

    return min((of(code) for code in code_bits), key=lambda found: found[0])[1]


def _table_bytes(format: Format) -> int:
    """Bytes of a table that must be known beside the stream."""
    return 0 if format.values == (0,) else len(format.values) * max(1, format.entry_bits // 8)


@cache
def lossless_format(dtype: torch.dtype) -> Format:
    """Zero-value compression in words of the element, at most 32 bits; whole numbers are small, so theirs are of 16."""
    if dtype == torch.bool:
        return Format(word_bits=8, code_bits=2, values=(0, 1))
    whole = not (dtype.is_floating_point or dtype.is_complex)
    return Format(word_bits=min(8 * dtype.itemsize, 16 if whole else 32))


class Codec:
    """Streams of the tensors of a device. Nothing waits for a GPU: a number there says later if a stream was not whole.

    ``kernels``: Whether it has the kernels, by default those of a GPU.
    """

    def __init__(self, device: torch.device, *, kernels: bool | None = None) -> None:
        self._kernels = device.type != "cpu" if kernels is None else kernels
        self._fault = torch.zeros(1, dtype=torch.int32, device=device)

    def beside(self, words: int, format: Format) -> int:
        """Bytes that stand beside a stream: its length, at a multiple of 16 bytes, and on a GPU its index."""
        if not self._kernels:
            return 16
        layout = kernels_in("layout")
        return 16 + 8 * int(layout.block_count(words, format) * layout.INDEX_COLUMNS)

    def scratch(self, raw: int, format: Format) -> int:
        """Bytes of the device that making so many bytes of elements takes: on a GPU two a window."""
        return 2 * -(-raw * 8 // (format.word_bits * format.window)) if self._kernels else 0

    def pack(self, flat: Tensor, format: Format, out: Tensor) -> Packed:
        """The stream of elements in ``out``, if it fits; its length says so."""
        if self._kernels:
            packed: Packed = kernels_in("encoder").compress(flat, format, out=out)
            return packed
        made = compress(flat, format)
        if len(made) <= out.numel():
            out[: len(made)] = torch.frombuffer(bytearray(made), dtype=torch.uint8)
        index = torch.empty((0, 1), dtype=torch.int64)
        return Packed(out, torch.tensor(len(made)), word_count(flat.nbytes, format), format, index)

    def unpack(self, packed: Packed, target: Tensor | None = None) -> Tensor:
        """The bytes of the elements, in ``target`` if that is given; of what is not whole, an error in software."""
        if self._kernels:
            words: Tensor = kernels_in("decoder").restored(packed, self._fault, out=target)
            return words.view(torch.uint8)
        words = torch.from_numpy(self._made(packed).view(np.uint8))
        return words if target is None else target.copy_(words)

    def check(self, packed: Packed) -> None:
        """Raises :class:`.CorruptStream` if a stream is not whole; waits for the device."""
        if self._kernels:
            kernels_in("decoder").decompress(
                packed.data, packed.words, packed.format, index=packed.index, length=packed.length
            )
        else:
            self._made(packed)

    def verdict(self) -> Tensor | None:
        """A number on its way to the host, which is not 0 if a stream until now was not whole; None where :meth:`unpack`
        says so itself."""
        if not self._kernels:
            return None
        found = torch.empty(1, dtype=torch.int32, pin_memory=self._fault.is_cuda)
        found.copy_(self._fault, non_blocking=True)
        self._fault.zero_()
        return found

    @staticmethod
    def _made(packed: Packed) -> np.ndarray:
        return decompress(packed.data[: int(packed.length)].numpy(), packed.words, packed.format)


def word_count(nbytes: int, format: Format) -> int:
    """Words of so many bytes of elements."""
    return nbytes * 8 // format.word_bits


#: Passes until the format of a tensor, and whether one pays, is looked for again.
REFRESH = 100
#: The part of its bytes that a stream must save, and the part for the time of each copy on the GPU.
_LEAST, _PRICE = 1 / 16, 1 / 20
#: Bytes that are timed, and rounds.
_SAMPLE, _ROUNDS = 1 << 24, 3
#: Bytes beyond the last length: a part of it, and some.
_MARGIN, _LEAST_MARGIN = 128, 1024
#: Formats for the exponents of numbers. The fields of fp16 lie where those of bf16 do, but for three bits.
_EXPONENTS = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "bf16"}


@dataclass(slots=True)
class Expected:
    """The stream of a tensor: its format, None if none pays, and its bytes.

    ``since``: When that was looked at.
    ``copies``: Copies of the tensor within its GPU for the time of the stream there and back, where time counts.
    """

    format: Format | None
    length: int
    raw: int
    since: int = 0
    copies: float = 0.0

    @property
    def space(self) -> int:
        """Bytes for it, a multiple of any stream word's, and no more than those of the elements."""
        return min(self.length + self.length // _MARGIN + _LEAST_MARGIN, self.raw) & ~63

    def was(self, length: int) -> None:
        """The stream had so many bytes."""
        self.length = length
        if not pays(length, self.raw, self.copies):
            self.format = None


def pays(length: float, raw: int, copies: float = 0.0) -> bool:
    """Whether a stream of that length pays that takes the time of so many copies of ``raw`` bytes."""
    return raw - length >= raw * max(_LEAST, copies * _PRICE)


def looked_at(
    flat: Tensor, formats: Iterable[Format], since: int = 0, cost: Callable[[Format], float] = lambda _: 0.0
) -> tuple[Expected, Analysis]:
    """What is expected of the shortest stream of elements, all of which are counted: this waits for a GPU."""
    found = min((analyse(flat, format) for format in formats), key=lambda each: each.compressed_bytes)
    assert isinstance(found.format, Format)
    made = Expected(found.format, found.compressed_bytes, flat.nbytes, since, cost(found.format))
    made.was(made.length)
    return made, found


def formats_of(flat: Tensor, dense: bool) -> list[Format]:
    """The formats that may suit a tensor; ``dense`` has that of exponents among them."""
    formats = [lossless_format(flat.dtype)]
    if dense and flat.dtype in _EXPONENTS:
        formats.append(fit(flat, Format.preset(_EXPONENTS[flat.dtype])))
    return formats


@cache
def copies(format: Format, device: torch.device) -> float:
    """Copies of a tensor within its GPU for the time of a stream of it there and back, measured there once; of a processor
    0."""
    if device.type != "cuda":
        return 0.0
    from cdma.gpu.decoder import restored
    from cdma.gpu.encoder import compress
    from cdma.gpu.measure import numbers, seconds_of

    with torch.cuda.device(device):
        source = numbers(format, 0.5, _SAMPLE, seed=0)
        target, fault = torch.empty_like(source), torch.zeros(1, dtype=torch.int32, device=device)
        out = torch.empty(format.bound_bytes(source.numel()), dtype=torch.uint8, device=device)
        packed = compress(source, format, out=out)
        works = (
            lambda: target.copy_(source),
            lambda: compress(source, format, out=out),
            lambda: restored(packed, fault, out=target),
        )
        copy, there, back = (median(seconds_of(work, _ROUNDS)) for work in works)
    return (there + back) / copy
