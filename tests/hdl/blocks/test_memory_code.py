"""The code of words in memories: every flip of one bit and of two, in words of every width that engines have."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from cdma.hdl.blocks.memory_code import CODES, check_of, columns, decode

#: From a bit to the words of a buffer with ports of 1024 bits.
_WIDTHS = (*range(1, 17), 24, 32, 33, 64, 80, 146, 289)


def _flipped(word: int, bits: int, code: str, flips: tuple[int, ...]) -> tuple[int, int]:
    both = word | check_of(word, bits, code) << bits
    for bit in flips:
        both ^= 1 << bit
    return both & (1 << bits) - 1, both >> bits


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("bits", _WIDTHS)
def test_flips_are_found(bits: int, code: str) -> None:
    every = len(columns(bits, code))
    for word in (0, random.Random(bits).getrandbits(bits)):
        assert decode(word, check_of(word, bits, code), bits, code) == (word, False, False)
        for bit in range(every):
            found = decode(*_flipped(word, bits, code, (bit,)), bits, code)
            assert found == (word, True, False) if code == "secded" else found[1:] == (False, True)
    assert check_of(0, bits, code) == 0


@pytest.mark.parametrize("bits", _WIDTHS)
def test_no_two_flips_look_like_one_or_none(bits: int) -> None:
    # What two flips leave does not depend on the word.
    every = columns(bits, "secded")
    assert len(set(every)) == len(every)
    assert all(column.bit_count() % 2 for column in every)
    if bits <= 16:
        for flips in combinations(range(len(every)), 2):
            assert decode(*_flipped(0, bits, "secded", flips), bits, "secded")[1:] == (False, True)


def test_checks_are_few() -> None:
    assert [len(columns(bits, "secded")) - bits for bits in (1, 8, 32, 64, 128, 289)] == [3, 5, 7, 8, 9, 10]
    assert len(columns(289, "parity")) == 290
