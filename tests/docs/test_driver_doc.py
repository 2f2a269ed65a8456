"""The C of docs/driver.md compiles and runs as it stands there."""

from __future__ import annotations

import ctypes as ct
import subprocess

import numpy as np

from cdma.hdl.spec.engine import EngineConfig
from cdma.sim.codec.model import compress
from cdma.sim.engine.driver.c_driver import c_driver
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import EngineModel
from docs.make_registers import HEADER, header
from tests.support.c_driver_library import CALL, READ, SIM, WARNINGS, WRITE, Io
from tests.support.documents import blocks
from tests.support.paths import DOCS


def test_the_c_examples_compile_and_run(tmp_path):
    source = tmp_path / "example.c"
    body = "\n".join(blocks(DOCS / "driver.md", "c"))
    source.write_text(
        body
        + "\nint64_t run(const struct cdma_io *, void *, uint64_t, uint64_t, uint64_t, uint32_t);\n"
        + "int64_t run(const struct cdma_io *io, void *r, uint64_t a, uint64_t f, uint64_t t, uint32_t n) {\n"
        + "    (void)mapped_read;\n    (void)mapped_write;\n    return offload_all(io, r, a, f, t, n);\n}\n"
    )
    library = tmp_path / "example.so"
    command = ["cc", "-std=c99", *WARNINGS, "-shared", "-fPIC", f"-I{SIM}", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    count = 40
    device = bytearray(np.random.default_rng(2).integers(0, 2, count * 1024, "u4").tobytes())
    host = bytearray(1 << 20)
    engine = EngineModel(EngineConfig(), Memory(device, 0x4000_0000), Memory(host, 0x8000_0000))
    io = Io(
        None,
        READ(lambda _, offset: engine.read32(offset)),
        WRITE(lambda _, offset, value: engine.write32(offset, value)),
        CALL(lambda _: engine.step() and None),
        CALL(),
    )
    run = ct.CDLL(str(library)).run
    run.restype = ct.c_int64
    rings = (ct.c_ubyte * len(host)).from_buffer(host)
    addresses = map(ct.c_uint64, (0x8000_0000, 0x4000_0000, 0x8000_1000))
    total = run(ct.byref(io), rings, *addresses, count)
    packed = [compress(np.frombuffer(device[4096 * k : 4096 * (k + 1)], "u4")) for k in range(count)]
    assert total == sum(map(len, packed))
    for k, stream in enumerate(packed):
        assert host[0x1000 + 8192 * k :][: len(stream)] == stream


def test_the_c_of_the_tiles_hands_over_the_shape_that_it_says(tmp_path):
    source = tmp_path / "tiles.c"
    body = "\n".join(blocks(DOCS / "tiles.md", "c"))
    call = "offload_head(&engine.offload, from, to)"
    source.write_text(
        body
        + "\nint run(const struct cdma_io *, void *, uint64_t, uint64_t, uint64_t);\n"
        + "int run(const struct cdma_io *io, void *rings, uint64_t at, uint64_t from, uint64_t to) {\n"
        + "    struct cdma engine;\n    struct cdma_result done;\n    int status = cdma_open(&engine, io);\n"
        + "    status = status != CDMA_OK ? status : cdma_set_window(&engine, CDMA_DEV_WINDOW_BASE, 0, ~0ull, 0);\n"
        + "    status = status != CDMA_OK ? status : cdma_set_window(&engine, CDMA_HOST_WINDOW_BASE, 0, ~0ull, 0);\n"
        + "    status = status != CDMA_OK ? status : cdma_start(&engine.offload, rings, at, 16, 0);\n"
        + f"    status = status != CDMA_OK ? status : {call};\n"
        + "    status = status != CDMA_OK ? status : cdma_wait(&engine.offload, CDMA_BY_MEMORY, &done, 1, 1000);\n"
        + "    return status != CDMA_OK ? status : (int)done.bytes_written;\n}\n"
    )
    library = tmp_path / "tiles.so"
    command = ["cc", "-std=c99", *WARNINGS, "-shared", "-fPIC", f"-I{SIM}", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    keys = np.random.default_rng(2).integers(0, 2, (64, 8, 32), "u4")
    host = bytearray(1 << 16)
    engine = EngineModel(
        EngineConfig(dimensions=1), Memory(bytearray(keys.tobytes()), 0x4000_0000), Memory(host, 0x8000_0000)
    )
    io = Io(
        None,
        READ(lambda _, offset: engine.read32(offset)),
        WRITE(lambda _, offset, value: engine.write32(offset, value)),
        CALL(lambda _: engine.step() and None),
        CALL(),
    )
    rings = (ct.c_ubyte * len(host)).from_buffer(host)
    addresses = map(ct.c_uint64, (0x8000_0000, 0x4000_0000 + 3 * 128, 0x8000_4000))
    written = ct.CDLL(str(library)).run(ct.byref(io), rings, *addresses)
    stream = compress(np.ascontiguousarray(keys[:, 3]))
    assert written == len(stream)
    assert host[0x4000:][:written] == stream


def test_the_text_of_the_c_driver_is_the_file():
    assert c_driver() == (SIM / "cdma.h").read_text(encoding="utf-8")


def test_the_header_is_that_of_the_register_map():
    assert HEADER.read_text(encoding="utf-8") == header(), "write it with: python docs/make_registers.py"
