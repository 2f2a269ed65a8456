"""The C driver as a library that Python can call: its structures, and how it is compiled."""

from __future__ import annotations

import ctypes as ct
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from types import MappingProxyType

from cdma.hdl.spec.options import COUNTERS, NOBODY, SIDEBAND_TARGETS, Owner
from cdma.hdl.spec.shape import Shape
from cdma.sim.engine.driver import (
    Backend,
    Completion,
    Descriptor,
    DriverError,
    EngineError,
    Pages,
    RingMemory,
    Status,
)

from .paths import ROOT, SUPPORT

SIM = ROOT / "sim" / "engine" / "driver"
SOURCE = SUPPORT / "c_driver.c"
WARNINGS = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow"]

OK, NO_ENGINE, BAD_VERSION, BAD_ARGUMENT, FULL, BUSY, TIMEOUT, REFUSED, LOST, CLOSED = range(0, -10, -1)
MEMORY, REGISTERS, IRQ = range(3)
HALT_ON_ERROR, WITH_IRQ = 1, 2

READ = ct.CFUNCTYPE(ct.c_uint32, ct.c_void_p, ct.c_uint32)
WRITE = ct.CFUNCTYPE(None, ct.c_void_p, ct.c_uint32, ct.c_uint32)
CALL = ct.CFUNCTYPE(None, ct.c_void_p)


class Io(ct.Structure):
    _fields_ = [
        ("context", ct.c_void_p),
        ("read32", READ),
        ("write32", WRITE),
        ("idle", CALL),
        ("wait_irq", CALL),
    ]


#: The fields of ``cdma_geometry``.
_GEOMETRY = """
version_major version_minor word_bits window code_bits table_size lanes dev_data_bits dev_address_bits
dev_align host_data_bits host_address_bits host_align burst_beats outstanding ring_entries field_bits rotate
zero align any_length units stripe_bytes crc lossy keep_nonzero sideband user_bits register_protection
memories_protect dimensions pages stream_id_bits substream_id_bits pairs messages delta levels
"""


class Geometry(ct.Structure):
    _fields_ = [(name, ct.c_uint32) for name in _GEOMETRY.split()]


class Denied(ct.Structure):
    _fields_ = [(name, ct.c_uint32) for name in ("count", "address", "prot", "write")]


class Flips(ct.Structure):
    _fields_ = [(name, ct.c_uint32) for name in ("corrected", "lost")]


class _Dimension(ct.Structure):
    _fields_ = [
        ("stride", ct.c_int64),
        ("count", ct.c_uint16),
        ("before", ct.c_uint8),
        ("after", ct.c_uint8),
    ]


class _Shape(ct.Structure):
    _fields_ = [
        ("run", ct.c_uint32),
        ("before", ct.c_uint16),
        ("after", ct.c_uint16),
        ("dimensions", ct.c_uint32),
        ("dimension", _Dimension * 4),
    ]


class Transfer(ct.Structure):
    _fields_ = [
        *(
            (name, ct.c_uint64)
            for name in ("source", "destination", "length", "capacity", "compressed_length")
        ),
        ("tag", ct.c_uint32),
        ("mode", ct.c_uint8),
        ("interrupt", ct.c_uint8),
        ("check_crc", ct.c_uint8),
        ("crc", ct.c_uint32),
        ("step", ct.c_uint8),
        ("shape", ct.POINTER(_Shape)),
        ("pages", ct.c_uint64),
        ("owner", ct.c_uint32),
        ("delta", ct.c_uint8),
    ]


class Result(ct.Structure):
    _fields_ = [
        *((name, ct.c_uint64) for name in ("bytes_read", "bytes_written", "cycles", "address")),
        ("tag", ct.c_uint32),
        ("literals", ct.c_uint32),
        ("status", ct.c_uint8),
        ("crc", ct.c_uint32),
        ("range_count", ct.c_uint32),
        ("range_first", ct.c_uint32),
    ]


class Error(ct.Structure):
    _fields_ = [("address", ct.c_uint64), ("tag", ct.c_uint32), ("status", ct.c_uint8)]


def build(folder: Path, dialect: str, source: str | Path, include: Path = SIM) -> ct.CDLL:
    """Compiles ``source``, as C or C++ as ``dialect`` says, and loads the library."""
    language = "c++" if "+" in dialect else "c"
    library = folder / "driver.so"
    command = ["cc", f"-std={dialect}", "-O1", *WARNINGS, "-shared", "-fPIC", f"-I{include}", "-x", language]
    subprocess.run([*command, str(source), "-o", str(library)], check=True, timeout=120)
    return load(library)


