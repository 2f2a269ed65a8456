"""Whose a transfer is, in the model of the engine and in both drivers."""

import pytest

from cdma.base.errors import ParameterError
from cdma.hdl.spec.engine import EngineConfig
from cdma.sim.engine.driver import Descriptor, DriverError, Mode, Owner, Status
from cdma.sim.engine.memory import stray_owner
from tests.support.c_driver_library import BAD_ARGUMENT, REFUSED
from tests.support.stream_bench import DEV, OUT, ModelBench

CONFIG = EngineConfig(ring_entries=16, crc=True, stream_id_bits=4, substream_id_bits=8)
MINE = Owner(3, 0x25)


def _job(owner: Owner | None) -> Descriptor:
    return Descriptor(DEV, OUT, 64, 64, Mode.RAW, owner=owner)


@pytest.mark.parametrize("driver", ["python", "c"])
@pytest.mark.parametrize("pushed", [False, True], ids=["ring", "push"])
def test_a_channel_carries_out_the_transfers_of_those_that_it_may(pushed: bool, driver: str) -> None:
    bench = ModelBench(CONFIG, driver)
    channel = bench.driver.offload
    if pushed:
        channel.start_direct()
    else:
        bench.start()

    def ends(owner: Owner | None) -> Status:
        if pushed:
            channel.push(_job(owner))
        else:
            channel.submit(_job(owner))
        return channel.wait()[0].status

    assert [ends(owner) for owner in (None, Owner(), MINE)] == [Status.OK, Status.OK, Status.OWNER]
    channel.set_owners(MINE, ring=Owner(1))
    assert [ends(owner) for owner in (None, MINE, Owner(3), Owner(3, 0x24), Owner(2, 0x25))] == [
        Status.OWNER,
        Status.OK,
        Status.OWNER,
        Status.OWNER,
        Status.OWNER,
    ]
    # Any substream of one stream.
    channel.set_owners(MINE, mask=0xFFF0_0000)
    assert [ends(owner) for owner in (Owner(3, 0x24), Owner(3), Owner(2, 0x24))] == [
        Status.OK,
        Status.OWNER,
        Status.OWNER,
    ]


@pytest.mark.parametrize("driver", ["python", "c"])
def test_owners_that_are_locked_stay(driver: str) -> None:
    bench = ModelBench(CONFIG, driver)
    channel = bench.driver.offload
    channel.set_owners(MINE, lock=True)
    with pytest.raises(DriverError if driver == "python" else Exception, match="locked|" + str(REFUSED)):
        channel.set_owners(Owner(2))
    bench.driver.soft_reset()
    bench.start()
    channel.submit(_job(MINE), _job(Owner(2)))
    assert [done.status for done in channel.wait(2)] == [Status.OK, Status.OWNER]
    bench.driver.prefetch.set_owners(Owner(2))


def test_an_owner_that_is_none_is_reserved() -> None:
    fields = CONFIG.records.owner_fields
    for owned, owner in ((0, 1 << 20), (1, 1 << 24), (1, 0x8000_0100), (1, 0x25)):
        assert stray_owner({"owned": owned, "owner": owner}, fields), hex(owner)
    for owned, owner in ((0, 0), (1, 0), (1, MINE.word)):
        assert not stray_owner({"owned": owned, "owner": owner}, fields), hex(owner)
    assert stray_owner({"owned": 1, "owner": 0}, {})


@pytest.mark.parametrize("driver", ["python", "c"])
def test_drivers_refuse_owners_that_the_engine_does_not_have(driver: str) -> None:
    for config, owner in (
        (CONFIG, Owner(16)),
        (CONFIG, Owner(1, 256)),
        (EngineConfig(ring_entries=16), Owner(1)),
    ):
        bench = ModelBench(config, driver)
        bench.start()
        error = DriverError if driver == "python" else Exception
        text = "owner" if driver == "python" else str(BAD_ARGUMENT)
        with pytest.raises(error, match=text):
            bench.driver.offload.submit(_job(owner))
        with pytest.raises(error, match=text):
            bench.driver.offload.set_owners(owner)


def test_an_owner_has_as_many_bits_as_a_descriptor() -> None:
    assert (Owner().word, Owner(1).word, Owner(0, 0).word, Owner(2047, 0xFFFFF).word) == (
        0,
        1 << 20,
        1 << 31,
        0xFFFF_FFFF,
    )
    for wrong in ({"stream": 2048}, {"substream": 1 << 20}, {"stream": -1}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            Owner(**wrong)
