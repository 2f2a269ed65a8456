"""The cocotb side of :mod:`cdma.verif.engine.measure`: one measurement after the other."""

from __future__ import annotations

import functools

import numpy as np

from cdma.hdl.spec.records import COMPLETION, Mode, Status
from cdma.sim.codec.model import compress_words
from cdma.sim.codec.words import words_to_bytes
from cdma.sim.engine.memory import Descriptor, unpack
from cdma.verif.simulator.plan import bench_settings, leave_row

from .context import DESTINATION, SOURCE, PacedBench, engine_test
from .measurement import Measurement

__all__: list[str] = []

_paced_test = functools.partial(engine_test, kind=PacedBench)


@_paced_test
async def measure(bench: PacedBench, budget: int) -> None:
    """Measures every case of the settings, and leaves each row at once."""
    for case in bench_settings()["cases"]:
        for row in await Measurement(bench, case).run():
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

    capacity = form.bound_bytes(len(words))
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
