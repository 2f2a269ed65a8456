"""Transfers that fail for two or three causes at once: the first in the order of the documents is reported."""

from __future__ import annotations

import itertools
from typing import Any

from cocotbext.axi import AxiResp

from cdma.hdl.spec.records import CAUSES, COMPLETION, Mode, Status
from cdma.hdl.spec.stage import NUMBERS
from cdma.sim.engine.memory import unpack
from cdma.verif.engine.bench import EngineBench
from cdma.verif.engine.context import both, engine_test
from cdma.verif.engine.transfer import Transfer, random_numbers, random_step, random_words, stream_of
from cdma.verif.simulator.plan import planned

_READ, _STREAM, _WRITE, _CAPACITY, _CRC, _RANGE = range(len(CAUSES))


@planned(
    "transfers that fail for two or three causes at once: reads, streams, writes, capacity, CRC, bounds",
    "the first in the order of the guide, with its address; the next descriptor runs",
)
@engine_test
async def causes(bench: EngineBench, budget: int) -> None:
    bench.pauses(0.2)

    async def job(channel: str) -> None:
        await bench.channels[channel].enable()
        able = _able(bench, channel)
        drawn = [chosen for count in (2, 3) for chosen in itertools.combinations(able, count)]
        for chosen in drawn:
            await _one(bench, channel, chosen)
            await bench.run(channel, [bench.transfer(channel, 5)])

    await both(bench, job)


def _able(bench: EngineBench, channel: str) -> list[int]:
    config, compressing = bench.config, channel == "offload"
    can = {
        _STREAM: not compressing,
        _CAPACITY: compressing,
        _CRC: config.crc,
        _RANGE: compressing and config.quantisation is not None,
    }
    return [cause for cause in range(len(CAUSES)) if can.get(cause, True)]


def _made(bench: EngineBench, channel: str, chosen: tuple[int, ...]) -> Transfer:
    """A transfer with those of its causes that are in the descriptor and in the data."""
    config, rng = bench.config, bench.rng
    words = 8 * max(config.dev_data_bits, config.host_data_bits) // config.format.word_bits
    options: dict[str, Any] = {"mode": Mode.ZVC}
    if _RANGE in chosen:
        step, number = random_step(rng, config), NUMBERS[config.lossy].bits // 8
        data = random_numbers(bench.np, words, config, step)
        at = rng.randrange(words) * number
        options |= {"step": step, "raw": data[:at] + b"\xff" * number + data[at + number :]}
    else:
        options["raw"] = random_words(bench.np, words, config, bench.tables[channel])
    if _STREAM in chosen:
        form = bench.rules[channel].format(Mode.ZVC, bench.tables[channel])
        options["stream"] = stream_of(options["raw"], form)[: -config.format.moved_bits // 8]
    if _CRC in chosen:
        options["crc_off"] = 1 << rng.randrange(32)
    if _CAPACITY in chosen:
        whole = bench.transfer(channel, words, **options).expected.bytes_written
        options["capacity"] = rng.randint(whole // 2, whole - 1)
    return bench.transfer(channel, words, **options)


async def _one(bench: EngineBench, channel: str, chosen: tuple[int, ...]) -> None:
    made, rng = _made(bench, channel, chosen), bench.rng
    rules, end = bench.rules[channel], bench.channels[channel]
    source, destination = made.descriptor["source"], made.descriptor["destination"]
    responses = {cause: rng.choice((AxiResp.SLVERR, AxiResp.DECERR)) for cause in (_READ, _WRITE)}
    if not made.expected.written:
        # Nothing is written whose answer could be an error.
        chosen = tuple(cause for cause in chosen if cause != _WRITE)
    bad = []
    if _READ in chosen:
        bad.append((bench.memory[rules.source], source, responses[_READ]))
    if _WRITE in chosen:
        bad.append((bench.memory[rules.sink], destination, responses[_WRITE]))
    for memory, at, response in bad:
        memory.spoil({at: response})
    await end.submit([made.record()])
    got = unpack(COMPLETION, await end.next())
    first = min(chosen)
    if first in responses:
        beat = bench.config.data_bits(rules.source) // 8
        status = CAUSES[first][responses[first] == AxiResp.DECERR]
        address = source // beat * beat if first == _READ else destination
    else:
        status, address = made.expected.status, made.expected.address
    assert status in CAUSES[first]
    assert (Status(got["status"]), got["address"], got["tag"]) == (status, address, made.descriptor["tag"])
    await end.check_error(status, address, made.descriptor["tag"])
    for memory, at, _ in bad:
        memory.mend(at)
    bench.check_memory(channel, made, exact=False)
    bench.transfers += 1
    bench.checks += 2
