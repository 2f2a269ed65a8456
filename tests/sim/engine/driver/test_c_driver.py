"""What the C driver does alone: compiled as C and as C++ without a warning, its status codes, and what it has beside the
Python driver."""

from __future__ import annotations

import ctypes as ct
from pathlib import Path

import pytest

from cdma.hdl.deliver.registers import register_texts
from cdma.hdl.spec.options import SIDEBAND_TARGETS
from cdma.hdl.spec.registers.map import register_map
from cdma.sim.engine.driver import Mode, Status
from tests.support import c_driver_library as c
from tests.support.stream_bench import CONFIGS, DEV, HOST, OUT, SIZE, GuardedModel


class Bench(GuardedModel):
    """A model with the bare functions of the C driver on its first channel."""

    def __init__(self, name: str = "default", *, interrupt: bool = True, dialect: str = "c99") -> None:
        super().__init__(CONFIGS[name])
        self.library = c.built(dialect)
        self.read32 = self.model.read32
        self.written: list[int] = []
        self.rings = (ct.c_ubyte * SIZE).from_buffer(self.host_bytes)
        self.io = c.Io(
            None,
            c.READ(lambda _, offset: self.read32(offset)),
            c.WRITE(self._write),
            c.CALL(lambda _: self.model.step() and None),
            c.CALL(self.wait_irq) if interrupt else c.CALL(),
        )

    def _write(self, _: object, offset: int, value: int) -> None:
        self.written.append(offset)
        self.model.write32(offset, value)

    def open(self) -> int:
        status = ct.c_int()
        self.engine = ct.c_void_p(self.library.c_open(ct.byref(self.io), ct.byref(status)))
        self.offload = ct.c_void_p(self.library.c_channel(self.engine, 0))
        return status.value

    def start(self, entries: int = 4, options: int = 0, address: int = HOST) -> int:
        for port, base in enumerate((DEV, HOST)):
            assert self.window(port, base, base + SIZE - 1) == c.OK
        return self.library.c_start(self.offload, self.rings, ct.c_uint64(address), entries, options)

    def submit(self, *transfers: c.Transfer) -> int:
        return self.library.c_submit(self.offload, (c.Transfer * len(transfers))(*transfers), len(transfers))

    def wait(self, how: int = c.MEMORY, count: int = 1, patience: int = 100) -> tuple[int, list[c.Result]]:
        results, taken = (c.Result * count)(), ct.c_uint32()
        status = self.library.c_wait(self.offload, how, results, count, patience, ct.byref(taken))
        return status, list(results)[: taken.value]

    def poll(self, how: int) -> tuple[int, list[int]]:
        results = (c.Result * 16)()
        found = self.library.c_poll(self.offload, how, results, 16)
        return found, [result.tag for result in list(results)[: max(found, 0)]]

    def window(self, port: int, base: int, limit: int, lock: int = 0) -> int:
        return self.library.c_set_window(self.engine, port, ct.c_uint64(base), ct.c_uint64(limit), lock)


def job(tag: int = 1, source: int = DEV, destination: int = OUT) -> c.Transfer:
    return c.Transfer(source, destination, 64, 64, 0, tag, Mode.RAW, 0)


@pytest.fixture(params=CONFIGS)
def bench(request: pytest.FixtureRequest) -> Bench:
    bench = Bench(request.param)
    assert bench.open() == c.OK
    assert bench.written == [], "opening writes nothing"
    return bench


@pytest.mark.parametrize(
    ("address", "value", "status"), [(0, 0xDEADBEEF, c.NO_ENGINE), (4, 0x10005, c.BAD_VERSION)]
)
def test_another_device_or_version_is_not_driven(address: int, value: int, status: int) -> None:
    bench = Bench()
    bench.read32 = lambda offset: value if offset == address else bench.model.read32(offset)
    assert bench.open() == status


@pytest.mark.parametrize("dialect", ["c11", "c++11"])
def test_other_dialects_do_the_same(dialect: str) -> None:
    bench = Bench(dialect=dialect)
    assert (bench.open(), bench.start(), bench.submit(job(7))) == (c.OK, c.OK, c.OK)
    assert [done.tag for done in bench.wait()[1]] == [7]


def test_completions_before_a_timeout_are_given_with_it(bench: Bench) -> None:
    assert bench.start(8, c.HALT_ON_ERROR) == c.OK
    assert bench.submit(job(5, DEV + 4), job(6)) == c.OK
    status, done = bench.wait(c.MEMORY, 2, patience=20)
    assert status == c.TIMEOUT
    assert [(one.tag, one.status, one.address) for one in done] == [(5, Status.ALIGNMENT, DEV + 4)]
    bench.library.c_resume(bench.offload)
    assert [one.tag for one in bench.wait()[1]] == [6]


