"""The C driver, compiled as C and as C++ without a warning, against the register-level model of the
engine."""

from __future__ import annotations

import ctypes as ct

import numpy as np
import pytest

from cdma.hdl.deliver.register_texts import register_texts
from cdma.hdl.spec.counters import COUNTERS
from cdma.hdl.spec.engine import LOSSY, EngineConfig
from cdma.hdl.spec.registers.map import register_map
from cdma.hdl.spec.sideband import SIDEBAND_TARGETS
from cdma.sim.codec.model import analyse, compress
from cdma.sim.engine.driver import Mode, Status
from tests.support.c_driver_library import (
    BAD_ARGUMENT,
    BAD_VERSION,
    BUSY,
    CALL,
    FULL,
    HALT_ON_ERROR,
    IRQ,
    LOST,
    MEMORY,
    NO_ENGINE,
    OK,
    READ,
    REFUSED,
    REGISTERS,
    SIM,
    SOURCE,
    TIMEOUT,
    WITH_IRQ,
    WRITE,
    Error,
    Geometry,
    Io,
    Result,
    Transfer,
    build,
)
from tests.support.model_bench import BACK, CONFIGS, DEV, GUARD, HOST, OUT, SIZE, GuardedModel


@pytest.fixture(scope="module", params=["c99", "c11", "c++11"])
def library(request, tmp_path_factory) -> ct.CDLL:
    return build(tmp_path_factory.mktemp("driver"), request.param, SOURCE)


class Bench(GuardedModel):
    """A model with the C driver on it."""

    def __init__(self, library: ct.CDLL, config: EngineConfig, *, interrupt: bool = True) -> None:
        super().__init__(config)
        self.library = library
        self.read32 = self.model.read32
        self.accesses: list[tuple[str, int]] = []
        self.rings = (ct.c_ubyte * SIZE).from_buffer(self.host_bytes)
        self.io = Io(
            None,
            READ(lambda _, offset: self._read(offset)),
            WRITE(lambda _, offset, value: self._write(offset, value)),
            CALL(lambda _: self.model.step() and None),
            CALL(self.wait_irq) if interrupt else CALL(),
        )

    def _read(self, offset: int) -> int:
        self.accesses.append(("read", offset))
        return self.read32(offset)

    def _write(self, offset: int, value: int) -> None:
        self.accesses.append(("write", offset))
        self.model.write32(offset, value)

    def open(self) -> int:
        status = ct.c_int()
        self.engine = ct.c_void_p(self.library.c_open(ct.byref(self.io), ct.byref(status)))
        self.offload = ct.c_void_p(self.library.c_channel(self.engine, 0))
        self.prefetch = ct.c_void_p(self.library.c_channel(self.engine, 1))
        return status.value

    def close(self) -> None:
        self.library.c_close(self.engine)

    def start(self, channel: ct.c_void_p, entries: int = 4, options: int = 0) -> int:
        offset = 0x2000 if channel is self.prefetch else 0
        memory = ct.byref(self.rings, offset)
        return self.library.c_start(channel, memory, ct.c_uint64(HOST + offset), entries, options)

    def submit(self, channel: ct.c_void_p, *transfers: Transfer) -> int:
        return self.library.c_submit(channel, (Transfer * len(transfers))(*transfers), len(transfers))

    def wait(self, channel: ct.c_void_p, how: int = MEMORY, count: int = 1, patience: int = 100):
        results = (Result * count)()
        taken = ct.c_uint32()
        status = self.library.c_wait(channel, how, results, count, patience, ct.byref(taken))
        return status, list(results)[: taken.value]

    def poll(self, channel: ct.c_void_p, how: int, count: int = 16):
        results = (Result * count)()
        found = self.library.c_poll(channel, how, results, count)
        return found, list(results)[: max(found, 0)]

    def counter(self, channel: ct.c_void_p, name: str) -> int:
        low = 8 * [counter for counter, _ in COUNTERS].index(name)
        return self.library.c_counter(channel, low)


@pytest.fixture(params=CONFIGS.values(), ids=CONFIGS)
def bench(request, library):
    bench = Bench(library, request.param)
    assert bench.open() == OK
    yield bench
    bench.close()


