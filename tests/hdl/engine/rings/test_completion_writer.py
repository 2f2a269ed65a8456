"""Completions on their way: whole records in order, never more than the ring has room for."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest
from amaranth.sim import Simulator

from cdma.hdl.engine.rings.completion_writer import CompletionRing, CompletionWriter
from cdma.hdl.spec.engine import EngineConfig


def run(dut: Any, testbench: Any) -> None:
    simulator = Simulator(dut)
    simulator.add_clock(1e-9)
    simulator.add_testbench(testbench)
    simulator.run()


@pytest.mark.parametrize("pause", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("bits", [64, 256, 512, 1024])
def test_each_record_is_one_burst_at_its_address(bits: int, pause: float) -> None:
    dut = CompletionWriter(EngineConfig(host_data_bits=bits))
    part = min(bits, 512)
    parts = 512 // part

    async def testbench(ctx: Any) -> None:
        rng = random.Random(f"{bits} {pause}")
        addresses: deque[tuple[int, int]] = deque()
        beats: deque[tuple[int, int, int, bool]] = deque()
        record, word, address, channel = 0, 16, 0, 0
        written = 0
        for cycle in range(6000):
            begins = word == 16 and cycle < 4000 and ctx.get(dut.room)
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
            ctx.set(dut.port.w.ready, rng.random() > pause)
            self_aw, w = dut.port.aw, dut.port.w
            if ctx.get(self_aw.valid) and ctx.get(self_aw.ready):
                payload = self_aw.payload
                assert (ctx.get(payload.id), ctx.get(payload.address)) == addresses.popleft()
                assert ctx.get(payload.len) == parts - 1
                assert 8 << ctx.get(payload.size) == part
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
            await ctx.tick()
            if writes and word == 16:
                ctx.set(dut.word_valid, 0)
                ctx.set(dut.port.aw.ready, 0)
                ctx.set(dut.port.w.ready, 0)
                ctx.set(dut.commit, 1)
                ctx.set(dut.address, address)
                ctx.set(dut.channel, channel)
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
        assert written > 50

    run(dut, testbench)


@pytest.mark.parametrize(("entries", "log2"), [(1024, 3), (2, 1), (8, 0), (16, 4)])
def test_the_ring_is_never_overrun_and_the_phase_turns(entries: int, log2: int) -> None:
    config = EngineConfig(ring_entries=entries)
    dut = CompletionRing(config)
    modulus = 1 << config.index_bits

    async def testbench(ctx: Any) -> None:
        rng = random.Random(entries)
        ctx.set(dut.enable, 1)
        ctx.set(dut.ring_log2, log2)
        sent = answered = consumed = 0
        tags: deque[tuple[int, int]] = deque()
        full = 0
        for _ in range(6 * modulus + 4000):
            if consumed < answered and rng.random() < 0.3:
                consumed += 1
            ctx.set(dut.tail, consumed % modulus)
            assert ctx.get(dut.head) == answered % modulus
            assert ctx.get(dut.index) == sent % modulus
            may = bool(ctx.get(dut.may_begin))
            room = sent - consumed < 1 << log2
            full += not room
            assert room or not may, "it would overwrite"
            commit = may and rng.random() < 0.7
            if commit:
                assert ctx.get(dut.phase) == 1 - (sent >> log2 & 1)
                tags.append((rng.getrandbits(32), rng.getrandbits(1)))
                ctx.set(dut.tag, tags[-1][0])
                ctx.set(dut.interrupt, tags[-1][1])
            ctx.set(dut.commit, commit)
            answer = bool(ctx.get(dut.expects)) and rng.random() < 0.5
            ctx.set(dut.answer, answer)
            if answer:
                assert (ctx.get(dut.answered_tag), ctx.get(dut.counts)) == tags.popleft()
            assert ctx.get(dut.under_way) == (sent != answered)
            await ctx.tick()
            sent += commit
            answered += answer
        assert full
        assert sent > 2 * modulus or entries == 1024

    run(dut, testbench)


def test_a_disabled_ring_begins_anew_when_all_is_answered() -> None:
    dut = CompletionRing(EngineConfig())

    async def testbench(ctx: Any) -> None:
        ctx.set(dut.enable, 1)
        ctx.set(dut.ring_log2, 4)
        await ctx.tick().repeat(2)
        for _ in range(3):
            assert ctx.get(dut.may_begin)
            ctx.set(dut.commit, 1)
            await ctx.tick()
        ctx.set(dut.commit, 0)
        ctx.set(dut.enable, 0)
        await ctx.tick()
        ctx.set(dut.enable, 1)
        for _ in range(3):
            await ctx.tick().repeat(4)
            assert not ctx.get(dut.may_begin), "the old ring's answers are not there"
            assert ctx.get(dut.index) == 3
            ctx.set(dut.answer, 1)
            await ctx.tick()
            ctx.set(dut.answer, 0)
        await ctx.tick().repeat(2)
        assert (ctx.get(dut.head), ctx.get(dut.index)) == (0, 0)
        assert ctx.get(dut.may_begin)

    run(dut, testbench)
