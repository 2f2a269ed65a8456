"""The engine's Verilog as a driver sees it: registers, time, the interrupt, and host memory as a buffer. Everything that a
driver does on it, and the errors of buses, streams and memories that it reports.

A driver is an ordinary blocking program. It runs in a thread of its own; each of its accesses to a register lets the
simulation continue until the access has been answered.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
from cocotb.task import resume
from cocotb.triggers import ClockCycles, First, RisingEdge
from cocotbext.axi import AxiResp

from cdma.hdl.spec.records import Mode, Status
from cdma.sim.codec.container import crc32c
from cdma.sim.codec.headers import to_memory
from cdma.sim.codec.model import encode_packet
from cdma.sim.codec.quantise import dequantise, quantise
from cdma.sim.codec.words import word_dtype, words_to_bytes
from cdma.sim.engine.driver import Descriptor, DriverError, EngineError, RingMemory
from cdma.verif.engine.ring import RingBench
from cdma.verif.engine.transfer import random_numbers, random_step, stream_of

#: Bytes of each memory.
SIZE = 1 << 20
#: All of both.
WINDOWS = {"dev": (0, SIZE - 1), "host": (0, SIZE - 1)}
#: Where the rings of each channel are in host memory, and how many entries one has.
RINGS = {"offload": 0x1000, "prefetch": 0x6000}
ENTRIES = 8
#: Where a tensor comes from in device memory, where it goes to in host memory, and where it comes back to.
RAW, PACKED, BACK = 0x20000, 0x40000, 0x60000
#: Bytes reserved for it at each of these addresses.
CAPACITY = 0x4000


class Machine:
    """What a driver is given: ``read32``, ``write32``, ``idle``, ``wait_irq`` and the memory of its rings."""

    def __init__(self, bench: RingBench) -> None:
        self.bench = bench
        self.irq_waits = 0
        host = bench.memory["host"]
        for base in RINGS.values():
            host.allow(base, 2 * ENTRIES * 64)
        host.allow(PACKED, CAPACITY)
        bench.memory["dev"].allow(BACK, CAPACITY)

    @resume
    async def read32(self, address: int) -> int:
        response = await self.bench.bus.read(address)
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
        base = RINGS[name]
        return RingMemory(base, memoryview(self.bench.memory["host"].bytes)[base : base + 2 * ENTRIES * 64])


def exercise(machine: Machine, driver: Any) -> None:
    """Runs every step, and compares the engine's counters with the sum of what was reported."""
    _lock_the_windows(driver)
    trial = _Exercise(machine, driver)
    trial.round_trips()
    trial.full_rings()
    trial.refusals()
    trial.counters()
    trial.resets()
    assert machine.irq_waits > 0
    machine.bench.checks += 12


def _lock_the_windows(driver: Any) -> None:
    """Opens both memories as a whole, and checks that the locked window of host memory stays as it is."""
    driver.set_window("dev", 0, SIZE - 1)
    driver.set_window("host", 0, SIZE - 1, lock=True)
    try:
        driver.set_window("host", 0, 0xFFF)
    except DriverError:
        pass
    else:
        raise AssertionError("a locked window has moved")


