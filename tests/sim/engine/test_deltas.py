"""Deltas in the model of the engine and in both drivers: a base in device memory, in place too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import cdma
from cdma import delta
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.sim.codec.patch import Patch
from cdma.sim.engine.driver import Descriptor, DriverError, Mode, Status
from cdma.sim.engine.transfer import TransferRules
from tests.support.stream_bench import DEV, HOST, ModelBench

CONFIG = EngineConfig(
    Format(16, levels=2), 16, ring_entries=16, delta=True, crc=True, dev_data_bits=64, host_data_bits=64
)
OLD, NEW, OUT, COUNT = DEV, DEV + 0x2000, DEV + 0x4000, 3000


def _tensors() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    old = rng.integers(0, 1 << 16, COUNT, np.uint16)
    new = np.where(rng.random(COUNT) < 0.01, rng.integers(0, 1 << 16, COUNT, np.uint16), old)
    return old, new


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("driver", ["python", "c"])
def test_a_delta_leaves_and_is_applied(driver: str, in_place: bool) -> None:
    bench = ModelBench(CONFIG, driver)
    bench.start()
    old, new = _tensors()
    bench.dev_bytes[: 2 * COUNT] = old.tobytes()
    bench.dev_bytes[NEW - DEV : NEW - DEV + 2 * COUNT] = new.tobytes()
    stream = cdma.compress(new, CONFIG.format, base=old)
    room = CONFIG.format.bound_bytes(COUNT)
    away = Descriptor(NEW, HOST + 0x4000, 2 * COUNT, room, Mode.ZVC).with_base(OLD, offload=True)
    out = bench.driver.offload.transfer(away)
    assert (out.status, out.bytes_written) == (Status.OK, len(stream))
    assert bench.peek(bench.host, HOST + 0x4000, len(stream)) == bytes(stream)
    at = OLD if in_place else OUT
    back = Descriptor(
        HOST + 0x4000, at, 2 * COUNT, 0, Mode.ZVC, len(stream), check_crc=True, crc=out.crc
    ).with_base(OLD, offload=False)
    assert bench.driver.prefetch.transfer(back).status == Status.OK
    assert bench.peek(bench.dev, at, 2 * COUNT) == new.tobytes()


def test_a_base_that_cannot_be_read_ends_the_transfer_and_a_wrong_one_is_refused() -> None:
    bench = ModelBench(CONFIG, "python")
    bench.start()
    whole = Descriptor(NEW, HOST + 0x4000, 64, 64, Mode.RAW)
    bench.dev.faults = {OLD + 32: "SLVERR"}
    failed = bench.driver.offload.transfer(whole.with_base(OLD, offload=True))
    assert (failed.status, failed.address) == (Status.READ_SLVERR, OLD + 32)
    bench.dev.faults = {}
    for base, status in ((OLD + 1, Status.ALIGNMENT), (1 << 60, Status.WINDOW)):
        refused = bench.driver.offload.transfer(whole.with_base(base, offload=True))
        assert (refused.status, refused.address) == (status, base)


def test_a_driver_refuses_a_base_for_an_engine_without() -> None:
    bench = ModelBench(EngineConfig(ring_entries=16, dev_data_bits=64, host_data_bits=64), "python")
    bench.start()
    with pytest.raises(DriverError, match="made without \\(delta\\)"):
        bench.driver.offload.transfer(Descriptor(NEW, HOST, 64, 64).with_base(OLD, offload=True))


def test_the_address_of_a_base_lies_where_such_a_descriptor_needs_nothing() -> None:
    made = Descriptor(1, 2, 64, 128)
    assert made.with_base(5, offload=True).compressed_length == 5
    assert made.with_base(5, offload=False).capacity == 5
    values = {"delta": 1, "length": 64, "capacity": 5, "compressed_length": 7}
    offload, prefetch = (TransferRules(CONFIG, name) for name in ("offload", "prefetch"))
    assert (offload.base(values), offload.capacity(values)) == (7, 5)
    assert (prefetch.base(values), prefetch.capacity(values)) == (5, 64)


def test_the_engine_applies_a_patch_as_the_software_does(tmp_path) -> None:
    """Each tensor of a model in place, from the streams that are in the file."""
    rng = np.random.default_rng(2)
    base = {name: rng.integers(0, 1 << 16, count, np.uint16) for name, count in (("q", 4000), ("k", 1500))}
    new = {name: tensor.copy() for name, tensor in base.items()}
    for name, changes in (("q", 30), ("k", 900)):
        new[name][rng.choice(len(new[name]), changes, replace=False)] ^= 1
    path = tmp_path / "step.patch"
    delta.save(path, new, base, plain=True)
    made = delta.load(path, base)
    bench = ModelBench(CONFIG, "python")
    bench.start()
    raw = path.read_bytes()
    with path.open("rb") as file:
        entries = list(Patch(file).index.entries())
    for entry in entries:
        assert Format.from_settings(entry.format) == CONFIG.format
        size, stream = entry.nbytes, raw[entry.begin + 4 : entry.end]
        bench.dev_bytes[:size] = base[entry.name].tobytes()
        bench.host_bytes[0x4000 : 0x4000 + len(stream)] = stream
        back = Descriptor(HOST + 0x4000, OLD, size, 0, Mode.ZVC, len(stream), check_crc=True, crc=entry.crc)
        assert bench.driver.prefetch.transfer(back.with_base(OLD, offload=False)).status == Status.OK
        assert bench.peek(bench.dev, OLD, size) == made[entry.name].tobytes() == new[entry.name].tobytes()


@pytest.mark.parametrize(("channel", "apart"), [("offload", 0), ("prefetch", 3 * 1536), ("offload", -1536)])
def test_a_base_lies_in_several_units_as_the_tensor_does(channel: str, apart: int) -> None:
    config = replace(CONFIG, format=Format(16), units=6, stripe_bytes=256, crc=False)
    bench = ModelBench(config, "python")
    bench.start()
    source, destination = (NEW, HOST) if channel == "offload" else (HOST, NEW)
    whole = Descriptor(source, destination + 0x4000 * (channel == "offload"), 64, 64, Mode.RAW)
    end = getattr(bench.driver, channel)
    for step, status in ((0, Status.OK), (64, Status.ALIGNMENT), (256, Status.ALIGNMENT)):
        done = end.transfer(whole.with_base(NEW + apart + step, offload=channel == "offload"))
        assert (done.status, done.address) == (status, NEW + apart + step if step else 0)
