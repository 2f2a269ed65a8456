"""Errors of buses, streams and memories, as they are reported to a driver on the real engine."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from cocotbext.axi import AxiResp

from cdma.hdl.spec.records import Mode, Status
from cdma.sim.codec.headers import to_memory
from cdma.sim.codec.words import word_dtype
from cdma.sim.engine.driver import Descriptor, EngineError
from cdma.verif.engine.transfer import stream_of

from .driver_machine import BACK, CAPACITY, ENTRIES, PACKED, RAW, RINGS, Machine


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