def test_opening_reads_the_geometry_and_writes_nothing(bench):
    geometry = bench.library.c_geometry(bench.engine).contents
    config = bench.config
    assert {name: getattr(geometry, name) for name, _ in Geometry._fields_} == {
        "version_major": 1,
        "version_minor": 5,
        "word_bits": config.format.word_bits,
        "window": 32,
        "code_bits": config.format.code_bits,
        "table_size": config.codec.table_size,
        "lanes": 8,
        "dev_data_bits": config.dev_data_bits,
        "dev_address_bits": config.dev_address_bits,
        "dev_align": config.dev_data_bits // 8,
        "host_data_bits": config.host_data_bits,
        "host_address_bits": config.host_address_bits,
        "host_align": config.host_data_bits // 8,
        "burst_beats": config.burst_beats,
        "outstanding": config.outstanding,
        "ring_entries": 16,
        "field_bits": config.format.field_bits,
        "rotate": config.format.rotate,
        "zero": config.format.zero,
        "align": config.format.align,
        "units": 1,
        "stripe_bytes": 4096,
        "crc": config.crc,
        "lossy": LOSSY.index(config.lossy),
        "keep_nonzero": config.keep_nonzero,
        "sideband": config.sideband_registers,
        "user_bits": config.sideband.axuser_bits if config.sideband_registers else 0,
    }
    assert {kind for kind, _ in bench.accesses} == {"read"}


@pytest.mark.parametrize(
    ("address", "value", "status"), [(0, 0xDEADBEEF, NO_ENGINE), (4, 0x20000, BAD_VERSION)]
)
def test_another_device_or_version_is_not_driven(library, address, value, status):
    bench = Bench(library, CONFIGS["default"])
    bench.read32 = lambda offset: value if offset == address else bench.model.read32(offset)
    assert bench.open() == status
    bench.close()


@pytest.mark.parametrize("how", [MEMORY, REGISTERS, IRQ], ids=["memory", "registers", "irq"])
@pytest.mark.parametrize("rings", [True, False], ids=["rings", "direct"])
@pytest.mark.parametrize("mode", Mode)
def test_there_and_back(bench, how, rings, mode):
    form = bench.config.format
    values = (ct.c_uint32 * len(form.values))(*form.values)
    for channel in (bench.offload, bench.prefetch):
        options = WITH_IRQ if how == IRQ else 0
        assert (
            bench.start(channel, 4, options) if rings else bench.library.c_start_direct(channel, options)
        ) == OK
        assert bench.library.c_set_table(channel, values, len(values)) == OK
    rng = np.random.default_rng(3)
    words = (rng.integers(1, 200, 777) * (rng.random(777) < 0.5)).astype(f"u{form.word_bits // 8}")
    raw = words.tobytes()
    bench.dev.write(DEV, raw)
    zvc = form.with_table((0,))
    expected = raw if mode is Mode.RAW else compress(words, form if mode is Mode.FVC else zvc)

    def transfer(channel: ct.c_void_p, job: Transfer) -> Result:
        if rings:
            assert bench.submit(channel, job) == OK
        else:
            assert bench.library.c_push(channel, ct.byref(job), 10) == OK
        status, (done,) = bench.wait(channel, how)
        assert status == OK
        return done

    done = transfer(bench.offload, Transfer(DEV, OUT, len(raw), 0x4000, 0, 0xFEDCBA98, mode, 1))
    assert (done.tag, done.status, done.bytes_read, done.bytes_written) == (
        0xFEDCBA98,
        0,
        len(raw),
        len(expected),
    )
    assert bench.peek(bench.host, OUT, len(expected)) == expected
    assert bench.peek(bench.host, OUT + len(expected), 64) == bytes([GUARD]) * 64
    if mode is Mode.ZVC:
        assert done.literals == analyse(words, zvc).literals
    assert done.cycles == bench.counter(bench.offload, "cycles") > 0

    length = 0 if mode is Mode.RAW else len(expected)
    done = transfer(bench.prefetch, Transfer(OUT, BACK, len(raw), len(raw), length, 2, mode, 1))
    assert (done.tag, done.status, done.bytes_read, done.bytes_written) == (2, 0, len(expected), len(raw))
    assert bench.peek(bench.dev, BACK, len(raw)) == raw
    assert bench.peek(bench.dev, BACK + len(raw), 64) == bytes([GUARD]) * 64
    assert (bench.irq_waits > 0) == (how == IRQ)
    assert not bench.model.irq


