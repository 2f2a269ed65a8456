"""cocotb tests of both drivers on the engine's Verilog; ``tests/verif/engine/test_drivers_on_rtl.py`` builds and runs them.

A driver is an ordinary blocking program. It runs in a thread of its own; each of its accesses to a register
lets the simulation go on until the access has been answered.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from cocotb.task import bridge, resume
from cocotb.triggers import ClockCycles, First, RisingEdge
from cocotbext.axi import AxiResp

from cdma.hdl.spec.format import Format
from cdma.hdl.spec.records import Mode, Status
from cdma.sim.codec.model import compress
from cdma.sim.driver import Descriptor, Driver, DriverError, EngineError, RingMemory
from cdma.sim.engine.memory import Memory
from cdma.sim.engine.model import EngineModel
from cdma.verif.engine.context import engine_test
from cdma.verif.engine.ring import RingBench
from tests.support.c_driver_library import CDriver, load

_SIZE = 1 << 20
_RINGS = {"offload": 0x1000, "prefetch": 0x6000}
_ENTRIES = 8
_RAW, _PACKED, _BACK = 0x20000, 0x40000, 0x60000
_CAPACITY = 0x4000


class Machine:
    """What the drivers see of the bench: registers, time, the interrupt, and host memory as a buffer."""

    def __init__(self, bench: RingBench) -> None:
        self.bench = bench
        self.irq_waits = 0
        host = bench.memory["host"]
        host.mem = bytearray(bytes(host.read(0, _SIZE)))
        for base in _RINGS.values():
            host.allow(base, 2 * _ENTRIES * 64)
        host.allow(_PACKED, _CAPACITY)
        bench.memory["dev"].allow(_BACK, _CAPACITY)

    @resume
    async def read32(self, address: int) -> int:
        response = await self.bench.bus.read(address, 4)
        assert response.resp == 0, f"the read of {address:#x} answered {response.resp}"
        return int.from_bytes(response.data, "little")

    @resume
    async def write32(self, address: int, value: int) -> None:
        response = await self.bench.bus.write(address, value.to_bytes(4, "little"))
        assert response.resp == 0, f"the write of {address:#x} answered {response.resp}"

    @resume
    async def idle(self) -> None:
        await ClockCycles(self.bench.dut.aclk, 10)

    @resume
    async def wait_irq(self, timeout: float) -> None:
        self.irq_waits += 1
        if not self.bench.dut.irq.value:
            await First(RisingEdge(self.bench.dut.irq), ClockCycles(self.bench.dut.aclk, 5000))

    def rings(self, name: str) -> RingMemory:
        base = _RINGS[name]
        return RingMemory(base, memoryview(self.bench.memory["host"].mem)[base : base + 2 * _ENTRIES * 64])


def exercise(machine: Machine, driver: Any) -> None:
    """Everything that a driver does, on the real engine."""
    bench = machine.bench
    config, rng = bench.config, bench.rng
    word = config.format.word_bits // 8
    dtype = f"u{word}"
    driver.set_window("dev", 0, _SIZE - 1)
    driver.set_window("host", 0, _SIZE - 1, lock=True)
    try:
        driver.set_window("host", 0, 0xFFF)
    except DriverError:
        pass
    else:
        raise AssertionError("a locked window has moved")
    table = [3, 9, 0][: config.codec.table_size]

    def start(name: str, rings: bool, how: str, halt: bool = False) -> Any:
        channel = getattr(driver, name)
        if rings:
            channel.start(machine.rings(name), _ENTRIES, interrupts=how == "interrupt", halt_on_error=halt)
        else:
            channel.start_direct(interrupts=how == "interrupt", halt_on_error=halt)
        return channel

    sums = {"bytes_read": 0, "bytes_written": 0, "literals": 0, "descriptors": 0}

    def note(done: Any) -> Any:
        sums["descriptors"] += 1
        for key in ("bytes_read", "bytes_written", "literals"):
            sums[key] += getattr(done, key)
        return done

    # There and back in every mode, waiting in every way, with rings and without.
    for how in ("memory", "registers", "interrupt"):
        for rings in (True, False):
            offload, prefetch = (start(name, rings, how) for name in _RINGS)
            offload.set_table(table)
            prefetch.set_table(table)
            for mode in Mode:
                words = rng.randint(1, 700)
                raw = (bench.np.integers(0, 12, words) * bench.np.integers(0, 2, words)).astype(dtype)
                data = raw.tobytes()
                values = tuple(table) if mode is Mode.FVC else (0,)
                form = Format(config.format.word_bits, config.format.window, config.format.code_bits, values)
                packed = data if mode is Mode.RAW else compress(raw, form)
                bench.memory["dev"].write(_RAW, data)
                tag = rng.getrandbits(32)
                done = note(
                    offload.transfer(Descriptor(_RAW, _PACKED, len(data), _CAPACITY, mode, tag=tag), how)
                )
                assert (done.tag, done.status) == (tag, Status.OK), done
                assert (done.bytes_read, done.bytes_written) == (len(data), len(packed)), done
                assert bytes(bench.memory["host"].read(_PACKED, len(packed))) == packed
                if mode is Mode.ZVC:
                    assert done.literals == np.count_nonzero(raw)
                length = 0 if mode is Mode.RAW else len(packed)
                back = Descriptor(
                    _PACKED, _BACK, len(data), len(data), mode, compressed_length=length, tag=tag
                )
                done = prefetch.transfer(back, how)
                assert (done.tag, done.status, done.bytes_written) == (tag, Status.OK, len(data)), done
                assert bytes(bench.memory["dev"].read(_BACK, len(data))) == data
                bench.transfers += 2
                bench.words += 2 * words
                bench.checks += 8

    # Round the rings several times, with as many under way as there is room for.
    start("offload", True, "memory")
    for first in range(0, 5 * _ENTRIES, _ENTRIES):
        tags = range(first, first + _ENTRIES)
        driver.offload.submit(
            *(Descriptor(_RAW, _PACKED, word * (1 + tag), _CAPACITY, tag=tag) for tag in tags)
        )
        done = [note(each) for each in driver.offload.wait(_ENTRIES)]
        assert [each.tag for each in done] == list(tags)
        assert [each.bytes_read for each in done] == [word * (1 + tag) for tag in tags]
        bench.checks += _ENTRIES

    # Errors: refused, told with their address, and halting.
    start("offload", True, "memory", halt=True)
    good = Descriptor(_RAW, _PACKED, 4 * word, _CAPACITY, Mode.RAW, tag=2)
    driver.offload.submit(Descriptor(_RAW, _SIZE, 4 * word, 64, Mode.RAW, tag=1), good)
    (done,) = (note(each) for each in driver.offload.wait(1))
    assert (done.tag, done.status, done.address) == (1, Status.WINDOW, _SIZE), done
    assert driver.offload.halted
    assert driver.offload.error() == EngineError(Status.WINDOW, 1, _SIZE)
    driver.offload.clear_error()
    assert driver.offload.error() is None
    driver.offload.resume()
    (done,) = (note(each) for each in driver.offload.wait(1))
    assert (done.tag, done.status) == (2, Status.OK), done

    counters = driver.offload.counters()
    assert {key: counters[key] for key in sums} == sums, (counters, sums)
    assert counters["errors"] == 1
    assert 0 < counters["read_beats"] <= counters["cycles"]

    # An abort stands until resume; a soft reset forgets everything but the windows.
    driver.offload.abort()
    assert driver.offload.halted
    driver.offload.resume()
    assert driver.offload.transfer(good).status is Status.OK
    driver.soft_reset()
    assert not any(driver.offload.counters().values())
    start("offload", True, "memory")
    done = driver.offload.transfer(Descriptor(_RAW, _SIZE, 4 * word, 64, Mode.RAW, tag=3))
    assert done.status is Status.WINDOW, "the window survives"
    assert driver.offload.transfer(good).status is Status.OK
    assert machine.irq_waits > 0
    bench.checks += 12


def exercise_faults(machine: Machine, driver: Any) -> None:
    """What goes wrong on the way, as a driver hears of it: bus errors, corrupt streams, a memory that is silent."""
    bench = machine.bench
    config, rng = bench.config, bench.rng
    word = config.format.word_bits // 8
    form = Format(config.format.word_bits, config.format.window, config.format.code_bits, (0,))
    beats = {"dev": config.dev_data_bits // 8, "host": config.host_data_bits // 8}
    words = 300
    raw = (bench.np.integers(1, 12, words) * bench.np.integers(0, 2, words)).astype(f"u{word}")
    data, packed = raw.tobytes(), compress(raw, form)
    stream = _PACKED + _CAPACITY
    bench.memory["dev"].write(_RAW, data)
    bench.memory["host"].write(stream, packed)
    jobs = {
        "offload": Descriptor(_RAW, _PACKED, len(data), _CAPACITY, Mode.ZVC),
        "prefetch": Descriptor(stream, _BACK, len(data), len(data), Mode.ZVC, compressed_length=len(packed)),
    }

    def fails(name: str, job: Descriptor, status: Status, first: int = 0, last: int = 0) -> None:
        """The job ends so, with an address from ``first`` to ``last``; the error registers agree; the next runs."""
        channel = getattr(driver, name)
        done = channel.transfer(job)
        assert (done.tag, done.status) == (job.tag, status), (name, job, done)
        assert first <= done.address <= last, (name, job, done)
        assert channel.error() == EngineError(status, job.tag, done.address)
        channel.clear_error()
        assert channel.error() is None
        assert channel.transfer(replace(jobs[name], tag=1)).status is Status.OK
        bench.transfers += 2
        bench.checks += 5

    for name in _RINGS:
        getattr(driver, name).start(machine.rings(name), _ENTRIES)
        ports = {"read": "dev", "write": "host"} if name == "offload" else {"read": "host", "write": "dev"}
        for (side, port), kind in itertools.product(ports.items(), (AxiResp.SLVERR, AxiResp.DECERR)):
            job = replace(jobs[name], tag=rng.getrandbits(32))
            start = job.source if side == "read" else job.destination
            length = len(data) if port == "dev" else len(packed)
            at = start + rng.randrange(length)
            bench.memory[port].bad = {at: kind}
            first = at // beats[port] * beats[port]
            block = beats[port] * config.burst(8 * beats[port])
            place = first if side == "read" else max(start, at // block * block)
            status = Status[f"{side.upper()}_{kind.name}"]
            channel = getattr(driver, name)
            channel.submit(job)
            (done,) = channel.wait(1)
            bench.memory[port].bad = {}
            assert (done.tag, done.status, done.address) == (job.tag, status, place), (name, job, done)
            assert channel.error() == EngineError(status, job.tag, place)
            channel.clear_error()
            assert channel.transfer(jobs[name]).status is Status.OK
            bench.transfers += 2
            bench.checks += 3

    # Corrupt streams, of each kind: the codes of a header that mean nothing, too few words, too many.
    job = replace(jobs["prefetch"], tag=7)
    cut = replace(job, compressed_length=len(packed) - word)
    fails("prefetch", cut, Status.STREAM_TRUNCATED)
    bench.memory["host"].write(stream + len(packed), bytes(word))
    fails("prefetch", replace(job, compressed_length=len(packed) + word), Status.STREAM_TRAILING)
    # One word: the codes past it must be 0.
    lone = compress(np.zeros(1, f"u{word}"), form)
    marked = bytes(lone[:-1]) + bytes([lone[-1] | 0x80])
    other = stream + 0x1000
    bench.memory["host"].write(other, marked)
    fails(
        "prefetch",
        Descriptor(other, _BACK, word, word, Mode.ZVC, compressed_length=len(marked), tag=8),
        Status.STREAM_CODE,
    )
    fails(
        "offload",
        replace(jobs["offload"], capacity=2 * beats["host"], tag=9),
        Status.CAPACITY,
        _PACKED,
        _PACKED + 1000,
    )

    # A device memory that falls silent.
    driver.set_watchdog(300)
    dev = bench.memory["dev"]
    for name in _RINGS:
        channel = getattr(driver, name)
        job = jobs[name]
        start = job.source if name == "offload" else job.destination
        dev.frozen = True
        channel.submit(replace(job, tag=10), replace(job, tag=11))
        (done,) = channel.wait(1)
        assert (done.tag, done.status) == (10, Status.WATCHDOG), done
        assert start <= done.address < start + len(data), done
        error = channel.error()
        assert error == EngineError(Status.WATCHDOG, 10, done.address), error
        dev.frozen = False
        for _ in range(200):
            if channel.halted:
                break
            machine.idle()
        channel.resume()
        (done,) = channel.wait(1)
        assert done.tag == 11, done
        assert done.status in (Status.ABORTED, Status.OK), done
        assert channel.transfer(job).status is Status.OK
        bench.transfers += 3
        bench.checks += 5


async def _run(
    bench: RingBench, make: Callable[[Machine], Any], what: Callable[[Machine, Any], None] = exercise
) -> None:
    machine = Machine(bench)
    bench.pauses(0.1)
    await bridge(lambda: what(machine, make(machine)))()


def _python(machine: Machine) -> Driver:
    return Driver(machine, idle=machine.idle, wait_irq=machine.wait_irq)


def _c(machine: Machine) -> CDriver:
    library = load(Path(json.loads(os.environ["CDMA_BENCH"])["library"]))
    return CDriver(library, machine, idle=machine.idle, wait_irq=machine.wait_irq)


@engine_test
async def python_driver(bench: RingBench, budget: int) -> None:
    """The Python driver."""
    await _run(bench, _python)


@engine_test
async def python_driver_faults(bench: RingBench, budget: int) -> None:
    """The Python driver, when things go wrong."""
    await _run(bench, _python, exercise_faults)


@engine_test
async def c_driver(bench: RingBench, budget: int) -> None:
    """The C driver, which the settings say where to find."""
    await _run(bench, _c)


@engine_test
async def c_driver_faults(bench: RingBench, budget: int) -> None:
    """The C driver, when things go wrong."""
    await _run(bench, _c, exercise_faults)


def _any_descriptor(bench: RingBench, name: str, tag: int) -> tuple[Descriptor, bytes]:
    """A descriptor, mostly right, often wrong in one way, and what lies at its source."""
    rng, config = bench.rng, bench.config
    word = config.format.word_bits // 8
    words = rng.choice((1, rng.randint(1, 40), rng.randint(1, 400)))
    mode = rng.choice(list(Mode))
    raw = (bench.np.integers(0, 9, words) * bench.np.integers(0, 2, words)).astype(f"u{word}")
    values = (3, 0, 5)[: config.codec.table_size] if mode is Mode.FVC else (0,)
    form = Format(config.format.word_bits, config.format.window, config.format.code_bits, values)
    data, compressed = raw.tobytes(), 0
    if name == "prefetch" and mode is not Mode.RAW:
        data = compress(raw, form)
        damage = rng.random()
        if damage < 0.15 and len(data) > word:
            data = data[: -rng.randint(1, len(data) // word - 1) * word]
        elif damage < 0.3:
            data += bytes(rng.randint(1, 5) * word)
        elif damage < 0.5:
            at = rng.randrange(len(data))
            data = data[:at] + bytes([rng.getrandbits(8)]) + data[at + 1 :]
        compressed = len(data)
    source, destination = (_RAW, _PACKED) if name == "offload" else (_PACKED + _CAPACITY, _BACK)
    # 64 bytes are a whole beat of every port used here.
    step = word if config.realign else 64
    fields = {
        "source": source + rng.randrange(0, 1024, step),
        "destination": destination + rng.randrange(0, 1024, step),
        "length": words * word,
        "capacity": rng.choice((_CAPACITY // 2, words * word, rng.randint(1, words) * word)),
        "mode": mode,
        "compressed_length": compressed,
        "tag": tag,
        "interrupt": bool(rng.getrandbits(1)),
    }
    if rng.random() < 0.3:
        wrong: dict[str, list[int]] = {
            "source": [fields["source"] + 1, fields["source"] + word, _SIZE - 64, 1 << 47],
            "destination": [fields["destination"] + 1, fields["destination"] + word, _SIZE, (1 << 64) - 64],
            "length": [0, words * word + 1, (1 << 32) + word],
            "capacity": [0, _SIZE, (1 << 64) - 1],
            "compressed_length": [0, 1, word, 1 << 33],
            "mode": [3, 255],
        }
        changed = rng.choice(sorted(wrong))
        fields[changed] = rng.choice(wrong[changed])
    return Descriptor(**fields), data


def compare(machine: Machine, driver: Driver, budget: int) -> None:
    """The same descriptors for the hardware and for the model: the same completions, the same memory."""
    bench = machine.bench
    dev, host = bench.memory["dev"], bench.memory["host"]
    dev.mem = bytearray(bytes(dev.read(0, _SIZE)))
    model_dev, model_host = bytearray(dev.mem), bytearray(host.mem)
    model = EngineModel(bench.config, Memory(model_dev), Memory(model_host))
    modelled = Driver(model, idle=model.step)
    for each, memory in ((driver, host.mem), (modelled, model_host)):
        each.set_window("dev", 0x20000, 0x7FFFF)
        each.set_window("host", 0, 0x7FFFF)
        for name, base in _RINGS.items():
            channel = getattr(each, name)
            channel.start(RingMemory(base, memoryview(memory)[base : base + 2 * _ENTRIES * 64]), _ENTRIES)
            channel.set_table((3, 0, 5)[: bench.config.codec.table_size])
    for tag in range(budget):
        name = bench.rng.choice(sorted(_RINGS))
        descriptor, data = _any_descriptor(bench, name, tag)
        if descriptor.source + len(data) <= _SIZE:
            for memory in (dev.mem, model_dev) if name == "offload" else (host.mem, model_host):
                memory[descriptor.source : descriptor.source + len(data)] = data
        done = getattr(driver, name).transfer(descriptor)
        expected = getattr(modelled, name).transfer(descriptor)
        story = f"{name}: {descriptor}\n{done}\n{expected}"
        assert replace(done, cycles=0) == replace(expected, cycles=0), story
        assert dev.mem == model_dev, f"{name}: {descriptor}: the device memory differs"
        # The rings hold the cycles, which the model does not know.
        assert host.mem[0x10000:] == model_host[0x10000:], f"{name}: {descriptor}: the host memory differs"
        bench.transfers += 1
        bench.checks += 3
    for name in _RINGS:
        counters, expected = getattr(driver, name).counters(), getattr(modelled, name).counters()
        for key in ("bytes_read", "bytes_written", "literals", "raw_words", "descriptors", "errors"):
            assert counters[key] == expected[key], f"{name}.{key}: {counters[key]}, not {expected[key]}"
        assert getattr(driver, name).error() == getattr(modelled, name).error()


@engine_test
async def engine_model(bench: RingBench, budget: int) -> None:
    """The register-level model against the hardware."""
    machine = Machine(bench)
    bench.memory["host"].allow(_PACKED, 0x8000)
    bench.memory["dev"].allow(_BACK, 0x8000)
    bench.pauses(0.05)
    await bridge(lambda: compare(machine, Driver(machine, idle=machine.idle), budget))()