@cache
def built(dialect: str = "c99") -> ct.CDLL:
    """The driver, compiled once for all tests."""
    with tempfile.TemporaryDirectory() as folder:
        return build(Path(folder), dialect, SOURCE)


def load(library: Path) -> ct.CDLL:
    """Loads a library that :func:`build` has made, and sets the types of its functions."""
    loaded = ct.CDLL(str(library))
    for name in ("c_open", "c_open_pair", "c_channel"):
        getattr(loaded, name).restype = ct.c_void_p
    loaded.c_geometry.restype = ct.POINTER(Geometry)
    loaded.c_counter.restype = ct.c_uint64
    return loaded


class CDriver:
    """The C driver with the methods of :class:`cdma.sim.engine.driver.driver.Driver` that the tests of both use."""

    def __init__(
        self,
        library: ct.CDLL,
        backend: Backend,
        *,
        windows: Mapping[str, tuple[int, int]] = MappingProxyType({}),
        idle: Callable[[], object],
        wait_irq: Callable[[float], object] | None = None,
        channel: int = 0,
    ) -> None:
        self.library = library
        self.io = Io(
            None,
            READ(lambda _, offset: backend.read32(offset)),
            WRITE(lambda _, offset, value: backend.write32(offset, value) and None),
            CALL(lambda _: idle() and None),
            CALL(lambda _: wait_irq and wait_irq(1.0) and None),
        )
        status = ct.c_int()
        self.engine = ct.c_void_p(library.c_open_pair(ct.byref(self.io), ct.byref(status), channel))
        _refuse(status.value)
        self.offload = CChannel(self, 0)
        self.prefetch = CChannel(self, 1)
        for port, (base, limit) in windows.items():
            self.set_window(port, base, limit)

    def set_window(self, port: str, base: int, limit: int, *, lock: bool = False) -> None:
        status = self.library.c_set_window(
            self.engine, int(port == "host"), ct.c_uint64(base), ct.c_uint64(limit), int(lock)
        )
        _refuse(status)

    def set_watchdog(self, cycles: int) -> None:
        self.library.c_set_watchdog(self.engine, cycles)

    def denied(self) -> dict[str, int]:
        found = Denied()
        _refuse(self.library.c_get_denied(self.engine, ct.byref(found)))
        return {name: getattr(found, name) for name, _ in Denied._fields_}

    def clear_denied(self) -> None:
        _refuse(self.library.c_clear_denied(self.engine))

    def flips(self) -> dict[str, int]:
        found = Flips()
        _refuse(self.library.c_get_flips(self.engine, ct.byref(found)))
        return {name: getattr(found, name) for name, _ in Flips._fields_}

    def clear_flips(self) -> None:
        _refuse(self.library.c_clear_flips(self.engine))

    def soft_reset(self) -> None:
        _refuse(self.library.c_soft_reset(self.engine, 1000))

    def clear_counters(self) -> None:
        self.library.c_clear_counters(self.engine)


def _refuse(status: int) -> None:
    if status != OK:
        raise DriverError(f"the C driver returned {status}")


