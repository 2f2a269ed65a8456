"""How packets become bursts, cycle by cycle; the writer's tests have the bursts themselves."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.axi.gather import EARLY, Gather
from cdma.hdl.axi.ports import PortShape
from tests.support.simulate import simulate
from tests.support.stream_bench import beats_of

_BURST = 8
_BEAT = 8


def port_shape(data_bits: int, burst: int) -> PortShape:
    """A port of words of 32 bits, with a buffer of two bursts."""
    return PortShape(
        word_bits=32, data_bits=data_bits, address_bits=20, burst=burst, outstanding=3, buffer=2 * burst
    )


Packets = list[tuple[int, int, int]]
"""Address, words and capacity of each."""


def _early(address: int, capacity: int) -> bool:
    """Whether the beats of such a packet may come before its command."""
    return address // _BEAT % EARLY == 0 and capacity >= EARLY * _BEAT


def _beats(words: int, empty_end: bool) -> list[dict[str, Any]]:
    """The beats of a packet, which may end with an empty one."""
    beats = beats_of(list(range(1, words + 1)), _BEAT // 4)
    if empty_end:
        for beat in beats:
            beat["last"] = 0
        beats.append({"data": [0] * (_BEAT // 4), "keep": 0, "last": 1})
    return beats


def _run(
    dut: Gather,
    packets: Packets,
    admit: float = 1.0,
    *,
    ahead: bool = False,
    empty_ends: bool = False,
    late: int = 0,
) -> tuple[list, list, int]:
    """Runs packets; gives the bursts, the ends, and the cycles from the first beat to the end of the last packet.

    With ``ahead``, it is known of a packet in time whether it is early. A command comes ``late`` cycles later than it
    could.
    """
    rng = random.Random(3)
    beats = [
        beat
        for number, (_, words, _) in enumerate(packets)
        for beat in _beats(words, empty_ends and number % 3 == 0)
    ]
    #: Cycles since the command in hand has come.
    age = -late
    bursts: list[dict[str, int]] = []
    ends: list[int] = []
    cycles = 0

    async def drive(ctx: Any) -> None:
        nonlocal cycles, age
        started = False
        while len(ends) < len(packets):
            address, _, capacity = packets[len(ends)]
            ctx.set(dut.command.payload, {"first": address, "last": address + capacity - 1})
            ctx.set(dut.command.valid, age >= 0)
            ctx.set(dut.admit, rng.random() < admit)
            follows = len(ends) + 1 < len(packets) and _early(*packets[len(ends) + 1][::2])
            # In its first cycle it may say anything.
            ctx.set(dut.ahead, ahead and (rng.random() < 0.5 if age < 1 else follows))
            ready = ctx.get(dut.input.ready)
            # What comes changes nothing of whether it is taken.
            ctx.set(dut.input.valid, 0)
            assert ctx.get(dut.input.ready) == ready
            if beats:
                ctx.set(dut.input.payload, beats[0])
                ctx.set(dut.input.valid, 1)
                assert ctx.get(dut.input.ready) == ready
                if ready:
                    started = True
                    beats.pop(0)
            if ctx.get(dut.bursts.valid):
                burst = ctx.get(dut.bursts.payload)
                bursts.append(
                    {name: getattr(burst, name) for name in ("beat", "len", "none", "end", "overflow")}
                )
            age += 1
            if ctx.get(dut.command.ready):
                ends.append(ctx.get(dut.end))
                age = -late
            await ctx.tick()
            cycles += started

    simulate(dut, drive)
    return bursts, ends, cycles


@pytest.mark.parametrize(
    ("place", "beats", "more"), [(0, 64, 2), (0, 61, 2), (5, 64, 2), (_BURST - 1, 64, 3)]
)
def test_packets_follow_each_other_two_cycles_apart(place: int, beats: int, more: int) -> None:
    count = 6
    first = 4096 + place * _BEAT
    dut = Gather(port_shape(64, _BURST))
    _, ends, cycles = _run(dut, [(first, 2 * beats, 4096)] * count)
    assert ends == [first + _BEAT * beats] * count
    # The last end takes a cycle, and the first packet is counted from its first beat.
    assert cycles == count * beats + (count - 1) * more + 1


@pytest.mark.parametrize("admit", [1.0, 0.4])
def test_a_burst_of_what_fits_comes_before_the_overflow(admit: float) -> None:
    """The burst of what fits, then where the rest would have gone; then the next packet."""
    dut = Gather(port_shape(64, _BURST))
    bursts, ends, _ = _run(dut, [(64, 40, 84), (256, 2, 8)], admit)
    assert ends == [144, 264]
    assert [burst["beat"] for burst in bursts] == [8, 16, 18, 32]
    assert [burst["len"] for burst in bursts if not burst["none"]] == [7, 1, 0]
    assert [burst["none"] for burst in bursts] == [0, 0, 1, 0]
    assert [burst["end"] for burst in bursts] == [0, 0, 1, 1]
    assert [burst["overflow"] for burst in bursts] == [0, 0, 1, 0]


@pytest.mark.parametrize(("place", "beats"), [(0, 64), (0, 61), (EARLY, 64), (EARLY, 3)])
def test_packets_that_come_early_follow_each_other_without_a_gap(place: int, beats: int) -> None:
    count = 6
    first = 4096 + place * _BEAT
    dut = Gather(port_shape(64, _BURST))
    _, ends, cycles = _run(dut, [(first, 2 * beats, 4096)] * count, ahead=True)
    assert ends == [first + _BEAT * beats] * count
    assert cycles == count * beats + 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("burst", "late", "empty_ends", "admit"),
    # Every pair of two values.
    [
        (_BURST, 0, False, 0.5),
        (_BURST, 1, True, 1.0),
        (64, 0, True, 1.0),
        (64, 1, False, 0.5),
        (_BURST, 0, True, 0.5),
        (64, 1, False, 1.0),
    ],
)
def test_coming_early_changes_no_burst(burst: int, late: int, empty_ends: bool, admit: float) -> None:
    """Packets of any length, begin and capacity, early or not."""
    rng = random.Random(burst)
    packets = []
    for _ in range(60):
        words = rng.choice((1, 2, 3, 4, 5, 6, 7, rng.randrange(1, 4 * burst), 2 * burst, 2 * burst + 1))
        first = 4096 + _BEAT * (rng.choice((0, EARLY, 2 * EARLY, rng.randrange(64))))
        short = max(8, rng.randrange(4 * words))
        room = rng.choice((4 * words, 4 * words + 4, 4096, short, short))
        packets.append((first, words, max(room, EARLY * _BEAT) if rng.random() < 0.7 else room))
    assert sum(_early(*packet[::2]) for packet in packets) > 14
    assert sum(4 * words > room for _, words, room in packets) > 2
    dut = Gather(port_shape(64, burst))
    *apart, slower = _run(dut, packets, admit, empty_ends=empty_ends, late=late)
    dut = Gather(port_shape(64, burst))
    *close, faster = _run(dut, packets, admit, ahead=True, empty_ends=empty_ends, late=late)
    assert close == apart
    assert faster < slower - 12 * admit
