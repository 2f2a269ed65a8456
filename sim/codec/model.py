"""The golden model, as software calls it: tensors and packets to streams and back, by the codec of their format.

The RTL, the driver and the documents agree with this or are wrong.
"""

from __future__ import annotations

from io import BytesIO

import numpy as np
from numpy.typing import ArrayLike

from cdma.hdl.spec.checks import word_count
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stream_format import StreamFormat

from .codec_model import model_of
from .results import Analysis, CorruptStream, PacketResult
from .words import Words, as_stream, as_words, require_byte_words, stream_from_bytes, words_of

__all__ = [
    "ZVC",
    "analyse",
    "compress",
    "compress_words",
    "decode_packet",
    "decompress",
    "decompress_words",
    "encode_packet",
]

#: Zero-value compression of 32-bit words, the format where none is given.
ZVC = Format()


def compress_words(words: ArrayLike, format: StreamFormat = ZVC) -> Words:
    """The compressed stream of a word array, as an array of stream words."""
    return model_of(format).stream_of(as_words(words, format), format)


def compress(array: ArrayLike, format: StreamFormat = ZVC) -> bytes:
    """The compressed stream of a tensor of any shape, by bit pattern; see :func:`decompress`."""
    stream = BytesIO()
    for part in model_of(format).compressed(words_of(array, format), format):
        stream.write(part.astype(part.dtype.newbyteorder("<"), copy=False).data)
    return stream.getvalue()


def decompress(data: bytes | bytearray | memoryview, words: int, format: StreamFormat = ZVC) -> Words:
    """The ``words`` unsigned words that ``data`` stands for; ``.view(dtype).reshape(shape)`` undoes the rest.

    Raises :class:`CorruptStream` for every stream whose length or codes show that it is not whole.
    """
    require_byte_words(format)
    stream = stream_from_bytes(data, format)
    result = decompress_words(stream, words, format)
    if left := memoryview(data).nbytes - stream.nbytes:
        raise CorruptStream(
            "trailing",
            len(stream),
            f"{words} words are complete before stream word {len(stream)}, but {left} more bytes follow",
        )
    return result


def decompress_words(stream: ArrayLike, words: int, format: StreamFormat = ZVC) -> Words:
    """The ``words`` words that a compressed stream stands for; raises :class:`CorruptStream`."""
    return model_of(format).decompressed(as_stream(stream, format), word_count(words), format)


def analyse(array: ArrayLike, format: StreamFormat = ZVC) -> Analysis:
    """Counts what :func:`compress` would store."""
    source = words_of(array, format)
    model = model_of(format)
    literals = int(np.count_nonzero(model.stored(source, format)))
    windows = -(-len(source) // format.window)
    return Analysis(format, len(source), literals, windows, model.stream_words(source, format))


def encode_packet(words: ArrayLike, format: StreamFormat) -> PacketResult:
    """What the compressor delivers and reports for a packet of ``words``."""
    return model_of(format).encode_packet(as_words(words, format), format)


def decode_packet(stream: ArrayLike, words: int, format: StreamFormat, lanes: int) -> PacketResult:
    """What the decompressor with ``lanes`` lanes delivers and reports for any stream and any asked length.

    :func:`decompress_words` refuses a corrupt stream as a whole. The hardware has by then sent beats on: this says
    which.
    """
    return model_of(format).decode_packet(as_stream(stream, format), word_count(words), format, lanes)
