"""The host's memory is taken in pieces that PyTorch pins without waste."""

from __future__ import annotations

import random

import pytest
import torch

from cdma.torch.swapping.pool import HostPool
from cdma.torch.transport import Transport


class Counting(Transport):
    """A link that notes how much memory is asked for."""

    def __init__(self) -> None:
        super().__init__(torch.device("cpu"))
        self.asked: list[int] = []

    def memory(self, size: int) -> torch.Tensor:
        self.asked.append(size)
        return super().memory(size)


def test_pieces_are_powers_of_two_and_grow_with_what_is_taken():
    link = Counting()
    pool = HostPool(link, None)
    blocks = [pool.take(size) for size in (1 << 10, 5 << 20, *[3 << 20] * 8)]
    assert all(size & (size - 1) == 0 for size in link.asked)
    assert len(link.asked) < len(blocks) - 2
    for block in blocks:
        pool.give_back(block)
    asked = len(link.asked)
    assert [pool.take(size) is not None for size in (1 << 10, 5 << 20, *[3 << 20] * 8)]
    assert len(link.asked) == asked


@pytest.mark.parametrize("limit", [6 << 20, 100 << 20, (100 << 20) + 12345])
def test_pieces_are_within_the_limit(limit):
    """Blocks of many sizes come and go; what is pinned for them stays within the limit, and most of it is of use."""
    link, source = Counting(), random.Random(0)
    pool, blocks, most = HostPool(link, limit), [], 0
    for _ in range(400):
        if blocks and source.random() < 0.4:
            pool.give_back(blocks.pop(source.randrange(len(blocks))))
        elif (block := pool.take(int(2 ** source.uniform(10, 24)))) is not None:
            blocks.append(block)
        most = max(most, pool.taken)
    assert sum(link.asked) <= limit
    assert most > limit / 2


def test_a_host_without_memory_is_full():
    class Without(Transport):
        def memory(self, size):
            raise RuntimeError("CUDA error: out of memory")

    pool = HostPool(Without(torch.device("cpu")), None)
    assert pool.take(1 << 20) is None
    assert pool.taken == 0
    with pytest.raises(RuntimeError, match="out of memory"):
        pool.take_beyond(1 << 20)


def test_what_must_be_has_memory_beyond_the_limit():
    pool = HostPool(Counting(), 1 << 20)
    assert pool.take(2 << 20) is None
    assert pool.take_beyond(2 << 20).data.numel() == 2 << 20


def test_blocks_share_no_byte():
    """They come and go in several pieces, whose places are at the same bytes of each."""
    source = random.Random(0)
    pool, blocks = HostPool(Counting(), None), []
    for number in range(600):
        if blocks and source.random() < 0.48:
            mark, block = blocks.pop(source.randrange(len(blocks)))
            assert block.memory.eq(mark).all()
            pool.give_back(block)
        else:
            block = pool.take(source.choice((1, 2, 4, 8)) * 4096 * 32)
            block.memory.fill_(number % 256)
            blocks.append((number % 256, block))
    assert len({block.piece for _, block in blocks}) > 2
    assert all(block.memory.eq(mark).all() for mark, block in blocks)
