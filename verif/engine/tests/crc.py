"""Data that are not what they were, which the CRC alone shows."""

from __future__ import annotations

from cdma.hdl.spec.records import Mode, Status
from cdma.verif.engine.bench import EngineBench
from cdma.verif.engine.context import both, engine_test
from cdma.verif.engine.transfer import Transfer, random_words, stream_of
from cdma.verif.simulator.plan import planned


def _flipped(bench: EngineBench, words: int, mode: Mode) -> Transfer:
    """A prefetch of a stream of which one bit has changed since the CRC of its data was taken."""
    form = bench.rules["prefetch"].format(mode, bench.tables["prefetch"])
    raw = random_words(bench.np, words, bench.config, bench.tables["prefetch"])
    stream = bytearray(stream_of(raw, form))
    stream[bench.rng.randrange(len(stream))] ^= 1 << bench.rng.randrange(8)
    made = bench.transfer("prefetch", words, mode=mode, raw=raw, stream=bytes(stream), crc_off=0)
    # A flipped bit of a header is the decoder's to see, and one of a literal is not. A code may also have become that of an
    # equal entry of the table: then the data are as they were.
    assert made.expected.status != Status.OK or made.expected.written == raw
    return made


@planned(
    "flipped literals, which no decoder sees, and wrong CRCs in descriptors, in both directions",
    "CRC_MISMATCH with the CRC of the data that came; the next descriptor runs",
    needs=lambda design: design.config.crc,
)
@engine_test
async def crc(bench: EngineBench, budget: int) -> None:
    bench.pauses(0.2)

    async def job(channel: str) -> None:
        await bench.channels[channel].enable()
        for _ in range(max(10, budget // 20)):
            words, wrong = bench.rng.randint(1, 300), 1 << bench.rng.randrange(32)
            made = bench.transfer(channel, words, crc_off=wrong)
            assert made.expected.status == Status.CRC_MISMATCH
            await bench.run(channel, [made, bench.transfer(channel, 20, crc_off=0)])
        if channel == "offload":
            return
        silent = 0
        while silent < max(10, budget // 20):
            made = _flipped(bench, bench.rng.randint(1, 300), bench.rng.choice((Mode.ZVC, Mode.FVC)))
            silent += made.expected.status == Status.CRC_MISMATCH
            await bench.run(channel, [made, bench.transfer(channel, 20)])
        bench.notes["silent to the decoder"] = silent

    await both(bench, job)
