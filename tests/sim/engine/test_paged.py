"""Host memory in pages, in the model of the engine and in both drivers."""

import random

import numpy as np
import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import ENTRY_BYTES, PAGE_BYTES
from cdma.sim.codec.model import compress
from cdma.sim.engine.driver import Descriptor, DriverError, Mode, RingMemory, Status, list_pages
from cdma.sim.engine.memory import BusError, Memory, Port
from cdma.sim.engine.shaped import page_runs
from tests.support.c_driver_library import BAD_ARGUMENT, c_list_pages
from tests.support.stream_bench import BACK, DEV, GUARD, HOST, ModelBench, tensor

CONFIG = EngineConfig(ring_entries=16, pages=True, dev_data_bits=64, host_data_bits=64)
#: Where the list is, and the runs of host memory: within a page, a page, and two that follow one another.
LIST = HOST + 0x4000
RUNS = [(HOST + 0x9F40, 0xC0), (HOST + 0xE000, 0x1000), (HOST + 0x5000, 0x1800)]
WHOLE = sum(count for _, count in RUNS)


def _listed(bench: ModelBench, driver: str, runs: list[tuple[int, int]] = RUNS):
    memory = RingMemory(LIST, memoryview(bench.host_bytes)[0x4000:0x5000])
    return (
        list_pages(runs, memory) if driver == "python" else c_list_pages(bench.driver.library, runs, memory)
    )


def _gathered(bench: ModelBench) -> bytes:
    return b"".join(bench.peek(bench.host, address, count) for address, count in RUNS)


@pytest.mark.parametrize("driver", ["python", "c"])
@pytest.mark.parametrize("pushed", [False, True], ids=["ring", "push"])
def test_the_model_moves_a_tensor_into_pages_and_back(pushed: bool, driver: str) -> None:
    bench = ModelBench(CONFIG, driver)
    if pushed:
        bench.driver.offload.start_direct()
        bench.driver.prefetch.start_direct()
    else:
        bench.start()
    raw = tensor(CONFIG, 2000)
    bench.dev_bytes[: len(raw)] = raw
    stream = compress(np.frombuffer(raw, np.uint32), CONFIG.format)
    pages = _listed(bench, driver)
    assert (pages.address, pages.bytes, pages.pages) == (RUNS[0][0], WHOLE, LIST)
    before = bytes(bench.host_bytes)
    out = bench.driver.offload.transfer(
        Descriptor(DEV, pages.address, len(raw), pages.bytes, Mode.ZVC, pages=pages.pages)
    )
    assert (out.status, out.bytes_written) == (Status.OK, len(stream))
    assert _gathered(bench) == stream + bytes([GUARD]) * (WHOLE - len(stream))
    inside = {HOST + at for address, count in RUNS for at in range(address - HOST, address - HOST + count)}
    rings = {HOST + at for at in range(0x4000)}
    changed = {HOST + at for at, byte in enumerate(bench.host_bytes) if byte != before[at]}
    assert changed <= inside | rings
    back = bench.driver.prefetch.transfer(
        Descriptor(pages.address, BACK, len(raw), len(raw), Mode.ZVC, len(stream), pages=pages.pages)
    )
    assert (back.status, back.bytes_read) == (Status.OK, len(stream))
    assert bench.peek(bench.dev, BACK, len(raw)) == raw


def test_a_page_that_is_not_needed_is_not_looked_at_and_one_that_is_ends_the_transfer() -> None:
    bench = ModelBench(CONFIG)
    bench.start()
    pages = _listed(bench, "python")
    bad = HOST + 0x5000 + ENTRY_BYTES
    bench.host_bytes[0x4000 + ENTRY_BYTES : 0x4000 + 2 * ENTRY_BYTES] = bad.to_bytes(8, "little")

    def offload(length: int, capacity: int = WHOLE) -> tuple[Status, int, int]:
        job = Descriptor(DEV, pages.address, length, capacity, Mode.RAW, pages=pages.pages)
        done = bench.driver.offload.transfer(job)
        return done.status, done.address, done.bytes_written

    two = RUNS[0][1] + RUNS[1][1]
    assert offload(two) == (Status.OK, 0, two)
    assert offload(two + 8) == (Status.WRITE_DECERR, bad, two)
    back = Descriptor(pages.address, BACK, two + 8, two + 8, Mode.RAW, pages=pages.pages)
    done = bench.driver.prefetch.transfer(back)
    assert (done.status, done.address) == (Status.READ_DECERR, bad)
    assert bench.dev_bytes == bytes([GUARD]) * len(bench.dev_bytes)
    bench.host.faults[LIST + 1] = "SLVERR"
    assert offload(two) == (Status.WRITE_SLVERR, LIST, RUNS[0][1])


