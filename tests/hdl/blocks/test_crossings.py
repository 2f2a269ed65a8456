"""A part that is reset with a flip-flop of its own, and one that is not.

A FIFO between two clocks of any ratio, with jitter, which stop, and synchronisers that see changes early or late.

The proofs have a small one for every input.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from amaranth.hdl import ClockDomain, ClockSignal, Elaboratable, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.clocks import PLAIN_CLOCK, AsyncFifo, StagedResets
from cdma.verif.proofs.bench import FreeClocks
from tests.support.simulate import cells_of, simulate

DEPTH = 8

#: Whether the writer's clock has an edge in a step, and the reader's.
CLOCKS: dict[str, Callable[[random.Random, int], tuple[bool, bool]]] = {
    "the same": lambda source, step: (step % 3 == 0, step % 3 == 0),
    "of one frequency": lambda source, step: (step % 4 == 0, step % 4 == 1),
    "faster writer": lambda source, step: (True, step % 4 == 0),
    "faster reader": lambda source, step: (step % 3 == 0, True),
    "with jitter": lambda source, step: (source.random() < 0.3, source.random() < 0.4),
    "that stop": lambda source, step: (step // 90 % 2 == 0, step // 70 % 3 > 0),
}


def _run(
    name: str, steps: int, write: Callable[[], bool], read: Callable[[], bool], late: bool | None
) -> tuple[list[int], list[tuple[int, int]], dict[str, int]]:
    """What went in, what came out with the edges of the reader in between, and the edges of both clocks."""
    clocks = FreeClocks("write", "read")
    fifo = AsyncFifo(16, DEPTH)
    dut = clocks.built(fifo)
    source = random.Random(name)
    came: list[int] = []
    left: list[tuple[int, int]] = []
    edges = {"write": 0, "read": 0}
    entered: list[int] = []

    async def bench(ctx: Any) -> None:
        for step in range(steps):
            ticks = dict(zip(edges, CLOCKS[name](source, step), strict=True))
            for domain, tick in ticks.items():
                ctx.set(clocks.ticks[domain], tick)
            for signal in clocks.late:
                ctx.set(signal, source.getrandbits(len(signal)) if late is None else -late)
            payload = source.getrandbits(16)
            ctx.set(fifo.input.payload, payload)
            ctx.set(fifo.input.valid, write())
            ctx.set(fifo.output.ready, read())
            if ticks["read"] and ctx.get(fifo.output.valid & fifo.output.ready):
                left.append((ctx.get(fifo.output.payload), edges["read"] - entered[len(left)]))
            if ticks["write"] and ctx.get(fifo.input.valid & fifo.input.ready):
                came.append(payload)
                entered.append(edges["read"] + ticks["read"])
            for domain, tick in ticks.items():
                edges[domain] += tick
            await ctx.tick()

    simulate(dut, bench)
    return came, left, edges


@pytest.mark.parametrize("name", CLOCKS)
def test_entries_come_out_as_they_went_in(name: str) -> None:
    source = random.Random(repr(name))
    shares = [source.choice((0.2, 0.6, 1.0)) for _ in range(2)]
    come, leave = ((lambda share=share: source.random() < share) for share in shares)
    came, left, _ = _run(name, 1200, come, leave, None)
    assert len(left) > 20
    assert [payload for payload, _ in left] == came[: len(left)]
    assert len(came) - len(left) <= DEPTH + 1


@pytest.mark.parametrize("name", ["the same", "of one frequency", "faster writer", "faster reader"])
@pytest.mark.parametrize("late", [False, True])
def test_the_slower_clock_has_a_transfer_in_each_cycle(name: str, late: bool) -> None:
    _, left, edges = _run(name, 600, lambda: True, lambda: True, late)
    assert len(left) >= min(edges.values()) - 7


@pytest.mark.parametrize("late", [False, True])
def test_an_entry_comes_out_at_the_edge_that_is_promised(late: bool) -> None:
    """It is offered from the third edge after that of the writer on, or from the fourth; the next one takes it."""
    _, left, _ = _run("faster reader", 400, lambda: True, lambda: True, late)
    assert {edges for _, edges in left[5:]} == {4 if late else 3}


class _Count(wiring.Component):
    """Counts cycles since its reset."""

    def __init__(self) -> None:
        super().__init__({"count": Out(8)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.d.sync += self.count.eq(self.count + 1)
        return m


class _Around(Elaboratable):
    def __init__(self, own: bool) -> None:
        self.own = own
        self.clear = Signal()
        self.part = _Count()
        self.beside = _Count()
        self.domain = ClockDomain("sync")

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.domains.sync = self.domain
        clocking = StagedResets(self.domain.clk) if self.own else PLAIN_CLOCK
        m.submodules.part = clocking.cleared(m, "own", self.part, self.clear)
        m.submodules.beside = self.beside
        return m


@pytest.mark.parametrize("own", [False, True])
def test_when_a_part_is_reset(own: bool) -> None:
    dut = _Around(own)

    async def check(ctx: Any) -> None:
        await ctx.tick().repeat(5)
        ctx.set(dut.clear, 1)
        counts = []
        for _ in range(5):
            await ctx.tick()
            ctx.set(dut.clear, 0)
            counts.append(ctx.get(dut.part.count))
        # With its own flip-flop it begins a cycle later and ends two later, here and after the reset of all.
        assert counts == ([4, 0, 0, 1, 2] if own else [0, 1, 2, 3, 4])
        assert ctx.get(dut.beside.count) == 10
        ctx.set(dut.domain.rst, 1)
        await ctx.tick()
        ctx.set(dut.domain.rst, 0)
        await ctx.tick().repeat(4)
        assert ctx.get(dut.beside.count) == 4
        assert ctx.get(dut.part.count) == (2 if own else 4)

    simulate(dut, check)


class _Two(wiring.Component):
    """Two parts, which are reset by the same."""

    def __init__(self) -> None:
        super().__init__({"clear": In(1), "counts": Out(8).array(2)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for index, name in enumerate(("first", "second")):
            part = _Count()
            clock = Signal()
            m.d.comb += [clock.eq(ClockSignal()), self.counts[index].eq(part.count)]
            m.submodules[name] = StagedResets(clock).cleared(m, name, part, self.clear)
        return m


def test_synthesis_for_an_fpga_keeps_a_flip_flop_for_each_part() -> None:
    flip_flops = [cell for cell in cells_of(_Two()) if cell["type"] == "TRELLIS_FF"]
    by_reset = Counter(tuple(cell["connections"]["LSR"]) for cell in flip_flops)
    # Two counts of eight bits, each with its reset, and the flip-flops of those.
    assert sorted(by_reset.values())[-2:] == [8, 8], by_reset
