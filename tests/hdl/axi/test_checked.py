"""Addresses of bursts with check bits: one with a flip is put right, or noted with its checks; of two no burst begins."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Fragment, Module
from amaranth.sim import Simulator

from cdma.hdl.axi.ports import PortShape, Response
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from cdma.hdl.blocks.memories import MemoryCoding, columns

_FIRST, _BURST_BYTES = 0xA5C3_0F00, 8
#: Bits of a burst's address in memory, and of its checks.
_BEAT_BITS, _CHECKS = 30, 9


def _shape() -> PortShape:
    return PortShape(
        word_bits=8, data_bits=32, address_bits=32, burst=2, outstanding=4, buffer=16, checked="secded"
    )


class _Bench:
    """A reader or a writer with two bursts, the second of which is in a memory when its bits flip."""

    def __init__(self, dut: AxiReader | AxiWriter, queue: str) -> None:
        self.dut, self.coding = dut, MemoryCoding("secded", 16)
        module = Module()
        module.submodules.dut = dut
        self.fragment = Fragment.get(module, self.coding)
        self.pulses = self.coding.found()
        self.counted = [0, 0]
        self.found: list[int] = []
        path = ("dut", queue, "memory", "coded")
        words = self.fragment
        for name in path:
            words = words.find_subfragment(name)
        self.words = words._data

    def flip(self, ctx: Any, bits: tuple[int, ...]) -> None:
        ctx.set(self.words[1], ctx.get(self.words[1]) ^ sum(1 << bit for bit in bits))

    async def tick(self, ctx: Any) -> None:
        self.counted = [count + ctx.get(each) for count, each in zip(self.counted, self.pulses, strict=True)]
        await ctx.tick()

    def run(self, drive: Any) -> None:
        async def bench(ctx: Any) -> None:
            ctx.set(self.coding.filling, 1)
            await ctx.tick().repeat(2)
            ctx.set(self.coding.filling, 0)
            ctx.set(self.dut.command.payload.first, _FIRST)
            ctx.set(self.dut.command.payload.last, _FIRST + 2 * _BURST_BYTES - 1)
            ctx.set(self.dut.command.valid, 1)
            await drive(ctx)

        simulator = Simulator(self.fragment)
        simulator.add_clock(1e-6)
        simulator.add_testbench(bench)
        simulator.run()


@pytest.mark.parametrize(
    ("bits", "counted", "bursts"),
    [
        ((), [0, 0], 2),
        ((0,), [1, 0], 2),
        ((_BEAT_BITS - 1,), [1, 0], 2),
        ((_BEAT_BITS + _CHECKS - 1,), [1, 0], 2),
        ((3, 17), [0, 1], 1),
        ((3, _BEAT_BITS + 2), [0, 1], 1),
    ],
)
def test_a_burst_goes_to_its_address_or_nowhere(
    bits: tuple[int, ...], counted: list[int], bursts: int
) -> None:
    dut = AxiWriter(_shape())
    bench = _Bench(dut, "bursts")
    aw = dut.port.aw

    async def drive(ctx: Any) -> None:
        ctx.set(dut.port.w.ready, 1)
        ctx.set(dut.input.payload.keep, 0b1111)
        beats = 0
        for cycle in range(60):
            ctx.set(dut.input.valid, beats < 4)
            ctx.set(dut.input.payload.last, beats == 3)
            ctx.set(aw.ready, cycle > 30)
            if cycle == 25:
                bench.flip(ctx, bits)
            if ctx.get(aw.valid) and ctx.get(aw.ready):
                bench.found.append(ctx.get(aw.payload.address))
            beats += ctx.get(dut.input.valid) & ctx.get(dut.input.ready)
            if ctx.get(dut.command.ready):
                await bench.tick(ctx)
                ctx.set(dut.command.valid, 0)
            else:
                await bench.tick(ctx)

    bench.run(drive)
    assert bench.found == [_FIRST, _FIRST + _BURST_BYTES][:bursts]
    assert bench.counted == counted


@pytest.mark.parametrize("bit", [None, 0, 11, _BEAT_BITS - 2, _BEAT_BITS - 1 + _CHECKS - 1])
def test_an_address_is_noted_with_what_puts_it_right(bit: int | None) -> None:
    dut = AxiReader(_shape())
    bench = _Bench(dut, "opened")
    r = dut.port.r

    async def drive(ctx: Any) -> None:
        ctx.set(dut.port.ar.ready, 1)
        ctx.set(dut.output.ready, 1)
        for _ in range(30):
            if ctx.get(dut.command.ready):
                await ctx.tick()
                ctx.set(dut.command.valid, 0)
            else:
                await ctx.tick()
        bench.flip(ctx, () if bit is None else (bit,))
        ctx.set(r.valid, 1)
        for beat in range(4):
            ctx.set(r.payload.last, beat % 2)
            ctx.set(r.payload.resp, Response.SLVERR if beat == 3 else Response.OKAY)
            if ctx.get(dut.outcome.note):
                bench.found.append(ctx.get(dut.outcome.address) | ctx.get(dut.outcome.checks) << 64)
            await ctx.tick()

    bench.run(drive)
    [coded] = bench.found
    syndrome = 0
    for place, column in enumerate(columns(64, "secded")):
        syndrome ^= column if coded >> place & 1 else 0
    assert bool(syndrome) == (bit is not None)
    if syndrome:
        coded ^= 1 << columns(64, "secded").index(syndrome)
    assert coded % (1 << 64) == _FIRST + _BURST_BYTES + 4
