"""The CRC of packets of every length, in every geometry, while others follow and while nobody takes it."""

from __future__ import annotations

import random
from typing import Any

import pytest

from cdma.hdl.engine.path.checksum import Checksum
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.sim.engine.crc import crc32c
from tests.support.pauses import Pause, never, sometimes
from tests.support.stream_bench import StreamBench

_CONFIGS = {
    "words": CodecConfig(Format(), lanes=4),
    "bytes": CodecConfig(Format(word_bits=8), lanes=8),
    "one-lane": CodecConfig(Format(word_bits=8), lanes=1),
    "fields": CodecConfig(Format(16, 16, 2, (0, 7, 9), field_bits=8, rotate=1), lanes=4),
}
_PACKETS = 4


def _run(
    config: CodecConfig,
    packets: list[bytes],
    late: bool,
    gap: Pause,
    take: Pause,
    *,
    empty_ends: bool = False,
) -> tuple[list[int], list[int], list[int]]:
    """Lets packets pass; returns the cycles of their last beats, those of their CRCs, and the CRCs."""
    dut = Checksum(config, _PACKETS, late=late)
    bench = StreamBench(dut)
    found = bench.collect("crc", len(packets), take)
    ends: list[int] = []
    stream_bytes, units = config.format.stream_bits // 8, config.units
    beat_bytes = stream_bytes * units

    async def pass_packets(ctx: Any) -> None:
        cycle = 0
        noise = random.Random(3)
        for packet in packets:
            starts = list(range(0, max(1, len(packet)), beat_bytes))
            if empty_ends and len(packet) == beat_bytes * len(starts):
                starts.append(len(packet))
            for start in starts:
                # No more packets may be inside than are allowed.
                while gap() or len(ends) - len(found) >= _PACKETS:
                    ctx.set(dut.passed, 0)
                    await ctx.tick()
                    cycle += 1
                part = packet[start : start + beat_bytes]
                # What is not kept may be anything.
                data = part + noise.randbytes(beat_bytes - len(part))
                ctx.set(dut.passed, 1)
                ctx.set(dut.beat.data.as_value(), int.from_bytes(data, "little"))
                ctx.set(dut.beat.keep, (1 << len(part) // stream_bytes) - 1)
                ctx.set(dut.beat.last, start == starts[-1])
                if start == starts[-1]:
                    ends.append(cycle)
                await ctx.tick()
                cycle += 1
        ctx.set(dut.passed, 0)

    bench.simulator.add_testbench(pass_packets)
    bench.run(4000)
    return ends, [cycle for cycle, _ in found], [crc for _, crc in found]


@pytest.mark.parametrize("late", [False, True], ids=["early", "late"])
@pytest.mark.parametrize("name", _CONFIGS)
def test_every_length(name, late):
    config = _CONFIGS[name]
    rng = random.Random(1)
    word = config.format.word_bits // 8
    packets = [rng.randbytes(word * words) for words in range(3 * config.lanes + 1)]
    for gap, take in ((never, never), (sometimes(1, 0.5), sometimes(2, 0.5)), (never, sometimes(3, 0.9))):
        _, _, crcs = _run(config, packets, late, gap, take, empty_ends=late)
        assert crcs == [crc32c(packet) for packet in packets]


def test_latency():
    config = _CONFIGS["words"]
    for words in range(1, config.lanes + 1):
        for late in (False, True):
            (end,), (taken,), _ = _run(config, [bytes(4 * words)], late, never, never)
            assert taken - end <= config.lanes - words + 7
