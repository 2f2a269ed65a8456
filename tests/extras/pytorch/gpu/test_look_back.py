"""Where a block begins, if several warps have the same lanes: each loads by itself, so they see different moments."""

from __future__ import annotations

import operator
from types import SimpleNamespace

import numpy as np
import pytest

from cdma.gpu import compress_kernels
from cdma.gpu.compress_kernels import FLOCK
from tests.extras.pytorch.interpreted import torch

__all__ = ["torch"]

#: Where the flocks lie in memory; the blocks lie at 0.
FLOCKS_AT = 1 << 13


class Seen:
    """A tensor, as each of two warps has it."""

    def __init__(self, *each):
        self.each = each

    def to(self, kind):
        return self

    def __bool__(self):
        first, second = self.each
        assert first == second
        return bool(first)


def _by_warp(operation):
    def apply(self, other):
        others = other.each if isinstance(other, Seen) else (other, other)
        return Seen(*map(operation, self.each, others))

    return apply


for name in ("add", "sub", "mul", "and_", "rshift", "lt", "le", "ge", "eq", "ne"):
    setattr(Seen, f"__{name.strip('_')}__", _by_warp(getattr(operator, name)))
Seen.__radd__ = Seen.__add__
Seen.__rsub__ = _by_warp(lambda mine, other: other - mine)


class Card:
    """Memory in which other programs say what they know while two warps read it."""

    def __init__(self, rng, takes):
        self.rng, self.takes = rng, takes
        flocks = len(takes) // FLOCK
        whole = takes[: flocks * FLOCK].reshape(flocks, FLOCK).sum(axis=1)
        self.memory = np.full(FLOCKS_AT + flocks + 1, -1)
        # What each place will say at first, and then for ever.
        self.places = np.concatenate([np.arange(len(takes)), FLOCKS_AT + np.arange(flocks)])
        self.first = np.concatenate([takes, 2 * whole])
        self.last = np.concatenate([takes, 2 * whole.cumsum() + 1])

    def _goes_on(self):
        known = self.memory[self.places] >= 0
        going = self.rng.random(len(known)) < 0.3
        self.memory[self.places[going]] = np.where(known, self.last, self.first)[going]

    def load(self, pointer, mask, other, volatile):
        found = []
        for place, inside in zip(pointer.each, mask.each, strict=True):
            self._goes_on()
            found.append(np.where(inside, self.memory[np.where(inside, place, 0)], other))
        return Seen(*found)

    def one_of(self, reduce):
        """Warps with the same lanes write the same place of shared memory, and all read what is there."""

        def reduced(seen, axis):
            value = reduce(seen.each[self.rng.integers(2)])
            return Seen(value, value)

        return reduced

    def language(self):
        return SimpleNamespace(
            int64=None,
            arange=lambda begin, end: Seen(*[np.arange(begin, end)] * 2),
            where=lambda *these: Seen(
                *(
                    np.where(*(one.each[warp] if isinstance(one, Seen) else one for one in these))
                    for warp in (0, 1)
                )
            ),
            min=self.one_of(np.min),
            sum=self.one_of(np.sum),
            load=self.load,
            atomic_xchg=lambda *_, **__: None,
        )


@pytest.mark.parametrize("block", [FLOCK - 1, 3 * FLOCK, 5 * FLOCK + 7, 70 * FLOCK - 1])
def test_what_is_added_up_is_what_was_decided(block, monkeypatch):
    rng = np.random.default_rng(block)
    for name, value in vars(compress_kernels).copy().items():
        if name.startswith("_") and hasattr(value, "value"):
            monkeypatch.setattr(compress_kernels, name, value.value)
        elif name in ("_begin_of", "_taken_before"):
            monkeypatch.setattr(compress_kernels, name, value.fn)
    for _ in range(100):
        takes = rng.integers(1, 9217, block + 1)
        monkeypatch.setattr(compress_kernels, "tl", Card(rng, takes[:-1]).language())
        begin = compress_kernels._begin_of(0, FLOCKS_AT, block, takes[-1])
        assert (begin == takes[:-1].sum()).each == (True, True)
