"""The cocotb side of :mod:`cdma.verif.engine.measure`: a memory of fixed latency, and one measurement after
the other.
"""

from __future__ import annotations

import functools
import json
import os
import random
import time
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge

from cdma.hdl.spec.records import COMPLETION, Mode, Status
from cdma.sim.codec.model import compress_words
from cdma.sim.codec.words import words_to_bytes
from cdma.sim.engine.descriptors import Descriptor, unpack
from cdma.sim.engine.transfer import TransferRules

from .bench import CHANNELS
from .design import EngineDesign
from .ring import RingBench

__all__: list[str] = []

_SOURCE, _DESTINATION = 0x100000, 0x400000
_SIZE = 0x800000


class _PacedMemory:
    """Takes an address, a beat of data and gives a beat of data in every cycle; answers ``latency`` cycles
    later.
    """

    def __init__(self, dut: Any, prefix: str) -> None:
        self.bytes = bytearray(_SIZE)
        self.latency = 0
        self.first_read: int | None = None
        self.last_answer: int | None = None
        self._pins = {
            name: getattr(dut, f"{prefix}_{name}")
            for name in (
                *("arvalid", "arready", "araddr", "arlen", "arsize", "arid"),
                *("rvalid", "rready", "rdata", "rlast", "rresp", "rid"),
                *("awvalid", "awready", "awaddr", "awlen", "awsize", "awid"),
                *("wvalid", "wready", "wdata", "wstrb", "wlast"),
                *("bvalid", "bready", "bresp", "bid"),
            )
        }
        for name in ("arready", "awready", "wready"):
            self._pins[name].value = 1
        for name in ("rvalid", "bvalid", "rresp", "bresp"):
            self._pins[name].value = 0
        self.beat = len(self._pins["wstrb"])
        self.clock = dut.aclk
        self.cycle = 0

    def read(self, address: int, length: int) -> bytes:
        return bytes(self.bytes[address : address + length])

    def write(self, address: int, data: bytes) -> None:
        self.bytes[address : address + len(data)] = data

    def allow(self, address: int, length: int, allowed: bool = True) -> None:
        """Every address may be written here: the regression is where that is checked."""

    async def run(self) -> None:
        pins, beat_bytes = self._pins, self.beat
        reads: deque[tuple[int, int, int, int]] = deque()
        writes: deque[tuple[int, int, int]] = deque()
        answers: deque[tuple[int, int]] = deque()
        r_shown = b_shown = False
        place = 0
        while True:
            await RisingEdge(self.clock)
            self.cycle += 1
            cycle = self.cycle
            if pins["arvalid"].value:
                address, count, size = (int(pins[name].value) for name in ("araddr", "arlen", "arsize"))
                id = int(pins["arid"].value)
                if self.first_read is None and address >= _SOURCE:
                    self.first_read = cycle
                for beat in range(count + 1):
                    reads.append((cycle + self.latency, address + (beat << size), id, beat == count))
            if r_shown and pins["rready"].value:
                r_shown = False
            if b_shown and pins["bready"].value:
                b_shown = False
            if pins["wvalid"].value:
                address, size, id = writes[0]
                at = (address + (place << size)) // beat_bytes * beat_bytes
                place += 1
                data = int(pins["wdata"].value).to_bytes(beat_bytes, "little")
                strobes = int(pins["wstrb"].value)
                if strobes + 1 == 1 << beat_bytes:
                    self.bytes[at : at + beat_bytes] = data
                else:
                    for lane in range(beat_bytes):
                        if strobes >> lane & 1:
                            self.bytes[at + lane] = data[lane]
                if pins["wlast"].value:
                    writes.popleft()
                    place = 0
                    answers.append((cycle + self.latency, id))
                    if address >= _DESTINATION:
                        self.last_answer = cycle + self.latency
            if pins["awvalid"].value:
                address, size, id = (int(pins[name].value) for name in ("awaddr", "awsize", "awid"))
                writes.append((address, size, id))
            if not r_shown:
                if reads and reads[0][0] <= cycle:
                    _, address, id, last = reads.popleft()
                    at = address // beat_bytes * beat_bytes
                    pins["rdata"].value = int.from_bytes(self.bytes[at : at + beat_bytes], "little")
                    pins["rid"].value = id
                    pins["rlast"].value = last
                    pins["rvalid"].value = 1
                    r_shown = True
                else:
                    pins["rvalid"].value = 0
            if not b_shown:
                if answers and answers[0][0] <= cycle:
                    pins["bid"].value = answers.popleft()[1]
                    pins["bvalid"].value = 1
                    b_shown = True
                else:
                    pins["bvalid"].value = 0


