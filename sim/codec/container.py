"""The ``.cdma`` file of one tensor, its frames, and CRC-32C (Castagnoli, as in iSCSI), which engines calculate, too.

``docs/format.md`` describes the file byte by byte. Reader and writer keep one chunk in memory, at any size of the file.

A frame is a header, a whole window and its padding. A stream consists of the stored words of its frames, so one list of
positions, made from one mask, serves both directions. Headers and windows are moved as opaque items: one move per
window, not one per word.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from io import BufferedIOBase
from typing import Any, BinaryIO, cast
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import CdmaError, ParameterError
from cdma.hdl.spec.codec import format_from_settings, format_settings
from cdma.hdl.spec.format import Format, StreamFormat
from cdma.sim.codec.files import NotATensor, Tensor

from .headers import Codes, codes_of, pack, parts_of_codes
from .model import CorruptStream
from .software import compress, decompress, native
from .words import Words, rotated, stream_dtype, word_dtype

#: The polynomial 0x1EDC6F41, reflected: the lowest bit is the highest power of x.
POLYNOMIAL = 0x82F63B78


def _of_byte(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
    return byte


#: The remainder of each byte.
TABLE = tuple(map(_of_byte, range(256)))


def crc32c(data: Any, crc: int = 0) -> int:
    """Returns the CRC of ``data`` that follow bytes whose CRC is ``crc``: 0 of no bytes, 0xE3069283 of ``b"123456789"``."""
    octets = np.frombuffer(data, np.uint8)
    if (module := native()) is not None:
        return int(module.crc32c(octets.ctypes.data, len(octets), crc))
    state = crc ^ 0xFFFFFFFF
    rows = len(octets) // _ROW
    # Rows are divided all at once, and then put together: a remainder moves on by the zeros of a row.
    remainders = _divided(np.zeros(rows, np.uint32), octets[: rows * _ROW].reshape(rows, _ROW))
    for remainder in remainders.tolist():
        before, state = state.to_bytes(4, "little"), remainder
        for table, byte in zip(_moved_on(), before, strict=True):
            state ^= table[byte]
    for byte in octets[rows * _ROW :].tolist():
        state = TABLE[(state ^ byte) & 0xFF] ^ state >> 8
    return state ^ 0xFFFFFFFF


#: Bytes of a row.
_ROW = 1 << 10


def _divided(states: NDArray[np.uint32], rows: NDArray[np.uint8]) -> NDArray[np.uint32]:
    """The remainders of rows of bytes that follow what has the remainders ``states``."""
    table = np.array(TABLE, np.uint32)
    for column in np.ascontiguousarray(rows.T):
        states = table[(states ^ column) & np.uint32(0xFF)] ^ states >> np.uint32(8)
    return states


@cache
def _moved_on() -> list[list[int]]:
    """For each byte of a remainder what becomes of it when a row of zeros follows."""
    bytes_of = np.arange(256, dtype=np.uint32)
    zeros = np.zeros((256, _ROW), np.uint8)
    return [_divided(bytes_of << np.uint32(8 * place), zeros).tolist() for place in range(4)]


#: Words of a group of windows, few enough for their frames, masks and positions to stay in a cache.
FRAME_WORDS = 1 << 16


class Frames:
    """A buffer of ``capacity`` frames, used for one group of windows after the other."""

    def __init__(self, format: Format) -> None:
        self.format = format
        self.capacity = FRAME_WORDS // format.window
        self._padding = format.align_words - 1
        self._size = format.header_words + format.window * format.parts + self._padding
        self._words = np.zeros(self.capacity * self._size, stream_dtype(format))
        self._headers, self._windows = self._fields(self._words)[:2]
        self._stored = np.ones(self.capacity * self._size, bool)
        _, self._stored_windows, *self._stored_padding = self._fields(self._stored)
        word = word_dtype(format)
        self._table = np.zeros(1 << format.code_bits, word)
        self._table[int(format.zero) : format.zero + len(format.values)] = format.values
        # Under the frequent value of a field stand the bits that come from the stream.
        self._table = rotated(
            self._table << word.type(format.word_bits - (format.field_bits or format.word_bits)), format, -1
        )
        self._zero_only = not self._table.any()
        self._flags = np.arange(format.parts) < parts_of_codes(format)[:, None]
        self._sent = np.ascontiguousarray(self._flags).view(f"u{format.parts}")[:, 0]

    def _fields(self, flat: NDArray[Any]) -> list[NDArray[Any]]:
        """Returns the headers, the windows and the padding, if any, of the frames in ``flat``, as items."""
        lengths = (self.format.header_words, self.format.window * self.format.parts, self._padding)
        names = [
            (f"f{index}", f"V{length * flat.itemsize}") for index, length in enumerate(lengths) if length
        ]
        frames = flat.view(names)
        return [frames[name] for name, _ in names]

    def compress(self, words: Words) -> Words:
        """Compresses windows, at most ``capacity`` of them, the last of which may be partial, to a stream."""
        windows = -(-len(words) // self.format.window)
        places = windows * self.format.window
        codes = codes_of(words, self.format)
        all_codes, all_words = codes, words
        if places > len(words):
            all_codes, all_words = np.zeros(places, np.uint8), np.zeros(places, words.dtype)
            all_codes[: len(words)], all_words[: len(words)] = codes, words
        headers = pack(all_codes.reshape(windows, self.format.window), self.format)
        self._headers[:windows] = headers.reshape(-1).view(self._headers.dtype)
        self._windows[:windows] = rotated(all_words, self.format).view(self._windows.dtype)
        if self._padding:
            # Frames of an earlier group lie beneath.
            self._words.reshape(self.capacity, self._size)[:windows, -self._padding :] = 0
        return np.take(self._words, self._positions(all_codes, len(words)), mode="clip")

    def decompress(self, stream: Words, codes: Codes, words: Words) -> None:
        """Fills ``words`` from the ``codes`` of their windows, a row for each, and the ``stream`` of these."""
        windows, places = len(codes), codes.size
        flat = codes.reshape(-1)
        self._words[: windows * self._size] = 0
        self._words[self._positions(flat, len(words))] = stream
        result = words if len(words) == places else np.empty(places, words.dtype)
        result.view(self._windows.dtype)[:] = self._windows[:windows]
        if self.format.rotate:
            result[:] = rotated(result, self.format, -1)
        if not self._zero_only:
            result += np.take(self._table, flat)
        if result is not words:
            words[:] = result[: len(words)]

    def words_of(self, codes: Codes, stored: Words) -> Words:
        """The words of a few ``codes``, from what the stream has ``stored`` of them."""
        parts = np.zeros((len(codes), self.format.parts), stored.dtype)
        parts[self._flags[codes]] = stored
        words = parts.reshape(-1).view(self._table.dtype)
        return rotated(words, self.format, -1) + self._table[codes]

    def _positions(self, codes: Codes, words: int) -> NDArray[np.intp]:
        """Returns the positions in the frames of what is stored: headers, parts of the first ``words`` words, padding."""
        windows = len(codes) // self.format.window
        if self.format.code_bits == 1 and self.format.parts == 1:
            sent = codes.view(bool)
        else:
            sent = np.take(self._sent, codes)
            sent[words:] = 0
        self._stored_windows[:windows] = sent.view(self._stored_windows.dtype)
        if self._padding:
            flags = sent.view(np.uint8).reshape(windows, self.format.window * self.format.parts)
            used = np.count_nonzero(flags, axis=1) + self.format.header_words
            padded = np.arange(self._padding) < (-used % self.format.align_words)[:, None]
            self._stored_padding[0][:windows] = np.ascontiguousarray(padded).view(
                self._stored_padding[0].dtype
            )[:, 0]
        return np.flatnonzero(self._stored[: windows * self._size])


MAGIC = b"\x89cDMA\r\n\x1a"
#: The versions of the file format: of a file of one tensor, and of one of several.
VERSIONS = (1, 2)
VERSION = VERSIONS[0]
#: Bytes of raw data in a chunk that this module writes: many windows, which stay in a cache.
CHUNK_BYTES = 1 << 22
#: The most bytes of raw data in a chunk that it reads, which limits the memory that a file can require.
_MOST_CHUNK_BYTES = 1 << 28
_MOST_HEADER_BYTES = 1 << 16

#: The keys of a header for the tensor and its chunks; the others are those of the format.
_OF_TENSOR = ("dtype", "shape", "fortran_order", "chunk_words")

_PREAMBLE = struct.Struct("<8sII")
_CHUNK = struct.Struct("<II")
_CRC = struct.Struct("<I")

#: Called with the bytes of raw data since the last call.
Progress = Callable[[int], object]


class BadFile(CdmaError, ValueError):
    """A file is of another kind, truncated or damaged."""


@dataclass(frozen=True)
class Container:
    """The header of a file."""

    tensor: Tensor
    format: StreamFormat
    #: Words of every chunk except the last, which has the rest.
    chunk_words: int

    def __post_init__(self) -> None:
        if self.format.word_bits < 8 or self.tensor.dtype.itemsize % self.word_bytes:
            raise ParameterError(
                f"the tensor holds {self.tensor.dtype}, {self.tensor.dtype.itemsize * 8} bits; "
                f"that is not a whole number of words of {self.format.word_bits} bits"
            )

    @property
    def word_bytes(self) -> int:
        return word_dtype(self.format).itemsize

    @property
    def words(self) -> int:
        """Words of the tensor."""
        return self.tensor.nbytes // self.word_bytes


def pack_file(
    source: BinaryIO, tensor: Tensor, target: BinaryIO, format: StreamFormat, progress: Progress
) -> int:
    """Compresses the data of ``tensor``, which is the rest of ``source``, and returns the bytes written."""
    written = pack_tensor(source, tensor, target, format, progress)
    if source.read(1):
        raise NotATensor(f"more bytes follow its data of {tensor.nbytes} bytes")
    return written


def pack_tensor(
    source: BinaryIO, tensor: Tensor, target: BinaryIO, format: StreamFormat, progress: Progress
) -> int:
    """Compresses the data of ``tensor``, which are next in ``source``, and returns the bytes written."""
    container = Container(tensor, format, CHUNK_BYTES * 8 // format.word_bits)
    written = write_description(target, VERSION, _description_of(container))
    left = tensor.nbytes
    room = np.empty(format.bound_bytes(min(container.chunk_words, container.words)), np.uint8)
    # Chunks go through the same memory, because the system takes longer to give more than the codec works.
    chunk = memoryview(bytearray(min(CHUNK_BYTES, left)))
    while left:
        chunk = chunk[:left]
        size = cast(BufferedIOBase, source).readinto(chunk)
        if size < len(chunk):
            raise NotATensor(f"it ends {left - size} bytes before its data of {tensor.nbytes} bytes does")
        raw = _in_little_endian(chunk, tensor)
        stream = compress(np.frombuffer(raw, word_dtype(format).newbyteorder("<")), format, out=room)
        target.write(_CHUNK.pack(len(stream), crc32(raw)))
        target.write(stream)
        written += _CHUNK.size + len(stream)
        left -= len(raw)
        progress(len(raw))
    return written


def unpack_file(source: BinaryIO, container: Container, target: BinaryIO, progress: Progress) -> None:
    """Decompresses the chunks, which are the rest of ``source``, and writes the data of the tensor."""
    unpack_tensor(source, container, target, progress)
    if source.read(1):
        raise BadFile("it is damaged: there is something after its last chunk")


def unpack_tensor(source: BinaryIO, container: Container, target: BinaryIO, progress: Progress) -> None:
    """Decompresses the chunks, which are next in ``source``, and writes the data of the tensor."""
    chunks = -(-container.words // container.chunk_words)
    room = None
    for chunk in range(chunks):
        where = f"chunk {chunk + 1} of {chunks}"
        words = min(container.chunk_words, container.words - chunk * container.chunk_words)
        length, checksum = _CHUNK.unpack(_read(source, _CHUNK.size, where))
        if length > container.format.bound_bytes(words):
            raise BadFile(f"it is damaged: {where} claims {length} bytes, more than {words} words can become")
        try:
            result = decompress(_read(source, length, where), words, container.format, out=room)
        except CorruptStream as error:
            raise BadFile(f"it is damaged: in {where} {error}") from None
        # The first chunk is the largest, so the others have room where it was.
        room = result if room is None else room
        raw = result.astype(result.dtype.newbyteorder("<"), copy=False).view(np.uint8).data
        if crc32(raw) != checksum:
            raise BadFile(f"it is damaged: the checksum of {where} is wrong")
        target.write(_in_little_endian(raw, container.tensor))
        progress(len(raw))


def read_header(source: BinaryIO) -> Container:
    """Reads the header of a file of one tensor, up to the first chunk."""
    version, description = read_description(source)
    if version != VERSION:
        raise BadFile(
            f"it has version {version} of the file format; a file of one tensor has version {VERSION}"
        )
    return container_from(description)


def read_description(source: BinaryIO) -> tuple[int, Any]:
    """Reads what begins a file: its version and its description."""
    preamble = source.read(_PREAMBLE.size)
    if preamble[: len(MAGIC)] != MAGIC[: len(preamble)] or not preamble:
        raise BadFile("it is not a cDMA file")
    if len(preamble) < _PREAMBLE.size:
        raise BadFile("it is truncated: it ends in the header")
    _, version, length = _PREAMBLE.unpack(preamble)
    if version not in VERSIONS:
        raise BadFile(
            f"it has version {version} of the file format; this program reads versions {VERSIONS[0]} and {VERSIONS[1]}"
        )
    if length > _MOST_HEADER_BYTES:
        raise BadFile(
            f"it is damaged: its header claims {length} bytes, more than the {_MOST_HEADER_BYTES} allowed"
        )
    text = read_checked(source, length, "the header", preamble)
    try:
        return version, json.loads(text)
    except ValueError as error:
        raise BadFile(f"its header makes no sense: {error}") from None


def read_checked(source: BinaryIO, length: int, where: str, before: bytes = b"") -> bytes:
    """Reads that many bytes, and the checksum of them and of what came ``before``."""
    data = _read(source, length, where)
    (checksum,) = _CRC.unpack(_read(source, _CRC.size, where))
    if crc32(before + data) != checksum:
        raise BadFile(f"it is damaged: the checksum of {where} is wrong")
    return data


def write_description(target: BinaryIO, version: int, description: dict[str, Any]) -> int:
    """Writes what begins a file, and returns the bytes written."""
    text = json.dumps(description).encode("ascii")
    head = _PREAMBLE.pack(MAGIC, version, len(text)) + text
    target.write(head + _CRC.pack(crc32(head)))
    return len(head) + _CRC.size


def container_from(description: Any) -> Container:
    """The header of a tensor that a description is about."""
    try:
        return _container_from(description)
    except (CdmaError, KeyError, TypeError, ValueError) as error:
        # The checksum is right, so another program wrote this.
        raise BadFile(f"its header makes no sense: {error}") from None


def _container_from(header: dict[str, Any]) -> Container:
    format = format_from_settings({name: value for name, value in header.items() if name not in _OF_TENSOR})
    shape = tuple(header["shape"])
    if not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"the shape is {shape}")
    tensor = Tensor(shape, np.dtype(header["dtype"]), bool(header["fortran_order"]))
    chunk_words = header["chunk_words"]
    container = Container(tensor, format, chunk_words)
    if type(chunk_words) is not int or not 0 < chunk_words * container.word_bytes <= _MOST_CHUNK_BYTES:
        raise ValueError(f"chunk_words is {chunk_words}")
    return container


def _description_of(container: Container) -> dict[str, Any]:
    return {
        "dtype": container.tensor.dtype.str,
        "shape": container.tensor.shape,
        "fortran_order": container.tensor.fortran_order,
        **format_settings(container.format),
        "chunk_words": container.chunk_words,
    }


def _read(source: BinaryIO, length: int, where: str) -> bytes:
    data = source.read(length)
    if len(data) < length:
        raise BadFile(f"it is truncated: it ends in {where}")
    return data


def _in_little_endian(raw: memoryview, tensor: Tensor) -> bytes | memoryview:
    """Reverses the bytes of every element of a big-endian tensor; returns other data unchanged."""
    if tensor.dtype == tensor.dtype.newbyteorder("<"):
        return raw
    return np.frombuffer(raw, tensor.dtype).byteswap().tobytes()