def test_a_lost_completion_is_told_after_those_before_it(bench: Bench) -> None:
    assert bench.start() == c.OK
    bench.host.faults[HOST + 4 * 64 + 64] = "SLVERR"
    assert bench.submit(*map(job, range(3))) == c.OK
    bench.model.run()
    assert bench.poll(c.REGISTERS) == (1, [0])
    assert bench.poll(c.REGISTERS) == (c.LOST, [])
    assert bench.poll(c.REGISTERS) == (1, [2])
    assert bench.library.c_room(bench.offload) == 4


def test_windows_lock_and_a_busy_channel_is_not_started(bench: Bench) -> None:
    limit = HOST + SIZE - 1
    assert bench.window(1, HOST, limit, lock=1) == c.OK
    for base, last in ((0, 0xFFF), (0, limit), (HOST, HOST + 0xFFF)):
        assert bench.window(1, base, last) == c.REFUSED
    assert bench.window(0, 8, limit) == c.BAD_ARGUMENT
    bench.library.c_set_watchdog(bench.engine, 1234)
    assert bench.model.read32(register_map(bench.config)["engine.watchdog"].address) == 1234
    assert bench.start() == c.OK
    assert bench.library.c_abort(bench.offload, 10) == c.OK
    assert bench.submit(job()) == c.OK
    assert bench.start() == c.BUSY
    assert bench.library.c_soft_reset(bench.engine, 10) == c.OK
    assert bench.start() == c.OK


def test_a_reset_that_does_not_end_is_a_timeout(bench: Bench) -> None:
    command = register_map(bench.config)["engine.status"].address
    bench.read32 = lambda offset: 1 if offset == command else bench.model.read32(offset)
    assert bench.library.c_soft_reset(bench.engine, 10) == c.TIMEOUT


def test_invalid_calls_are_refused(bench: Bench) -> None:
    library = bench.library
    assert bench.submit(job()) == c.BAD_ARGUMENT, "no ring yet"
    for entries in (0, 1, 3, 32):
        assert bench.start(entries) == c.BAD_ARGUMENT
    assert bench.start(address=HOST + 8) == c.BAD_ARGUMENT
    if bench.config.host_address_bits < 64:
        assert bench.start(address=1 << 50) == c.BAD_ARGUMENT
    assert bench.start(2) == c.OK
    assert library.c_set_coalescing(bench.offload, 256, 0) == c.BAD_ARGUMENT
    assert bench.submit(job(), job(), job()) == c.FULL
    assert bench.wait()[0] == c.BAD_ARGUMENT, "nothing is owed"
    assert bench.submit(job(), job()) == c.OK
    assert library.c_push(bench.offload, ct.byref(job()), 10) == c.FULL
    assert bench.wait(c.IRQ)[0] == c.BAD_ARGUMENT, "started without interrupts"
    size = bench.config.codec.table_size
    values = (ct.c_uint32 * (size + 1))()
    assert library.c_set_table(bench.offload, values, 0) == c.BAD_ARGUMENT
    assert library.c_set_table(bench.offload, values, size + 1) == c.BAD_ARGUMENT
    if bench.config.format.entry_bits < 32:
        values[0] = 1 << bench.config.format.entry_bits
        assert library.c_set_table(bench.offload, values, 1) == c.BAD_ARGUMENT


def test_sideband_registers_are_those_of_channel_and_target(bench: Bench) -> None:
    user = 1 << bench.config.sideband.axuser_bits
    for said in ((16, 0, 0, 0), (4, 0, 0, 0), (0, 8, 0, 0), (0, 0, 16, 0), (0, 0, 0, user)):
        assert bench.library.c_set_sideband(bench.offload, 1, *said) == c.BAD_ARGUMENT
    there = c.OK if bench.config.sideband_registers else c.BAD_ARGUMENT
    for target, name in enumerate(SIDEBAND_TARGETS):
        assert bench.library.c_set_sideband(bench.offload, target, 15, 7, 9 + target, user - 1) == there
        if bench.config.sideband_registers:
            placed = register_map(bench.config)[f"offload.{name}_sideband"]
            said = {"cache": 15, "prot": 7, "qos": 9 + target, "user": user - 1}
            assert bench.read32(placed.address) == placed.register.put(**said)


def test_without_an_interrupt_one_polls() -> None:
    bench = Bench(interrupt=False)
    assert (bench.open(), bench.start(4, c.WITH_IRQ), bench.submit(job())) == (c.OK, c.OK, c.OK)
    assert bench.wait(c.IRQ)[0] == c.BAD_ARGUMENT
    assert bench.wait(c.MEMORY)[0] == c.OK


def test_the_driver_compiles_with_the_header_of_any_engine(tmp_path: Path) -> None:
    for name, config in CONFIGS.items():
        folder = tmp_path / name
        folder.mkdir()
        (folder / "cdma_regs.h").write_text(register_texts(config)["cdma_regs.h"])
        (folder / "cdma.h").write_text((c.SIM / "cdma.h").read_text())
        c.build(folder, "c99", c.SOURCE, include=folder)
