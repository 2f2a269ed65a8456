"""Words that memories do not move whole: of 4 bits, two to a byte, the low one first; and words that end within a byte of
theirs."""

from amaranth.hdl import C, Cat, Module, Value
from amaranth.lib import data

__all__ = ["cut_word", "join_words", "split_bytes"]


def join_words(m: Module, source: data.View, sink: data.View) -> None:
    """Passes a beat of stream words on as one of what memories move whole: the same, or the bytes of words of 4 bits.

    After an odd number of them, a zero fills the last byte, whatever ``source`` has there.
    """
    if len(source.keep) == len(sink.keep):
        m.d.comb += sink.eq(source)
        return
    pairs = zip(source.data, source.keep, strict=True)
    # The first word of a byte is there if the byte is.
    words = [word & keep.replicate(len(word)) if n % 2 else word for n, (word, keep) in enumerate(pairs)]
    m.d.comb += [
        sink.data.as_value().eq(Cat(words)),
        sink.keep.eq(source.keep[::2]),
        sink.last.eq(source.last),
    ]


def split_bytes(m: Module, source: data.View, sink: data.View, odd: Value) -> None:
    """Passes a beat of what memories move whole on as one of stream words: the same, or the words of 4 bits in bytes.

    Of a packet of an ``odd`` number of them, the second half of the last byte is no word.
    """
    if len(source.keep) == len(sink.keep):
        m.d.comb += sink.eq(source)
        return
    half = source.last & odd
    after = Cat(source.keep[1:], C(0, 1))
    m.d.comb += [
        sink.data.as_value().eq(source.data.as_value()),
        sink.keep.eq(
            Cat(Cat(keep, keep & ~(half & ~more)) for keep, more in zip(source.keep, after, strict=True))
        ),
        sink.last.eq(source.last),
    ]


def cut_word(m: Module, source: data.View, sink: data.View, kept: Value) -> None:
    """Passes a beat of words, or of bytes of whole words, on as one of their bytes: of the word that ends the packet only
    those that are ``kept``."""
    keeps = source.keep[:: len(source.keep) * len(kept) // len(sink.keep)]
    after = Cat(keeps[1:], C(0, 1))
    m.d.comb += [
        sink.data.as_value().eq(source.data.as_value()),
        sink.keep.eq(
            Cat(
                keep.replicate(len(kept)) & (kept | (more | ~source.last).replicate(len(kept)))
                for keep, more in zip(keeps, after, strict=True)
            )
        ),
        sink.last.eq(source.last),
    ]
