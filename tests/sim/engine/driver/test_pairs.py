"""Both drivers on an engine with several queue pairs, each of which is an engine of its own to its software."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.map import register_map
from cdma.sim.engine.driver import Descriptor, Driver, DriverError, Mode, RingMemory, Status
from cdma.sim.engine.memory import BusError, Memory
from cdma.sim.engine.model import PairsModel
from tests.support.c_driver_library import CDriver, built
from tests.support.stream_bench import DEV, HOST, RINGS, SIZE

CONFIG = EngineConfig(ring_entries=16, channels=3)
#: Bytes of both memories that each pair has.
OWN = SIZE // 4


@pytest.fixture(params=["python", "c"])
def make(request: pytest.FixtureRequest) -> Any:
    return Driver if request.param == "python" else partial(CDriver, built())


def test_pairs_move_data_beside_each_other_and_reach_only_what_is_their_own(make: Any) -> None:
    host_bytes = bytearray(SIZE)
    dev, host = Memory(bytearray(SIZE), DEV), Memory(host_bytes, HOST)
    model = PairsModel(CONFIG, dev, host)
    drivers = []
    for number in range(CONFIG.channels):
        at = number * OWN
        windows = {"dev": (DEV + at, DEV + at + OWN - 1), "host": (HOST + at, HOST + at + OWN - 1)}
        driver = make(model, windows=windows, idle=model.step, channel=number)
        driver.offload.start(
            RingMemory(HOST + at, memoryview(host_bytes)[at : at + RINGS]), 4, interrupts=True
        )
        drivers.append(driver)
        dev.write(DEV + at, bytes([number + 1]) * 256)
    for number, driver in enumerate(drivers):
        at = number * OWN
        own = Descriptor(DEV + at, HOST + at + RINGS, 256, 256, Mode.RAW, tag=number, interrupt=True)
        foreign = Descriptor(DEV + (at + OWN) % (3 * OWN), HOST + at + RINGS, 256, 256, Mode.RAW)
        driver.offload.submit(own, foreign)
    found = [driver.offload.wait(2) for driver in drivers]
    for number, (own_done, foreign_done) in enumerate(found):
        assert (own_done.tag, own_done.status) == (number, Status.OK)
        assert foreign_done.status is Status.WINDOW
        assert host.read(HOST + number * OWN + RINGS, 256) == bytes([number + 1]) * 256
    assert model.irqs == [True] * 3
    drivers[1].soft_reset()
    assert model.irqs == [True, False, True]


def test_shares_are_set_with_the_first_pair(make: Any) -> None:
    model = PairsModel(CONFIG, Memory(bytearray(SIZE), DEV), Memory(bytearray(SIZE), HOST))
    first, last = (make(model, idle=model.step, channel=number) for number in (0, 2))
    first.prefetch.set_share(2, weight=200, priority=3)
    first.offload.set_limit(1, 1234)
    first.offload.set_limit_period(99_999)
    registers = register_map(CONFIG)
    names = ("prefetch_shares.share[2]", "offload_shares.limit[1]", "offload_shares.period")
    assert [model.read32(registers[name].address) for name in names] == [200 | 3 << 8, 1234, 99_999]
    for refused in (
        lambda: first.offload.set_share(3),
        lambda: first.offload.set_share(0, weight=256),
        lambda: first.offload.set_share(0, weight=0),
        lambda: first.offload.set_share(0, priority=4),
        lambda: first.offload.set_limit(0, 1 << 16),
        lambda: first.offload.set_limit_period(0),
        lambda: last.offload.set_share(0),
        lambda: last.offload.set_limit_period(5),
        lambda: make(model, idle=model.step, channel=3),
    ):
        with pytest.raises(DriverError):
            refused()
    with pytest.raises(BusError):
        model.read32(3 << 12)
