"""The host's memory is taken in pieces that PyTorch pins without waste."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from cdma.sim.torch.offload.paced import PacedLink  # noqa: E402
from cdma.sim.torch.offload.pool import HostPool  # noqa: E402


class Counting(PacedLink):
    """A link that notes how much memory is asked for."""

    def __init__(self) -> None:
        super().__init__(1e9, 1e9)
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