class _Exercise:
    """The steps of :func:`exercise`; ``sums`` is what the completions of ``offload`` have reported."""

    def __init__(self, machine: Machine, driver: Any) -> None:
        self.machine, self.driver, self.bench = machine, driver, machine.bench
        self.config = machine.bench.config
        self.word = self.config.format.raw_bytes
        #: Copies four words, which works whatever came before.
        self.good = Descriptor(RAW, PACKED, 4 * self.word, CAPACITY, Mode.RAW, tag=2)
        #: Has a destination past the window of host memory.
        self.outside = Descriptor(RAW, SIZE, 4 * self.word, 64, Mode.RAW, tag=1)
        self.sums = {"bytes_read": 0, "bytes_written": 0, "literals": 0, "descriptors": 0}

    def start(self, name: str, rings: bool = True, how: str = "memory", halt: bool = False) -> Any:
        """Starts a channel, whose completions are waited for as ``how`` says."""
        channel = getattr(self.driver, name)
        interrupts = how == "interrupt"
        if rings:
            channel.start(self.machine.rings(name), ENTRIES, interrupts=interrupts, halt_on_error=halt)
        else:
            channel.start_direct(interrupts=interrupts, halt_on_error=halt)
        return channel

    def note(self, done: Any) -> Any:
        """Adds a completion to the sums."""
        self.sums["descriptors"] += 1
        for key in ("bytes_read", "bytes_written", "literals"):
            self.sums[key] += getattr(done, key)
        return done

    def round_trips(self) -> None:
        """Sends tensors out and back in every mode, waits in every way, with rings and without."""
        table = [3, 9, 0][: self.config.codec.table_size]
        for how, rings in itertools.product(("memory", "registers", "interrupt"), (True, False)):
            for name in RINGS:
                self.start(name, rings, how).set_table(table)
            for mode in Mode:
                self.round_trip(mode, how, tuple(table) if mode is Mode.FVC else (0,))
                if self.config.quantisation:
                    self.numbers(mode, how)

    def round_trip(self, mode: Mode, how: str, values: tuple[int, ...]) -> None:
        """Sends one tensor out and back."""
        bench, form = self.bench, self.config.format
        words = bench.rng.randint(1, 700)
        raw = bench.np.integers(0, 12, words) * bench.np.integers(0, 2, words)
        raw = raw.astype(word_dtype(form))
        data = to_memory(raw, form.word_bits)
        form = form.with_table(values)
        packed = data if mode is Mode.RAW else stream_of(data, form)
        bench.memory["dev"].write(RAW, data)
        tag = bench.rng.getrandbits(32)
        check = self.config.crc
        crc = crc32c(data) if check else 0
        out = Descriptor(RAW, PACKED, len(data), CAPACITY, mode, tag=tag, check_crc=check, crc=crc)
        done = self.note(self.driver.offload.transfer(out, how))
        assert (done.tag, done.status) == (tag, Status.OK), done
        assert (done.bytes_read, done.bytes_written, done.crc) == (len(data), len(packed), crc), done
        assert bytes(bench.memory["host"].read(PACKED, len(packed))) == packed
        if mode is Mode.ZVC:
            assert done.literals == encode_packet(raw, form).report.literals
        length = 0 if mode is Mode.RAW else len(packed)
        back = replace(out, source=PACKED, destination=BACK, capacity=len(data), compressed_length=length)
        done = self.driver.prefetch.transfer(back, how)
        assert (done.tag, done.status, done.bytes_written) == (tag, Status.OK, len(data)), done
        if check:
            wrong = self.driver.prefetch.transfer(replace(back, crc=crc ^ 1), how)
            assert (wrong.status, wrong.crc, wrong.address) == (Status.CRC_MISMATCH, crc, 0), wrong
        assert bytes(bench.memory["dev"].read(BACK, len(data))) == data
        bench.transfers += 2
        bench.words += 2 * words
        bench.checks += 8

    def numbers(self, mode: Mode, how: str) -> None:
        """Sends numbers out with a step, and those that they became back."""
        bench, form = self.bench, self.config.quantisation
        step = random_step(bench.rng, self.config)
        count = bench.rng.randint(1, 300)
        data = random_numbers(bench.np, count, self.config, step)
        bench.memory["dev"].write(RAW, data)
        done = self.driver.offload.transfer(
            Descriptor(RAW, PACKED, len(data), CAPACITY, mode, step=step), how
        )
        assert (self.note(done).status, done.range_count) == (Status.OK, 0), done
        if mode is Mode.RAW:
            assert done.bytes_written == -(-count * form.bits // 8), done
        back = Descriptor(
            PACKED, BACK, len(data), len(data), mode, compressed_length=done.bytes_written, step=step
        )
        done = self.driver.prefetch.transfer(back, how)
        assert (done.status, done.bytes_written) == (Status.OK, len(data)), done
        exponent = step - form.number_type.bias
        integers = quantise(np.frombuffer(data, f"<u{form.number_type.bits // 8}"), exponent, form).integers
        expected = words_to_bytes(dequantise(integers, exponent, form))
        assert bytes(bench.memory["dev"].read(BACK, len(data))) == expected
        bench.transfers += 2
        bench.checks += 4

    def full_rings(self) -> None:
        """Fills the ring several times, so that it has as many descriptors in flight as entries."""
        self.start("offload")
        offload = self.driver.offload
        for first in range(0, 5 * ENTRIES, ENTRIES):
            tags = range(first, first + ENTRIES)
            offload.submit(
                *(Descriptor(RAW, PACKED, self.word * (1 + tag), CAPACITY, tag=tag) for tag in tags)
            )
            done = [self.note(each) for each in offload.wait(ENTRIES)]
            assert [each.tag for each in done] == list(tags)
            assert [each.bytes_read for each in done] == [self.word * (1 + tag) for tag in tags]
            self.bench.checks += ENTRIES

    def refusals(self) -> None:
        """Checks that a refused descriptor is reported with its address and halts the channel until it is resumed."""
        offload = self.start("offload", halt=True)
        offload.submit(self.outside, self.good)
        (done,) = (self.note(each) for each in offload.wait(1))
        assert (done.tag, done.status, done.address) == (1, Status.WINDOW, SIZE), done
        assert offload.halted
        assert offload.error() == EngineError(Status.WINDOW, 1, SIZE)
        offload.clear_error()
        assert offload.error() is None
        offload.resume()
        (done,) = (self.note(each) for each in offload.wait(1))
        assert (done.tag, done.status) == (2, Status.OK), done

    def counters(self) -> None:
        """Checks that the counters are the sums of the completions."""
        counters = self.driver.offload.counters()
        assert {key: counters[key] for key in self.sums} == self.sums, (counters, self.sums)
        assert counters["errors"] == 1
        assert 0 < counters["read_beats"] <= counters["cycles"]

    def resets(self) -> None:
        """Checks that an abort lasts until the channel is resumed, and that a soft reset keeps only the windows."""
        offload = self.driver.offload
        offload.abort()
        assert offload.halted
        offload.resume()
        assert offload.transfer(self.good).status is Status.OK
        self.driver.soft_reset()
        assert not any(offload.counters().values())
        self.start("offload")
        done = offload.transfer(self.outside)
        assert done.status is Status.WINDOW, "the window survives"
        assert offload.transfer(self.good).status is Status.OK


def exercise_faults(machine: Machine, driver: Any) -> None:
    """Runs every step; after each error the channel works again."""
    trial = _Faults(machine, driver)
    for name in RINGS:
        getattr(driver, name).start(machine.rings(name), ENTRIES)
        trial.bus_errors(name)
    trial.corrupt_streams()
    trial.a_full_destination()
    driver.set_watchdog(300)
    for name in RINGS:
        trial.a_silent_memory(name)


class _Faults:
    """The steps of :func:`exercise_faults`; ``jobs`` has a sound descriptor for each channel."""

    def __init__(self, machine: Machine, driver: Any) -> None:
        self.machine, self.driver, self.bench = machine, driver, machine.bench
        self.config = config = machine.bench.config
        self.form = config.format.with_table((0,))
        self.word = config.format.raw_bytes
        self.beats = {"dev": config.dev_data_bits // 8, "host": config.host_data_bits // 8}
        words = 300
        raw = self.bench.np.integers(1, 12, words) * self.bench.np.integers(0, 2, words)
        data = to_memory(raw.astype(word_dtype(self.form)), self.form.word_bits)
        self.packed = stream_of(data, self.form)
        self.stream = PACKED + CAPACITY
        self.bench.memory["dev"].write(RAW, data)
        self.bench.memory["host"].write(self.stream, self.packed)
        self.bytes = len(data)
        self.jobs = {
            "offload": Descriptor(RAW, PACKED, self.bytes, CAPACITY, Mode.ZVC),
            "prefetch": Descriptor(
                self.stream, BACK, self.bytes, self.bytes, Mode.ZVC, compressed_length=len(self.packed)
            ),
        }

    def bus_errors(self, name: str) -> None:
        """Lets a memory refuse one byte: the status says whether a read or a write failed, the address says where."""
        channel, rng = getattr(self.driver, name), self.bench.rng
        ports = {"read": "dev", "write": "host"} if name == "offload" else {"read": "host", "write": "dev"}
        for (side, port), kind in itertools.product(ports.items(), (AxiResp.SLVERR, AxiResp.DECERR)):
            job = replace(self.jobs[name], tag=rng.getrandbits(32))
            start = job.source if side == "read" else job.destination
            at = start + rng.randrange(self.bytes if port == "dev" else len(self.packed))
            # A read is answered beat by beat, and a write burst by burst.
            beat = self.beats[port]
            burst = beat * self.config.burst(port)
            address = at // beat * beat if side == "read" else max(start, at // burst * burst)
            status = Status[f"{side.upper()}_{kind.name}"]
            self.bench.memory[port].spoil({at: kind})
            channel.submit(job)
            (done,) = channel.wait(1)
            self.bench.memory[port].mend(at)
            assert (done.tag, done.status, done.address) == (job.tag, status, address), (name, job, done)
            assert channel.error() == EngineError(status, job.tag, address)
            channel.clear_error()
            assert channel.transfer(self.jobs[name]).status is Status.OK
            self.bench.transfers += 2
            self.bench.checks += 3

    def corrupt_streams(self) -> None:
        """Sends streams with too few words, with too many, and with codes that are invalid."""
        host = self.bench.memory["host"]
        job, length = replace(self.jobs["prefetch"], tag=7), len(self.packed)
        self.fails("prefetch", replace(job, compressed_length=length - self.word), Status.STREAM_TRUNCATED)
        host.write(self.stream + length, bytes(self.word))
        self.fails("prefetch", replace(job, compressed_length=length + self.word), Status.STREAM_TRAILING)
        # A packet of one word or two: all codes after these must be 0.
        lone = stream_of(bytes(self.word), self.form)
        marked = bytes(lone[:-1]) + bytes([lone[-1] | 0x80])
        other = self.stream + 0x1000
        host.write(other, marked)
        job = Descriptor(other, BACK, self.word, self.word, Mode.ZVC, compressed_length=len(marked), tag=8)
        self.fails("prefetch", job, Status.STREAM_CODE)

    def a_full_destination(self) -> None:
        """Sends a stream that is longer than the capacity of its destination."""
        job = replace(self.jobs["offload"], capacity=2 * self.beats["host"], tag=9)
        self.fails("offload", job, Status.CAPACITY, PACKED, PACKED + 1000)

    def fails(self, name: str, job: Descriptor, status: Status, first: int = 0, last: int = 0) -> None:
        """Checks that ``job`` ends with ``status`` and an address from ``first`` to ``last``, and that the next one runs."""
        channel = getattr(self.driver, name)
        done = channel.transfer(job)
        assert (done.tag, done.status) == (job.tag, status), (name, job, done)
        assert first <= done.address <= last, (name, job, done)
        assert channel.error() == EngineError(status, job.tag, done.address)
        channel.clear_error()
        assert channel.error() is None
        assert channel.transfer(replace(self.jobs[name], tag=1)).status is Status.OK
        self.bench.transfers += 2
        self.bench.checks += 5

    def a_silent_memory(self, name: str) -> None:
        """Stops device memory: the watchdog ends the descriptor, and perhaps the one after it."""
        dev, channel, job = self.bench.memory["dev"], getattr(self.driver, name), self.jobs[name]
        start = job.source if name == "offload" else job.destination
        dev.frozen = True
        channel.submit(replace(job, tag=10), replace(job, tag=11))
        (done,) = channel.wait(1)
        assert (done.tag, done.status) == (10, Status.WATCHDOG), done
        assert start <= done.address < start + self.bytes, done
        error = channel.error()
        assert error == EngineError(Status.WATCHDOG, 10, done.address), error
        dev.frozen = False
        for _ in range(200):
            if channel.halted:
                break
            self.machine.idle()
        channel.resume()
        (done,) = channel.wait(1)
        assert done.tag == 11, done
        assert done.status in (Status.ABORTED, Status.OK), done
        assert channel.transfer(job).status is Status.OK
        self.bench.transfers += 3
        self.bench.checks += 5
