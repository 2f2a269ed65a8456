"""The cocotb side of measurements: moves tensors between paced memories, and counts."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ClockCycles, RisingEdge

from cdma.hdl.spec.format import StreamFormat
from cdma.hdl.spec.options import PAGE_BYTES, packed_pages, paged
from cdma.hdl.spec.records import COMPLETION, RECORD_BYTES, Mode, Status
from cdma.hdl.spec.shape import Dimension, Shape
from cdma.sim.codec.headers import to_memory
from cdma.sim.codec.model import compress_words
from cdma.sim.codec.number_types import integers_of
from cdma.sim.codec.quantise import dequantise
from cdma.sim.codec.words import words_to_bytes
from cdma.sim.engine.memory import Descriptor, unpack
from cdma.sim.engine.transfer import TransferRules, changed
from cdma.verif.simulator.plan import REST_CYCLES, bench_settings, counting, leave_row

from .bench import CHANNELS
from .context import BASE, DESTINATION, SOURCE, PacedBench, engine_test
from .hosts import data_rate, link_of
from .measure import BACK_TO_BACK, JUMP, MOST_DESCRIPTORS, STEPS, literal_words
from .memory import NEVER, Memory

#: Where the lists of pages of each channel lie.
_LISTS = {"offload": 0x10000, "prefetch": 0x11000}


class Measurement:
    """One case: the data of its tensors, and what was counted while they moved.

    ``directions``: The channels that move them.
    ``raw``, ``stream``, ``base``: The tensor on the device, and on the host; and its base, if the case has bases.
    ``shape``: The rows of the tensor in device memory, if the case has any, with gaps as long as a row.
    ``step``, ``capacity``: Those of the descriptors; with a step the words are integers of numbers.
    ``began``: The cycle before the doorbells.
    """

    def __init__(self, bench: PacedBench, case: dict[str, Any]) -> None:
        self.bench, self.case = bench, case
        self.directions = CHANNELS if case["direction"] == "both" else (case["direction"],)
        form = bench.config.quantisation if case["mode"] == "lossy" else None
        self.step = form.step(0) if form else 0
        self.mode = Mode.ZVC if form else Mode[case["mode"].upper()]
        self.pattern = case.get("pattern", "scattered")
        self.raw, self.stream = self._tensor()
        self.base = b""
        if case.get("based"):
            self.base = np.random.default_rng(2).bytes(len(self.raw))
            self.raw = changed(self.raw, self.base)
        self.capacity = self._format.bound_bytes(len(self.raw) * 8 // self._format.word_bits)
        row = case.get("row", 0)
        rows = [Dimension(len(self.raw) // row, 2 * row)] if row else []
        if case.get("jumps"):
            each = JUMP // (2 * row)
            rows = [Dimension(rows[0].count // each, JUMP), Dimension(each, 2 * row)]
        self.shape = Shape(row, tuple(rows)) if row else None

    @property
    def _laid(self) -> bytes:
        """The tensor as it lies in device memory."""
        if self.shape is None:
            return self.raw
        row, laid = self.shape.run, bytearray(2 * len(self.raw))
        for number, at in enumerate(at for at in self.shape.rows() if at is not None):
            laid[at : at + row] = self.raw[number * row : (number + 1) * row]
        return bytes(laid)

    @property
    def _format(self) -> StreamFormat:
        return TransferRules(self.bench.config, "offload").format(Mode.ZVC, ())

    def _tensor(self) -> tuple[bytes, bytes]:
        """Makes words that are 0 but for those that the case's pattern and density make literals."""
        config, case = self.bench.config, self.case
        bits = config.format.word_bits
        form = config.quantisation if self.step else None
        words = literal_words(
            case["bytes"] * 8 // (form.number_type.bits if form else bits),
            bits,
            case["density"],
            pattern=self.pattern,
            units=config.units,
            stripe_words=config.stripe_bytes * 8 // bits,
        )
        raw = to_memory(words, bits)
        if form:
            # The integer without an opposite is made of no number.
            words[words == form.limit + 1] = 1
            raw = words_to_bytes(dequantise(integers_of(words, bits), 0, form))
        if self.mode == Mode.RAW:
            return raw, raw
        return raw, to_memory(compress_words(words, self._format), config.format.stream_bits)

    def _ends(self, direction: str) -> tuple[Memory, bytes, Memory, bytes]:
        """The memory that is read and its data, the memory that is written and the expected data."""
        dev, host = self.bench.memory["dev"], self.bench.memory["host"]
        if direction == "offload":
            return dev, self._laid, host, self.stream
        return host, self.stream, dev, self._laid

    def _runs(self, memory: Memory, at: int, count: int) -> list[tuple[int, int]]:
        """Addresses and bytes of data at ``at``, or of its pages, of which the last one comes first."""
        offset = self.case.get("offset", 0)
        if memory is self.bench.memory["dev"] or not self.case.get("paged"):
            return [(at + offset, count)]
        ends = [*range(PAGE_BYTES - offset, count, PAGE_BYTES), count]
        sizes = [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
        last = at + PAGE_BYTES * (len(sizes) - 1)
        return [(last - PAGE_BYTES * n + (0 if n else offset), size) for n, size in enumerate(sizes)]

    def _destinations(self, direction: str) -> list[tuple[int, int]]:
        _, _, write, result = self._ends(direction)
        return self._runs(write, DESTINATION, self.capacity if direction == "offload" else len(result))

    def _listed(self, direction: str, runs: list[tuple[int, int]]) -> int:
        """Writes the list of the pages of ``runs``; its address, or 0 for one run."""
        if len(runs) == 1:
            return 0
        self.bench.memory["host"].write(_LISTS[direction], packed_pages(paged(runs)[2]))
        return _LISTS[direction]

    async def run(self) -> list[dict[str, Any]]:
        """Moves everything; a row for each direction."""
        await self._move()
        return [self._row(direction) for direction in self.directions]

    async def _move(self) -> None:
        bench = self.bench
        for memory in bench.memory.values():
            memory.latency = self.case["memory_latency"]
            memory.first_read = memory.last_answer = NEVER
        bench.memory["host"].link = link_of(self.case, bench.config.host_data_bits)
        records = [(direction, await self._prepare(direction)) for direction in self.directions]
        self.began = bench.cycles
        for direction, record in records:
            await bench.rings[direction].submit([record] * self.case["descriptors"])
        tasks = [cocotb.start_soon(bench.blame(self._finish(direction))) for direction in self.directions]
        for task in tasks:
            await task

    async def _prepare(self, direction: str) -> bytes:
        """Writes the data and starts the channel, with a ring that holds all descriptors; one of these."""
        bench = self.bench
        # Sources of one port lie beside each other, so do destinations: nothing is shared between directions.
        read, source, write, _ = self._ends(direction)
        sources = self._runs(read, SOURCE, len(source))
        destinations = self._destinations(direction)
        done = 0
        for address, size in sources:
            read.write(address, source[done : done + size])
            done += size
        for address, size in destinations:
            write.write(address, bytes(size))
        ring = bench.rings[direction]
        await bench.poke(f"{direction}.control", enable=0)
        ring.log2, ring.size = MOST_DESCRIPTORS.bit_length() - 1, MOST_DESCRIPTORS
        await ring.enable()
        decodes = direction == "prefetch" and self.mode != Mode.RAW
        bench.memory["dev"].write(BASE, self.base)
        made = Descriptor(
            sources[0][0],
            destinations[0][0],
            len(self.raw),
            capacity=self.capacity,
            mode=self.mode,
            compressed_length=len(self.stream) if decodes else 0,
            interrupt=self.case.get("interrupt", False),
            step=self.step,
            shape=self.shape,
            pages=self._listed(direction, destinations if direction == "offload" else sources),
        )
        return (made.with_base(BASE, offload=direction == "offload") if self.base else made).pack()

    async def _finish(self, direction: str) -> None:
        bench, count = self.bench, self.case["descriptors"]
        ring, host = bench.rings[direction], bench.memory["host"]
        last = ring.completions + (count - 1) * RECORD_BYTES
        # Twice what the codec takes where it is narrow.
        size = count * self.case["bytes"]
        limit = bench.cycles + 20000 + max(size // 4, size * 16 // bench.config.codec.data_bits)
        if "host" in self.case or self.shape:
            limit += 4 * size
        while not host.bytes[last + RECORD_BYTES - 1] >> 7:
            await bench.after(16)
            assert bench.cycles < limit, f"{direction}: the completions did not all come in {self.case}"
        for index in range(count):
            got = unpack(COMPLETION, host.read(ring.completions + index * RECORD_BYTES, RECORD_BYTES))
            assert got["status"] == Status.OK, got

    def _row(self, direction: str) -> dict[str, Any]:
        """Compares what was written, and says how long it took."""
        bench, case, config = self.bench, self.case, self.bench.config
        read, _, write, result = self._ends(direction)
        written = b"".join(write.read(*run) for run in self._destinations(direction))
        assert written[: len(result)] == result, f"{direction}: wrong data"
        assert read.first_read != NEVER
        assert write.last_answer != NEVER
        cycles = write.last_answer - read.first_read
        moved = len(self.raw) + (len(self.base) if direction == "offload" else 0)
        dev = -(-moved * 8 // (config.units * config.dev_data_bits))
        host = -(-len(self.stream) * 8 // config.host_data_bits) * bench.host_period
        count = case["descriptors"]
        bench.transfers += count
        bench.checks += 1
        utilisation = count * max(dev, host) / cycles
        return {
            "direction": direction,
            "concurrent": case["direction"] == "both",
            "mode": case["mode"],
            "density": case["density"],
            "pattern": self.pattern,
            "bytes": case["bytes"],
            "compressed_bytes": len(self.stream),
            "descriptors": count,
            "memory_latency": case["memory_latency"],
            "outstanding": config.outstanding,
            "cycles": cycles,
            "bytes_per_cycle": round(count * len(self.raw) / cycles, 2),
            "utilisation": round(utilisation, 4),
            **({"host_period": bench.host_period} if config.domains.host_crosses else {}),
            **{name: case[name] for name in ("offset", "paged", "based") if name in case},
            **({} if self.shape is None else self._of_rows(self.shape.run, utilisation)),
            **self._of_link(direction, count * len(self.stream) / cycles),
        }

    def _of_link(self, direction: str, rate: float) -> dict[str, Any]:
        """The bytes of the stream in a cycle as a share of what the link to the host carries, if there is one."""
        if "host" not in self.case:
            return {}
        share = rate / data_rate(direction, self.bench.config.host_data_bits)
        return {"host": self.case["host"], "tags": self.case["tags"], "of_link": round(share, 4)}

    def _of_rows(self, row: int, utilisation: float) -> dict[str, Any]:
        """The utilisation as a share of what the memory allows: so many bursts of a row in flight, each its beats and the
        latency."""
        config, first = self.bench.config, self.case.get("offset", 0)
        beat = config.dev_data_bits // 8
        lanes = [start % beat for start in range(first, first + 2 * len(self.raw), 2 * row)]
        beats = sum(-(-(lane + row) // beat) for lane in lanes) / len(lanes)
        of_burst = min(beats, config.burst("dev"))
        memory_share = min(1.0, config.outstanding * of_burst / (self.case["memory_latency"] + of_burst))
        most = memory_share * row / (beats * beat)
        return {"row": row, "of_memory": round(utilisation / most, 4)}


#: Cycles of latency of both memories, out and back.
_LATENCY = 100
_paced_test = functools.partial(engine_test, kind=PacedBench)


@_paced_test
async def measure(bench: PacedBench, budget: int) -> None:
    """Measures every case of the settings, and leaves each row at once."""
    for case in bench_settings()["cases"]:
        for row in await Measurement(bench, case).run():
            leave_row(row)


async def _out_and_back(
    bench: PacedBench, path: str, meanwhile: Callable[[], AbstractAsyncContextManager[None]]
) -> tuple[int, list[int]]:
    """The words of a file out and back, each way in one descriptor, with something on from its submission to its completion:
    the bytes of the stream, and the cycles of each way."""
    form = bench.rules["offload"].format(Mode.ZVC, ())
    words = np.load(path)
    raw, stream = to_memory(words, form.word_bits), to_memory(compress_words(words, form), form.stream_bits)
    dev, host = bench.memory["dev"], bench.memory["host"]
    dev.latency = host.latency = _LATENCY
    dev.write(SOURCE, raw)
    host.write(DESTINATION, bytes(len(stream)))
    moves = {
        "offload": Descriptor(SOURCE, DESTINATION, len(raw), form.bound_bytes(len(words))),
        "prefetch": Descriptor(DESTINATION, DESTINATION, len(raw), len(raw), compressed_length=len(stream)),
    }
    cycles = []
    for channel, descriptor in moves.items():
        async with meanwhile():
            await bench.rings[channel].submit([descriptor.pack()])
            got = unpack(COMPLETION, await bench.rings[channel].next(limit=10000 + 4 * len(raw)))
        assert got["status"] == Status.OK, got
        cycles.append(got["cycles"])
        bench.transfers += 1
        if channel == "offload":
            assert got["bytes_written"] == len(stream)
            assert host.read(DESTINATION, len(stream)) == stream, "the stream is not the model's"
    assert dev.read(DESTINATION, len(raw)) == raw, "what came back is not the tensor"
    bench.checks += 2
    return len(stream), cycles


@_paced_test
async def round_trip(bench: PacedBench, budget: int) -> None:
    """One tensor out and back."""
    for channel in CHANNELS:
        await bench.rings[channel].enable()
    stream, (out, back) = await _out_and_back(bench, bench_settings()["words"], nullcontext)
    bench.notes = {"stream_bytes": stream, "offload_cycles": out, "prefetch_cycles": back}


@_paced_test
async def counted(bench: PacedBench, budget: int) -> None:
    """The tensors of the settings out and back, while the netlist counts, and a rest."""
    for channel in CHANNELS:
        await bench.rings[channel].enable()
    for path in bench_settings()["words"]:
        _, cycles = await _out_and_back(bench, path, functools.partial(counting, bench.dut))
        for each in cycles:
            leave_row({"cycles": each})
    async with counting(bench.dut):
        await ClockCycles(bench.dut.aclk, REST_CYCLES)


#: The ID of the rings' transactions at the host port by channel; data has 0.
_RING_IDS = {"offload": 1, "prefetch": 2}


@_paced_test
async def latency(bench: PacedBench, budget: int) -> None:
    """Measures every case of the settings, and leaves each row at once."""
    for case in bench_settings()["cases"]:
        direction = case["direction"]
        await bench.poke(f"{direction}.irq_status", completion=1)
        await bench.poke(f"{direction}.irq_enable", completion=1)
        watch = _Watch(bench, direction)
        await Measurement(bench, case | {"interrupt": True}).run()
        steps = await watch.finish()
        await bench.poke(f"{direction}.irq_enable", completion=0)
        (many,) = await Measurement(bench, case | {"descriptors": BACK_TO_BACK}).run()
        leave_row({**case, **steps, "each": round(many["cycles"] / BACK_TO_BACK, 1)})


class _Watch:
    """Notes the cycle of each step of a channel's descriptor."""

    def __init__(self, bench: PacedBench, direction: str) -> None:
        self._bench, self._ring = bench, _RING_IDS[direction]
        dev = [f"m_axi_{name}" for name in bench.config.dev_ports]
        ends = {"dev": dev, "host": ["m_axi_host"]}
        rules = bench.rules[direction]
        self._source, self._sink = ends[rules.source], ends[rules.sink]
        self._seen: dict[str, int] = {}
        self._doorbell = 0
        self._task = cocotb.start_soon(self._run())

    async def finish(self) -> dict[str, int]:
        """The cycles from the doorbell on, when all steps have come."""
        for _ in range(40):
            if self._seen.keys() >= STEPS.keys():
                break
            await self._bench.after(100)
        self._task.cancel()
        return {step: self._seen[step] - self._doorbell for step in STEPS}

    async def _run(self) -> None:
        # All clocks have its edges.
        edge, cycle = RisingEdge(getattr(self._bench.dut, self._bench.config.domains.core)), 0
        while True:
            await edge
            cycle += 1
            self._look(cycle)

    def _look(self, cycle: int) -> None:
        """Looks at the pins at this edge; the bench drives them after it."""
        seen, ring, data = self._seen, self._ring, "read" in self._seen
        if self._moves("s_axil_w") and "fetch" not in seen:
            self._doorbell = cycle
        if self._moves("m_axi_host_ar", ring):
            seen.setdefault("fetch", cycle)
        if self._moves("m_axi_host_r", ring):
            seen["fetched"] = cycle
        if any(self._moves(f"{port}_ar", 0) for port in self._source):
            seen.setdefault("read", cycle)
        if data and any(self._moves(f"{port}_r", 0) for port in self._source):
            seen.setdefault("first_in", cycle)
            seen["last_in"] = cycle
        # Write data have no ID: those before the address of the completion are of the tensor.
        if self._moves("m_axi_host_aw", ring):
            seen.setdefault("completion", cycle)
        if "completion" not in seen and any(self._moves(f"{port}_w") for port in self._sink):
            seen.setdefault("first_out", cycle)
            seen["last_out"] = cycle
        if any(self._moves(f"{port}_b", 0) for port in self._sink):
            seen["answered"] = cycle
        if self._moves("m_axi_host_b", ring):
            seen["completed"] = cycle
        if self._pin("irq"):
            seen.setdefault("interrupt", cycle)

    def _moves(self, channel: str, id: int | None = None) -> bool:
        moves = self._pin(f"{channel}valid") and self._pin(f"{channel}ready")
        return bool(moves) and (id is None or self._pin(f"{channel}id") == id)

    def _pin(self, name: str) -> int:
        return int(getattr(self._bench.dut, name).value)
