"""The fetcher: descriptors in the order of the ring, pushed ones first, each with its fault."""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Elaboratable, Module, Value
from amaranth.lib import stream, wiring

from cdma.hdl.blocks.elaboration import copies
from cdma.hdl.engine.channel.interfaces import Request
from cdma.hdl.engine.rings.fetcher import Fetcher
from cdma.hdl.engine.rings.store import DescriptorStore, shaped_bit
from cdma.hdl.spec.engine import EngineConfig
from tests.support.rings import Indexed
from tests.support.simulate import simulate

#: The memories get their address a cycle later, or not.
PIPELINED = pytest.mark.parametrize("pipelined", [False, True])


class Stored(Elaboratable):
    """A fetcher and the store that has its descriptors. It has the ports of both."""

    def __init__(self, config: EngineConfig) -> None:
        self.fetcher, self.store = Fetcher(config), DescriptorStore(config)
        self.requests = stream.Signature(Request(config.records)).create()
        self.pushed = self.fetcher.entries.pushed

    def __getattr__(self, name: str) -> Any:
        for part in (self.fetcher, self.store.requests, self.store):
            if hasattr(part, name):
                return getattr(part, name)
        raise AttributeError(name)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fetcher, store, requests = self.fetcher, self.store, self.requests
        m.submodules.fetcher, m.submodules.store = fetcher, store
        wiring.connect(m, fetcher.entries, store.ring_0)
        port = store.requests
        m.d.comb += [
            *copies(store, fetcher, "beat", "last", "word_valid", "word", "address"),
            port.reads.eq(1),
            port.chosen.eq(1),
            requests.valid.eq(port.shown),
            requests.payload.eq(port.request),
            port.taken.eq(requests.valid & requests.ready),
        ]
        if self.fetcher.shapes:
            m.d.comb += fetcher.shaped.eq(store.data[shaped_bit(fetcher.config)[1]])
        return m


def run(config: EngineConfig, body: Any) -> None:
    parts = Stored(config)
    dut = Indexed(parts, config.index_bits, parts.ask | parts.refuse)

    async def testbench(ctx: Any) -> None:
        await body(ctx, dut)

    simulate(dut, testbench)


async def ask(ctx: Any, dut: Indexed) -> None:
    await ctx.tick().until(dut.wanted)
    ctx.set(dut.ask, 1)
    await ctx.tick()
    ctx.set(dut.ask, 0)


async def arrive(ctx: Any, dut: Indexed, source: int) -> None:
    """The beats of a descriptor, in none of whose cycles another one is wanted by a ring that is disabled."""
    for part in range(dut.parts):
        ctx.set(dut.beat, 1)
        ctx.set(dut.data, source if part == 0 else 0)
        ctx.set(dut.last, part == dut.parts - 1)
        await ctx.tick()
        assert ctx.get(dut.enable) or not ctx.get(dut.wanted)
    ctx.set(dut.beat, 0)


async def fetch(ctx: Any, dut: Indexed, source: int) -> None:
    await ask(ctx, dut)
    await arrive(ctx, dut, source)


async def take(ctx: Any, dut: Indexed) -> int:
    """Takes the request in hand; the source that its descriptor says."""
    source: int = ctx.get(dut.requests.payload.descriptor.source)
    ctx.set(dut.requests.ready, 1)
    await ctx.tick()
    ctx.set(dut.requests.ready, 0)
    ctx.set(dut.checking, 0)
    return source


@PIPELINED
def test_a_push_goes_before_what_was_fetched_and_is_not_checked_yet(pipelined: bool) -> None:
    async def body(ctx: Any, dut: Indexed) -> None:
        ctx.set(dut.enable, 1)
        ctx.set(dut.tail, 3)
        for number in range(3):
            await fetch(ctx, dut, number + 1)
        await ctx.tick().until(dut.requests.valid)
        assert ctx.get(dut.requests.payload.descriptor.source) == 1
        for word in range(16):
            ctx.set(dut.word_valid, 1)
            ctx.set(dut.word, word)
            ctx.set(dut.data, sum((99 if word == 0 else 0) << 32 * lane for lane in range(8)))
            await ctx.tick()
        ctx.set(dut.word_valid, 0)
        order = []
        await ctx.tick().repeat(3)
        for _ in range(4):
            while not ctx.get(dut.requests.valid):
                await ctx.tick()
            ctx.set(dut.checking, 1)
            await ctx.tick().repeat(2)
            order.append(await take(ctx, dut))
        assert order == [99, 1, 2, 3]
        assert ctx.get(dut.head) == ctx.get(dut.moved) == 3

    run(EngineConfig(pipelined=pipelined), body)


