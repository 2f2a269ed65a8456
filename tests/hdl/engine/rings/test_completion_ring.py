"""A ring of completions: never more than software has left slots for. Completions on their way to
memory: whole records, in order.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest
from amaranth.hdl import Signal

from cdma.hdl.engine.rings.completion_ring import CompletionRing, CompletionWriter
from cdma.hdl.spec.engine import EngineConfig
from tests.support.rings import Indexed
from tests.support.simulate import simulate


def _ring(config: EngineConfig) -> tuple[Indexed, Signal]:
    """A ring, and log2 of its entries."""
    ring, size = CompletionRing(config), Signal(4)
    return Indexed(ring, config.index_bits, ring.commit, size), size


@pytest.mark.slow
@pytest.mark.parametrize(("entries", "log2"), [(1024, 3), (2, 1), (8, 0), (16, 4)])
def test_the_ring_is_never_overrun(entries: int, log2: int) -> None:
    config = EngineConfig(ring_entries=entries)
    dut, size = _ring(config)
    modulus = 1 << config.index_bits

    async def testbench(ctx: Any) -> None:
        rng = random.Random(entries)
        ctx.set(dut.enable, 1)
        ctx.set(size, log2)
        sent = answered = consumed = 0
        full = 0
        for _ in range((16 if entries < 1024 else 2) * modulus + 4000):
            if consumed < answered and rng.random() < 0.15:
                consumed += 1
            ctx.set(dut.tail, consumed % modulus)
            assert ctx.get(dut.head) == answered % modulus
            assert ctx.get(dut.moved) == sent % modulus
            may = bool(ctx.get(dut.may_begin))
            credit = sent - consumed < 1 << log2
            full += not credit
            assert sent - answered < config.ring_completions or not may, "more would be in flight than stated"
            assert credit or not may, "it would overwrite"
            commit = may and rng.random() < 0.7
            ctx.set(dut.commit, commit)
            answer = bool(ctx.get(dut.in_flight)) and rng.random() < 0.5
            ctx.set(dut.answer, answer)
            assert ctx.get(dut.in_flight) == (sent != answered)
            await ctx.tick()
            sent += commit
            answered += answer
        assert full
        assert sent > 2 * modulus or entries == 1024

    simulate(dut, testbench)


def test_a_disabled_ring_begins_anew_when_all_is_answered() -> None:
    dut, size = _ring(EngineConfig())

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.enable, 1)
        ctx.set(size, 4)
        for _ in range(3):
            await ctx.tick().until(dut.may_begin)
            ctx.set(dut.commit, 1)
            await ctx.tick()
            ctx.set(dut.commit, 0)
        ctx.set(dut.enable, 0)
        await ctx.tick()
        ctx.set(dut.enable, 1)
        for _ in range(3):
            await ctx.tick().repeat(4)
            assert not ctx.get(dut.may_begin), "responses of the old ring are still to come"
            assert ctx.get(dut.moved) == 3
            ctx.set(dut.answer, 1)
            await ctx.tick()
            ctx.set(dut.answer, 0)
        await ctx.tick().repeat(6)
        assert (ctx.get(dut.head), ctx.get(dut.moved)) == (0, 0)
        assert ctx.get(dut.may_begin)

    simulate(dut, testbench)


def test_an_abort_settles_with_the_last_response() -> None:
    """None is sent until then."""
    dut, size = _ring(EngineConfig())

    async def pulse(ctx: Any, *signals: Any) -> None:
        for signal in signals:
            ctx.set(signal, 1)
        await ctx.tick()
        for signal in signals:
            ctx.set(signal, 0)

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.enable, 1)
        ctx.set(size, 4)
        await ctx.tick().repeat(2)
        await pulse(ctx, dut.commit)
        assert not ctx.get(dut.settling), "nothing is aborted"
        ctx.set(dut.aborting, 1)
        await pulse(ctx, dut.commit)
        await pulse(ctx, dut.commit, dut.answer)
        ctx.set(dut.aborting, 0)
        await ctx.tick()
        for _ in range(2):
            for _ in range(6):
                assert ctx.get(dut.settling)
                assert not ctx.get(dut.may_begin)
                await ctx.tick()
            await pulse(ctx, dut.answer)
        assert not ctx.get(dut.settling)
        assert not ctx.get(dut.in_flight)
        await ctx.tick().repeat(6)
        assert ctx.get(dut.may_begin)

    simulate(dut, testbench)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bits", "pause", "pipelined"),
    # Every width with a pause, both kinds with every pause, and records of a part of a beat with both.
    [
        (64, 0.0, False),
        (256, 0.5, True),
        (256, 0.9, False),
        (512, 0.0, True),
        (1024, 0.5, False),
        (1024, 0.9, True),
    ],
)
def test_each_record_is_one_burst_at_its_address(bits: int, pause: float, pipelined: bool) -> None:
    dut = CompletionWriter(EngineConfig(host_data_bits=bits, pipelined=pipelined))
    part = min(bits, 512)
    parts = 512 // part

    async def testbench(ctx: Any) -> None:
        rng = random.Random(f"{bits} {pause}")
        addresses: deque[tuple[int, int]] = deque()
        beats: deque[tuple[int, int, int, bool]] = deque()
        record, word, address, channel = 0, 16, 0, 0
        written = 0
        #: Bursts whose address is taken, and whose data are not: data come after it.
        opened = 0
        for cycle in range(2500):
            begins = word == 16 and cycle < 1700 and ctx.get(dut.room)
            if begins:
                record, word = rng.getrandbits(512), 0
                address, channel = rng.getrandbits(58) << 6, rng.randrange(2)
            writes = word < 16 and rng.random() > pause / 2
            ctx.set(dut.word_valid, writes)
            ctx.set(dut.commit, 0)
            if writes:
                ctx.set(dut.word, word)
                ctx.set(dut.data, record >> 32 * word & 0xFFFFFFFF)
                word += 1
            ctx.set(dut.port.aw.ready, rng.random() > pause)
            ctx.set(dut.port.w.ready, opened > 0 and rng.random() > pause)
            self_aw, w = dut.port.aw, dut.port.w
            if ctx.get(self_aw.valid) and ctx.get(self_aw.ready):
                payload = self_aw.payload
                assert (ctx.get(payload.id), ctx.get(payload.address)) == addresses.popleft()
                assert ctx.get(payload.len) == parts - 1
                assert 8 << ctx.get(payload.size) == part
                opened += 1
            if ctx.get(w.valid) and ctx.get(w.ready):
                data, keep, owner, last = beats.popleft()
                lanes = bits // 32
                seen = sum(
                    (ctx.get(w.payload.data) >> 32 * lane & 0xFFFFFFFF) << 32 * lane
                    for lane in range(lanes)
                    if keep >> lane & 1
                )
                assert (seen, ctx.get(w.payload.keep), ctx.get(dut.sending)) == (data, keep, owner)
                assert bool(ctx.get(w.payload.last)) == last
                written += last
                opened -= last
            await ctx.tick()
            if writes and word == 16:
                ctx.set(dut.word_valid, 0)
                ctx.set(dut.port.aw.ready, 0)
                ctx.set(dut.port.w.ready, 0)
                ctx.set(dut.commit, 1)
                ctx.set(dut.address, address)
                ctx.set(dut.queue, channel)
                await ctx.tick()
                ctx.set(dut.commit, 0)
                addresses.append((channel, address))
                upper = part if bits > part and address >> 6 & 1 else 0
                for n in range(parts):
                    data = (record >> part * n & (1 << part) - 1) << upper
                    keep = (1 << part // 32) - 1 << upper // 32
                    beats.append((data, keep, channel, n == parts - 1))
        assert not addresses
        assert not beats
        assert written > 20

    simulate(dut, testbench)
