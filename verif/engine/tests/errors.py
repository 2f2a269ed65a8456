"""Data that fail on their way: errors of the bus, damaged streams, results that do not fit, two or three causes at once.
Numbers that become integers, and integers that become numbers."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from cocotbext.axi import AxiResp

from cdma.hdl.spec.records import CAUSES, Mode, Status
from cdma.hdl.spec.shape import Shape
from cdma.hdl.spec.stage import NUMBERS
from cdma.sim.codec.headers import from_memory, to_memory
from cdma.sim.codec.model import PADDING, decode_packet
from cdma.sim.codec.words import word_dtype
from cdma.verif.engine.bench import EngineBench
from cdma.verif.engine.context import BUS_ERRORS, both, engine_test, expect_failure
from cdma.verif.engine.memory import SIZE
from cdma.verif.engine.transfer import Transfer, random_numbers, random_step, random_words, stream_of
from cdma.verif.simulator.plan import planned


def _error_addresses(bench: EngineBench, start: int, length: int, block: int) -> list[int]:
    """Bytes of the first and last beat, both sides of the last edge of a block, and any."""
    edge = (start + length - 1) // block * block
    addresses = [start, start + length - 1, bench.rng.randrange(start, start + length)]
    return [*addresses, *(at for at in (edge - 1, edge) if start <= at < start + length)]


@planned(
    "SLVERR and DECERR on reads and writes of data, raw and through the codec, first and last beat and "
    "burst, a second error after the first",
    "reported once, in order, with the address; the channel goes on, or halts where it should",
    needs=lambda design: not design.config.registers or design.config.ring_entries >= 4,
    weight=5,
)
@engine_test
async def bus_errors(bench: EngineBench, budget: int) -> None:
    config, rng = bench.config, bench.rng
    bench.pauses(0.2)
    for memory in bench.memory.values():
        # Every bit of an address changes on the way from here.
        memory.next = SIZE // 2 - 0x20000
    beats = {"dev": config.dev_data_bits // 8, "host": config.host_data_bits // 8}
    blocks = {port: config.burst(port) * beats[port] for port in beats}
    most = max(*blocks.values(), config.stripe_bytes if config.striped("dev") else 0) * 5 // 2
    words = most * 8 // config.format.word_bits

    async def one(channel: str, side: str, response: AxiResp, mode: Mode, which: int, halt: bool) -> None:
        end = bench.channels[channel]
        port = {"read": "dev", "write": "host"}[side]
        if channel == "prefetch":
            port = {"dev": "host", "host": "dev"}[port]
        memory, beat, block = bench.memory[port], beats[port], blocks[port]
        before, after = (bench.transfer(channel, 3, mode=Mode.RAW) for _ in range(2))
        made = bench.transfer(channel, words, mode=mode)
        # Any bits of an address may be those of an error.
        rules = bench.rules[channel]
        made.move(bench.high(rules.source), bench.high(rules.sink))
        field = "source" if side == "read" else "destination"
        start, data = made.descriptor[field], made.source if side == "read" else made.expected.written
        addresses = _error_addresses(bench, start, len(data), block)
        at = addresses[which % len(addresses)]
        other = next(each for each in AxiResp if each in (2, 3) and each != response)
        # A second error, of the other kind, after the first: it is not reported.
        second = max(addresses)
        bad = {second: other} if second // block > at // block else {}
        bad[at] = response
        # The other channel uses the same memory at the same time.
        memory.spoil(bad)
        await end.submit([made.record() for made in (before, made, after)])
        bench.check(channel, before, await end.next())
        address = at // beat * beat if side == "read" else max(start, at // block * block)
        got = await expect_failure(bench, channel, made, BUS_ERRORS[side][response], address)
        assert got["bytes_read"] == made.expected.bytes_read, (made.descriptor, got)
        if side == "write" or mode == Mode.RAW:
            # A failed burst has been sent all the same; what a failed read makes of a codec is anyone's guess.
            assert got["bytes_written"] == made.expected.bytes_written, (made.descriptor, got)
        memory.mend(*bad)
        assert await end.flag("halted") == halt
        if halt:
            await end.resume()
        bench.check_memory(channel, made, exact=False)
        bench.check(channel, after, await end.next())
        bench.checks += 2

    async def job(channel: str) -> None:
        end = bench.channels[channel]
        chosen = itertools.product(("read", "write"), (AxiResp.SLVERR, AxiResp.DECERR), (Mode.RAW, Mode.ZVC))
        for number, (side, response, mode) in enumerate(chosen):
            halt = bool(number % 2)
            await end.enable(halt_on_error=int(halt))
            for which in rng.sample(range(5), 3):
                await one(channel, side, response, mode, which, halt)
            await end.disable()

    await both(bench, job)


@planned(
    "streams with flipped bits, cut or prolonged", "the model's error and data, and nothing past the end"
)
@engine_test
async def corrupt(bench: EngineBench, budget: int) -> None:
    await bench.channels["prefetch"].enable()
    bench.pauses(0.3)
    word = bench.config.format.moved_bits // 8
    most = 300
    if bench.config.striped("dev"):
        most = max(most, 5 * bench.config.stripe_bytes * 8 // bench.config.format.word_bits)
    for _ in range(max(20, budget // 4)):
        words = bench.rng.randint(1, most)
        mode = bench.rng.choice((Mode.ZVC, Mode.FVC))
        form = bench.rules["prefetch"].format(mode, bench.tables["prefetch"])
        raw = random_words(bench.np, words, bench.config, bench.tables["prefetch"])
        stream = bytearray(stream_of(raw, form))
        for _ in range(bench.rng.randint(0, 3)):
            stream[bench.rng.randrange(len(stream))] ^= 1 << bench.rng.randrange(8)
        choice = bench.rng.random()
        if choice < 0.3:
            stream = stream[: word * bench.rng.randint(1, len(stream) // word)]
        elif choice < 0.6:
            stream += bytes(bench.rng.randrange(256) for _ in range(word * bench.rng.randint(1, 40)))
        elif choice < 0.8 and form.header_words and form.levels == 1:
            # A code past the end must be 0: only the header of the last window has any.
            window = bench.config.window_bytes
            header = len(stream_of(raw[: (len(raw) - 1) // window * window], form))
            header_bytes = form.header_words * form.stream_bits // 8
            stream[header + bench.rng.randrange(header_bytes)] ^= 1 << bench.rng.randrange(8)
        made = bench.transfer("prefetch", words, mode=mode, stream=bytes(stream))
        if bench.config.pages and bench.rng.random() < 0.5:
            bench.put_in_pages("prefetch", made)
        await bench.run("prefetch", [made, bench.transfer("prefetch", bench.rng.randint(1, 60))])
    form = bench.rules["prefetch"].format(Mode.ZVC, bench.tables["prefetch"])
    for unit in range(bench.config.units):
        # Zeros go to the units before this one.
        before = unit * bench.config.stripe_bytes * 8 // form.word_bits
        zeros = stream_of(bytes(before * form.word_bits // 8), form)
        for length, cut in _cut(bench):
            made = bench.transfer("prefetch", before + length, mode=Mode.ZVC, stream=zeros + cut)
            await bench.run("prefetch", [made, bench.transfer("prefetch", 1)])


def _cut(bench: EngineBench) -> Iterator[tuple[int, bytes]]:
    """Lengths of raw data, and streams that end too early.

    A window of literals less a word is cut after each of its beats, so a whole output beat lacks input. Of a part of a
    window there is only the header, with a wrong code past the end.
    """
    form, lanes = bench.rules["prefetch"].format(Mode.ZVC, bench.tables["prefetch"]), bench.config.lanes
    few_bytes = lanes * form.stream_bits // 8
    for start in range(0, form.window, lanes):
        raw = np.ones(form.window, word_dtype(form))
        raw[start + bench.rng.randrange(min(lanes, form.window))] = 0
        stream = stream_of(to_memory(raw, form.word_bits), form)
        for end in range(few_bytes, len(stream), few_bytes):
            yield form.window, stream[:end]
    if form.header_words and lanes + 1 < form.window:
        header_bytes = form.header_words * form.stream_bits // 8
        few = to_memory(np.ones(lanes + 1, word_dtype(form)), form.word_bits)
        header = bytearray(stream_of(few, form))[:header_bytes]
        header[-1] |= 0x80
        yield lanes + 1, bytes(header)


@planned(
    "streams with padding that is not 0",
    "reported as such, and the next descriptor runs",
    needs=lambda design: design.config.format.padded,
)
@engine_test
async def padding(bench: EngineBench, budget: int) -> None:
    await bench.channels["prefetch"].enable()
    bench.pauses(0.2)
    found = 0
    while found < max(20, budget // 8):
        words, mode = bench.rng.randint(1, 200), bench.rng.choice((Mode.ZVC, Mode.FVC))
        form = bench.rules["prefetch"].format(mode, bench.tables["prefetch"])
        raw = random_words(bench.np, words, bench.config, bench.tables["prefetch"])
        stream = from_memory(stream_of(raw, form), form.stream_bits).copy()
        stream[-1] ^= 1 << bench.rng.randrange(form.stream_bits)
        count = len(raw) * 8 // form.word_bits
        if decode_packet(stream, count, form, bench.config.lanes).report.error == PADDING:
            damaged = to_memory(stream, form.stream_bits)
            made = bench.transfer("prefetch", words, mode=mode, stream=damaged)
            assert made.expected.status == Status.STREAM_PADDING
            await bench.run("prefetch", [made, bench.transfer("prefetch", bench.rng.randint(1, 60))])
            found += 1


@planned(
    "compressed data that do not fit, also with the responses held back and then all at once",
    "whole beats up to the capacity, nothing past it; the next descriptor runs",
)
@engine_test
async def capacity(bench: EngineBench, budget: int) -> None:
    await bench.channels["offload"].enable()
    bench.pauses(0.2)
    for _ in range(max(10, budget // 8)):
        words = bench.rng.randint(20, 600)
        most = bench.rng.randint(1, words * bench.config.format.word_bits // 8)
        made = bench.transfer("offload", words, mode=Mode.ZVC, capacity=most)
        made.move(bench.high("dev"), bench.high("host"))
        await bench.run("offload", [made, bench.transfer("offload", bench.rng.randint(1, 60))])
    await _answered_at_once(bench)


async def _answered_at_once(bench: EngineBench) -> None:
    """The host delays its responses until those of several packets come without a gap, with ends of packets between them
    that did not fit and need no response."""
    offload, host = bench.channels["offload"], bench.ports["host"][0]
    bench.pauses(0.0)
    for _ in range(10):
        made = [bench.transfer("offload", 60, mode=Mode.ZVC, capacity=bench.rng.randint(1, 80))]
        made += [bench.transfer("offload", bench.rng.randint(1, 20)) for _ in range(2)]
        made = made[: offload.size]
        host.pauses.b = 1.0
        await offload.submit([each.record() for each in made])
        await bench.after(600)
        host.pauses.b = 0.0
        for each in made:
            bench.check("offload", each, await offload.next())


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
        # No word is 0, so that what is left of the stream is not empty.
        options["raw"] = bytes(byte | 1 for byte in options["raw"])
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
    rules = bench.rules[channel]
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
    await bench.channels[channel].submit([made.record()])
    first = min(chosen)
    if first in responses:
        beat = bench.config.data_bits(rules.source) // 8
        status = CAUSES[first][responses[first] == AxiResp.DECERR]
        address = source // beat * beat if first == _READ else destination
    else:
        status, address = made.expected.status, made.expected.address
    assert status in CAUSES[first]
    await expect_failure(bench, channel, made, status, address)
    for memory, at, _ in bad:
        memory.mend(at)
    bench.check_memory(channel, made, exact=False)


def _beyond(bench: EngineBench, channel: str, mode: Mode, **options: Any) -> Transfer:
    """A transfer of numbers of which some or many may be anything."""
    step = random_step(bench.rng, bench.config)
    count = bench.rng.choice((1, 2, bench.rng.randint(1, 300)))
    share = bench.rng.choice((0.0, 0.01, 0.3, 1.0))
    raw = random_numbers(bench.np, count, bench.config, step, beyond=share)
    return bench.transfer(channel, count, mode=mode, raw=raw, step=step, **options)


def _with_margins(bench: EngineBench, channel: str) -> Transfer:
    """A row between margins, which are the number 0 in mode fvc too, whatever the first value of the table is."""
    beat = max(bench.config.align("dev"), bench.config.dev_data_bits // 8)
    shape = Shape(4 * beat, before=beat, after=2 * beat)
    return bench.transfer(channel, 0, mode=Mode.FVC, shape=shape, step=random_step(bench.rng, bench.config))


@planned(
    "numbers and integers through the error-bounded stage in every mode, with any step, also numbers "
    "that are not within the bound",
    "the model's bits; LOSSY_RANGE with the count and the first, behind every other cause; the next descriptor runs",
    needs=lambda design: design.config.quantisation is not None,
)
@engine_test
async def lossy(bench: EngineBench, budget: int) -> None:
    found: Counter[Status] = Counter()

    async def job(channel: str) -> None:
        config = bench.config
        if config.dimensions:
            await bench.set_table(channel, [1] * config.codec.table_size)
        await bench.channels[channel].enable()
        for _ in range(max(6, budget // 12)):
            bench.pauses(bench.rng.choice((0.0, 0.3)))
            made = [_beyond(bench, channel, mode) for mode in (*Mode, *Mode)]
            bench.rng.shuffle(made)
            if channel == "offload":
                # What does not fit counts before what is not within the bound.
                made.append(_beyond(bench, channel, Mode.RAW, capacity=bench.rng.randint(1, 40)))
            if config.dimensions:
                made.append(_with_margins(bench, channel))
            await bench.run(channel, [*made, bench.transfer(channel, 20)])
            found.update(each.expected.status for each in made if channel == "offload")
        await bench.channels[channel].disable()

    await both(bench, job)
    assert found[Status.LOSSY_RANGE], found
    assert found[Status.OK], found
    bench.notes["beyond the bound"] = found[Status.LOSSY_RANGE]