@pytest.mark.parametrize("entries", [2, 4, 16])
@pytest.mark.parametrize("seed", range(3))
def test_any_pace_keeps_order_round_the_ring(bench, entries, seed):
    rng = np.random.default_rng(seed)
    assert bench.start(bench.offload, entries) == OK
    sent, seen = 0, []
    for _ in range(60):
        count = min(int(rng.integers(0, 6)), bench.library.c_room(bench.offload))
        jobs = [
            Transfer(DEV, OUT, 4 * (1 + tag % 7), 4096, 0, tag, Mode.RAW, 0)
            for tag in range(sent, sent + count)
        ]
        assert bench.submit(bench.offload, *jobs) == OK
        sent += count
        for _step in range(rng.integers(0, 6)):
            bench.model.step()
        found, done = bench.poll(bench.offload, int(rng.integers(0, 2)), int(rng.integers(1, 6)))
        assert found == len(done)
        assert all((d.status, d.bytes_read) == (0, 4 * (1 + d.tag % 7)) for d in done)
        seen += [d.tag for d in done]
    status, done = bench.wait(bench.offload, MEMORY, sent - len(seen)) if sent > len(seen) else (OK, [])
    assert status == OK
    assert seen + [d.tag for d in done] == list(range(sent))
    assert bench.library.c_room(bench.offload) == entries


def test_errors_come_with_cause_and_address(bench):
    library = bench.library
    assert bench.start(bench.offload, 8, HALT_ON_ERROR) == OK
    error = Error()
    assert library.c_get_error(bench.offload, ct.byref(error)) == 0
    bad = Transfer(DEV + 4, OUT, 64, 64, 0, 5, Mode.RAW, 0)
    good = Transfer(DEV, OUT, 64, 64, 0, 6, Mode.RAW, 0)
    assert bench.submit(bench.offload, bad, good) == OK
    status, done = bench.wait(bench.offload, MEMORY, 2, patience=20)
    assert status == TIMEOUT
    assert [(d.tag, d.status, d.address) for d in done] == [(5, Status.ALIGNMENT, DEV + 4)]
    assert library.c_halted(bench.offload) == 1
    assert library.c_get_error(bench.offload, ct.byref(error)) == 1
    assert (error.status, error.tag, error.address) == (Status.ALIGNMENT, 5, DEV + 4)
    library.c_clear_error(bench.offload)
    assert library.c_get_error(bench.offload, ct.byref(error)) == 0
    library.c_resume(bench.offload)
    assert [d.tag for d in bench.wait(bench.offload)[1]] == [6]
    assert bench.counter(bench.offload, "errors") == 1
    library.c_clear_counters(bench.engine)
    assert bench.counter(bench.offload, "errors") == 0


def test_a_lost_completion_is_told_after_those_before_it(bench):
    assert bench.start(bench.offload, 4) == OK
    bench.host.faults[HOST + 4 * 64 + 64] = "SLVERR"
    assert bench.submit(bench.offload, *(Transfer(DEV, OUT, 64, 64, 0, tag, 0, 0) for tag in range(3))) == OK
    bench.model.run()
    found, done = bench.poll(bench.offload, REGISTERS)
    assert (found, [d.tag for d in done]) == (1, [0])
    assert bench.poll(bench.offload, REGISTERS) == (LOST, [])
    found, done = bench.poll(bench.offload, REGISTERS)
    assert (found, [d.tag for d in done]) == (1, [2])
    assert bench.library.c_room(bench.offload) == 4


