"""The file of a patch: what changed of each tensor, and an index by which one of them is found.

``docs/deltas.md`` describes it byte by byte. A tensor is in chunks, each a packet in a format with two levels, XORed with
the chunk of the base; of a chunk that did not change there is its length alone, 0. Streams may be compressed by zlib, as
what changed is mostly alike.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from cdma.base.errors import CdmaError
from cdma.hdl.spec.format import Format

from .container import crc32c
from .files import Tensor
from .fit import fit
from .model import CorruptStream
from .software import compress, decompress
from .sources import CHUNK_BYTES, DeltaError, Octets, Piece, Source
from .words import word_dtype

MAGIC = b"\x89cDMD\r\n\x1a"
VERSION = 1

_START = struct.Struct("<8sI")
_CHUNK = struct.Struct("<I")
#: In the length of a stream, says that it is compressed by zlib.
_DEFLATED = 1 << 31
#: Where the index begins, its CRC, and what ends a file that is whole.
_END = struct.Struct("<QI4s")
_LAST = b"cDMD"
#: The most bytes of an index, and of a head.
_MOST_BYTES = 1 << 28

#: Words of a tensor that its format is chosen by.
_TRIED = 1 << 16

Progress = Callable[[int], object]


@dataclass(frozen=True)
class Entry:
    """A tensor of the index.

    ``begin``, ``end``: Where its chunks are in the patch.
    ``crc``, ``base``, ``patch``: CRC-32C of its bytes, of those of the base, and of its chunks. Without a base the
        chunks have the whole tensor.
    """

    name: str
    type: str
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    begin: int
    end: int
    format: dict[str, Any]
    crc: int
    base: int | None
    patch: int

    @property
    def changed(self) -> bool:
        """Whether it differs from the base."""
        return self.base is None or self.crc != self.base or self.end - self.begin > self.chunks * _CHUNK.size

    @property
    def chunks(self) -> int:
        return -(-self.nbytes // CHUNK_BYTES)

    @property
    def tensor(self) -> Tensor:
        """Its type and shape, as numpy has them."""
        return Tensor(self.shape, np.dtype(self.dtype))


@dataclass(frozen=True)
class FileEntry:
    """A file of the index, as :class:`.Source` has it; ``head`` is where its head is, compressed by zlib."""

    path: str
    kind: str
    head: tuple[int, int]
    tensors: tuple[Entry, ...]


@dataclass(frozen=True)
class Index:
    """All that a patch makes, and the names of what the base had besides."""

    folder: bool
    files: tuple[FileEntry, ...]
    gone: tuple[str, ...]

    def entries(self) -> Iterator[Entry]:
        for file in self.files:
            yield from file.tensors


def write_patch(
    target: BinaryIO, new: list[Source], base: list[Source], folder: bool, plain: bool, progress: Progress
) -> tuple[Index, int]:
    """Writes what makes ``new`` of ``base``, and returns the index and the bytes written.

    ``plain``: Leaves streams as they are.
    """
    known = {(source.path, piece.name): piece for source in base for piece in source.pieces}
    target.write(_START.pack(MAGIC, VERSION))
    at = _START.size
    files = []
    for source in new:
        head = zlib.compress(source.head, 9)
        target.write(head)
        place, at = (at, at + len(head)), at + len(head)
        entries = []
        for piece in source.pieces:
            before = known.pop((source.path, piece.name), None)
            entries.append(_write_tensor(target, at, piece, before, plain, progress))
            at = entries[-1].end
        files.append(FileEntry(source.path, source.kind, place, tuple(entries)))
    index = Index(folder, tuple(files), tuple(sorted(name for _, name in known)))
    text = zlib.compress(json.dumps(asdict(index), separators=(",", ":")).encode(), 9)
    target.write(text + _END.pack(at, crc32c(text), _LAST))
    return index, at + len(text) + _END.size


def _write_tensor(
    target: BinaryIO, begin: int, new: Piece, base: Piece | None, plain: bool, progress: Progress
) -> Entry:
    if base is not None and (base.type, base.shape, base.nbytes) != (new.type, new.shape, new.nbytes):
        base = None
    format = None
    crc = base_crc = patch_crc = 0
    end = begin
    for at in range(0, new.nbytes, CHUNK_BYTES):
        size = min(CHUNK_BYTES, new.nbytes - at)
        raw = new.read(at, size)
        crc = crc32c(raw, crc)
        other = None
        record = _CHUNK.pack(0)
        if base is not None:
            other = base.read(at, size)
            base_crc = crc32c(other, base_crc)
        if other is None or not np.array_equal(raw, other):
            format = format or _best(raw, other, new, plain)
            record = _record(_compress(raw, format, other), plain)
        patch_crc = crc32c(record, patch_crc)
        target.write(record)
        end += len(record)
        progress(size)
    settings = (format or Format(8)).settings()
    return Entry(
        new.name, new.type, new.dtype.str, new.shape, new.nbytes, begin, end, settings, crc,
        None if base is None else base_crc, patch_crc,
    )  # fmt: skip


def _record(stream: bytes, plain: bool) -> bytes:
    """A stream behind its length, compressed by zlib if that saves an eighth."""
    deflated = b"" if plain else zlib.compress(stream, 1)
    if deflated and len(deflated) < len(stream) * 7 // 8:
        return _CHUNK.pack(_DEFLATED | len(deflated)) + deflated
    return _CHUNK.pack(len(stream)) + stream


def _best(raw: Octets, base: Octets | None, piece: Piece, plain: bool) -> Format:
    """The format that makes a stream of the first words shortest; a ``plain`` one is of whole words, as engines read it."""
    bits = next(bits for bits in (32, 16, 8) if piece.dtype.itemsize * 8 % bits == 0)
    size = min(len(raw), _TRIED * bits // 8)
    raw, base = raw[:size], None if base is None else base[:size]
    formats = [Format(bits, levels=2)]
    if plain:
        return formats[0]
    if base is not None:
        # Where most words changed, their upper bits often have not: the exponent, or as much of the mantissa too.
        fields = {32: (8, 16), 16: (8,), 8: ()}[bits]
        formats += [Format(bits, 32, 2, (0,), field, 1, True, levels=2) for field in fields]
    elif bits > 8:
        formats.append(fit(raw.view(f"u{bits // 8}"), Format.preset({32: "fp32", 16: "bf16"}[bits])))
    return min(formats, key=lambda format: len(_compress(raw, format, base)))


def _compress(raw: Octets, format: Format, base: Octets | None) -> bytes:
    word = word_dtype(format)
    return compress(raw.view(word), format, base=None if base is None else base.view(word))


class Patch:
    """A patch that is open to be read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        size = file.seek(0, 2)
        file.seek(0)
        start = file.read(_START.size)
        if len(start) < _START.size or start[:8] != MAGIC:
            raise DeltaError("it is no patch")
        _, version = _START.unpack(start)
        if version != VERSION:
            raise DeltaError(f"it has version {version} of patches; this program reads version {VERSION}")
        if size < _START.size + _END.size:
            raise DeltaError("it is truncated")
        begin, checksum, last = _END.unpack(self._at(size - _END.size, size))
        if last != _LAST:
            raise DeltaError("it is truncated")
        text = self._at(begin, size - _END.size) if _START.size <= begin <= size else b""
        if crc32c(text) != checksum or not text:
            raise DeltaError("it is damaged: the checksum of its index is wrong")
        self.index = _index_from(text)

    def head(self, file: FileEntry) -> bytes:
        """The head of a file."""
        try:
            return _inflated(self._at(*file.head))
        except zlib.error as error:
            raise DeltaError(
                f"it is damaged: the head of {file.path or 'its file'} makes no sense: {error}"
            ) from None

    def verify(self, entry: Entry, base: Piece | None, progress: Progress) -> None:
        """Refuses chunks that are damaged, and a base that is another one than that of the patch."""
        checksum = 0
        for at in range(entry.begin, entry.end, CHUNK_BYTES):
            checksum = crc32c(self._at(at, min(at + CHUNK_BYTES, entry.end)), checksum)
        if checksum != entry.patch:
            raise DeltaError(f"it is damaged: the checksum of the changes of {entry.name!r} is wrong")
        if entry.base is None:
            return
        if base is None:
            raise DeltaError(f"the base has no tensor {entry.name!r}, which the patch changes")
        if (base.shape, base.nbytes) != (entry.shape, entry.nbytes):
            raise DeltaError(
                f"tensor {entry.name!r} of the base is {base.type} of shape {base.shape}; "
                f"the patch is for {entry.type} of shape {entry.shape}"
            )
        crc = 0
        for at in range(0, entry.nbytes, CHUNK_BYTES):
            part = base.read(at, min(CHUNK_BYTES, entry.nbytes - at))
            crc = crc32c(part, crc)
            progress(len(part))
        if crc != entry.base:
            raise DeltaError(
                f"tensor {entry.name!r} of the base is another one: its CRC-32C is {crc:#010x}, "
                f"and that of the patch's base {entry.base:#010x}"
            )

    def chunks(self, entry: Entry, base: Piece | None, *, in_place: bool = False) -> Iterator[Octets]:
        """The bytes of a tensor, a chunk at a time; ``in_place`` those of the base become them."""
        format = Format.from_settings(entry.format)
        word = word_dtype(format)
        position, crc = entry.begin, 0
        for at in range(0, entry.nbytes, CHUNK_BYTES):
            size = min(CHUNK_BYTES, entry.nbytes - at)
            (length,) = _CHUNK.unpack(self._at(position, position + _CHUNK.size))
            position += _CHUNK.size
            deflated, length = length & _DEFLATED, length & ~_DEFLATED
            other = None if entry.base is None or base is None else base.read(at, size)
            part = other
            if length:
                stream = self._at(position, min(position + length, entry.end))
                words, before = size * 8 // format.word_bits, None if other is None else other.view(word)
                try:
                    if deflated:
                        stream = _inflated(stream, format.bound_bytes(words) + 1)
                    made = decompress(stream, words, format, base=before, out=before if in_place else None)
                    part = made.view(np.uint8)
                except (CorruptStream, zlib.error) as error:
                    raise DeltaError(f"it is damaged: in tensor {entry.name!r} {error}") from None
                position += length
            elif part is None:
                raise DeltaError(f"it is damaged: it lacks a part of tensor {entry.name!r}")
            assert part is not None
            crc = crc32c(part, crc)
            yield part
        if crc != entry.crc:
            raise DeltaError(
                f"it is damaged: tensor {entry.name!r} has become another one than it was made for"
            )

    def array(self, entry: Entry, base: Piece | None) -> NDArray[Any]:
        """A tensor as an array."""
        octets = np.concatenate([np.empty(0, np.uint8), *self.chunks(entry, base)])
        return octets.view(entry.dtype).reshape(entry.shape)

    def change(self, entry: Entry, base: Piece) -> None:
        """Makes the tensor of the base the new one."""
        for _ in self.chunks(entry, base, in_place=True):
            pass

    def _at(self, begin: int, end: int) -> bytes:
        self._file.seek(begin)
        data = self._file.read(max(0, end - begin))
        if len(data) < end - begin:
            raise DeltaError("it is truncated")
        return data


