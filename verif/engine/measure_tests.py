"""The cocotb side of :mod:`cdma.verif.engine.measure`: one measurement after the other."""

from __future__ import annotations

import functools
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles

from cdma.hdl.spec.records import COMPLETION, Mode, Status
from cdma.sim.codec.model import compress_words
from cdma.sim.codec.words import words_to_bytes
from cdma.sim.engine.descriptors import Descriptor, unpack
from cdma.sim.engine.transfer import TransferRules
from cdma.verif.simulator.result import bench_settings, leave_row

from .bench import CHANNELS
from .context import engine_test
from .paced_memory import DESTINATION, SOURCE, PacedBench

__all__: list[str] = []

_paced_test = functools.partial(engine_test, kind=PacedBench)


async def _measure(bench: PacedBench, case: dict[str, Any]) -> list[dict[str, Any]]:
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
        bench.memory[read].write(SOURCE, source)
        bench.memory[write].write(DESTINATION, bytes(len(result)))
        descriptor = Descriptor(
            SOURCE,
            DESTINATION,
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
        assert bench.memory[write].read(DESTINATION, len(result)) == result, f"{direction}: wrong data"
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


@_paced_test
async def measure(bench: PacedBench, budget: int) -> None:
    """Measures every case of the settings, and leaves each row at once."""
    for case in bench_settings()["cases"]:
        for row in await _measure(bench, case):
            leave_row(row)


@_paced_test
async def round_trip(bench: PacedBench, budget: int) -> None:
    """One tensor out and back, each way in one descriptor."""
    words = np.load(bench_settings()["words"])
    raw = words_to_bytes(words)
    form = bench.rules["offload"].format(Mode.ZVC, ())
    stream = words_to_bytes(compress_words(words, form))
    dev, host = bench.memory["dev"], bench.memory["host"]
    dev.latency = host.latency = 100
    dev.write(SOURCE, raw)

    async def move(channel: str, descriptor: Descriptor) -> dict[str, int]:
        ring = bench.rings[channel]
        await ring.enable()
        await ring.submit([descriptor.pack()])
        got = unpack(COMPLETION, await ring.next(limit=10000 + 4 * len(raw)))
        assert got["status"] == Status.OK, got
        bench.transfers += 1
        return got

    capacity = form.bound(len(words)) * form.word_bits // 8
    out = await move("offload", Descriptor(SOURCE, DESTINATION, len(raw), capacity))
    assert out["bytes_written"] == len(stream)
    assert host.read(DESTINATION, len(stream)) == stream, "the stream is not the model's"
    stored = Descriptor(DESTINATION, DESTINATION, len(raw), len(raw), compressed_length=out["bytes_written"])
    back = await move("prefetch", stored)
    assert dev.read(DESTINATION, len(raw)) == raw, "what came back is not the tensor"
    bench.checks += 2
    bench.notes = {
        "stream_bytes": len(stream),
        "offload_cycles": out["cycles"],
        "prefetch_cycles": back["cycles"],
    }
