"""What is left of the last words of packets."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.blocks.beats import Beat
from cdma.hdl.engine.path.tail_cut import TailCut
from tests.support.handshake import send, take
from tests.support.simulate import simulate

_LANES, _BYTES = 2, 8


@pytest.mark.parametrize("word_bits", [32, 8])
def test_all_but_the_last_word_is_kept(word_bits: int) -> None:
    """Of packets of any length, whose tail comes before them or while they pass: of words, or of bytes of whole words."""
    rng = random.Random(word_bits)
    dut = TailCut(Beat(word_bits, _LANES * 32 // word_bits), 2, 8)
    packets = [(rng.randrange(0, 6), rng.randrange(4)) for _ in range(60)]
    passed = 0

    async def tell(ctx: Any) -> None:
        for number, (_, tail) in enumerate(packets):
            while number - passed > 6 or rng.random() < 0.6:
                await ctx.tick()
            await send(ctx, dut.tails, tail)

    async def give(ctx: Any) -> None:
        for words, _ in packets:
            for at in range(0, max(1, words), _LANES):
                keep = (1 << min(_LANES, words - at) * 32 // word_bits) - 1
                await send(ctx, dut.input, {"keep": keep, "last": at + _LANES >= words})

    async def follow(ctx: Any) -> None:
        nonlocal passed
        for words, tail in packets:
            found, last = 0, 0
            while not last:
                beat = await take(ctx, dut.output)
                assert beat.keep & (beat.keep + 1) == 0
                found, last = found + int(beat.keep).bit_count(), beat.last
                assert last or beat.keep == (1 << _BYTES) - 1
            assert found == max(0, 4 * words - (4 - tail if tail else 0))
            passed += 1

    simulate(dut, tell, give, follow)
