"""The short runs of the engine that :mod:`cdma.verif.engine.wave` draws."""

from __future__ import annotations

import numpy as np
from cocotb.triggers import RisingEdge
from cocotbext.axi import AxiResp

from cdma.hdl.spec.records import COMPLETION, Mode, Status
from cdma.sim.codec.model import windows_of
from cdma.sim.codec.words import stream_from_bytes, word_dtype, words_to_bytes
from cdma.sim.engine.memory import unpack
from cdma.verif.simulator.plan import bench_settings

from .context import engine_test
from .ring import RingBench
from .transfer import random_numbers

_WORDS = 48


@engine_test
async def descriptor(bench: RingBench, budget: int) -> None:
    """An offload, from the doorbell over the fetch of its descriptor to its completion and the interrupt."""
    await bench.poke("offload.irq_enable", completion=1)
    await bench.rings["offload"].enable()
    await bench.run("offload", [bench.transfer("offload", _WORDS, mode=Mode.ZVC, interrupt=1)])
    await bench.after(10)
    assert int(bench.dut.irq.value), "no interrupt"


@engine_test
async def error(bench: RingBench, budget: int) -> None:
    """An offload one of whose reads is answered SLVERR, and the next descriptor, which is unharmed."""
    ring = bench.rings["offload"]
    await ring.enable()
    bad, good = (bench.transfer("offload", _WORDS // 2, mode=Mode.RAW) for _ in range(2))
    bench.memory["dev"].spoil({bad.descriptor["source"] + 40: AxiResp.SLVERR})
    await ring.submit([bad.record(), good.record()])
    got = unpack(COMPLETION, await ring.next())
    assert got["status"] == Status.READ_SLVERR, got
    bench.check("offload", good, await ring.next())


@engine_test
async def corrupt(bench: RingBench, budget: int) -> None:
    """A prefetch of a stream whose second header has a bit too many, and the next descriptor, which is unharmed."""
    ring, form = bench.rings["prefetch"], bench.config.format
    await ring.enable()
    raw = np.zeros(2 * form.window, word_dtype(form))
    raw[::3] = np.arange(1, len(raw[::3]) + 1)
    good = bench.transfer("prefetch", 0, mode=Mode.ZVC, raw=words_to_bytes(raw))
    stream = bytearray(good.source)
    (_, second) = windows_of(stream_from_bytes(stream, form), len(raw), form)
    # The second word of the window is 0, so its bit is not set.
    stream[second.start * form.stream_bits // 8] |= 1 << form.code_bits * next(
        word for word in range(8) if not raw[form.window + word]
    )
    bad = bench.transfer("prefetch", 0, mode=Mode.ZVC, raw=words_to_bytes(raw), stream=bytes(stream))
    await bench.run("prefetch", [bad, good])
    assert bad.completion["status"] == Status.STREAM_TRUNCATED, bad.completion


@engine_test
async def tensor(bench: RingBench, budget: int) -> None:
    """A tensor of the caller's to host memory and back, each at full speed."""
    words = np.load(bench_settings()["words"])
    for channel in ("offload", "prefetch"):
        await bench.rings[channel].enable()
        await bench.run(channel, [bench.transfer(channel, 0, mode=Mode.ZVC, raw=words_to_bytes(words))])


@engine_test
async def abort(bench: RingBench, budget: int) -> None:
    """An abort at the first write burst of a prefetch: transactions in flight end, then the completion has ABORTED."""
    ring = bench.rings["prefetch"]
    await ring.enable()
    made = bench.transfer("prefetch", 6 * _WORDS, mode=Mode.RAW)
    await ring.submit([made.record()])
    (first, *_) = bench.config.dev_ports
    await RisingEdge(getattr(bench.dut, f"m_axi_{first}_awvalid"))
    await bench.poke("prefetch.command", abort_now=1)
    got = unpack(COMPLETION, await ring.next())
    assert got["status"] == Status.ABORTED, got
    bench.check_memory("prefetch", made, exact=False)
    bench.transfers += 1


@engine_test
async def lossy(bench: RingBench, budget: int) -> None:
    """Numbers with a step, out and back: some of them are not within the bound, which the completion of the offload says."""
    form = bench.config.quantisation
    assert form is not None
    step = form.step(0)
    raw = random_numbers(bench.np, 2 * _WORDS, bench.config, step, beyond=0.1)
    for channel in ("offload", "prefetch"):
        await bench.rings[channel].enable()
        await bench.run(channel, [bench.transfer(channel, 0, mode=Mode.ZVC, raw=raw, step=step)])


@engine_test
async def pieces(bench: RingBench, budget: int) -> None:
    """An offload of two stripes of each unit and a little more, the first of them denser than the others."""
    config = bench.config
    await bench.rings["offload"].enable()
    stripe = config.stripe_bytes * 8 // config.format.word_bits
    words = np.zeros((2 * config.units + 1) * stripe, word_dtype(config.format))
    words[::4] = 1
    words[:stripe] = 1
    made = bench.transfer("offload", len(words), mode=Mode.ZVC, raw=words_to_bytes(words))
    await bench.run("offload", [made])
