"""Formats whose tables of frequent values are learnt from the histogram of a tensor.

Every codec of the comparison with one interface: to compress a tensor, and to decompress it.

==========  =====================================================================================
``zv``      zero-value compression: one mask bit per word, :class:`~cdma.hdl.spec.format.Format`
``rl``      zero run-length coding, :mod:`cdma.gpu.peers.rl`
``zl``      zlib at level 6, of all bytes at once
``fvc1``    frequent-value compression with codes of 1, 2 and 4 bits; the table, learnt from the
``fvc2``    tensor's histogram, is counted with the compressed bytes
``fvc4``
``csr``     compressed sparse rows of 256 words, :mod:`cdma.gpu.peers.csr`
``lz4``     an LZ4 block (needs the ``bench`` extra)
==========  =====================================================================================
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from cdma.base.errors import CdmaError, ParameterError, install_command
from cdma.hdl.spec.format import Format
from cdma.sim.codec import model as fvc_model
from cdma.sim.codec.fit import frequent_values
from cdma.sim.codec.model import CorruptStream
from cdma.sim.codec.words import WordFormat, Words, word_dtype, words_from_bytes, words_to_bytes

from . import csr as csr_model
from . import rl as rl_model
from .csr import CsrFormat
from .rl import RunFormat


def learn_format(words: Words, word_bits: int, code_bits: int, window: int = 32) -> Format:
    """Returns the frequent-value format whose table has the most frequent words of a tensor."""
    values = frequent_values(words, (1 << code_bits) - 1)
    return Format(word_bits=word_bits, window=window, code_bits=code_bits, values=values)


class MissingCodec(CdmaError, ImportError):
    """A codec was chosen whose library is not installed."""


@dataclass(frozen=True)
class _Counted:
    """A codec of words, whose size is counted without compressing.

    ``model``: Has ``compress_words``, ``decompress_words`` and ``compressed_words``.
    ``side_bytes``: Bytes that must travel beside the stream, such as a table.
    """

    name: str
    format: Any
    model: Any
    side_bytes: int = 0

    def compress(self, words: Words) -> bytes:
        return words_to_bytes(self.model.compress_words(words, self.format))

    def decompress(self, data: bytes, words: int) -> Words:
        stream = words_from_bytes(data, self.format)
        result: Words = self.model.decompress_words(stream, words, self.format)
        if len(data) > stream.nbytes:
            raise CorruptStream(
                "trailing", len(stream), f"{len(data) - stream.nbytes} bytes after the last word"
            )
        return result

    def size(self, words: Words) -> int:
        compressed_words: int = self.model.compressed_words(words, self.format)
        return compressed_words * self.format.word_bits // 8 + self.side_bytes


class _FrequentValues:
    """The golden model, zero-value compression included."""

    compress_words = staticmethod(fvc_model.compress_words)
    decompress_words = staticmethod(fvc_model.decompress_words)

    @staticmethod
    def compressed_words(words: Words, format: Format) -> int:
        return fvc_model.analyse(words, format).compressed_words


@dataclass(frozen=True)
class _General:
    """A general-purpose compressor of bytes."""

    name: str
    format: WordFormat
    squeeze: Callable[[bytes], bytes]
    #: From compressed bytes and the raw size. It may give one byte more, to show that there are more; what it
    #: cannot restore is a ValueError.
    restore: Callable[[bytes, int], bytes]
    side_bytes: int = 0

    def compress(self, words: Words) -> bytes:
        return self.squeeze(words_to_bytes(words))

    def decompress(self, data: bytes, words: int) -> Words:
        expected = words * word_dtype(self.format).itemsize
        try:
            raw = self.restore(data, expected)
        except ValueError as error:
            raise CorruptStream("code", 0, f"{self.name} cannot decompress it: {error}") from None
        if len(raw) != expected:
            raise CorruptStream(
                "truncated" if len(raw) < expected else "trailing",
                0,
                f"{self.name} decompresses it to {'fewer' if len(raw) < expected else 'more'} bytes than the "
                f"{expected} of a packet of {words} words",
            )
        return words_from_bytes(raw, self.format)

    def size(self, words: Words) -> int:
        return len(self.compress(words))


Codec = _Counted | _General


def _zlib_restore(data: bytes, expected: int) -> bytes:
    """Decompresses at most one byte more than expected, so that data which are no packet cannot fill the memory."""
    stream = zlib.decompressobj()
    try:
        raw = stream.decompress(data, expected + 1)
    except zlib.error as error:
        raise ValueError(error) from None
    if len(raw) <= expected and not stream.eof:
        raise ValueError("the zlib stream has no end")
    if stream.unused_data:
        raise ValueError("bytes follow the zlib stream")
    return raw


def _lz4() -> ModuleType:
    try:
        import lz4.block
    except ImportError:
        raise MissingCodec(f"the codec lz4 needs the package lz4: {install_command('bench')}") from None
    block: ModuleType = lz4.block
    return block


def _make_zv(word_bits: int, sample: Words) -> Codec:
    return _Counted("zv", Format(word_bits=word_bits), _FrequentValues)


def _make_rl(word_bits: int, sample: Words) -> Codec:
    return _Counted("rl", RunFormat(word_bits), rl_model)


def _make_csr(word_bits: int, sample: Words) -> Codec:
    return _Counted("csr", CsrFormat(word_bits), csr_model)


def _make_fvc(code_bits: int) -> Callable[[int, Words], Codec]:
    def make_fvc(word_bits: int, sample: Words) -> Codec:
        format = learn_format(sample, word_bits, code_bits)
        return _Counted(f"fvc{code_bits}", format, _FrequentValues, len(format.values) * word_bits // 8)

    return make_fvc


def _make_zl(word_bits: int, sample: Words) -> Codec:
    return _General("zl", Format(word_bits=word_bits), lambda raw: zlib.compress(raw, 6), _zlib_restore)


def _make_lz4(word_bits: int, sample: Words) -> Codec:
    block = _lz4()

    def squeeze(raw: bytes) -> bytes:
        return bytes(block.compress(raw, store_size=False))

    def restore(data: bytes, expected: int) -> bytes:
        try:
            return bytes(block.decompress(data, uncompressed_size=expected))
        except block.LZ4BlockError as error:
            raise ValueError(error) from None

    return _General("lz4", Format(word_bits=word_bits), squeeze, restore)


#: From the name of a codec to a function that makes it for a word size and a tensor to learn from.
CODECS: dict[str, Callable[[int, Words], Codec]] = {
    "zv": _make_zv,
    "rl": _make_rl,
    "zl": _make_zl,
    "fvc1": _make_fvc(1),
    "fvc2": _make_fvc(2),
    "fvc4": _make_fvc(4),
    "csr": _make_csr,
    "lz4": _make_lz4,
}


def make(name: str, word_bits: int, sample: Words) -> Codec:
    """Returns the codec ``name`` for words of 8, 16 or 32 bits; codecs with a table learn it from ``sample``."""
    if name not in CODECS:
        raise ParameterError(f"codec is {name!r}; it must be one of {', '.join(CODECS)}")
    if word_bits not in (8, 16, 32):
        raise ParameterError(f"word_bits is {word_bits!r}; codecs of bytes have words of 8, 16 or 32 bits")
    return CODECS[name](word_bits, sample)


def available() -> tuple[str, ...]:
    """Returns the codecs whose libraries are installed."""
    try:
        _lz4()
    except MissingCodec:
        return tuple(name for name in CODECS if name != "lz4")
    return tuple(CODECS)
