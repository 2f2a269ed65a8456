"""Transfers as they should be: everything at random, each length around a boundary, and the CRC."""

from __future__ import annotations

from cdma.hdl.spec.records import Mode, Status
from cdma.verif.engine.bench import EngineBench
from cdma.verif.engine.context import both, engine_test, some_length, some_table
from cdma.verif.engine.transfer import Transfer, random_words, stream_of
from cdma.verif.simulator.plan import planned


@planned(
    "random descriptors and tables on both channels at once, random back-pressure and latency, many ring wraps",
    "the completions in order, every byte in its place",
    weight=8,
)
@engine_test
async def soak(bench: EngineBench, budget: int) -> None:
    left = budget
    while left > 0:
        count = min(left, bench.rng.randint(4, 24))
        left -= count
        bench.pauses(bench.rng.choice((0.0, None, None)))
        for memory in bench.memory.values():
            memory.delay = bench.rng.choice((0, 10, 60))

        async def job(channel: str, count: int = count) -> None:
            await bench.set_table(channel, some_table(bench))
            await bench.channels[channel].enable()
            transfers = [bench.any_transfer(channel, some_length(bench)) for _ in range(count // 2 + 1)]
            rules = bench.rules[channel]
            for made in bench.rng.sample(transfers, len(transfers) // 2):
                made.move(bench.high(rules.source), bench.high(rules.sink))
            await bench.run(channel, transfers)
            await bench.channels[channel].disable()

        await both(bench, job)


@planned(
    "every length around a beat, a window, a burst and a page, in every mode, in both directions, no pauses",
    "the completions in order, every byte in its place",
    weight=2,
)
@engine_test
async def lengths(bench: EngineBench, budget: int) -> None:
    config = bench.config
    bits = config.format.word_bits
    # Raw data are whole bytes.
    more = 8 * config.format.raw_bytes // bits
    sizes = set()
    for unit in (config.dev_data_bits // 8, config.host_data_bits // 8, config.window_bytes):
        sizes |= {unit * 8 // bits + step for step in (-more, 0, more)}
    for port in ("dev", "host"):
        burst = config.burst(port) * config.data_bits(port) // 8
        sizes |= {burst * 8 // bits + step for step in (-more, 0, more)}
    sizes |= {4096 * 8 // bits + step for step in (-more, 0, more)} | {1}

    async def job(channel: str) -> None:
        await bench.channels[channel].enable()
        for mode in Mode:
            await bench.run(
                channel, [bench.transfer(channel, size, mode=mode) for size in sorted(sizes - {0})]
            )
            cuts = range(1, config.format.raw_bytes if config.tail_bits else 1)
            if cuts:
                short = [(size, cut) for size in (1, config.lanes, config.lanes + 1) for cut in cuts]
                await bench.run(
                    channel, [bench.transfer(channel, size, mode=mode, cut=cut) for size, cut in short]
                )

    await both(bench, job)


@planned(
    "packets without a zero, of each number of windows up to the lanes, in each of several units, random back-pressure",
    "headers and ends in every place of a beat",
)
@engine_test
async def dense(bench: EngineBench, budget: int) -> None:
    """Packets of words that all become literals, so that headers and ends come to every place in a beat."""
    form = bench.config.format
    bench.pauses(0.5)

    async def job(channel: str) -> None:
        await bench.channels[channel].enable()
        words = [number * form.window + bench.config.lanes for number in range(bench.config.lanes + 1)]
        if bench.config.units > 1:
            # Of several units, each has the last part of some packets.
            stripe = bench.config.stripe_bytes * 8 // form.word_bits
            words = [unit * stripe + count for unit in range(bench.config.units) for count in words]
        await bench.run(
            channel,
            [
                bench.transfer(channel, count, mode=Mode.ZVC, raw=b"\xff" * (count * form.word_bits // 8))
                for count in words
            ],
        )

    await both(bench, job)


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
