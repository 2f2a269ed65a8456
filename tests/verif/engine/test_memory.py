"""The bench's memory gives its bytes to one transfer at a time."""

from __future__ import annotations

import random

import pytest

from cdma.verif.engine.memory import AROUND, DATA, GUARD, SIZE, Memory

pytestmark = pytest.mark.verilator


def test_a_place_is_nobody_elses_while_it_is_kept() -> None:
    """A transfer that takes long once lost its data to those of others, which had come round the whole memory."""
    rng = random.Random(1)
    memory = Memory(rng)
    kept = [memory.place(rng.randint(1, 10_000), 16) for _ in range(10)]
    for place in kept:
        memory.write(place.first, bytes(place.end - place.first))
    laps, before = 0, memory.next
    while laps < 5:
        place = memory.place(rng.choice((1, 4096, 20_000)), 4096)
        laps, before = laps + (place.first < before), place.first
        assert all(place.first - each.end >= AROUND or each.first - place.end >= AROUND for each in kept)
        assert place.first >= DATA
        assert place.end + AROUND <= SIZE
    for place in kept:
        assert memory.read(place.first, place.end - place.first) == bytes(place.end - place.first)
        for at in (place.first - AROUND, place.end):
            assert memory.read(at, AROUND) == bytes([GUARD]) * AROUND


def test_a_memory_with_no_room_says_so() -> None:
    memory = Memory(random.Random(1))
    kept = [memory.place(1 << 16, 64) for _ in range(10)]
    with pytest.raises(AssertionError, match="no room for 0x10000 bytes more"):
        kept += [memory.place(1 << 16, 64) for _ in range(5)]
