"""The sequencer of the rings: which job it takes, how it counts the words, and how a job ends. The slot of a record has a
proof (`ring_slot`).
"""

from __future__ import annotations

from typing import Any

import pytest
from amaranth.hdl import Module, Signal

from cdma.hdl.engine.rings.messages import RECORD_WORDS, Cause, Job, Wish
from cdma.hdl.engine.rings.slot import Sequencer
from tests.support.simulate import simulate


class _Bench:
    """A sequencer in a module of its own; a job is over when the test says so."""

    def __init__(self, queues: int = 2) -> None:
        self.sequencer = Sequencer(queues.bit_length(), queues)
        self.wishes = [Signal(Wish, name=f"wish_{queue}") for queue in range(queues)]
        self.logged = Signal(queues)
        self.moving = Signal()
        self.wanted = Signal(init=1)
        self.refused = Signal()
        self.holds = Signal()
        self.module = m = Module()
        wishes = [wish.as_value() for wish in self.wishes]
        self.sequencer.take(m, wishes, self.logged.bit_select(self.sequencer.queue, 1), self.moving)
        self.sequencer.step(m)
        m.d.comb += self.holds.eq(self.sequencer.holds(m, self.wanted))
        self.sequencer.end(m, self.refused)

    def wish(self, ctx: Any, queue: int, job: Job | None, cause: Cause = Cause.OWN) -> None:
        wish = {"valid": 0} if job is None else {"valid": 1, "job": job, "cause": cause}
        ctx.set(self.wishes[queue], wish)

    async def end(self, ctx: Any) -> bool:
        """Ends the job in hand; whether it was wanted all the time."""
        ctx.set(self.sequencer.ends, 1)
        holds = bool(ctx.get(self.holds))
        await ctx.tick()
        assert ctx.get(self.sequencer.over)
        assert not ctx.get(self.holds)
        await ctx.tick()
        assert not ctx.get(self.sequencer.over)
        ctx.set(self.sequencer.ends, 0)
        return holds


@pytest.mark.parametrize(
    ("queues", "wishing", "expected"),
    [
        (2, (0, 1), [0, 1, 0, 1]),
        (2, (0,), [0, 0, 0, 0]),
        (2, (1,), [1, 1, 1, 1]),
        (6, (1, 2, 3, 5), [1, 2, 3, 5, 1, 2, 3, 5]),
        (10, (0, 9), [0, 9, 0, 9]),
    ],
)
def test_takes_the_queues_in_turn(queues: int, wishing: tuple[int, ...], expected: list[int]) -> None:
    """The first one goes after queue 0 in any case."""
    bench = _Bench(queues)
    taken: list[int] = []

    async def drive(ctx: Any) -> None:
        for queue in wishing:
            bench.wish(ctx, queue, (Job.FETCH, Job.SEND)[queue % 2])
        for _ in range(len(expected) + 1):
            await ctx.tick().until(bench.sequencer.busy)
            queue = ctx.get(bench.sequencer.queue)
            assert ctx.get(bench.sequencer.is_[(Job.FETCH, Job.SEND)[queue % 2]])
            taken.append(queue)
            await bench.end(ctx)

    simulate(bench.module, drive)
    first = taken.index(expected[0])
    assert taken[first : first + len(expected)] == expected


@pytest.mark.parametrize("cycles", range(1, 5))
def test_a_wish_that_is_gone_comes_to_nothing(cycles: int) -> None:
    """Whether its turn has come by then or not; once its job is in hand, that goes on."""
    bench = _Bench()

    async def drive(ctx: Any) -> None:
        bench.wish(ctx, 0, Job.SEND)
        await ctx.tick().repeat(cycles)
        bench.wish(ctx, 0, None)
        await ctx.tick().repeat(4)
        begun = cycles >= 3
        assert ctx.get(bench.sequencer.is_[Job.SEND]) == begun
        assert ctx.get(bench.sequencer.busy)
        assert await bench.end(ctx) == begun
        for _ in range(5):
            assert not ctx.get(bench.sequencer.busy)
            await ctx.tick()

    simulate(bench.module, drive)


