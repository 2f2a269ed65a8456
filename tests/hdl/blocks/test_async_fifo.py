"""A FIFO between two clocks of any ratio, with jitter, which stop, and synchronisers that see changes early or late.

The proofs have a small one for every input.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from cdma.hdl.blocks.async_fifo import AsyncFifo
from cdma.verif.proofs.free_clocks import FreeClocks
from tests.support.simulate import simulate

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
