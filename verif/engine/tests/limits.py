"""The largest numbers that a descriptor has: started and then aborted, or refused. The pace of packets of one length.
Descriptors that must be refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import lcm, prod
from typing import Any

import numpy as np

from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import StreamFormat
from cdma.hdl.spec.records import MAX_BYTES, RECORD_BYTES, Mode, Status
from cdma.hdl.spec.shape import COUNT_BITS, PADDING_BITS, RUN_BITS, SPAN_LIMIT, Dimension, Shape
from cdma.sim.engine.transfer import Outcome
from cdma.verif.engine.bench import CHANNELS, EngineBench
from cdma.verif.engine.context import PacedBench, abort, changed, completed, engine_test, expect_refusal
from cdma.verif.engine.measurement import Measurement
from cdma.verif.engine.memory import GUARD, SIZE, Far
from cdma.verif.engine.shaped import ShapedTransfer
from cdma.verif.engine.transfer import Transfer, stream_of
from cdma.verif.simulator.plan import planned


def _pattern(address: int, length: int) -> bytes:
    """Bytes that follow from their address, none of them 0."""
    words = np.arange(address // 4, (address + length + 3) // 4, dtype=np.uint64)
    mixed = (words * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(20)).astype(np.uint32) | np.uint32(0x01010101)
    return mixed.tobytes()[address % 4 :][:length]


def _literals(form: StreamFormat, start: int) -> Callable[[int, int], bytes]:
    """The compressed stream of such words, as literals, from an address on."""
    size = (form.header_words + form.window * form.parts) * form.stream_bits // 8
    mask = b"\xff" * (form.mask_words * form.stream_bits // 8)
    padding = bytes(form.bound_bytes(form.window) - len(mask) - size)
    window = mask + (b"\xff" * size + padding) * (form.group_words // form.window)

    def data(address: int, length: int) -> bytes:
        first = (address - start) % len(window)
        return (window * (-(-(first + length) // len(window))))[first : first + length]

    return data


def _base(config: EngineConfig, port: str) -> int:
    """The address at which the transfers on a port begin: just below 2**34 or 2**32, if the port has such addresses.

    The engine counts no address bits above the lower 34: these are those of a command's first or last address.
    """
    bits = config.dev_address_bits if port == "dev" else config.host_address_bits
    below = max(2 * config.data_bits(port) // 8, config.align(port))
    return 2**34 - below if bits > 35 else 2**32 - below if bits > 33 else SIZE


def _few(config: EngineConfig) -> int:
    """The few bytes by which a length exceeds a power of two."""
    return 2 * max(config.dev_data_bits, config.host_data_bits) // 8 + config.format.raw_bytes


def _look(config: EngineConfig) -> int:
    """How many bytes of a transfer are looked at: a few windows, or groups of them, for the codec."""
    return _few(config) + 3 * _unit(config)


def _unit(config: EngineConfig) -> int:
    """Raw bytes of a part of a stream that does not depend on others."""
    return config.format.group_words * config.format.word_bits // 8


def _of_many_rows(config: EngineConfig, most: int) -> Iterator[Shape]:
    """Shapes of adjacent rows, which together need every bit of a number of entries; each of about ``most`` bytes, or the
    most that a shape spans."""
    unit = lcm(config.align("dev"), config.format.raw_bytes)
    for log2 in range(COUNT_BITS):
        counts = [(1 << log2) + 1, (1 << COUNT_BITS - 1 - log2) + 1][: config.dimensions]
        after = 1 << log2 % PADDING_BITS
        row = min(most, SPAN_LIMIT) // ((counts[0] + after) * prod(counts[1:]))
        run = min(row, (1 << RUN_BITS) - 1) // unit * unit
        if run * counts[0] > 2 * _look(config):
            inner = Dimension(counts[0], run, 0, after)
            yield Shape(run, (inner, *(Dimension(count, run * counts[0]) for count in counts[1:])))


async def _cut(bench: EngineBench, channel: str, mode: Mode, size: int, shape: Shape | None = None) -> None:
    """Starts a transfer of about ``size`` bytes at both ends and aborts it. The first bytes of a ``shape`` must be
    contiguous."""
    config, end = bench.config, bench.channels[channel]
    rules = bench.rules[channel]
    ports = (rules.source, rules.sink)
    source, sink = (bench.memory[port] for port in ports)
    start, destination = (_base(config, port) for port in ports)
    form = rules.format(mode, bench.tables[channel])
    look = _look(config)
    through = mode != Mode.RAW
    decompresses = through and channel == "prefetch"
    data = _literals(form, start) if decompresses else _pattern
    expected = b"\xff" * (2 * look) if decompresses else _pattern(start, 2 * look)
    if through and channel == "offload":
        expected = stream_of(expected[: len(expected) // _unit(config) * _unit(config)], form)
    source.far, sink.far = (
        Far(at, data, wanted, config.stripe_bytes, config.units if config.striped(port) else 1)
        for at, port, wanted in zip((start, destination), ports, (b"", expected), strict=True)
    )
    tag = bench.new_tag()
    descriptor = {
        "source": start,
        "destination": destination,
        "length": size,
        "capacity": size,
        "compressed_length": size if decompresses else 0,
        "tag": tag,
        "mode": int(mode),
    }
    made = Transfer(descriptor, b"", Outcome())
    if shape is not None:
        made = ShapedTransfer(descriptor | {"shaped": 1}, b"", Outcome(), shape=shape)
    await end.submit([made.record()])
    # The turn of a pair comes once it has paid for the transfers before, of whatever length they were to be.
    for _ in range(4000 if config.channels == 1 else 8000):
        if sink.far.written >= look:
            break
        assert end.completion() is None, f"{descriptor} ended after {sink.far.written} bytes"
        await bench.after(4)
    else:
        raise AssertionError(f"{descriptor} stands still after {sink.far.written} bytes")
    await abort(bench, channel)
    got = await completed(bench, channel)
    assert (got["status"], got["tag"]) == (Status.ABORTED, tag), got
    source.far = sink.far = None
    bench.transfers += 1
    bench.checks += look // bench.ports[rules.sink][0].bus_bytes


async def _refuse(bench: EngineBench, channel: str, **fields: int) -> None:
    made = changed(bench.transfer(channel, 4, mode=Mode.ZVC), **fields)
    await expect_refusal(bench, channel, made, Status.LENGTH, 0)


async def _with_capacity(bench: EngineBench, channel: str, capacity: int) -> None:
    """A small transfer with a far larger capacity."""
    end = bench.channels[channel]
    made = bench.transfer(channel, 40)
    needed = made.descriptor["capacity"]
    await end.submit([changed(made, capacity=capacity).record()])
    completion = await end.next()
    bench.check(channel, changed(made, capacity=needed), completion)


@planned(
    "lengths of 2^k bytes and a few more, over 2^34, and shapes of 2^16 rows, until aborted; longer ones, each bit",
    "the addresses of what moved; the longer ones are refused",
    weight=8,
)
@engine_test
async def limits(bench: EngineBench, budget: int) -> None:
    config = bench.config
    word = config.format.raw_bytes
    most, length_bits = config.most_bytes, config.records.length_bits
    address_bits = min(config.dev_address_bits, config.host_address_bits)
    beyond = (1 << address_bits) - SIZE
    for channel in CHANNELS:
        await bench.channels[channel].enable()
        sizes = {(1 << log2) + _few(config) for log2 in range(16, 32)} | {most - word, most}
        fitting = [
            size for size in sorted(sizes) if size <= most and (size <= beyond or beyond > 2 * MAX_BYTES)
        ]
        for number, size in enumerate(fitting):
            modes = (Mode.RAW, Mode.ZVC) if size >= most - word else (Mode(number % 2),)
            for mode in modes:
                await _cut(bench, channel, mode, size // word * word)
        if config.dimensions:
            for shape in _of_many_rows(config, fitting[-1]):
                await _cut(bench, channel, Mode.RAW, shape.length, shape)
        # Every bit beyond, alone and with a few words: too long, whatever the capacity.
        await _refuse(bench, channel, length=most + word, capacity=(1 << 64) - 1)
        for log2 in range(length_bits, 64):
            await _refuse(bench, channel, length=(1 << log2) + 4 * word, capacity=(1 << 64) - 1)
            if channel == "prefetch":
                await _refuse(bench, channel, compressed_length=(1 << log2) + 4 * word)
        # Any capacity beyond what can be filled is as good as another, if the addresses exist.
        if address_bits > length_bits + 1:
            for log2 in (length_bits - 1, length_bits, 63):
                await _with_capacity(bench, channel, 1 << log2)
        await bench.channels[channel].disable()


#: Beats of a packet of raw data at the narrower port.
_BEATS = 128
#: Two runs have so many packets; what a packet takes is their difference, so that beginning and end do not count.
_FEW, _MANY = 8, 40


def _least(config: EngineConfig, row: dict[str, Any]) -> float:
    """The cycles that a packet takes in the busiest of ports and codec, with the records of the rings."""
    return max(
        row["bytes"] * 8 / config.dev_data_bits,
        (row["compressed_bytes"] + RECORD_BYTES) * 8 / config.host_data_bits,
        _codec_cycles(config, row["bytes"] * 8 // config.format.word_bits),
    )


def _codec_cycles(config: EngineConfig, words: int) -> float:
    """The cycles of the codec: a beat each, and those that a header takes which is longer than a beat."""
    form = config.format
    return words / config.lanes + words / form.window * (-(-form.header_words // config.codec.units) - 1)


def _allowed(config: EngineConfig) -> int:
    """The cycles between two packets: none where nothing has to fill anew."""
    refills = (
        config.pipelined
        or config.crc
        or config.quantisation is not None
        or config.realign
        or config.dimensions > 0
        or config.burst_beats < 8
        or config.format.header_words >= config.lanes
        or config.format.levels > 1
    )
    return 3 if refills else 0


@planned(
    "packets of 128 beats one after the other, memories of two cycles that never wait, each direction and mode",
    "no cycle beside the beats of the busiest part; up to 3 between packets where something has to fill anew",
    needs=lambda design: (
        design.config.registers
        and design.config.ring_entries >= 64
        and design.config.outstanding >= 2
        and design.config.units == 1
        and design.config.clocks == "none"
    ),
    weight=2,
)
@partial(engine_test, kind=PacedBench)
async def pace(bench: PacedBench, budget: int) -> None:
    config = bench.config
    size = _BEATS * min(config.dev_data_bits, config.host_data_bits) // 8
    for direction in CHANNELS:
        for mode, density in (("zvc", 0.25), ("raw", 1.0)):
            case = {
                "direction": direction,
                "mode": mode,
                "density": density,
                "bytes": size,
                "memory_latency": 2,
            }
            few, many = [
                (await Measurement(bench, {**case, "descriptors": count}).run())[0] for count in (_FEW, _MANY)
            ]
            took = (many["cycles"] - few["cycles"]) / (_MANY - _FEW)
            least = _least(config, many)
            assert took <= least + _allowed(config), (
                f"{direction} {mode}: a packet takes {took} cycles where the busiest part needs {least}"
            )
            bench.checks += 1


@planned(
    "every objection to a descriptor",
    "nothing moves, cause and address are reported, the next descriptor runs",
    weight=3,
)
@engine_test
async def refusals(bench: EngineBench, budget: int) -> None:
    config = bench.config
    word, bits = config.format.raw_bytes, config.format.word_bits
    size = 40 * bits // 8
    bench.pauses(0.2)
    for channel in CHANNELS:
        await bench.channels[channel].enable()

        def change(mode: int = Mode.RAW, channel: str = channel, **fields: int) -> Transfer:
            made = bench.transfer(channel, 40, mode=mode)
            made.descriptor |= fields
            return made

        async def refuse(made: Transfer, status: Status, address: int = 0, channel: str = channel) -> None:
            memory = bench.memory["host" if channel == "offload" else "dev"]
            before = bytes(memory.read(0x10000, 0x10000))
            await expect_refusal(bench, channel, made, status, address)
            assert bytes(memory.read(0x10000, 0x10000)) == before
            good = bench.transfer(channel, 9)
            await bench.run(channel, [good])

        await refuse(change(length=0), Status.ZERO_LENGTH)
        await refuse(change(length=(1 << 32) + word), Status.LENGTH)
        if word > 1 and not config.tail_bits:
            await refuse(change(length=word + 1), Status.LENGTH)
        await refuse(change(compressed_length=word), Status.LENGTH)
        await refuse(change(mode=3), Status.RESERVED)
        await refuse(change(owner=1 << 31, owned=0), Status.RESERVED)
        for bit in (11, config.host_address_bits % 64) if config.pages else (12, 63):
            low, high = (1 << bit) % (1 << 32), (1 << bit) >> 32
            await refuse(change(pages_low=low, pages_high=high), Status.RESERVED)
        await refuse(change(reserved_middle=1), Status.RESERVED)
        await refuse(change(reserved_flags=4), Status.RESERVED)
        if not config.records.owner_bits:
            await refuse(change(owned=1), Status.RESERVED)
        if not config.dimensions:
            await refuse(change(shaped=1), Status.RESERVED)
        if not config.delta:
            await refuse(change(delta=1), Status.RESERVED)
        if not bench.config.crc:
            await refuse(change(check_crc=1), Status.RESERVED)
            await refuse(change(crc=1 << 31), Status.RESERVED)
        if config.quantisation is None:
            await refuse(change(step=1), Status.RESERVED)
        else:
            greatest, number = config.quantisation.greatest_step, config.quantisation.number_type.bits // 8
            await refuse(change(step=greatest + 1), Status.RESERVED)
            await refuse(change(step=255), Status.RESERVED)
            length = size // number * number
            stored = -(-length // number * bits // 8) if channel == "prefetch" else 0
            await refuse(change(step=1, compressed_length=stored, length=length + word), Status.LENGTH)
            if channel == "prefetch":
                await refuse(change(step=1), Status.ZERO_LENGTH)
                for wrong in (stored - word, stored + word, length):
                    await refuse(change(step=1, compressed_length=wrong, length=length), Status.LENGTH)
        await refuse(change(capacity=0), Status.CAPACITY, -1)
        made = change()
        await refuse(changed(made, capacity=size - 1), Status.CAPACITY, -1)
        fields = ("source", "destination") if channel == "offload" else ("destination", "source")
        for field, port in zip(fields, ("dev", "host"), strict=True):
            for step in {1, word} if config.realign else {1, word, config.align(port) // 2}:
                if step % config.align(port):
                    made = change()
                    address = made.descriptor[field] + step
                    await refuse(changed(made, **{field: address}), Status.ALIGNMENT, address)
        if channel == "prefetch":
            await refuse(change(Mode.ZVC, compressed_length=0), Status.ZERO_LENGTH)
            if config.format.stream_bits > 8:
                await refuse(change(Mode.ZVC, compressed_length=word + 1), Status.LENGTH)
        bits = config.dev_address_bits if channel == "offload" else config.host_address_bits
        for bit in range(bits, 64):
            await refuse(change(source=1 << bit), Status.WINDOW, 1 << bit)


@planned(
    "source and destination on both sides of each edge of their windows",
    "those outside are refused, and nothing moves",
    needs=lambda design: design.config.windows,
)
@engine_test
async def windows(bench: EngineBench, budget: int) -> None:
    low, high = 0x20000, 0x40000
    for port in ("dev", "host"):
        # The rings, if any, lie in the first pages: only the device port's window begins later.
        await bench.set_window(port, low if port == "dev" else 0, high - 1)
    for memory in bench.memory.values():
        memory.next = low
    word, word_bits = bench.config.format.raw_bytes, bench.config.format.word_bits
    for channel in CHANNELS:
        end = bench.channels[channel]
        await end.enable()
        await bench.run(channel, [bench.transfer(channel, 30, mode=Mode.RAW)])
        bits = {"dev": bench.config.dev_data_bits, "host": bench.config.host_data_bits}
        steps = {port: bench.config.align(port) for port in bits}
        beats = {port: max(width // 8, steps[port]) for port, width in bits.items()}
        ports = (bench.rules[channel].source, bench.rules[channel].sink)
        for field, port in zip(("source", "destination"), ports, strict=True):
            count = (max(64, beats[port]) // word + 1) * word
            outside = [high - beats[port], high, high + 4096]
            if port == "dev":
                # The last beat before the window, and one that ends in it.
                outside += [low - beats[port], low - 4096, low - steps[port]]
            # The first address from which the last word is outside.
            outside.append((high - count) // steps[port] * steps[port] + steps[port])
            for address in outside:
                made = changed(
                    bench.transfer(channel, count * 8 // word_bits, mode=Mode.RAW), **{field: address}
                )
                await expect_refusal(bench, channel, made, Status.WINDOW, address)
        # Up to the window's very last byte is fine, and so is its first.
        memory, port = bench.memory[ports[1]], ports[1]
        size = max(64 * word, beats[port])
        inside = [(high - size, size), (high - size - steps[port], size + steps[port])]
        if port == "dev":
            inside.append((low, size))
        for at, count in inside:
            made = bench.transfer(channel, count * 8 // word_bits, mode=Mode.RAW)
            memory.allow(at, count)
            memory.write(at - 128, bytes([GUARD]) * (count + 256))
            await bench.run(channel, [changed(made, destination=at)])
        await end.disable()
