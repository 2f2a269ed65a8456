"""Pages of host memory on their way to a writer."""

from __future__ import annotations

from typing import Any

from cdma.hdl.engine.pages.feed import PageFeed
from cdma.hdl.spec.pages import LEAST_PAGED_BITS, MOST_PAGED, PAGE_BYTES, packed_pages
from tests.support.axi_bench import AxiMemory
from tests.support.handshake import send, take
from tests.support.simulate import simulate

_LATENCY = 20
#: Entries of a read of a list.
_READ = 8
#: Of so many pages each packet has data; the others are passed over.
_MOVED = [1, 2, 7, 30, *range(8, 26), 1]


def test_pages_that_are_not_needed_hold_nobody_up() -> None:
    """The next packet's pages come after what is in flight of the list before, and their own list."""
    dut = PageFeed(128, LEAST_PAGED_BITS, 32)
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
            assert len(memory.asked) - asked <= moved // _READ + 3
            asked = len(memory.asked)

    simulate(dut, give, follow, background=memory.answer)
    assert memory.rules.idle