class _Bench(RingBench):
    """The bench with paced memories, and without the protocol checker, which the regression has."""

    checked = False
    notes: dict[str, Any] = {}

    def make_memory(self, name: str) -> _PacedMemory:
        memory = _PacedMemory(self.dut, f"m_axi_{name}")
        cocotb.start_soon(self.blame(memory.run()))
        return memory


async def _measure(bench: _Bench, case: dict[str, Any]) -> list[dict[str, Any]]:
    """Runs one case and gives a row per direction."""
    config = bench.config
    word_bytes = config.format.word_bits // 8
    form = TransferRules(config, "offload").format(Mode.ZVC, ())
    directions = CHANNELS if case["direction"] == "both" else (case["direction"],)
    mode = Mode[case["mode"].upper()]
    count = case["bytes"] // word_bytes
    rng = np.random.default_rng(1)
    words = np.zeros(count, f"u{word_bytes}")
    literal = rng.permutation(count)[: round(count * case["density"])]
    words[literal] = rng.integers(1, 1 << config.format.word_bits, len(literal))
    raw = words_to_bytes(words)
    stream = raw if mode == Mode.RAW else words_to_bytes(compress_words(words, form))
    records: dict[str, list[bytes]] = {}
    for memory in bench.memory.values():
        memory.latency = case["memory_latency"]
        memory.first_read = memory.last_answer = None
    for direction in directions:
        compressing = direction == "offload"
        source, result = (raw, stream) if compressing else (stream, raw)
        read, write = ("dev", "host") if compressing else ("host", "dev")
        # Sources of one port lie beside each other, so do destinations: nothing is shared between directions.
        bench.memory[read].write(_SOURCE, source)
        bench.memory[write].write(_DESTINATION, bytes(len(result)))
        descriptor = Descriptor(
            _SOURCE,
            _DESTINATION,
            len(raw),
            capacity=form.bound(count) * word_bytes,
            mode=mode,
            compressed_length=0 if compressing or mode == Mode.RAW else len(stream),
        )
        records[direction] = [descriptor.pack()] * case["descriptors"]
        ring = bench.rings[direction]
        await bench.poke(f"{direction}.control", enable=0)
        ring.log2, ring.size = 6, 64
        await ring.enable()
    for direction in directions:
        await bench.rings[direction].submit(records[direction])

    async def finish(direction: str) -> None:
        ring = bench.rings[direction]
        slot = ring.completions + (case["descriptors"] - 1) * 64
        host = bench.memory["host"]
        limit = bench.cycles + 20000 + 2 * case["descriptors"] * case["bytes"]
        while not host.bytes[slot + 63] >> 7:
            await ClockCycles(bench.dut.aclk, 16)
            assert bench.cycles < limit, f"{direction}: the completions did not all come in {case}"
        for index in range(case["descriptors"]):
            got = unpack(COMPLETION, host.read(ring.completions + index * 64, 64))
            assert got["status"] == Status.OK, got

    tasks = [cocotb.start_soon(bench.blame(finish(direction))) for direction in directions]
    for task in tasks:
        await task
    rows = []
    for direction in directions:
        compressing = direction == "offload"
        read, write = ("dev", "host") if compressing else ("host", "dev")
        result = stream if compressing else raw
        assert bench.memory[write].read(_DESTINATION, len(result)) == result, f"{direction}: wrong data"
        cycles = bench.memory[write].last_answer - bench.memory[read].first_read
        dev = -(-len(raw) * 8 // config.dev_data_bits)
        host = -(-len(stream) * 8 // config.host_data_bits)
        beats = case["descriptors"] * max(dev, host)
        rows.append(
            {
                "direction": direction,
                "concurrent": case["direction"] == "both",
                "mode": case["mode"],
                "density": case["density"],
                "bytes": case["bytes"],
                "descriptors": case["descriptors"],
                "memory_latency": case["memory_latency"],
                "outstanding": config.outstanding,
                "cycles": cycles,
                "bytes_per_cycle": round(case["descriptors"] * len(raw) / cycles, 2),
                "utilisation": round(beats / cycles, 4),
            }
        )
        bench.transfers += case["descriptors"]
        bench.checks += 1
    return rows


def _paced_test(body: Callable[[_Bench, dict[str, Any]], Awaitable[None]]) -> Any:
    """Makes a cocotb test of ``body``, which gets the bench, started, and the settings."""

    @functools.wraps(body)
    async def run(dut: Any) -> None:
        settings = json.loads(os.environ["CDMA_BENCH"])
        bench = _Bench(dut, EngineDesign.from_json(settings["design"]), random.Random(1))
        failure = None
        began = time.monotonic()
        try:
            await bench.start()
            await body(bench, settings)
        except BaseException as error:
            failure = f"{bench.failure or error!r}"
            raise
        finally:
            record = {
                "test": body.__name__,
                "failure": failure,
                "packets": bench.transfers,
                "checks": bench.checks,
                "cycles": bench.cycles,
                "seconds": time.monotonic() - began,
                "notes": bench.notes,
            }
            with Path(settings["result"]).open("a") as results:
                results.write(json.dumps(record) + "\n")

    return cocotb.test()(run)


@_paced_test
async def measure(bench: _Bench, settings: dict[str, Any]) -> None:
    """Every case of the settings; each row goes to the rows' file as soon as it is there."""
    for case in settings["cases"]:
        for row in await _measure(bench, case):
            with Path(settings["rows"]).open("a") as rows:
                rows.write(json.dumps(row) + "\n")


@_paced_test
async def round_trip(bench: _Bench, settings: dict[str, Any]) -> None:
    """One tensor out and back, each way in one descriptor."""
    words = np.load(settings["words"])
    raw = words_to_bytes(words)
    form = bench.rules["offload"].format(Mode.ZVC, ())
    stream = words_to_bytes(compress_words(words, form))
    dev, host = bench.memory["dev"], bench.memory["host"]
    dev.latency = host.latency = 100
    dev.write(_SOURCE, raw)

    async def move(channel: str, descriptor: Descriptor) -> dict[str, int]:
        ring = bench.rings[channel]
        await ring.enable()
        await ring.submit([descriptor.pack()])
        got = unpack(COMPLETION, await ring.next(limit=10000 + 4 * len(raw)))
        assert got["status"] == Status.OK, got
        bench.transfers += 1
        return got

    room = form.bound(len(words)) * form.word_bits // 8
    out = await move("offload", Descriptor(_SOURCE, _DESTINATION, len(raw), room))
    assert out["bytes_written"] == len(stream)
    assert host.read(_DESTINATION, len(stream)) == stream, "the stream is not the model's"
    stored = Descriptor(
        _DESTINATION, _DESTINATION, len(raw), len(raw), compressed_length=out["bytes_written"]
    )
    back = await move("prefetch", stored)
    assert dev.read(_DESTINATION, len(raw)) == raw, "what came back is not the tensor"
    bench.checks += 2
    bench.notes = {
        "stream_bytes": len(stream),
        "offload_cycles": out["cycles"],
        "prefetch_cycles": back["cycles"],
    }