def _inflated(data: bytes, most: int = _MOST_BYTES) -> bytes:
    """What zlib has compressed, less than so many bytes."""
    inflater = zlib.decompressobj()
    found = inflater.decompress(data, most)
    if not inflater.eof:
        raise zlib.error("it goes on")
    return found


def _index_from(text: bytes) -> Index:
    """The index, whose checksum is right; so one that makes no sense is of another program."""
    try:
        found = json.loads(_inflated(text))
        files = []
        for file in found["files"]:
            tensors = tuple(_entry_from(each) for each in file["tensors"])
            first, last = file["head"]
            files.append(FileEntry(str(file["path"]), str(file["kind"]), (int(first), int(last)), tensors))
        if not found["folder"] and len(files) != 1:
            raise ValueError(f"it is of one file, and has {len(files)}")
        return Index(bool(found["folder"]), tuple(files), tuple(map(str, found["gone"])))
    except (zlib.error, ValueError, KeyError, TypeError, CdmaError) as error:
        raise DeltaError(f"its index makes no sense: {error}") from None


def _entry_from(found: dict[str, Any]) -> Entry:
    entry = Entry(**{**found, "shape": tuple(found["shape"])})
    base = 0 if entry.base is None else entry.base
    numbers = [*entry.shape, entry.nbytes, entry.begin, entry.end, entry.crc, entry.patch, base]
    if not all(isinstance(text, str) for text in (entry.name, entry.type, entry.dtype)):
        raise ValueError(f"a tensor is called {entry.name!r}, of type {entry.type!r} and {entry.dtype!r}")
    whole = all(type(number) is int and number >= 0 for number in numbers) and entry.begin <= entry.end
    word_bits = Format.from_settings(entry.format).word_bits
    if not whole or entry.tensor.nbytes != entry.nbytes or word_bits < 8 or entry.nbytes * 8 % word_bits:
        raise ValueError(f"tensor {entry.name!r} has the numbers {numbers}, and words of {word_bits} bits")
    return entry
