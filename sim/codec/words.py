"""Word arrays, and words packed into the beats of a stream.

A word array is one-dimensional and unsigned, one word per element: ``uint32``, ``uint16`` or ``uint8``. Words of 2 and
4 bits, which only small hardware for proofs has, take a ``uint8`` each. A stream is an array of stream words, which are
bytes for a format with a field, and else words.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cdma.base.errors import ParameterError
from cdma.hdl.spec.format import Format, StreamFormat


class PackedBeat(NamedTuple):
    """What a transfer of a stream carries. ``keep`` has a bit for each byte, or for each word that is less than a byte."""

    data: int
    keep: int
    last: bool


def packed_beats(words: Words | Sequence[int], bits: int, lanes: int) -> Iterator[PackedBeat]:
    """Words of so many bits, ``lanes`` of them in a beat; no words are one empty last beat."""
    keeps = max(1, bits // 8)
    # Words below a byte take one each here, and only their bits in a beat.
    raw = np.asarray(words, f"<u{keeps}").tobytes()
    for start in range(0, max(len(raw), 1), lanes * keeps):
        part = raw[start : start + lanes * keeps]
        if bits < 8:
            data = sum(word << bits * lane for lane, word in enumerate(part))
        else:
            data = int.from_bytes(part, "little")
        yield PackedBeat(data, (1 << len(part)) - 1, start + lanes * keeps >= len(raw))


#: A word array.
Words = NDArray[Any]


class WordFormat(Protocol):
    """Any format whose streams are words."""

    @property
    def word_bits(self) -> int:
        """Bits of one word."""


def word_dtype(format: WordFormat) -> np.dtype[Any]:
    """Returns the type of the elements of a word array."""
    return np.dtype(f"u{max(1, format.word_bits // 8)}")


def stream_dtype(format: StreamFormat) -> np.dtype[Any]:
    """Returns the type of the elements of a stream."""
    return np.dtype(f"u{max(1, format.stream_bits // 8)}")


def rotated(words: Words, format: Format, sign: int = 1) -> Words:
    """Returns the words rotated left by what the format says, or right with ``sign`` -1."""
    left = sign * format.rotate % format.word_bits
    if not left:
        return words
    bits = words.dtype.type
    return words << bits(left) | words >> bits(format.word_bits - left)


def require_byte_words(format: WordFormat) -> None:
    """Refuses formats whose words are not whole bytes."""
    if format.word_bits < 8:
        raise ParameterError(
            f"word_bits is {format.word_bits}; bytes hold words of 8, 16 or 32 bits "
            "(smaller words exist in word arrays only)"
        )


def words_of(array: ArrayLike, format: WordFormat) -> Words:
    """Returns the words of a tensor in C order, bit for bit, of each element the low word first; or those of bytes.

    The result is a view of a tensor that is contiguous and little-endian, else a copy.
    """
    require_byte_words(format)
    word = word_dtype(format)
    if isinstance(array, (bytes, bytearray)):
        if len(array) % word.itemsize:
            raise ParameterError(
                f"the buffer has {len(array)} bytes; that is not a whole number of words of {format.word_bits} bits"
            )
        array = np.frombuffer(array, word.newbyteorder("<"))
    tensor = _tensor(array)
    if tensor.dtype.kind not in "biufc":
        raise ParameterError(
            f"the array holds {tensor.dtype}; it must hold integers, floating-point or complex numbers"
        )
    if tensor.dtype.itemsize % word.itemsize:
        raise ParameterError(
            f"the array holds {tensor.dtype}, {tensor.dtype.itemsize * 8} bits; that is not a whole "
            f"number of words of {format.word_bits} bits"
        )
    flat = np.ascontiguousarray(tensor, dtype=tensor.dtype.newbyteorder("<")).reshape(-1)
    return flat.view(word.newbyteorder("<")).astype(word, copy=False)


def base_of(base: ArrayLike | None, words: int, format: WordFormat) -> Words | None:
    """The words of a base for a tensor of so many ``words``, if there is one."""
    if base is None:
        return None
    try:
        found = words_of(base, format)
    except ParameterError as error:
        raise ParameterError(f"base is no tensor for this format: {error}") from None
    if len(found) != words:
        raise ParameterError(f"the base has {len(found)} words; it must have {words}, as the tensor has")
    return found


def xored(words: Words, base: ArrayLike | None, format: WordFormat) -> Words:
    """Words XORed with those of a base, if there is one."""
    other = base_of(base, len(words), format)
    return words if other is None else words ^ other


def _tensor(array: Any) -> NDArray[Any]:
    """Returns an array, any buffer or a tensor of PyTorch as an array that shares its memory, if it can."""
    if type(array).__module__.partition(".")[0] == "torch" and hasattr(array, "detach"):
        tensor = _of_torch(array)
    elif isinstance(array, np.ndarray):
        tensor = array
    else:
        try:
            tensor = np.asarray(memoryview(array))
        except (TypeError, ValueError):
            tensor = np.asarray(array)
    if tensor.dtype.isbuiltin == 2:
        # The types of ml_dtypes, such as bfloat16, are made of bits like all others.
        tensor = tensor.view(f"u{tensor.dtype.itemsize}")
    return tensor


def _of_torch(tensor: Any) -> NDArray[Any]:
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    try:
        return np.asarray(tensor.numpy())
    except TypeError:
        # NumPy lacks the type, as it does bfloat16; integers of the same size hold its bits.
        torch = sys.modules["torch"]
        bits = {1: torch.uint8, 2: torch.int16}[tensor.element_size()]
        return np.asarray(tensor.contiguous().view(bits).numpy())


def as_words(words: ArrayLike, format: WordFormat) -> Words:
    """Returns a word array of whole numbers; refuses a number that does not fit a word."""
    return _unsigned(words, format.word_bits)


def as_stream(stream: ArrayLike, format: StreamFormat) -> Words:
    """Returns a stream of whole numbers; refuses a number that does not fit a stream word."""
    return _unsigned(stream, format.stream_bits)


def _unsigned(words: ArrayLike, bits: int) -> Words:
    array = np.asarray(words)
    word = np.dtype(f"u{max(1, bits // 8)}")
    if array.ndim != 1:
        raise ParameterError(f"the words have the shape {array.shape}; a packet is one-dimensional")
    if array.size == 0:
        return np.empty(0, word)
    if array.dtype.kind not in "iu":
        raise ParameterError(f"the words are {array.dtype}; words are whole numbers")
    if array.dtype != word or bits < 8:
        low, high = int(array.min()), int(array.max())
        if low < 0 or high >> bits:
            wrong = low if low < 0 else high
            raise ParameterError(f"the words hold {wrong}; a word has {bits} bits, 0 to {(1 << bits) - 1}")
    return np.ascontiguousarray(array, dtype=word)


def words_from_bytes(data: bytes | bytearray | memoryview, format: WordFormat) -> Words:
    """Returns the whole words at the start of little-endian bytes; the bytes of a truncated word are ignored."""
    word = word_dtype(format)
    return np.frombuffer(data, word.newbyteorder("<"), memoryview(data).nbytes // word.itemsize).astype(
        word, copy=False
    )


def stream_from_bytes(data: bytes | bytearray | memoryview, format: StreamFormat) -> Words:
    """Returns the whole stream words at the start of little-endian bytes; the bytes of a truncated one are ignored."""
    word = stream_dtype(format)
    whole = memoryview(data).nbytes // word.itemsize
    return np.frombuffer(data, word.newbyteorder("<"), whole).astype(word, copy=False)


def words_to_bytes(words: Words) -> bytes:
    """Returns the little-endian bytes of a word array."""
    return words.astype(words.dtype.newbyteorder("<"), copy=False).tobytes()