class CChannel:
    """One channel of the C driver."""

    def __init__(self, driver: CDriver, number: int) -> None:
        self.driver = driver
        self.library = driver.library
        self.channel = ct.c_void_p(self.library.c_channel(driver.engine, number))

    def start(
        self,
        rings: RingMemory,
        entries: int,
        *,
        halt_on_error: bool = False,
        interrupts: bool = False,
        coalesce: tuple[int, int] = (1, 0),
    ) -> None:
        self.memory = (ct.c_ubyte * len(rings.buffer)).from_buffer(rings.buffer)
        options = HALT_ON_ERROR * halt_on_error | WITH_IRQ * interrupts
        _refuse(self.library.c_start(self.channel, self.memory, ct.c_uint64(rings.address), entries, options))
        _refuse(self.library.c_set_coalescing(self.channel, *coalesce))
        self.rings = True

    def start_direct(self, *, halt_on_error: bool = False, interrupts: bool = False) -> None:
        options = HALT_ON_ERROR * halt_on_error | WITH_IRQ * interrupts
        _refuse(self.library.c_start_direct(self.channel, options))
        self.rings = False

    def set_table(self, values: Sequence[int]) -> None:
        _refuse(self.library.c_set_table(self.channel, (ct.c_uint32 * len(values))(*values), len(values)))

    def set_sideband(
        self, target: str, *, cache: int = 3, prot: int = 0, qos: int = 0, user: int = 0
    ) -> None:
        _refuse(
            self.library.c_set_sideband(self.channel, SIDEBAND_TARGETS.index(target), cache, prot, qos, user)
        )

    def set_owners(
        self, allowed: Owner = NOBODY, mask: int = 0xFFFFFFFF, *, ring: Owner = NOBODY, lock: bool = False
    ) -> None:
        _refuse(self.library.c_set_owners(self.channel, allowed.word, mask, ring.word, int(lock)))

    def set_message(self, address: int, data: int, *, enable: bool = True) -> None:
        _refuse(self.library.c_set_message(self.channel, ct.c_uint64(address), data, int(enable)))

    def message_failed(self) -> bool:
        return bool(self.library.c_message_failed(self.channel))

    def set_share(self, pair: int, *, weight: int = 1, priority: int = 0) -> None:
        _refuse(self.library.c_set_share(self.channel, pair, weight, priority))

    def set_limit(self, pair: int, units: int) -> None:
        _refuse(self.library.c_set_limit(self.channel, pair, units))

    def set_limit_period(self, cycles: int) -> None:
        _refuse(self.library.c_set_limit_period(self.channel, cycles))

    def submit(self, *descriptors: Descriptor) -> None:
        jobs = (Transfer * len(descriptors))(*map(_transfer, descriptors))
        _refuse(self.library.c_submit(self.channel, jobs, len(descriptors)))

    def push(self, descriptor: Descriptor) -> None:
        _refuse(self.library.c_push(self.channel, ct.byref(_transfer(descriptor)), 100))

    @property
    def room(self) -> int:
        return self.library.c_room(self.channel)

    def wait(self, count: int = 1, how: str = "memory", timeout: float = 1.0) -> list[Completion]:
        results, patience = (Result * count)(), int(1000 * timeout)
        _refuse(self.library.c_wait(self.channel, _HOW[how], results, count, patience, None))
        return [_completion(result) for result in results]

    def poll(self, how: str = "memory", most: int = 16) -> list[Completion]:
        results = (Result * most)()
        found = self.library.c_poll(self.channel, _HOW[how], results, most)
        _refuse(min(found, OK))
        return [_completion(result) for result in results[:found]]

    def transfer(self, descriptor: Descriptor, how: str = "memory") -> Completion:
        descriptor = replace(descriptor, interrupt=how == "interrupt")
        if self.rings:
            self.submit(descriptor)
        else:
            self.push(descriptor)
        return self.wait(1, how)[0]

    @property
    def halted(self) -> bool:
        return bool(self.library.c_halted(self.channel))

    def resume(self) -> None:
        self.library.c_resume(self.channel)

    def abort(self) -> None:
        _refuse(self.library.c_abort(self.channel, 1000))

    def error(self) -> EngineError | None:
        error = Error()
        if not self.library.c_get_error(self.channel, ct.byref(error)):
            return None
        return EngineError(Status(error.status), error.tag, error.address)

    def clear_error(self) -> None:
        self.library.c_clear_error(self.channel)

    def counters(self) -> dict[str, int]:
        _refuse(self.library.c_hold_counters(self.channel, 1000))
        found = {name: self.library.c_counter(self.channel, 8 * n) for n, (name, _) in enumerate(COUNTERS)}
        self.library.c_release_counters(self.channel)
        return found


_HOW = {"memory": MEMORY, "registers": REGISTERS, "interrupt": IRQ}


def _completion(result: Result) -> Completion:
    names = [field.name for field in fields(Completion)]
    found = {name: getattr(result, name) for name in names}
    return Completion(**found | {"status": Status(result.status)})


def _transfer(d: Descriptor) -> Transfer:
    return Transfer(
        d.source,
        d.destination,
        d.length,
        d.capacity,
        d.compressed_length,
        d.tag,
        d.mode,
        d.interrupt,
        d.check_crc,
        d.crc,
        d.step,
        None if d.shape is None else ct.pointer(_shape(d.shape)),
        d.pages,
        0 if d.owner is None else d.owner.word,
        d.delta,
    )


def c_list_pages(library: ct.CDLL, runs: Sequence[tuple[int, int]], memory: RingMemory) -> Pages:
    """:func:`~cdma.sim.engine.driver.rings.list_pages` of the C driver."""
    page, found = (ct.c_uint8 * 4096).from_buffer(memory.buffer), (ct.c_uint64 * 3)()
    flat = (ct.c_uint64 * (2 * len(runs)))(*(number for run in runs for number in run))
    _refuse(library.c_list_pages(flat, len(runs), page, ct.c_uint64(memory.address), found))
    return Pages(*found)


def _shape(shape: Shape) -> _Shape:
    dimensions = (_Dimension * 4)(*((d.stride, d.count, d.before, d.after) for d in shape.dimensions))
    return _Shape(shape.run, shape.before, shape.after, len(shape.dimensions), dimensions)
