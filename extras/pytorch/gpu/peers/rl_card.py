"""Zero run-length coding on a GPU: the streams of :mod:`cdma.gpu.peers.rl`, bit for bit.

Programs have blocks of words. Where the run begins in which a block does, and where its stream does, comes from sums over
blocks. Within a stream a word is a length if the one before it is zero, so that every block knows its tokens by itself.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from cdma.gpu.layout import UNSIGNED, current

from . import rl
from .card_stream import CardStream, checked, room_for, unsigned, words_on_card
from .rl import RunFormat

#: Words of a program.
_BLOCK = 1024


@triton.jit
def _larger(one, other):
    return tl.maximum(one, other)


@triton.jit
def _block_of(source, words, BLOCK: tl.constexpr):
    """The block of a program, its places and its words."""
    block = tl.program_id(0).to(tl.int64)
    place = block * BLOCK + tl.arange(0, BLOCK)
    return block, place, tl.load(source + place, mask=place < words, other=0)


@triton.jit
def last_kernel(source, lasts, words, BLOCK: tl.constexpr):
    """The place behind the last literal of each block, 0 if it has none."""
    block, place, word = _block_of(source, words, BLOCK)
    tl.store(lasts + block, tl.max(tl.where(word != 0, place + 1, 0), axis=0))


@triton.jit
def _taken(word, place, words, begin, LONGEST: tl.constexpr):
    """The stream words of each word, and the zeros before each zero in its piece of a run."""
    start = tl.associative_scan(tl.where(word != 0, place + 1, begin), 0, _larger)
    before = (place - start) % LONGEST
    taken = tl.where(word != 0, 1, tl.where(before == 0, 2, 0))
    return tl.where(place < words, taken, 0).to(tl.int64), before


@triton.jit
def size_kernel(source, begins, sizes, words, LONGEST: tl.constexpr, BLOCK: tl.constexpr):
    """The stream words of each block; ``begins`` has where the run begins in which it does."""
    block, place, word = _block_of(source, words, BLOCK)
    taken, _ = _taken(word, place, words, tl.load(begins + block), LONGEST)
    tl.store(sizes + block, tl.sum(taken, axis=0))


@triton.jit
def write_kernel(source, begins, ends, target, words, capacity, LONGEST: tl.constexpr, BLOCK: tl.constexpr):
    """The stream of each block, which ends at ``ends``; what is behind ``capacity`` stream words is not stored."""
    block, place, word = _block_of(source, words, BLOCK)
    inside = place < words
    following = tl.load(source + (place + 1), mask=place + 1 < words, other=1)
    taken, before = _taken(word, place, words, tl.load(begins + block), LONGEST)
    behind = tl.load(ends + block) - tl.sum(taken, axis=0) + tl.cumsum(taken, axis=0)
    kept = inside & (behind <= capacity)
    zero = kept & (word == 0)
    tl.store(target + (behind - 1), word, mask=kept & (word != 0))
    tl.store(target + (behind - 2), 0, mask=zero & (before == 0))
    ended = zero & ((before == LONGEST - 1) | (following != 0))
    tl.store(target + (behind - 1), (before + 1).to(target.dtype.element_ty), mask=ended)


@triton.jit
def _made(stream, length, capacity, WORD: tl.constexpr, BLOCK: tl.constexpr):
    """The block of a program; each stream word of it, the words that it stands for, and whether it is wrong."""
    block = tl.program_id(0).to(tl.int64)
    at = block * BLOCK + tl.arange(0, BLOCK)
    octets = tl.load(length)
    size = octets // WORD
    size = tl.where((octets % WORD == 0) & (size <= capacity), size, 0)
    word = tl.load(stream + at, mask=at < size, other=1)
    last = tl.load(stream + (at - 1), mask=(at > 0) & (at < size), other=1)
    run = tl.load(stream + (at + 1), mask=at + 1 < size, other=0)
    token = (at < size) & (last != 0)
    made = tl.where(token, tl.where(word == 0, run.to(tl.int64), 1), 0)
    return block, word, made, token & (word == 0) & (run == 0)


@triton.jit
def count_kernel(stream, length, sizes, fault, capacity, WORD: tl.constexpr, BLOCK: tl.constexpr):
    """How many words each block of the stream stands for; ``fault`` becomes 1 if a run has none."""
    block, _, made, wrong = _made(stream, length, capacity, WORD, BLOCK)
    tl.store(sizes + block, tl.sum(made, axis=0))
    tl.store(fault, 1, mask=tl.max(wrong.to(tl.int32), axis=0) > 0)


@triton.jit
def spread_kernel(stream, length, ends, target, capacity, words, WORD: tl.constexpr, BLOCK: tl.constexpr):
    """Literals to their places in ``target``, which has zeros; none behind ``words``."""
    block, word, made, _ = _made(stream, length, capacity, WORD, BLOCK)
    place = tl.load(ends + block) - tl.sum(made, axis=0) + tl.cumsum(made, axis=0) - made
    tl.store(target + place, word, mask=(made > 0) & (word != 0) & (place < words))


def compress(tensor: Tensor, format: RunFormat, *, out: Tensor | None = None) -> CardStream:
    """The stream of a tensor, in ``out`` if that is given; nothing waits for the GPU."""
    words = words_on_card(tensor, format.word_bits)
    count, blocks = words.numel(), -(-words.numel() // _BLOCK)
    data = room_for(format.bound(count) * format.word_bits // 8, out, words.device)
    target = unsigned(data, format.word_bits)
    with current(words.device):
        lasts, sizes = (torch.zeros(blocks + 1, dtype=torch.int64, device=words.device) for _ in range(2))
        if blocks:
            last_kernel[(blocks,)](words, lasts[1:], count, BLOCK=_BLOCK)
            begins = lasts.cummax(0).values
            fixed = {"LONGEST": format.longest_run, "BLOCK": _BLOCK}
            size_kernel[(blocks,)](words, begins, sizes[1:], count, **fixed)
            ends = sizes.cumsum(0)
            write_kernel[(blocks,)](words, begins, ends[1:], target, count, target.numel(), **fixed)
            sizes = ends
    return CardStream(data, sizes[-1] * (format.word_bits // 8), count)


def restored(stream: CardStream, format: RunFormat, fault: Tensor) -> Tensor:
    """The words of a stream; ``fault``, one 32-bit number on the GPU, becomes 1 if it is not whole. Nothing waits."""
    source = unsigned(stream.data, format.word_bits)
    blocks, word = -(-source.numel() // _BLOCK), format.word_bits // 8
    with current(source.device):
        target = torch.zeros(stream.words, dtype=UNSIGNED[word], device=source.device)
        sizes = torch.zeros(blocks, dtype=torch.int64, device=source.device)
        fixed = {"WORD": word, "BLOCK": _BLOCK}
        if blocks:
            count_kernel[(blocks,)](source, stream.length, sizes, fault, source.numel(), **fixed)
            ends = sizes.cumsum(0)
            given = (source, stream.length, ends, target, source.numel(), stream.words)
            spread_kernel[(blocks,)](*given, **fixed)
        # All of it stands for so many words, in whole stream words.
        whole = (sizes.sum() == stream.words) & (stream.length % word == 0)
        fault.copy_(torch.maximum(fault, (~whole).to(fault.dtype)))
    return target


def decompress(stream: CardStream, format: RunFormat) -> Tensor:
    """The words of a stream, or the error of the golden model."""
    return checked(restored, rl.decompress_words, stream, format)
