"""The bench's memory gives its bytes to one transfer at a time. The tensor that software outside of a simulation moves.
Bursts and accesses are put together from what their channels carry, cycle by cycle.
"""

from __future__ import annotations

import random

import numpy as np
import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.sim.codec.model import decompress_words
from cdma.sim.codec.words import word_dtype
from cdma.verif.engine.design import SMALL
from cdma.verif.engine.measure import sparse_tensor
from cdma.verif.engine.memory import AROUND, DATA, GUARD, SIZE, Memory
from cdma.verif.engine.transactions import accesses_of, bursts_of


@pytest.mark.verilator
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


@pytest.mark.verilator
def test_a_memory_with_no_room_says_so() -> None:
    memory = Memory(random.Random(1))
    kept = [memory.place(1 << 16, 64) for _ in range(10)]
    with pytest.raises(AssertionError, match="no room for 0x10000 bytes more"):
        kept += [memory.place(1 << 16, 64) for _ in range(5)]


@pytest.mark.parametrize("config", [SMALL, EngineConfig()], ids=["small", "default"])
def test_the_stream_is_that_of_the_tensor_in_mode_zvc(config: EngineConfig) -> None:
    form = config.codec.format
    tensor, stream = (np.frombuffer(made, word_dtype(form)) for made in sparse_tensor(config))
    assert 0.5 < np.mean(tensor == 0) < 0.9
    assert stream.nbytes < tensor.nbytes
    assert np.array_equal(decompress_words(stream, tensor.size, form), tensor)


#: The signals of a port of AXI4 of eight bytes, idle.
IDLE = {
    f"p_{channel}{name}": 0
    for channel, names in {
        "ar": ("valid", "ready", "addr", "len", "size", "id"),
        "aw": ("valid", "ready", "addr", "len", "size", "id"),
        "r": ("valid", "ready", "data", "last", "resp", "id"),
        "w": ("valid", "ready", "data", "last", "strb"),
        "b": ("valid", "ready", "resp", "id"),
    }.items()
    for name in names
}


def cycle(*channels: str, **values: int) -> dict[str, int]:
    """A cycle in which these channels have a transfer."""
    moves = {f"p_{channel}{end}": 1 for channel in channels for end in ("valid", "ready")}
    return IDLE | moves | {f"p_{name}": value for name, value in values.items()}


def test_reads_of_two_ids_may_come_in_any_order() -> None:
    cycles = [
        IDLE | {"p_arvalid": 1, "p_araddr": 0x100, "p_arlen": 1, "p_arsize": 3},
        cycle("ar", araddr=0x100, arlen=1, arsize=3, arid=0),
        cycle("ar", araddr=0x208, arlen=0, arsize=3, arid=1),
        cycle("r", rid=1, rdata=0x1122334455667788, rlast=1, rresp=2),
        cycle("r", rid=0, rdata=1),
        cycle("r", rid=0, rdata=2, rlast=1),
    ]
    first, second = bursts_of(cycles, "p", 8)
    assert (first.id, first.address, first.first, first.last, first.resp, first.done) == (
        0,
        0x100,
        0,
        5,
        0,
        True,
    )
    assert first.data == (1).to_bytes(8, "little") + (2).to_bytes(8, "little")
    assert [piece.address for piece in first.pieces] == [0x100, 0x108]
    assert (second.id, second.first, second.last, second.resp) == (1, 2, 3, 2)
    assert second.data == bytes.fromhex("8877665544332211")


def test_the_bytes_of_a_write_are_where_their_strobes_are() -> None:
    cycles = [
        cycle("aw", awaddr=0x100, awlen=1, awsize=3, awid=2),
        cycle("w", wdata=0x8877665544332211, wstrb=0xF0),
        cycle("w", wdata=0x1817161514131211, wstrb=0x03, wlast=1),
        IDLE,
        cycle("b", bid=2, bresp=3),
    ]
    (burst,) = bursts_of(cycles, "p", 8)
    assert [(piece.cycle, piece.address, piece.data.hex()) for piece in burst.pieces] == [
        (1, 0x104, "55667788"),
        (2, 0x108, "1112"),
    ]
    assert (burst.write, burst.last, burst.resp, burst.done) == (True, 4, 3, True)


def test_a_burst_that_has_not_ended_says_so() -> None:
    (burst,) = bursts_of([cycle("ar", arlen=3, arsize=3), cycle("r", rdata=7)], "p", 8)
    assert not burst.done
    assert len(burst.pieces) == 1


def test_an_access_lasts_from_its_address_to_its_answer() -> None:
    cycles = [
        IDLE | {"p_awvalid": 1},
        cycle("aw", "w", awaddr=0x40, wdata=5),
        cycle("b", "ar", araddr=0x44),
        cycle("r", rdata=9, rresp=2),
    ]
    write, read = accesses_of(cycles, "p")
    assert (write.first, write.last, write.write, write.address, write.data, write.resp) == (
        0,
        2,
        True,
        0x40,
        5,
        0,
    )
    assert (read.first, read.last, read.write, read.address, read.data, read.resp) == (
        2,
        3,
        False,
        0x44,
        9,
        2,
    )
