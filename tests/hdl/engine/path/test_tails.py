"""What is left of the last words of packets. The CRC of packets of every length, in every geometry, while others follow
and while nobody takes it.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from cdma.hdl.blocks.registers import Beat
from cdma.hdl.engine.path.ports import Checksum
from cdma.hdl.engine.path.tails import TailCut
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.sim.codec.container import crc32c
from cdma.sim.codec.headers import to_memory
from cdma.sim.codec.words import Words
from tests.support.simulate import simulate
from tests.support.stimuli import Pause, by_phases, never, send, take
from tests.support.stream_bench import StreamBench

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


_CONFIGS = {
    "words": CodecConfig(Format(), lanes=4),
    "bytes": CodecConfig(Format(word_bits=8), lanes=8),
    "one-lane": CodecConfig(Format(word_bits=8), lanes=1),
    "fields": CodecConfig(Format(16, 16, 2, (0, 7, 9), field_bits=8, rotate=1), lanes=4),
    "half-bytes": CodecConfig(Format(4, align=4), lanes=8),
}
#: Packets of these are of any number of bytes.
_EXACT = {"words", "bytes", "fields"}
_PACKETS = 4


def _run(
    config: CodecConfig,
    packets: list[Words],
    pipelined: bool,
    gap: Pause,
    take: Pause,
    *,
    empty_ends: bool = False,
    exact: bool = False,
) -> tuple[list[int], list[int], list[int]]:
    """Lets packets of stream words pass; returns the cycles of their last beats, those of their CRCs, and the CRCs."""
    dut = Checksum(config, _PACKETS, exact=exact, pipelined=pipelined)
    bench = StreamBench(dut)
    found = bench.collect("crc", len(packets), take)
    ends: list[int] = []
    bits = 8 if exact else config.format.stream_bits
    units = config.data_bits // bits

    async def pass_packets(ctx: Any) -> None:
        cycle = 0
        noise = random.Random(3)
        for packet in packets:
            starts = list(range(0, max(1, len(packet)), units))
            if empty_ends and len(packet) == units * len(starts):
                starts.append(len(packet))
            for start in starts:
                # No more packets may be inside than are allowed.
                while gap() or len(ends) - len(found) >= _PACKETS:
                    ctx.set(dut.passed, 0)
                    await ctx.tick()
                    cycle += 1
                part = packet[start : start + units].tolist()
                # What is not kept may be anything.
                data = part + [noise.getrandbits(bits) for _ in range(units - len(part))]
                ctx.set(dut.passed, 1)
                ctx.set(dut.beat.data, data)
                ctx.set(dut.beat.keep, (1 << len(part)) - 1)
                ctx.set(dut.beat.last, start == starts[-1])
                if start == starts[-1]:
                    ends.append(cycle)
                await ctx.tick()
                cycle += 1
        ctx.set(dut.passed, 0)

    bench.simulator.add_testbench(pass_packets)
    bench.run(4000)
    return ends, [cycle for cycle, _ in found], [crc for _, crc in found]


@pytest.mark.slow
@pytest.mark.parametrize("pipelined", [False, True], ids=["plain", "pipelined"])
@pytest.mark.parametrize("name", _CONFIGS)
def test_every_length(name, pipelined):
    config = _CONFIGS[name]
    rng = random.Random(1)
    bits, parts = config.format.stream_bits, config.format.parts
    lengths = range(0, (3 * config.lanes + 1) * parts, parts)
    packets = [
        np.array([rng.getrandbits(bits) for _ in range(length)], f"u{max(8, bits) // 8}")
        for length in lengths
    ]
    _, _, crcs = _run(config, packets, pipelined, by_phases(1), by_phases(2), empty_ends=pipelined)
    assert crcs == [crc32c(to_memory(packet, bits)) for packet in packets]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(_EXACT))
def test_every_number_of_bytes(name):
    config, rng = _CONFIGS[name], random.Random(2)
    packets = [
        np.array([*rng.randbytes(length)], np.uint8) for length in range(2 * config.data_bits // 8 + 2)
    ]
    _, _, crcs = _run(config, packets, False, by_phases(1), by_phases(2), exact=True)
    assert crcs == [crc32c(packet.tobytes()) for packet in packets]


@pytest.mark.slow
def test_latency():
    config = _CONFIGS["words"]
    for words in (1, config.lanes):
        for pipelined in (False, True):
            (end,), (taken,), _ = _run(config, [np.zeros(words, np.uint32)], pipelined, never, never)
            assert taken - end <= (config.lanes - words) * config.format.word_bits // 8 + 7