def test_no_job_begins_while_an_index_moves() -> None:
    bench = _Bench()

    async def drive(ctx: Any) -> None:
        ctx.set(bench.moving, 1)
        bench.wish(ctx, 0, Job.SEND)
        for _ in range(10):
            await ctx.tick()
            assert not ctx.get(bench.sequencer.busy)
        ctx.set(bench.moving, 0)
        await ctx.tick().until(bench.sequencer.busy)

    simulate(bench.module, drive)


@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize("wanted_last", [0, 1])
def test_a_job_of_another_queue_follows_at_once(wanted_last: int, refused: bool) -> None:
    """With a record of its own; what becomes of the ring of the job before does not touch it. Not if that job has become
    another one."""
    bench = _Bench()

    async def drive(ctx: Any) -> None:
        sequencer = bench.sequencer
        bench.wish(ctx, 0, Job.SEND)
        await ctx.tick().until(sequencer.busy)
        bench.wish(ctx, 1, Job.FETCH)
        ctx.set(sequencer.advance, 1)
        await ctx.tick().repeat(RECORD_WORDS)
        ctx.set(sequencer.advance, 0)
        ctx.set(sequencer.ends, 1)
        await ctx.tick()
        ctx.set(sequencer.ends, 0)
        bench.wish(ctx, 0, None)
        ctx.set(bench.wanted, wanted_last)
        ctx.set(bench.refused, refused)
        assert ctx.get(sequencer.over)
        assert ctx.get(sequencer.begins) != refused
        if refused:
            await ctx.tick()
            ctx.set(bench.refused, 0)
            assert ctx.get(sequencer.by[Cause.REFUSED])
            await bench.end(ctx)
        else:
            await ctx.tick()
        ctx.set(bench.wanted, 1)
        assert (ctx.get(sequencer.busy), ctx.get(sequencer.fresh)) == (1, 1)
        assert (ctx.get(sequencer.queue), ctx.get(sequencer.is_[Job.FETCH])) == (1, 1)
        assert not ctx.get(sequencer.is_[Job.SEND])
        assert (ctx.get(sequencer.word), ctx.get(sequencer.copied)) == (0, 0)
        bench.wish(ctx, 1, None)
        assert await bench.end(ctx)
        for _ in range(4):
            assert not ctx.get(sequencer.busy)
            await ctx.tick()

    simulate(bench.module, drive)


@pytest.mark.parametrize("cycle", [None, 0, 3, 6])
def test_a_job_whose_ring_was_disabled_comes_to_nothing(cycle: int | None) -> None:
    """However shortly, at whichever cycle; the next job is good again."""
    bench = _Bench()

    async def drive(ctx: Any) -> None:
        bench.wish(ctx, 0, Job.FETCH)
        for disabled_at, good in ((cycle, cycle is None), (None, True)):
            await ctx.tick().until(bench.sequencer.busy)
            for now in range(7):
                ctx.set(bench.wanted, now != disabled_at)
                await ctx.tick()
            ctx.set(bench.wanted, 1)
            assert await bench.end(ctx) == good

    simulate(bench.module, drive)


@pytest.mark.parametrize("logged", [0, 1])
def test_a_second_error_leaves_no_record(logged: int) -> None:
    """The registers of the queue count as they are when the job begins."""
    bench = _Bench()

    async def drive(ctx: Any) -> None:
        ctx.set(bench.logged, (2, 1)[logged])
        bench.wish(ctx, 0, Job.LOG, Cause.ANSWER)
        await ctx.tick().until(bench.sequencer.busy)
        await ctx.tick()
        ctx.set(bench.logged, (1, 2)[logged])
        await ctx.tick()
        assert ctx.get(bench.sequencer.by[Cause.ANSWER])
        assert ctx.get(bench.sequencer.unlogged) == logged

    simulate(bench.module, drive)