def test_a_lost_completion_does_not_come_back_in_the_next_pass(bench):
    """Its slot still holds what the pass before wrote there, with just the phase that is due next."""
    assert bench.start(bench.offload, 4) == OK

    def submit(*tags: int) -> None:
        jobs = (Transfer(DEV, OUT, 64, 64, 0, tag, Mode.RAW, 0) for tag in tags)
        assert bench.submit(bench.offload, *jobs) == OK

    def tags() -> list[int]:
        return [done.tag for done in bench.poll(bench.offload, MEMORY)[1]]

    submit(0, 1, 2, 3)
    bench.model.run()
    assert tags() == [0, 1, 2, 3]
    bench.host.faults[HOST + 4 * 64] = "SLVERR"
    submit(4)
    bench.model.run()
    assert bench.poll(bench.offload, REGISTERS) == (LOST, [])
    bench.host.faults.clear()
    submit(5, 6, 7)
    bench.model.run()
    assert tags() == [5, 6, 7]
    submit(8)
    assert tags() == [], "nothing has been done yet"
    bench.model.run()
    assert tags() == [8]


def test_windows_lock_abort_and_reset(bench):
    library = bench.library
    base, limit = ct.c_uint64(HOST), ct.c_uint64(HOST + SIZE - 1)
    assert library.c_set_window(bench.engine, 1, base, limit, 1) == OK
    assert library.c_set_window(bench.engine, 1, ct.c_uint64(0), ct.c_uint64(0xFFF), 0) == REFUSED
    assert library.c_set_window(bench.engine, 1, ct.c_uint64(0), limit, 0) == REFUSED
    assert library.c_set_window(bench.engine, 1, base, ct.c_uint64(HOST + 0xFFF), 0) == REFUSED
    assert library.c_set_window(bench.engine, 0, ct.c_uint64(8), limit, 0) == BAD_ARGUMENT
    assert library.c_set_window(bench.engine, 0, ct.c_uint64(DEV), ct.c_uint64(DEV + SIZE - 1), 0) == OK
    library.c_set_watchdog(bench.engine, 1234)
    assert bench.model.read32(register_map(bench.config)["engine.watchdog"].address) == 1234
    assert bench.start(bench.offload) == OK
    assert bench.submit(bench.offload, Transfer(DEV, HOST + SIZE, 64, 64, 0, 1, 0, 0)) == OK
    _, (done,) = bench.wait(bench.offload)
    assert (done.status, done.address) == (Status.WINDOW, HOST + SIZE)

    assert library.c_abort(bench.offload, 10) == OK
    assert library.c_halted(bench.offload) == 1
    assert bench.submit(bench.offload, Transfer(DEV, OUT, 64, 64, 0, 1, 0, 0)) == OK
    assert bench.start(bench.offload) == BUSY
    assert library.c_soft_reset(bench.engine, 10) == OK
    assert bench.start(bench.offload) == OK
    assert bench.submit(bench.offload, Transfer(DEV, OUT, 64, 64, 0, 9, 0, 0)) == OK
    assert [d.tag for d in bench.wait(bench.offload)[1]] == [9]


def test_a_reset_that_does_not_end_is_a_timeout(bench):
    command = register_map(bench.config)["engine.status"].address
    bench.read32 = lambda offset: 1 if offset == command else bench.model.read32(offset)
    assert bench.library.c_soft_reset(bench.engine, 10) == TIMEOUT


def test_interrupts_are_coalesced(bench):
    assert bench.start(bench.offload, 8, WITH_IRQ) == OK
    assert bench.library.c_set_coalescing(bench.offload, 3, 0) == OK
    assert bench.library.c_set_coalescing(bench.offload, 256, 0) == BAD_ARGUMENT
    jobs = [Transfer(DEV, OUT, 64, 64, 0, tag, Mode.RAW, 1) for tag in range(3)]
    assert bench.submit(bench.offload, *jobs) == OK
    status, done = bench.wait(bench.offload, IRQ, 3)
    assert (status, [d.tag for d in done], bench.irq_waits) == (OK, [0, 1, 2], 1)