@pytest.mark.parametrize(
    ("page", "told"),
    [(0x1_0000_4000, 0x4001), (0x8000_0000_0000_4008, 0x4009), (0x4008, 0x4008), (0x4000, 0x4000)],
)
def test_an_entry_beyond_the_addresses_of_the_port_is_told_with_an_address_that_is_none_of_a_page(
    page: int, told: int
) -> None:
    memory = Memory(bytearray(0x4000), 0)
    memory.write(0x1000, page.to_bytes(8, "little"))
    port = Port(memory, 64, 32, lambda: (0, 0x3FFF))
    with pytest.raises(BusError) as found:
        list(page_runs(port, 0x2000, 0x1800, 0x1000))
    assert found.value.address == told


def test_a_lack_of_room_is_reported_where_the_data_would_have_gone() -> None:
    bench = ModelBench(CONFIG)
    bench.start()
    pages = _listed(bench, "python")
    bench.dev_bytes[:0x4000] = b"\x11" * 0x4000
    for capacity, end in (
        (RUNS[0][1] - 8, RUNS[0][0] + RUNS[0][1] - 8),
        (RUNS[0][1] + 4, RUNS[1][0]),
        (RUNS[0][1], RUNS[0][0] + RUNS[0][1]),
        (WHOLE, RUNS[2][0] + RUNS[2][1]),
    ):
        job = Descriptor(DEV, pages.address, 0x3000, capacity, Mode.ZVC, pages=pages.pages)
        done = bench.driver.offload.transfer(job)
        assert (done.status, done.address) == (Status.CAPACITY, end)


def test_both_drivers_refuse_what_is_no_list_and_what_the_engine_has_not() -> None:
    rng = random.Random(7)
    bench, plain = ModelBench(CONFIG, "c"), ModelBench(EngineConfig(ring_entries=16), "c")
    wrong = 0
    for _ in range(200):
        runs = [
            (
                0x1000 * rng.randint(1, 9) + rng.choice((0, 0, 8)),
                rng.choice((0x1000, 0x1000, 0xFF8, 8, 0x2000, 1 << 21)),
            )
            for _ in range(rng.randint(0, 3))
        ]
        page = bytearray(PAGE_BYTES), bytearray(PAGE_BYTES)
        memories = [RingMemory(0x8000, each) for each in page]
        try:
            wanted = list_pages(runs, memories[0])
        except ParameterError:
            wrong += 1
            with pytest.raises(DriverError, match=f"returned {BAD_ARGUMENT}"):
                c_list_pages(bench.driver.library, runs, memories[1])
            continue
        assert c_list_pages(bench.driver.library, runs, memories[1]) == wanted
        if wanted.pages:
            assert page[0] == page[1]
    assert 40 < wrong < 180
    with pytest.raises(DriverError, match="the list is to be at 0x8010"):
        list_pages(RUNS, RingMemory(0x8010, bytearray(PAGE_BYTES)))
    job = Descriptor(DEV, RUNS[0][0], 64, 64, Mode.RAW, pages=LIST)
    plain.start()
    with pytest.raises(DriverError, match=f"returned {BAD_ARGUMENT}"):
        plain.driver.offload.submit(job)
    other = ModelBench(EngineConfig(ring_entries=16))
    other.start()
    with pytest.raises(DriverError, match="a descriptor has a list of pages"):
        other.driver.offload.submit(job)
