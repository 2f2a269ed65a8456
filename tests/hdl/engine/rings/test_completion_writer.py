"""Completions on their way to memory: whole records, in order."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest

from cdma.hdl.engine.rings.completion_writer import CompletionWriter
from cdma.hdl.spec.engine import EngineConfig
from tests.support.simulate import simulate


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
        assert written > 20

    simulate(dut, testbench)
