"""Packets shifted by lanes, both ways, against lists of words."""

from __future__ import annotations

import itertools
import random
from collections.abc import Sequence
from typing import Any

import pytest

from cdma.hdl.blocks.realign import Realign
from tests.support.pauses import never, sometimes
from tests.support.stream_bench import StreamBench, beats_of

#: What lies in lanes that do not count.
_STALE = 0x5A

#: A shift and a number of words.
Packet = tuple[int, int]


def _words(number: int, count: int) -> list[int]:
    """The words of a packet, unlike those of its neighbours."""
    return [(37 * number + place) % 251 + 1 for place in range(count)]


def _shifted(words: Sequence[int], shift: int, lanes: int) -> list[dict[str, Any]]:
    """The beats of a packet whose first word lies in lane ``shift``."""
    beats = beats_of([_STALE] * shift + list(words), lanes)
    beats[0]["keep"] &= -1 << shift
    return beats


def _run(
    lanes: int, packets: Sequence[Packet], down: bool, empty_ends: bool = False, pause: float = 0.0
) -> tuple[list[list[tuple[dict[int, int], int]]], int]:
    """Of each packet, the beats as words by lane and ``last``; and the cycles from the first beat in to the last out.

    ``empty_ends`` ends packets with a beat that has no word.
    """
    bench = StreamBench(Realign(8, lanes, down=down))
    beats = []
    for number, (shift, count) in enumerate(packets):
        some = _shifted(_words(number, count), shift if down else 0, lanes) if count else []
        if down:
            # A reader delivers beats like this, with words of another transfer before the first.
            some[0]["keep"] |= (1 << shift) - 1
        if empty_ends or not some:
            for beat in some:
                beat["last"] = 0
            some.append({"data": [_STALE] * lanes, "keep": 0, "last": 1})
        beats += some
    pauses = [sometimes((seed, lanes), pause) if pause else never for seed in range(3)]
    bench.source("shift", [shift for shift, _ in packets], pauses[0])
    bench.source("input", beats, pauses[1])
    seen: list[list[tuple[dict[int, int], int]]] = [[]]
    cycles = [0]

    def look(transfer: Any) -> bool:
        cycles[0], beat = transfer
        kept = {lane: int(beat.data[lane]) for lane in range(lanes) if beat.keep >> lane & 1}
        seen[-1].append((kept, int(beat.last)))
        if beat.last:
            if len(seen) == len(packets):
                return True
            seen.append([])
        return False

    bench.sink("output", look, pauses[2])
    bench.run(40 * len(beats) + 100)
    return seen, cycles[0] - bench.accepted["input"][0] + 1


def _as_seen(beats: list[dict[str, Any]], lanes: int) -> list[tuple[dict[int, int], int]]:
    return [
        ({lane: beat["data"][lane] for lane in range(lanes) if beat["keep"] >> lane & 1}, beat["last"])
        for beat in beats
    ]


def _every(lanes: int, least: int) -> list[Packet]:
    """Every shift with every length up to three beats, each after another shift; no two runs of one shift."""
    cases = list(itertools.product(range(lanes), range(least, 3 * lanes + 2)))
    random.Random(lanes).shuffle(cases)
    return cases


@pytest.mark.parametrize("pause", [0.0, 0.4])
@pytest.mark.parametrize("lanes", [2, 4, 16])
def test_up(lanes: int, pause: float) -> None:
    """The words begin in lane ``shift``; nothing is said of the lanes below; only a packet without
    words has an empty beat."""
    packets = _every(lanes, 0)
    seen, _ = _run(lanes, packets, down=False, pause=pause)
    for number, (shift, count) in enumerate(packets):
        want = _as_seen(_shifted(_words(number, count), shift, lanes), lanes) if count else [({}, 1)]
        assert seen[number] == want, (shift, count)


@pytest.mark.parametrize("pause", [0.0, 0.4])
@pytest.mark.parametrize("lanes", [2, 4, 16])
def test_down(lanes: int, pause: float) -> None:
    """The words that begin in lane ``shift`` leave from lane 0 on, without the words before."""
    packets = _every(lanes, 1)
    seen, _ = _run(lanes, packets, down=True, pause=pause)
    for number, (shift, count) in enumerate(packets):
        assert seen[number] == _as_seen(beats_of(_words(number, count), lanes), lanes), (shift, count)


@pytest.mark.parametrize("pause", [0.0, 0.4])
@pytest.mark.parametrize("lanes", [4, 8])
def test_an_empty_last_beat_ends_the_packet(lanes: int, pause: float) -> None:
    """This holds after a beat that is not full, too."""
    packets = _every(lanes, 0)
    seen, _ = _run(lanes, packets, down=False, empty_ends=True, pause=pause)
    for number, (shift, count) in enumerate(packets):
        beats = _shifted(_words(number, count), shift, lanes) if count else []
        want = [kept for kept, _ in _as_seen(beats, lanes)]
        got = [kept for kept, _ in seen[number] if kept]
        assert got == want, (shift, count)
        assert [last for _, last in seen[number]] == [0] * (len(seen[number]) - 1) + [1]


@pytest.mark.parametrize("down", [False, True])
def test_a_beat_per_cycle(down: bool) -> None:
    """There is no gap within packets or between them, but for the cycles that realigning takes."""
    lanes = 4
    packets = _every(lanes, 1)
    _, cycles = _run(lanes, packets, down)
    if down:
        # If a packet begins in the middle of its first beat, no beat leaves with that.
        assert cycles == sum(-(-count // lanes) + (shift > 0) for shift, count in packets)
    else:
        assert cycles == sum(-(-(shift + count) // lanes) for shift, count in packets)
