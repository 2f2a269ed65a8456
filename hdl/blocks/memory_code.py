"""The code of words in a memory: bits beside a word that tell whether it has changed, and which of its bits.

A word of zeros has checks of zeros, so that a memory of zeros is right.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

__all__ = ["CODES", "Checked", "check_of", "columns", "decode"]

#: One check that finds one wrong bit; and checks that put one right and find two.
CODES = ("parity", "secded")

#: What a reader finds: the word, whether a bit of it or of its checks was wrong and is put right, and whether it is lost.
Checked = tuple[int, bool, bool]


@cache
def columns(bits: int, code: str) -> tuple[int, ...]:
    """For each bit of a word the checks that it belongs to, and for each check itself.

    With ``"parity"`` there is one check. With ``"secded"`` all columns differ and have an odd number of ones, so that one
    wrong bit leaves a column, and two leave an even number of ones, which is none.
    """
    if code == "parity":
        return (1,) * (bits + 1)
    checks = 2
    while (1 << checks - 1) - checks < bits:
        checks += 1
    found = [
        sum(1 << check for check in chosen)
        for weight in range(3, checks + 1, 2)
        for chosen in combinations(range(checks), weight)
    ]
    return (*found[:bits], *(1 << check for check in range(checks)))


def check_of(word: int, bits: int, code: str) -> int:
    """The checks of a word."""
    found = 0
    for bit, column in enumerate(columns(bits, code)[:bits]):
        found ^= column * (word >> bit & 1)
    return found


def decode(word: int, check: int, bits: int, code: str) -> Checked:
    """What a reader makes of a word and its checks."""
    syndrome = check_of(word, bits, code) ^ check
    if not syndrome:
        return word, False, False
    if code == "parity" or syndrome not in columns(bits, code):
        return word, False, True
    place = columns(bits, code).index(syndrome)
    return word ^ (1 << place if place < bits else 0), True, False
