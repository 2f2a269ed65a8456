"""Arrays through the driver's file, where the golden model is the engine. What it is asked for in Python is what its
header says."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cdma_linux
from cdma.base.errors import ParameterError
from cdma.hdl.spec.records import Status
from cdma.sim.codec.model import compress_words
from cdma_linux import requests
from tests.support.paths import MODULE

from .linux_file import LinuxFile


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LinuxFile:
    return LinuxFile(tmp_path, monkeypatch)


@pytest.fixture
def engine(file: LinuxFile) -> cdma_linux.Device:
    return cdma_linux.Device(str(file.path))


def sparse(*shape: int, dtype: type = np.float32) -> np.ndarray:
    rng = np.random.default_rng(1)
    return (rng.normal(size=shape) * (rng.random(shape) < 0.3)).astype(dtype)


def test_an_array_comes_back_as_it_left(engine: cdma_linux.Device) -> None:
    array = sparse(30, 41)
    handle = engine.offload(array)
    assert handle.nbytes < array.nbytes == handle.raw_bytes
    for _ in range(2):
        np.testing.assert_array_equal(handle.prefetch(), array)


def test_the_stream_is_that_of_the_golden_model(engine: cdma_linux.Device, file: LinuxFile) -> None:
    array = sparse(500)
    (stream,) = engine.offload(array).streams
    words = compress_words(array.view(np.uint16), file.format)
    np.testing.assert_array_equal(stream, words.view(np.uint8))


def test_it_comes_back_to_an_array_of_the_caller(engine: cdma_linux.Device) -> None:
    array = sparse(6, 7)
    handle, out = engine.offload(array), np.ones((6, 7), np.float32)
    assert handle.prefetch(out=out) is out
    np.testing.assert_array_equal(out, array)
    for wrong in (np.ones((7, 6), np.float32), np.ones((6, 7)), np.ones((6, 14), np.float32)[:, ::2]):
        with pytest.raises(ParameterError, match=r"it must have float32 of shape \(6, 7\), in C order"):
            handle.prefetch(out=wrong)


@pytest.mark.parametrize("mode", ["zvc", "raw"])
@pytest.mark.parametrize("size", [0, 1, 3, 4097, 300_001])
def test_any_number_of_bytes_comes_back(engine: cdma_linux.Device, size: int, mode: str) -> None:
    array = sparse(size, dtype=np.uint8)
    handle = engine.offload(array, mode=mode)
    assert mode == "zvc" or handle.nbytes == -(-size // 2) * 2
    np.testing.assert_array_equal(handle.prefetch(), array)


def test_frequent_values_have_a_table_of_their_own(engine: cdma_linux.Device, file: LinuxFile) -> None:
    array = np.where(sparse(4097) == 0, np.float32(1), 0).view(np.uint16)
    handles = [engine.offload(array, mode="fvc", table=table) for table in ((0, 0x3F80), (7,), (0,))]
    sizes = [handle.nbytes for handle in handles]
    assert sizes[0] < sizes[2] < sizes[1]
    for handle in handles:
        np.testing.assert_array_equal(handle.prefetch(), array)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"mode": "fvc"}, "table has 0 values with mode 'fvc'; it must have 1 to 3"),
        ({"mode": "fvc", "table": (1, 2, 3, 4)}, "table has 4 values with mode 'fvc'; it must have 1 to 3"),
        (
            {"table": (1,)},
            "table has 1 values with mode 'zvc'; it must have 1 to 3 with 'fvc', none with others",
        ),
        (
            {"step": 3},
            "step is 3 with mode 'zvc'; it must be 0, because the engine has no error-bounded stage",
        ),
    ],
)
def test_tables_and_steps_that_make_no_sense_are_refused(
    engine: cdma_linux.Device, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ParameterError, match=f"^{said}"):
        engine.offload(sparse(5), **options)


def test_a_raw_copy_has_no_step(engine: cdma_linux.Device) -> None:
    engine.info.lossy = 1
    with pytest.raises(
        ParameterError, match="step is 3 with mode 'raw'; it must be 0, because a raw copy is exact"
    ):
        engine.offload(sparse(5), mode="raw", step=3)
    with pytest.raises(ParameterError, match="step is 256; it must be a whole number from 0 to 255"):
        engine.offload(sparse(5), step=256)


def test_what_a_signal_interrupts_goes_on(engine: cdma_linux.Device, file: LinuxFile) -> None:
    array = sparse(3000)
    file.interrupts = 2
    handle = engine.offload(array)
    file.interrupts = 1
    np.testing.assert_array_equal(handle.prefetch(), array)
    assert file.interrupts == 0


def test_tensors_out_of_order_leave_in_order(engine: cdma_linux.Device) -> None:
    array = sparse(8, 6, 5).transpose(2, 0, 1)[:, ::2]
    np.testing.assert_array_equal(engine.offload(array).prefetch(), array)


def test_many_arrays_are_away_at_once(engine: cdma_linux.Device, file: LinuxFile) -> None:
    arrays = [sparse(40 + n) for n in range(30)]
    handles = [engine.offload(array) for array in arrays]
    assert 0 < len(file.running) <= file.most
    for handle, array in reversed(list(zip(handles, arrays, strict=True))):
        np.testing.assert_array_equal(handle.prefetch(), array)
    assert file.allocated <= file.info.device_bytes // 8


def test_the_crc_is_checked_where_the_engine_has_one(engine: cdma_linux.Device, file: LinuxFile) -> None:
    engine.offload(sparse(40)).prefetch()
    assert [request.flags for request in file.done] == [0, 0]
    engine.info.crc = 1
    engine.offload(sparse(40)).prefetch()
    assert [request.flags for request in file.done[2:]] == [0, 1]


def test_an_error_of_a_transfer_says_what_and_where(engine: cdma_linux.Device, file: LinuxFile) -> None:
    file.fail = [Status.READ_SLVERR]
    handle = engine.offload(sparse(50))
    with pytest.raises(
        cdma_linux.DeviceError, match=r"^the offload of 200 bytes by .*cdma0 ended as READ_SLVERR, at"
    ) as seen:
        handle.prefetch()
    assert seen.value.status is Status.READ_SLVERR
    assert engine.offload(sparse(50)).prefetch() is not None


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(cdma_linux.DeviceError, match=r"cdma7 is not there: load cdma\.ko"):
        cdma_linux.Device(str(tmp_path / "cdma7"))


def test_a_file_that_is_no_engine_is_refused() -> None:
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(cdma_linux.DeviceError, match=r"^/dev/null is no engine"):
        cdma_linux.Device("/dev/null")
    assert len(os.listdir("/proc/self/fd")) == before


def test_without_memory_of_the_accelerator_it_says_so(engine: cdma_linux.Device, file: LinuxFile) -> None:
    file.allocated = file.info.device_bytes
    with pytest.raises(cdma_linux.DeviceError, match="other processes have all of it"):
        cdma_linux.Device(str(file.path))


def test_a_mode_that_there_is_not_is_refused(engine: cdma_linux.Device) -> None:
    with pytest.raises(ParameterError, match="zvc"):
        engine.offload(sparse(5), mode="gzip")


def test_buffers_begin_with_a_page(engine: cdma_linux.Device, file: LinuxFile) -> None:
    """So that the engine may reach them itself."""
    for size in (1, 3000):
        engine.offload(sparse(size)).prefetch()
    assert len(file.done) == 4
    assert all(request.host % 4096 == 0 for request in file.done)


_STRUCTURES = {
    "cdma_info": requests.Info,
    "cdma_range": requests.Range,
    "cdma_request": requests.Request,
    "cdma_reply": requests.Reply,
    "cdma_batch": requests.Batch,
}
_COMMANDS = {
    "CDMA_IOC_INFO": requests.INFO,
    "CDMA_IOC_ALLOC": requests.ALLOCATE,
    "CDMA_IOC_SUBMIT": requests.SUBMIT,
    "CDMA_IOC_REAP": requests.REAP,
    "CDMA_CHECK_CRC": requests.CHECK_CRC,
    "CDMA_NO_FAULT": requests.NO_FAULT,
    "CDMA_OFFLOAD": requests.Direction.OFFLOAD,
    "CDMA_PREFETCH": requests.Direction.PREFETCH,
}


def test_structures_and_numbers_are_those_of_the_header(tmp_path: Path) -> None:
    header = MODULE / "cdma_ioctl.h"
    if not Path("/usr/include/linux/ioctl.h").exists():
        pytest.skip("the headers of Linux are not installed here")
    claims = [f"{name} == {int(value)}ull" for name, value in _COMMANDS.items()]
    for name, kind in _STRUCTURES.items():
        claims.append(f"sizeof(struct {name}) == {requests.ctypes.sizeof(kind)}")
        for field, _ in kind._fields_:
            place = getattr(kind, field)
            claims.append(f"offsetof(struct {name}, {field}) == {place.offset}")
            claims.append(f"sizeof(((struct {name} *)0)->{field}) == {place.size}")
    source = tmp_path / "claims.c"
    asserts = "".join(f'_Static_assert({claim}, "");\n' for claim in claims)
    source.write_text(f'#include <stddef.h>\n#include "{header}"\n{asserts}')
    done = subprocess.run(["gcc", "-fsyntax-only", source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
