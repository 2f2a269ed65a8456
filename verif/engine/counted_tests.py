"""The cocotb side of a netlist that counts what its nets do: tensors out and back, and at rest."""

from __future__ import annotations

import functools

import numpy as np
from cocotb.triggers import ClockCycles

from cdma.hdl.spec.records import COMPLETION, Mode, Status
from cdma.sim.codec.headers import to_memory
from cdma.sim.codec.model import compress_words
from cdma.sim.engine.memory import Descriptor, unpack
from cdma.verif.simulator.counting import REST_CYCLES, counting
from cdma.verif.simulator.plan import bench_settings, leave_row

from .context import DESTINATION, SOURCE, PacedBench, engine_test

__all__: list[str] = []

#: Cycles of latency of both memories.
_LATENCY = 100


@functools.partial(engine_test, kind=PacedBench)
async def counted(bench: PacedBench, budget: int) -> None:
    """The words of each file out and back, each way in one descriptor, from its submission to its completion."""
    dev, host = bench.memory["dev"], bench.memory["host"]
    dev.latency = host.latency = _LATENCY
    form = bench.rules["offload"].format(Mode.ZVC, ())
    for channel in ("offload", "prefetch"):
        await bench.rings[channel].enable()

    async def move(channel: str, descriptor: Descriptor) -> None:
        ring = bench.rings[channel]
        async with counting(bench.dut):
            await ring.submit([descriptor.pack()])
            got = unpack(COMPLETION, await ring.next(limit=10000 + 4 * descriptor.length))
        assert got["status"] == Status.OK, got
        bench.transfers += 1
        leave_row({"cycles": got["cycles"]})

    for path in bench_settings()["words"]:
        words = np.load(path)
        raw, stream = (
            to_memory(words, form.word_bits),
            to_memory(compress_words(words, form), form.stream_bits),
        )
        dev.write(SOURCE, raw)
        host.write(DESTINATION, bytes(len(stream)))
        await move("offload", Descriptor(SOURCE, DESTINATION, len(raw), form.bound_bytes(len(words))))
        assert host.read(DESTINATION, len(stream)) == stream, "the stream is not the model's"
        stored = Descriptor(DESTINATION, DESTINATION, len(raw), len(raw), compressed_length=len(stream))
        await move("prefetch", stored)
        assert dev.read(DESTINATION, len(raw)) == raw, "what came back is not the tensor"
        bench.checks += 2
    async with counting(bench.dut):
        await ClockCycles(bench.dut.aclk, REST_CYCLES)
