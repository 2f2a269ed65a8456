"""Codes of words in memories: their columns for every width that engines have, and a coded memory in simulation, with every
bit and every two bits of a word flipped.
"""

from __future__ import annotations

from itertools import combinations

import pytest
from amaranth.hdl import Fragment, Module
from amaranth.lib.memory import Memory
from amaranth.sim import Simulator

from cdma.hdl.blocks.memories import MemoryCoding, columns
from cdma.hdl.blocks.queues import Fifo, MemoryQueue

#: From a bit to the words of a buffer with ports of 1024 bits.
_WIDTHS = (*range(1, 17), 24, 32, 33, 64, 80, 146, 289)


@pytest.mark.parametrize("bits", _WIDTHS)
def test_no_two_flips_look_like_one_or_none(bits: int) -> None:
    every = columns(bits, "secded")
    assert len(set(every)) == len(every)
    assert all(column.bit_count() % 2 for column in every)
    assert columns(bits, "parity") == (1,) * (bits + 1)


def test_checks_are_few() -> None:
    assert [len(columns(bits, "secded")) - bits for bits in (1, 8, 32, 64, 128, 289)] == [3, 5, 7, 9, 10, 11]
    assert len(columns(289, "parity")) == 290


_DEPTH, _BITS = 8, 8


class _Bench:
    """A memory of bytes with a coding around it, and the words that lie in it."""

    def __init__(self, code: str, kind: type[Memory]) -> None:
        self.coding = MemoryCoding(code, _DEPTH)
        self.memory = kind(shape=_BITS, depth=_DEPTH, init=[])
        self.write, self.read = self.memory.write_port(), self.memory.read_port(domain="sync")
        self.line = self.coding.line(self.memory)

    def run(self, flips: tuple[tuple[int, ...], ...]) -> list[tuple[int, int, int, int]]:
        """Writes a word and flips bits of it, one set after the other; what is read, and the three signals then."""
        module = Module()
        module.submodules.memory = self.memory
        fragment = Fragment.get(module, self.coding)
        words = fragment.find_subfragment("memory").find_subfragment("coded")._data
        pulses = self.coding.found()
        found = []

        async def bench(ctx: object) -> None:
            ctx.set(self.coding.filling, 1)
            for place in range(_DEPTH):
                ctx.set(self.coding.place, place)
                await ctx.tick()
            ctx.set(self.coding.filling, 0)
            for number, bits in enumerate(flips):
                word, place = (37 * number + 5) & 0xFF, 1 + number % (_DEPTH - 1)
                ctx.set(self.write.addr, place)
                ctx.set(self.write.data, word)
                ctx.set(self.write.en, 1)
                ctx.set(self.read.addr, 0)
                ctx.set(self.read.en, 1)
                await ctx.tick()
                ctx.set(self.write.en, 0)
                for bit in bits:
                    ctx.set(words[place], ctx.get(words[place]) ^ 1 << bit)
                ctx.set(self.read.addr, place)
                await ctx.tick()
                ctx.set(self.read.en, 0)
                seen = [ctx.get(each) for each in (*pulses, self.line)]
                found.append((ctx.get(self.read.data) ^ word, *seen))
                await ctx.tick()
                # A word that stays is not found again.
                assert not any(ctx.get(each) for each in pulses)
                assert ctx.get(self.line) == seen[2]

        simulator = Simulator(fragment)
        simulator.add_clock(1e-6)
        simulator.add_testbench(bench)
        simulator.run()
        return found


def test_a_bit_is_put_right_and_two_are_found() -> None:
    every = len(columns(_BITS, "secded"))
    assert _Bench("secded", Memory).run(((),)) == [(0, 0, 0, 0)]
    ones = tuple((bit,) for bit in range(every))
    assert _Bench("secded", Memory).run(ones) == [(0, 1, 0, 0)] * every
    twos = tuple(combinations(range(every), 2))
    assert {seen[1:] for seen in _Bench("secded", Memory).run(twos)} == {(0, 1, 1)}


def test_parity_finds_a_bit() -> None:
    found = _Bench("parity", Memory).run(tuple((bit,) for bit in range(_BITS + 1)))
    assert {each[1:] for each in found} == {(0, 1, 1)}


def test_small_memories_are_flip_flops() -> None:
    coding = MemoryCoding("secded", _DEPTH, smallest=8 * 8 + 1)
    memory = Memory(shape=8, depth=8, init=[])
    Fragment.get(memory, coding)
    assert memory.attrs == {"ram_style": "registers"}
    assert len(coding.found().lost.operands[0]) == 0


@pytest.mark.parametrize(
    "queue",
    [Fifo(_BITS, _DEPTH), Fifo(_BITS, _DEPTH, pipelined=True), MemoryQueue(_BITS, _DEPTH)],
    ids=["FIFO", "FIFO in block RAM", "memory queue"],
)
def test_a_queue_reads_no_word_that_nobody_put_in(queue: Fifo | MemoryQueue) -> None:
    """All of its words are lost, and each entry makes one of them right."""
    coding = MemoryCoding("secded", _DEPTH)
    fragment = Fragment.get(queue, coding)
    words = fragment.find_subfragment("memory").find_subfragment("coded")._data
    lost = coding.found().lost

    async def bench(ctx: object) -> None:
        for word in words:
            ctx.set(word, 0b11)
        ctx.set(queue.output.ready, 1)
        for cycle in range(10 * _DEPTH):
            # As many as there are words, at last.
            ctx.set(queue.input.valid, cycle % 10 == 0)
            ctx.set(queue.input.payload, cycle)
            assert not ctx.get(lost), f"cycle {cycle}"
            await ctx.tick()

    simulator = Simulator(fragment)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
