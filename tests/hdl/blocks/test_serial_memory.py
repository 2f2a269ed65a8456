"""A memory whose words are checked a part per cycle: what is written is read, flips are put right or found."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from amaranth.hdl import Fragment, Module
from amaranth.sim import Simulator

from cdma.hdl.blocks.memories import MemoryCoding, PlainMemories
from cdma.hdl.blocks.serial_memory import SerialMemory

_DEPTH, _PARTS, _BITS = 4, 5, 8
_STEP = 13
_WORD = 0x123456789A


class _Bench:
    """A memory, and what its user reads."""

    def __init__(self, coding: PlainMemories | None = None) -> None:
        self.coding = coding or MemoryCoding("secded", _DEPTH)
        self.dut = SerialMemory(_BITS, _PARTS, _DEPTH)
        module = Module()
        module.submodules.memory = self.dut
        self.fragment = Fragment.get(module, self.coding)
        self.pulses = self.coding.found()
        self.counted = [0, 0]

    def run(self, bench: Any) -> None:
        async def filled(ctx: Any) -> None:
            if isinstance(self.coding, MemoryCoding):
                ctx.set(self.coding.filling, 1)
                for place in range(_DEPTH):
                    ctx.set(self.coding.place, place)
                    await ctx.tick()
                ctx.set(self.coding.filling, 0)
            await bench(ctx)

        simulator = Simulator(self.fragment)
        simulator.add_clock(1e-6)
        simulator.add_testbench(filled)
        simulator.run()

    async def tick(self, ctx: Any) -> None:
        self.counted = [
            count + ctx.get(pulse) for count, pulse in zip(self.counted, self.pulses, strict=True)
        ]
        await ctx.tick()

    async def write(self, ctx: Any, at: int, word: int, enable: int = (1 << _PARTS) - 1) -> None:
        ctx.set(self.dut.at, at)
        ctx.set(self.dut.data, word)
        ctx.set(self.dut.enable, enable)
        await self.tick(ctx)
        ctx.set(self.dut.enable, 0)

    async def flip(self, ctx: Any, at: int, *bits: int) -> None:
        words = self.fragment.find_subfragment("memory").find_subfragment("coded")._data
        ctx.set(words[at], ctx.get(words[at]) ^ sum(1 << bit for bit in bits))

    async def read(self, ctx: Any, at: int, busy: int = 0) -> tuple[int, int, int]:
        """The word, whether it is lost, and the cycles that the check took; for ``busy`` cycles another word is written."""
        ctx.set(self.dut.stays, 0)
        ctx.set(self.dut.of, at)
        await self.tick(ctx)
        ctx.set(self.dut.stays, 1)
        cycles = 0
        while not ctx.get(self.dut.checked):
            ctx.set(self.dut.at, at ^ 1)
            ctx.set(self.dut.enable, int(cycles < busy))
            await self.tick(ctx)
            cycles += 1
            assert cycles < 100
        found = ctx.get(self.dut.word), ctx.get(self.dut.lost), cycles
        ctx.set(self.dut.enable, 0)
        ctx.set(self.dut.stays, 0)
        await self.tick(ctx)
        return found


def test_every_flip_is_put_right_and_stays_right() -> None:
    bench = _Bench()

    async def drive(ctx: Any) -> None:
        for number, bit in enumerate(range(_PARTS * _STEP)):
            await bench.write(ctx, 2, _WORD)
            assert await bench.read(ctx, 2) == (_WORD, 0, _PARTS + 1)
            await bench.flip(ctx, 2, bit)
            word, lost, _ = await bench.read(ctx, 2, busy=number % 9)
            assert (word, lost) == (_WORD, 0)
            assert bench.counted == [number + 1, 0]
            assert await bench.read(ctx, 2) == (_WORD, 0, _PARTS + 1)

    bench.run(drive)


def test_flips_of_several_parts_are_put_right_and_two_of_one_are_lost() -> None:
    bench = _Bench()

    async def drive(ctx: Any) -> None:
        await bench.write(ctx, 1, _WORD)
        await bench.flip(ctx, 1, 0, _STEP, 3 * _STEP + 7)
        assert (await bench.read(ctx, 1))[:2] == (_WORD, 0)
        for number, bits in enumerate(combinations(range(_STEP, 2 * _STEP), 2)):
            await bench.write(ctx, 1, _WORD)
            # Beside a part that is corrected, too.
            await bench.flip(ctx, 1, *bits, *([5] if number % 2 else []))
            assert (await bench.read(ctx, 1))[1]
            assert bench.counted[1] == number + 1

    bench.run(drive)


def test_with_parity_a_flip_of_any_part_is_a_lost_word() -> None:
    bench = _Bench(MemoryCoding("parity", _DEPTH))

    async def drive(ctx: Any) -> None:
        for bit in range(_PARTS * (_BITS + 1)):
            await bench.write(ctx, 1, _WORD)
            await bench.flip(ctx, 1, bit)
            _, lost, _ = await bench.read(ctx, 1)
            assert lost, bit
        assert bench.counted == [0, _PARTS * (_BITS + 1)]
        await bench.write(ctx, 1, _WORD)
        assert (await bench.read(ctx, 1))[:2] == (_WORD, 0)

    bench.run(drive)


def test_a_broken_bit_ends_in_a_lost_word() -> None:
    bench = _Bench()

    async def drive(ctx: Any) -> None:
        await bench.write(ctx, 3, _WORD)
        await bench.flip(ctx, 3, 4)
        words = bench.fragment.find_subfragment("memory").find_subfragment("coded")._data
        broken = ctx.get(words[3])
        ctx.set(bench.dut.of, 3)
        await bench.tick(ctx)
        ctx.set(bench.dut.stays, 1)
        for _ in range(40):
            ctx.set(words[3], broken)
            await bench.tick(ctx)
        assert ctx.get(bench.dut.checked)
        assert ctx.get(bench.dut.lost)
        assert bench.counted == [3, 1]

    bench.run(drive)


@pytest.mark.parametrize(
    "coding", [PlainMemories(), MemoryCoding("secded", _DEPTH, _DEPTH * _PARTS * _BITS + 1)]
)
def test_without_checks_words_are_there_at_once(coding: PlainMemories) -> None:
    bench = _Bench(coding=coding)

    async def drive(ctx: Any) -> None:
        await bench.write(ctx, 1, _WORD)
        await bench.write(ctx, 1, 0xFF << 8, enable=0b10)
        assert await bench.read(ctx, 1) == (_WORD & ~0xFF00 | 0xFF00, 0, 0)

    bench.run(drive)
