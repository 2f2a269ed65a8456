"""Pages of host memory on their way to a writer."""

from __future__ import annotations

import random
from typing import Any

import pytest
from cocotbext.axi import AxiResp

from cdma.hdl.axi.ports import Response
from cdma.hdl.engine.pages.feed import PageFeed
from cdma.hdl.spec.options import ENTRY_BYTES, LEAST_PAGED_BITS, MOST_PAGED, PAGE_BYTES, packed_pages
from tests.support.axi_bench import AxiMemory
from tests.support.simulate import simulate
from tests.support.stimuli import send, take

_LATENCY = 20
#: Beats of a read of a list.
_READ = 4
#: Of so many pages each packet has data; the others are passed over.
_MOVED = [1, 2, 7, 30, *range(8, 26), 1]


@pytest.mark.parametrize("bits", [64, 128, 256])
def test_pages_that_are_not_needed_hold_nobody_up(bits: int) -> None:
    """The next packet's pages come after what is in flight of the list before, and their own list."""
    dut, entries = PageFeed(bits, LEAST_PAGED_BITS, 32), _READ * bits // 64
    memory = AxiMemory(read=dut.port, latency=_LATENCY, longest=4, outstanding=2)
    pages = list(range(PAGE_BYTES, MOST_PAGED, PAGE_BYTES))
    lists = [pages, pages[::-1]]
    for number, listed in enumerate(lists, 1):
        memory.write(number * PAGE_BYTES, packed_pages(listed))

    async def give(ctx: Any) -> None:
        ctx.set(dut.window.limit, (1 << 32) - 1)
        for number in range(len(_MOVED)):
            await send(ctx, dut.input, {"first": 0, "last": MOST_PAGED - 1, "pages": 1 + number % 2})

    async def pass_over(ctx: Any) -> None:
        """As a writer does, which has a page on its way for two cycles."""
        more = 1
        while more:
            await ctx.tick().repeat(2)
            ctx.set(dut.skip, 1)
            more = (await take(ctx, dut.command)).more
            ctx.set(dut.skip, 0)

    async def follow(ctx: Any) -> None:
        begun = asked = 0
        for number, moved in enumerate(_MOVED):
            found = [await take(ctx, dut.command) for _ in range(moved)]
            assert [command.first for command in found] == [0, *lists[number % 2]][:moved]
            assert memory.cycle - begun < 2 * _LATENCY + 25 + 10 * moved
            begun = memory.cycle
            await pass_over(ctx)
            assert len(memory.asked) - asked <= moved // entries + 3
            asked = len(memory.asked)

    simulate(dut, give, follow, background=memory.answer)
    assert memory.rules.idle


def test_a_fault_is_of_its_own_packet_whenever_that_is_written() -> None:
    """The data of some packets end in their first page, and may be written before the rest of the pages is passed over;
    those of others need a page that is none."""
    rng = random.Random(5)
    dut = PageFeed(128, LEAST_PAGED_BITS, 4)
    memory = AxiMemory(read=dut.port)
    none = 0x4008
    for page, second in ((1, 0x4000), (2, none)):
        memory.write(page * PAGE_BYTES, packed_pages([0x3000, second]))
    #: Whether a packet needs the page that is none, and the cycles from the end of its data to its last response.
    packets = [(rng.random() < 0.5, rng.randrange(24)) for _ in range(60)]
    ended: list[bool] = []

    async def give(ctx: Any) -> None:
        ctx.set(dut.window.limit, (1 << 32) - 1)
        for needs, _ in packets:
            await send(ctx, dut.input, {"first": 0, "last": 3 * PAGE_BYTES - 1, "pages": 1 + needs})

    async def follow(ctx: Any) -> None:
        for needs, _ in packets:
            more = (await take(ctx, dut.command)).more
            if not needs:
                ended.append(needs)
                # As a writer does, which has bursts on their way that have been cut.
                await ctx.tick().repeat(rng.randint(1, 12))
            while more:
                ctx.set(dut.skip, not needs)
                more = (await take(ctx, dut.command)).more
                ctx.set(dut.skip, 0)
            if needs:
                ended.append(needs)

    async def respond(ctx: Any) -> None:
        for number, (needs, wait) in enumerate(packets):
            while len(ended) <= number:
                await ctx.tick()
            await ctx.tick().repeat(4 + wait)
            ctx.set(dut.given.done, 1)
            ctx.set(dut.lost, needs)
            found = ctx.get(dut.outcome.resp), ctx.get(dut.outcome.address)
            assert found == ((Response.DECERR, none) if needs else (Response.OKAY, 0)), number
            await ctx.tick()
            ctx.set(dut.given.done, 0)

    simulate(dut, give, follow, respond, background=memory.answer)
    # The two entries that are needed are a beat, and no more is read.
    assert memory.asked
    assert all(beats == 1 for _, beats in memory.asked)


@pytest.mark.parametrize("response", [AxiResp.SLVERR, AxiResp.DECERR])
def test_pages_end_with_the_first_entry_that_cannot_be_read(response: AxiResp) -> None:
    """Also where entries after it are in the buffer before it is looked at, of the same read and of the next."""
    dut = PageFeed(64, LEAST_PAGED_BITS, 4)
    memory = AxiMemory(read=dut.port)
    pages = [0x2000 + PAGE_BYTES * number for number in range(6)]
    memory.write(PAGE_BYTES, packed_pages(pages))

    places = [PAGE_BYTES + ENTRY_BYTES * number for number in range(len(pages))]

    async def give(ctx: Any) -> None:
        ctx.set(dut.window.limit, (1 << 32) - 1)
        for at in places:
            memory.spoil({at: response})
            await send(ctx, dut.input, {"first": 0, "last": 7 * PAGE_BYTES - 1, "pages": 1})
            memory.mend(at)

    async def follow(ctx: Any) -> None:
        ctx.set(dut.lost, 1)
        for bad, at in enumerate(places):
            found, more = [], 1
            while more:
                await ctx.tick().repeat(30)
                command = await take(ctx, dut.command)
                found.append(command.first)
                more = command.more
            assert found == [0, *pages[:bad]]
            await ctx.tick().repeat(4)
            ctx.set(dut.given.done, 1)
            assert (int(ctx.get(dut.outcome.resp).value), ctx.get(dut.outcome.address)) == (response, at)
            await ctx.tick()
            ctx.set(dut.given.done, 0)

    simulate(dut, give, follow, background=memory.answer)
