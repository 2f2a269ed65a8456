"""What the drivers read of an engine before anything else, and what follows from it."""

from __future__ import annotations

import ctypes as ct
from dataclasses import asdict

import numpy as np
import pytest

from cdma.hdl.spec.engine import LOSSY, EngineConfig
from cdma.hdl.spec.options import MEMORY_CODES, PROTECTIONS
from cdma.sim.codec.container import crc32c
from cdma.sim.codec.model import compress
from cdma.sim.engine.driver import Mode, Status
from cdma.sim.engine.memory import Descriptor
from tests.support.c_driver_library import Geometry
from tests.support.stream_bench import BACK, CONFIGS, DEV, OUT, ModelBench, tensor

#: Addresses and lengths of any byte.
BYTES = EngineConfig(ring_entries=16, alignment="byte", crc=True)


@pytest.mark.parametrize("config", [*CONFIGS.values(), BYTES], ids=[*CONFIGS, "bytes"])
def test_geometry_is_read_at_run_time(config: EngineConfig) -> None:
    expected = {
        "version": (2, 1),
        "word_bits": config.format.word_bits,
        "window": 32,
        "code_bits": config.format.code_bits,
        "table_size": config.codec.table_size,
        "lanes": 8,
        "field_bits": config.format.field_bits,
        "rotate": config.format.rotate,
        "zero": config.format.zero,
        "align": config.format.align,
        "any_length": config.alignment == "byte",
        "dev_data_bits": config.dev_data_bits,
        "dev_address_bits": config.dev_address_bits,
        "dev_align": config.align("dev"),
        "host_data_bits": config.host_data_bits,
        "host_address_bits": config.host_address_bits,
        "host_align": config.align("host"),
        "burst_beats": config.burst_beats,
        "outstanding": 16,
        "ring_entries": 16,
        "units": 1,
        "stripe_bytes": 4096,
        "crc": config.crc,
        "lossy": config.lossy,
        "keep_nonzero": config.keep_nonzero,
        "sideband": config.sideband_registers,
        "user_bits": config.sideband.axuser_bits if config.sideband_registers else 0,
        "register_protection": config.register_protection,
        "memories_protect": config.memories_protect,
        "dimensions": config.dimensions,
        "pages": config.pages,
        "stream_id_bits": config.stream_id_bits,
        "substream_id_bits": config.substream_id_bits,
        "pairs": config.channels,
        "messages": config.msi,
        "delta": config.delta,
        "levels": config.format.levels,
    }
    assert asdict(ModelBench(config).driver.geometry) == expected
    c_driver = ModelBench(config, "c").driver
    geometry = c_driver.library.c_geometry(c_driver.engine).contents
    major, minor = expected.pop("version")
    expected |= {"version_major": major, "version_minor": minor, "lossy": LOSSY.index(config.lossy)}
    expected["register_protection"] = PROTECTIONS.index(config.register_protection)
    expected["memories_protect"] = MEMORY_CODES.index(config.memories_protect)
    assert {name: getattr(geometry, name) for name, _ in Geometry._fields_} == expected
    assert ct.sizeof(Geometry) == 4 * len(expected)


def test_an_engine_with_several_units_says_so_and_moves_whole_windows() -> None:
    geometry = ModelBench(EngineConfig(ring_entries=16, units=4, stripe_bytes=1024)).driver.geometry
    assert (geometry.units, geometry.stripe_bytes) == (4, 1024)
    assert (geometry.dev_align, geometry.host_align) == (128, 32)


def test_an_engine_that_realigns_says_so_and_takes_any_word() -> None:
    bench = ModelBench(EngineConfig(ring_entries=16, alignment="word"))
    assert (bench.driver.geometry.dev_align, bench.driver.geometry.host_align) == (4, 4)
    bench.start()
    data = tensor(bench.config, 41)
    bench.dev.write(DEV + 28, data)
    there = bench.driver.offload.transfer(Descriptor(DEV + 28, OUT + 20, len(data), 4096))
    packed = compress(np.frombuffer(data, "<u4"), bench.config.format)
    assert (there.status, there.bytes_written) == (Status.OK, len(packed))
    assert bench.peek(bench.host, OUT + 16, len(packed) + 8) == b"\xa5" * 4 + packed + b"\xa5" * 4
    back = Descriptor(OUT + 20, BACK + 12, len(data), len(data), compressed_length=len(packed))
    assert bench.driver.prefetch.transfer(back).status is Status.OK
    assert bench.peek(bench.dev, BACK + 8, len(data) + 8) == b"\xa5" * 4 + data + b"\xa5" * 4
    beats = (7 + 41 + 7) // 8, (5 + len(packed) // 4 + 7) // 8
    counters = bench.driver.offload.counters()
    assert (counters["read_beats"], counters["write_beats"]) == beats
    # A header and 5 literals reach into the second beat, which does not fit: its first byte is reported.
    bench.dev.write(DEV + 28, b"\1" * 20)
    done = bench.driver.offload.transfer(Descriptor(DEV + 28, OUT + 20, 20, 16, tag=2))
    assert (done.status, done.bytes_written, done.address) == (Status.CAPACITY, 12, OUT + 32)
    odd = bench.driver.offload.transfer(Descriptor(DEV + 2, OUT, 20, 4096))
    assert (odd.status, odd.address) == (Status.ALIGNMENT, DEV + 2)


@pytest.mark.parametrize("driver", ["python", "c"])
@pytest.mark.parametrize("mode", [Mode.RAW, Mode.ZVC])
def test_an_engine_of_any_byte_moves_so_many(driver: str, mode: Mode) -> None:
    """Zeros fill the last word in the stream alone: neither memory has them, and the CRC is of the bytes."""
    bench = ModelBench(BYTES, driver)
    bench.start()
    data = tensor(BYTES, 41) + b"\7\0\5"
    bench.dev.write(DEV + 29, data + b"\xff")
    there = bench.driver.offload.transfer(Descriptor(DEV + 29, OUT + 1, len(data), 4096, mode=mode))
    packed = data if mode is Mode.RAW else compress(np.frombuffer(data + b"\0", "<u4"), BYTES.format)
    assert (there.status, there.bytes_read, there.bytes_written) == (Status.OK, len(data), len(packed))
    assert there.crc == crc32c(data)
    assert bench.peek(bench.host, OUT, len(packed) + 2) == b"\xa5" + packed + b"\xa5"
    compressed = 0 if mode is Mode.RAW else len(packed)
    fields = {"mode": mode, "compressed_length": compressed, "check_crc": True, "crc": there.crc}
    back = bench.driver.prefetch.transfer(Descriptor(OUT + 1, BACK + 3, len(data), len(data), **fields))
    assert (back.status, back.bytes_written) == (Status.OK, len(data))
    assert bench.peek(bench.dev, BACK + 2, len(data) + 2) == b"\xa5" + data + b"\xa5"
    counters = bench.driver.offload.counters()
    assert (counters["raw_words"], counters["bytes_read"]) == (42 * (mode is Mode.ZVC), len(data))