def test_invalid_calls_are_refused(bench):
    library = bench.library
    job = Transfer(DEV, OUT, 64, 64, 0, 1, 0, 0)
    assert bench.submit(bench.offload, job) == BAD_ARGUMENT, "no ring yet"
    for entries in (0, 1, 3, 32):
        assert bench.start(bench.offload, entries) == BAD_ARGUMENT
    assert library.c_start(bench.offload, bench.rings, ct.c_uint64(HOST + 8), 4, 0) == BAD_ARGUMENT
    if bench.config.host_address_bits < 64:
        assert library.c_start(bench.offload, bench.rings, ct.c_uint64(1 << 50), 4, 0) == BAD_ARGUMENT
    assert bench.start(bench.offload, 2) == OK
    assert bench.submit(bench.offload, job, job, job) == FULL
    assert bench.wait(bench.offload)[0] == BAD_ARGUMENT, "nothing is owed"
    assert bench.submit(bench.offload, job, job) == OK
    assert library.c_push(bench.offload, ct.byref(job), 10) == FULL
    assert bench.wait(bench.offload, IRQ)[0] == BAD_ARGUMENT, "started without interrupts"
    size = bench.config.codec.table_size
    values = (ct.c_uint32 * (size + 1))()
    assert library.c_set_table(bench.offload, values, 0) == BAD_ARGUMENT
    assert library.c_set_table(bench.offload, values, size + 1) == BAD_ARGUMENT
    if bench.config.format.entry_bits < 32:
        values[0] = 1 << bench.config.format.entry_bits
        assert library.c_set_table(bench.offload, values, 1) == BAD_ARGUMENT
    user = 1 << bench.config.sideband.axuser_bits
    for said in ((16, 0, 0, 0), (4, 0, 0, 0), (0, 8, 0, 0), (0, 0, 16, 0), (0, 0, 0, user)):
        assert library.c_set_sideband(bench.offload, 1, *said) == BAD_ARGUMENT
    there = OK if bench.config.sideband_registers else BAD_ARGUMENT
    for target, name in enumerate(SIDEBAND_TARGETS):
        assert library.c_set_sideband(bench.offload, target, 15, 7, 9 + target, user - 1) == there
        if bench.config.sideband_registers:
            placed = register_map(bench.config)[f"offload.{name}_sideband"]
            said = {"cache": 15, "prot": 7, "qos": 9 + target, "user": user - 1}
            assert bench.read32(placed.address) == placed.register.put(**said)


def test_without_an_interrupt_one_polls(library):
    bench = Bench(library, CONFIGS["default"], interrupt=False)
    assert bench.open() == OK
    assert bench.start(bench.offload, 4, WITH_IRQ) == OK
    assert bench.submit(bench.offload, Transfer(DEV, OUT, 64, 64, 0, 1, 0, 0)) == OK
    assert bench.wait(bench.offload, IRQ)[0] == BAD_ARGUMENT
    assert bench.wait(bench.offload, MEMORY)[0] == OK
    bench.close()


def test_the_driver_compiles_with_the_header_of_any_engine(tmp_path):
    for name, config in CONFIGS.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "cdma_regs.h").write_text(register_texts(config)["cdma_regs.h"])
        (folder / "cdma.h").write_text((SIM / "cdma.h").read_text())
        build(folder, "c99", SOURCE, include=folder)


def test_direct_completions_are_taken_one_by_one(bench):
    assert bench.library.c_start_direct(bench.offload, 0) == OK
    jobs = [Transfer(DEV, OUT, 64, 64, 0, tag, Mode.RAW, 0) for tag in range(4)]
    for job in jobs[:2]:
        assert bench.library.c_push(bench.offload, ct.byref(job), 10) == OK
        assert [done.tag for done in bench.wait(bench.offload)[1]] == [job.tag]
    for job in jobs[2:]:
        assert bench.library.c_push(bench.offload, ct.byref(job), 10) == OK
    assert [done.tag for done in bench.wait(bench.offload, MEMORY, 2)[1]] == [2, 3]


def test_a_counter_past_32_bits_is_read_whole(bench):
    counters = bench.model.channels["prefetch"].counters
    for value in (0x1_FFFFFFFF, 0x12345678_9ABCDEF0):
        counters["bytes_read"] = value
        assert bench.counter(bench.prefetch, "bytes_read") == value
