"""A memory behind a link of PCI Express: what reads wait for, what overtakes what, and what the link carries."""

from __future__ import annotations

import ctypes
import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.verif.engine.design import EngineDesign
from cdma.verif.engine.edges import Port
from cdma.verif.engine.hosts import HOSTS, MEGAHERTZ, data_rate, link_of
from cdma.verif.engine.measure import measure_engine
from cdma.verif.engine.memory import Memory, library
from cdma.verif.engine.owners import Objections
from tests.support.commands import Refused

_BITS, _BYTES = 256, 32
#: Beats of a burst of a KiB.
_BURST = 32


def memory_behind(host: str, tags: int) -> Memory:
    memory = Memory(random.Random(1), 1 << 20)
    memory.allow(0, 1 << 20)
    memory.write(0, np.arange(1 << 18, dtype=np.uint32).tobytes())
    memory.link = link_of({"host": host, "tags": tags}, _BITS)
    return memory


class _Offer(ctypes.Structure):
    """A beat that a memory offers on R."""

    _fields_ = [("id", ctypes.c_uint64), ("response", ctypes.c_uint64), ("last", ctypes.c_uint64)]


class Beat(NamedTuple):
    id: int
    data: int
    last: bool


def beats_of(memory: Memory, reads: Sequence[tuple[int, int]]) -> Iterator[tuple[int, Beat]]:
    """Reads bursts of these IDs and addresses, which are asked for at once: each beat and its cycle."""
    port, cpp = Port(memory, _BYTES), library()
    server, objections = cpp.server_new(ctypes.addressof(port)), Objections(memory)
    offer, data = _Offer(), (ctypes.c_uint8 * _BYTES)()
    for id, address in reads:
        cpp.server_ask(server, 0, 0, id, address, _BURST, _BYTES, objections.text)
    left, cycle = len(reads) * _BURST, 0
    while left:
        cycle += 1
        if cpp.server_next_beat(
            server, cycle, ctypes.addressof(offer), ctypes.addressof(data), objections.text
        ):
            left -= 1
            yield cycle, Beat(offer.id, int.from_bytes(data, "little"), bool(offer.last))
        objections.check()
    cpp.server_delete(server)


@pytest.mark.verilator
def test_reads_of_one_id_keep_their_order_and_those_of_two_need_not() -> None:
    reads = [(index % 2, 1024 * index) for index in range(64)]
    got = [beat for _, beat in beats_of(memory_behind("pcie-slow", 16), reads)]
    for id in (0, 1):
        mine = [beat for beat in got if beat.id == id]
        places = [beat.data % (1 << 32) * 4 for beat in mine]
        assert places == [at + _BYTES * beat for of, at in reads if of == id for beat in range(_BURST)]
        assert [place % 1024 == 1024 - _BYTES for place in places] == [beat.last for beat in mine]
    order = [beat.data % (1 << 32) for beat in got]
    assert order != sorted(order)


@pytest.mark.verilator
@pytest.mark.parametrize("host", HOSTS)
def test_a_read_by_itself_takes_what_was_published(host: str) -> None:
    """Half of them at most the median, and a twentieth more than nineteen of twenty; the link adds its time."""
    reads = [(0, 1024 * index) for index in range(200)]
    ends = [cycle for cycle, beat in beats_of(memory_behind(host, 1), reads) if beat.last]
    # Two reads of 512 bytes each.
    both = np.diff([0, *ends]) * 1000 / MEGAHERTZ
    least, median, most = HOSTS[host].nanoseconds[0], HOSTS[host].nanoseconds[1], HOSTS[host].nanoseconds[4]
    assert both.min() > 2 * least
    assert np.median(both) == pytest.approx(2 * median + 150, rel=0.25)
    assert both.max() < 2 * most + 200


@pytest.mark.verilator
def test_many_reads_fill_the_link_and_few_do_not() -> None:
    reads = [(0, 1024 * index) for index in range(256)]
    rates = {}
    for tags in (4, 64):
        *_, (cycles, _) = beats_of(memory_behind("pcie", tags), reads)
        rates[tags] = len(reads) * 1024 / cycles / data_rate("prefetch", _BITS)
    assert 0.97 < rates[64] <= 1
    wait = 600 * MEGAHERTZ / 1000
    assert rates[4] == pytest.approx(4 * 512 / wait / data_rate("prefetch", _BITS), rel=0.15)


@pytest.mark.verilator
@pytest.mark.slow
def test_an_engine_fills_a_link_with_its_outstanding_reads() -> None:
    """What leaves depends on reads of the host for its descriptors alone. Data are compared."""
    config = EngineConfig(lanes=2, dev_data_bits=64, host_data_bits=64)
    case = {"mode": "raw", "density": 1.0, "bytes": 1 << 15, "descriptors": 1, "memory_latency": 30}
    cases = [
        case | {"direction": way, "host": "pcie", "tags": tags}
        for way in ("offload", "prefetch")
        for tags in (1, 16)
    ]
    rows = measure_engine(EngineDesign(config), cases)
    few_out, many_out, few_back, many_back = (row["of_link"] for row in rows)
    assert few_out > 0.95
    assert many_out > 0.95
    assert few_back < 0.5
    assert many_back > 0.92


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--tags", "8"], "tags are given; without --host there is no link"),
        (["--host", "pcie", "--tags", "0"], "tags is 0; it must be from 1 to 256"),
        (["--host", "pcie", "--memory", "ddr3", "--dev-data-bits", "128"], "host is given with --memory"),
        (["--host", "pcie", "--clocks", "host", "--host-periods", "2"], "host is given with --host-periods"),
    ],
)
def test_links_that_cannot_be(options: list[str], says: str, refused: Refused) -> None:
    assert says in refused("bench", "engine", *options)
