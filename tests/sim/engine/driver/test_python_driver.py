"""What the Python driver does alone: reasons in words, and what a program asks of it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from cdma.base.errors import CdmaError
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import Sideband
from cdma.hdl.spec.registers.map import register_map
from cdma.sim.engine.driver import Driver, DriverError, EngineError, RingMemory, Status
from cdma.sim.engine.memory import BusError, Descriptor
from tests.support.stream_bench import CONFIGS, DEV, HOST, OUT, SIZE, ModelBench, tensor

PLAIN = EngineConfig(ring_entries=16)


@pytest.fixture(params=CONFIGS.values(), ids=CONFIGS)
def bench(request: pytest.FixtureRequest) -> ModelBench:
    return ModelBench(request.param)


def test_another_device_or_version_is_not_driven() -> None:
    class Other:
        def __init__(self, address: int, value: int) -> None:
            self.address, self.value = address, value

        def read32(self, address: int) -> int:
            return self.value if address == self.address else ModelBench(PLAIN).model.read32(address)

        def write32(self, address: int, value: int) -> None:
            raise AssertionError("nothing may be written")

    with pytest.raises(DriverError, match="no engine here: the first register reads 0xdeadbeef"):
        Driver(Other(0, 0xDEADBEEF))
    with pytest.raises(DriverError, match=r"version 1\.5 of the register map; this driver knows version 2"):
        Driver(Other(4, 0x10005))


@pytest.mark.parametrize("driver", ["python", "c"])
def test_windows_are_closed_until_they_are_opened(driver: str) -> None:
    bench = ModelBench(PLAIN, driver, windows={})
    with pytest.raises(DriverError, match=r"window of host memory|returned -9"):
        bench.start()
    bench.driver.offload.start_direct()
    done = bench.driver.offload.transfer(Descriptor(DEV, OUT, 64, 64), how="registers")
    assert (done.status, done.address) == (Status.WINDOW, DEV)
    bench.driver.set_window("dev", DEV, DEV + SIZE - 1)
    done = bench.driver.offload.transfer(Descriptor(DEV, OUT, 64, 64), how="registers")
    assert (done.status, done.address) == (Status.WINDOW, OUT)
    bench.driver.set_window("host", HOST, HOST + SIZE - 1)
    bench.start()
    assert bench.driver.offload.transfer(Descriptor(DEV, OUT, 64, 4096)).status is Status.OK
    bench.driver.set_window("host", HOST + 4096, HOST + SIZE - 1)
    with pytest.raises(DriverError, match=r"window of host memory|returned -9"):
        bench.start()
    ModelBench(replace(PLAIN, open_windows=True), driver, windows={}).start()


def test_windows_lock_and_say_so(bench: ModelBench) -> None:
    driver = bench.driver
    driver.set_window("host", HOST, HOST + SIZE - 1, lock=True)
    with pytest.raises(DriverError, match="host was to be 0x0 to 0xfff and is 0x200000000 to 0x20000ffff"):
        driver.set_window("host", 0, 0xFFF)
    driver.soft_reset()
    with pytest.raises(DriverError, match="it is locked"):
        driver.set_window("host", 0, 0xFFF)
    with pytest.raises(DriverError, match="must begin and end on a boundary of 4 KiB"):
        driver.set_window("dev", 1, 0xFFF)
    if bench.config.dev_address_bits < 64:
        with pytest.raises(DriverError, match="the port has fewer address bits"):
            driver.set_window("dev", 1 << 50, (1 << 51) - 1)


def test_rings_outside_the_window_move_nothing(bench: ModelBench) -> None:
    bench.start()
    bench.driver.set_window("host", OUT, OUT + 0xFFF)
    before = bytes(bench.host_bytes)
    bench.driver.registers.write("offload.ring_tail", 1)
    bench.model.run()
    assert bench.driver.offload.error() == EngineError(Status.WINDOW, 0, HOST)
    assert bytes(bench.host_bytes) == before


def test_held_counters_stand_still_while_they_count_on() -> None:
    bench = ModelBench(PLAIN)
    bench.start(8)
    channel, registers = bench.driver.offload, bench.driver.registers
    raw = tensor(bench.config, 64)
    bench.dev.write(DEV, raw)
    job = Descriptor(DEV, OUT, len(raw), 8192)
    channel.transfer(job)
    before = channel.counters()
    registers.set("offload.counter_hold", hold=1)
    assert registers.fields("offload.counter_hold")["held"]
    channel.transfer(job)
    assert registers.read64("offload_counters.descriptors") == before["descriptors"] == 1
    registers.set("offload.counter_hold", hold=0)
    assert registers.read64("offload_counters.descriptors") == 2
    assert registers.read64("offload_counters.bytes_read") == 2 * before["bytes_read"]


def test_completions_that_came_before_a_timeout_are_kept() -> None:
    bench = ModelBench(PLAIN)
    bench.start(8)
    channel = bench.driver.offload
    channel.submit(Descriptor(DEV, OUT, 64, 4096, tag=1))
    bench.model.run()
    bench.model.channels["offload"].halted = True
    channel.submit(Descriptor(DEV, OUT, 64, 4096, tag=2))
    with pytest.raises(DriverError, match="1 came"):
        channel.wait(2, timeout=0.01)
    channel.resume()
    assert [done.tag for done in channel.wait(2)] == [1, 2]


WITH_SIDEBAND = EngineConfig(
    ring_entries=16, sideband=Sideband(host_axcache=15, axuser_bits=4, axuser=2), sideband_registers=True
)


def test_sideband_registers_are_those_of_channel_and_target() -> None:
    bench = ModelBench(WITH_SIDEBAND)
    registers = bench.driver.registers
    assert registers.fields("offload.host_sideband") == {"cache": 15, "prot": 0, "qos": 0, "user": 2}
    bench.driver.offload.set_sideband("host", cache=7, prot=2, qos=9, user=11)
    bench.driver.prefetch.set_sideband("dev", qos=1)
    bench.driver.prefetch.set_sideband("ring", cache=15)
    assert registers.fields("offload.host_sideband") == {"cache": 7, "prot": 2, "qos": 9, "user": 11}
    assert registers.fields("prefetch.dev_sideband") == {"cache": 3, "prot": 0, "qos": 1, "user": 0}
    assert registers.fields("prefetch.ring_sideband") == {"cache": 15, "prot": 0, "qos": 0, "user": 0}
    assert registers.fields("offload.ring_sideband") == {"cache": 3, "prot": 0, "qos": 0, "user": 2}
    assert registers.fields("prefetch.host_sideband")["cache"] == 15
    assert registers.fields("offload.dev_sideband")["qos"] == 0


#: What a program gets wrong, and what is said of it.
WRONG = {
    "the rings are to have 3 entries; a power of two from 2 to 16": lambda b: b.start(3),
    "the rings are to have 32 entries": lambda b: b.start(32),
    "two rings of 4 entries take 512 bytes; the buffer has 100": lambda b: b.driver.offload.start(
        RingMemory(HOST, bytearray(100)), 4
    ),
    "the rings are to be at 0x200000008; a multiple of 64 is needed": lambda b: b.driver.offload.start(
        RingMemory(HOST + 8, bytearray(1000)), 4
    ),
    r"coalesce is \(256, 0\)": lambda b: b.start(coalesce=(256, 0)),
    "the table has 0 values": lambda b: b.driver.offload.set_table([]),
    "its values must fit": lambda b: b.driver.offload.set_table([-1]),
    "offload has no ring": lambda b: b.driver.offload.submit(Descriptor(0, 0, 4, 4)),
    "1 completions are awaited from offload, which owes 0": lambda b: b.driver.offload.wait(),
    "the watchdog is -1 cycles": lambda b: b.driver.set_watchdog(-1),
    "a group is 512 bursts": lambda b: b.driver.set_groups(512),
    "has no groups of bursts": lambda b: b.driver.set_groups(8),
    "source is 18446744073709551616; the field has 64 bits": lambda b: Descriptor(1 << 64, 0, 4, 4).pack(),
    "target is 'link'": lambda b: b.driver.offload.set_sideband("link"),
    "cache is 16; 0, 1, 2": lambda b: b.driver.offload.set_sideband("host", cache=16),
    "cache is 4; 0, 1, 2": lambda b: b.driver.offload.set_sideband("ring", cache=4),
    "prot is -1; 0 to 7": lambda b: b.driver.offload.set_sideband("host", prot=-1),
    "user is 16; 0 to 15": lambda b: b.driver.offload.set_sideband("host", user=16),
    "qos is 16; 0 to 15": lambda b: b.driver.offload.set_sideband("dev", qos=16),
}


@pytest.mark.parametrize("message", WRONG)
def test_invalid_calls_are_refused_with_the_reason(message: str) -> None:
    with pytest.raises(CdmaError, match=message):
        WRONG[message](ModelBench(WITH_SIDEBAND))


def test_missing_options_of_engine_or_driver_are_refused() -> None:
    bench = ModelBench(PLAIN)
    bench.start()
    with pytest.raises(DriverError, match="sideband"):
        bench.driver.offload.set_sideband("dev")
    for fields in ({"check_crc": True}, {"crc": 1}, {"step": 120}):
        with pytest.raises(DriverError, match=r"crc|lossy"):
            bench.driver.offload.transfer(Descriptor(DEV, OUT, 64, 64, **fields))
    with pytest.raises(BusError, match="SLVERR at 0x800"):
        bench.model.read32(0x800)
    with pytest.raises(BusError, match="SLVERR at 0x800"):
        bench.model.write32(0x800, 1)
    bench.driver.offload.submit(Descriptor(DEV, OUT, 64, 4096))
    with pytest.raises(DriverError, match="needs a driver with wait_irq"):
        bench.driver.offload.wait(how="interrupt")


@pytest.mark.parametrize("driver", ["python", "c"])
def test_accesses_without_the_right_are_refused_and_counted(driver: str) -> None:
    bench = ModelBench(CONFIGS["fields"], driver)
    address = register_map(bench.config)["offload.control"].address
    for _ in range(3):
        with pytest.raises(BusError, match=f"SLVERR at {address:#x}"):
            bench.model.write32(address, 1, prot=3)
    with pytest.raises(BusError, match="SLVERR"):
        bench.model.read32(0, prot=2)
    assert bench.model.read32(address) == 0
    assert bench.driver.denied() == {"count": 4, "address": address, "prot": 3, "write": 1}
    bench.driver.clear_denied()
    assert bench.driver.denied()["count"] == 0
    with pytest.raises(DriverError):
        ModelBench(CONFIGS["default"], driver).driver.denied()


@pytest.mark.parametrize("driver", ["python", "c"])
def test_wrong_words_in_memories_are_counted_where_memories_have_checks(driver: str) -> None:
    bench = ModelBench(CONFIGS["fields"], driver)
    assert bench.driver.flips() == {"corrected": 0, "lost": 0}
    bench.driver.clear_flips()
    with pytest.raises(DriverError):
        ModelBench(CONFIGS["default"], driver).driver.flips()


def test_the_driver_needs_no_amaranth() -> None:
    code = "import sys, cdma.sim.engine.driver.driver, cdma.sim.engine.model; assert 'amaranth' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