@PIPELINED
def test_a_disabled_ring_is_forgotten_but_not_the_request_in_hand(pipelined: bool) -> None:
    async def body(ctx: Any, dut: Indexed) -> None:
        ctx.set(dut.enable, 1)
        ctx.set(dut.tail, 4)
        for source in (1, 2):
            await fetch(ctx, dut, source)
        await ask(ctx, dut)
        while not ctx.get(dut.requests.valid):
            await ctx.tick()
        ctx.set(dut.checking, 1)
        await ctx.tick()
        ctx.set(dut.enable, 0)
        kept = ctx.get(Value.cast(dut.requests.payload))
        assert ctx.get(dut.in_flight)
        # Data that had been asked for still come, and nothing more is.
        await arrive(ctx, dut, 3)
        await ctx.tick().repeat(3)
        assert not ctx.get(dut.in_flight)
        assert ctx.get(dut.requests.valid)
        assert ctx.get(Value.cast(dut.requests.payload)) == kept
        assert await take(ctx, dut) == 1
        await ctx.tick().repeat(4)
        assert not ctx.get(dut.requests.valid)
        assert (ctx.get(dut.head), ctx.get(dut.moved)) == (0, 0)

    run(EngineConfig(pipelined=pipelined), body)


@pytest.mark.parametrize("gap", [1, 2, 3])
def test_a_ring_that_is_disabled_while_its_descriptor_is_requested_begins_anew_once_that_has_come(
    gap: int,
) -> None:
    """The request follows ``wanted`` by up to two cycles; the descriptor is none of the new ring's."""

    async def body(ctx: Any, dut: Indexed) -> None:
        ctx.set(dut.enable, 1)
        ctx.set(dut.tail, 1)
        await ctx.tick().until(dut.wanted)
        ctx.set(dut.enable, 0)
        await ctx.tick()
        ctx.set(dut.ask, 1)
        ctx.set(dut.enable, gap == 1)
        await ctx.tick()
        ctx.set(dut.ask, 0)
        for cycle in range(2, 12):
            ctx.set(dut.enable, cycle >= gap)
            assert not ctx.get(dut.wanted)
            await ctx.tick()
        ctx.set(dut.beat, 1)
        for last in range(2):
            ctx.set(dut.last, last)
            await ctx.tick()
        ctx.set(dut.beat, 0)
        await ctx.tick().until(dut.wanted)
        assert (ctx.get(dut.moved), ctx.get(dut.head), ctx.get(dut.arrived)) == (0, 0, 0)

    run(EngineConfig(), body)


@PIPELINED
@pytest.mark.parametrize("falls", [0, 1, 2])
def test_a_ring_that_is_enabled_again_under_a_check_has_nothing_of_the_one_before(
    falls: int, pipelined: bool
) -> None:
    """The ring is disabled in the cycle in which the check begins, or after it; the request in hand is none of the new
    ring's, and neither is what was fetched ahead."""

    async def body(ctx: Any, dut: Indexed) -> None:
        ctx.set(dut.enable, 1)
        ctx.set(dut.tail, 3)
        for source in (1, 2, 3):
            await fetch(ctx, dut, source)
        while not ctx.get(dut.requests.valid):
            await ctx.tick()
        for cycle in range(8):
            ctx.set(dut.checking, cycle > 0)
            ctx.set(dut.enable, not falls <= cycle < falls + 3)
            ctx.set(dut.tail, 1 if cycle > falls else 3)
            await ctx.tick()
            assert cycle < falls or not ctx.get(dut.wanted), (
                "the new ring begins under the old one's descriptor"
            )
        assert await take(ctx, dut) == 1
        assert ctx.get(dut.head) == 0
        for _ in range(8):
            assert not ctx.get(dut.requests.valid), "a descriptor of the old ring comes out of the new one"
            await ctx.tick()
        await fetch(ctx, dut, 4)
        while not ctx.get(dut.requests.valid):
            await ctx.tick()
        ctx.set(dut.checking, 1)
        assert await take(ctx, dut) == 4
        for _ in range(8):
            await ctx.tick()
            assert not ctx.get(dut.requests.valid)
            assert not ctx.get(dut.wanted)
        assert not ctx.get(dut.arrived)
        assert ctx.get(dut.head) == 1

    run(EngineConfig(pipelined=pipelined), body)
