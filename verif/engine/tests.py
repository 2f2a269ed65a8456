"""The cocotb tests of an engine's channels, with registers or without; they run inside a simulation and leave what
they did in a result file.

What belongs to rings and registers alone is in :mod:`~cdma.verif.engine.register_tests`.
"""

from __future__ import annotations

import itertools

import numpy as np
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiResp

from cdma.hdl.spec.records import COMPLETION, LENGTH_BITS, MAX_BYTES, Mode, Status
from cdma.sim.codec.model import encode_packet
from cdma.sim.codec.words import words_from_bytes, words_to_bytes
from cdma.sim.engine.descriptors import unpack
from cdma.sim.engine.transfer import Outcome

from .bench import CHANNELS, EngineBench
from .context import both, engine_test
from .memory import GUARD, SIZE, Far
from .promises import check_promises
from .transfer import Transfer, random_words

__all__: list[str] = []


def _some_table(bench: EngineBench) -> list[int]:
    top = (1 << bench.config.format.word_bits) - 1
    return [
        bench.rng.choice((0, 1, top, bench.rng.randint(0, top))) for _ in range(bench.config.codec.table_size)
    ]


def _some_length(bench: EngineBench) -> int:
    """Words: short ones, boundaries of beats, windows, bursts and pages, one more and one less."""
    config, rng = bench.config, bench.rng
    word_bytes = config.format.word_bits // 8
    choice = rng.random()
    if choice < 0.3:
        return rng.randint(1, 3 * config.lanes)
    if choice < 0.8:
        beat = rng.choice((config.dev_data_bits, config.host_data_bits)) // 8
        unit = rng.choice((beat, beat * config.burst_beats, config.format.window * word_bytes, 4096))
        return max(1, unit // word_bytes * rng.randint(1, 2) + rng.choice((-1, 0, 1)))
    return rng.randint(1, 2000)


@engine_test
async def soak(bench: EngineBench, budget: int) -> None:
    """Both directions at once, random descriptors in rings, random back-pressure and latency, many ring
    wraps.
    """
    left = budget
    while left > 0:
        count = min(left, bench.rng.randint(10, 60))
        left -= count
        bench.pauses(bench.rng.choice((0.0, None, None)))
        for memory in bench.memory.values():
            memory.latency = bench.rng.choice((0, 10, 60))

        async def job(channel: str, count: int = count) -> None:
            await bench.set_table(channel, _some_table(bench))
            await bench.channels[channel].enable()
            transfers = [bench.transfer(channel, _some_length(bench)) for _ in range(count // 2 + 1)]
            await bench.run(channel, transfers)
            await bench.channels[channel].disable()

        await both(bench, job)


@engine_test
async def lengths(bench: EngineBench, budget: int) -> None:
    """Every length around a beat, a burst and a page, raw and compressed, in both directions, without
    pauses.
    """
    config = bench.config
    word = config.format.word_bits // 8
    sizes = set()
    for unit in (config.dev_data_bits // 8, config.host_data_bits // 8, config.format.window * word):
        sizes |= {unit // word + step for step in (-1, 0, 1)}
    for bits in (config.dev_data_bits, config.host_data_bits):
        sizes |= {config.burst(bits) * bits // 8 // word + step for step in (-1, 0, 1)}
    sizes |= {4096 // word + step for step in (-1, 0, 1)} | {1}

    async def job(channel: str) -> None:
        await bench.channels[channel].enable()
        for mode in (Mode.RAW, Mode.ZVC):
            await bench.run(
                channel, [bench.transfer(channel, size, mode=mode) for size in sorted(sizes - {0})]
            )

    await both(bench, job)


@engine_test
async def refusals(bench: EngineBench, budget: int) -> None:
    """Every objection to a descriptor: nothing is transferred, the cause and the address are told, the next
    one runs.
    """
    config = bench.config
    word = config.format.word_bits // 8
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
            await _expect_moved_nothing(bench, channel, made, status, address)
            assert bytes(memory.read(0x10000, 0x10000)) == before
            good = bench.transfer(channel, 9)
            await bench.run(channel, [good])

        await refuse(change(length=0), Status.ZERO_LENGTH)
        await refuse(change(length=(1 << 32) + word), Status.LENGTH)
        if word > 1:
            await refuse(change(length=word + 1), Status.LENGTH)
        await refuse(change(compressed_length=word), Status.LENGTH)
        await refuse(change(mode=3), Status.RESERVED)
        await refuse(change(reserved=1 << 143), Status.RESERVED)
        await refuse(change(reserved_flags=64), Status.RESERVED)
        await refuse(change(capacity=0), Status.CAPACITY, -1)
        made = change()
        await refuse(_with(made, capacity=40 * word - 1), Status.CAPACITY, -1)
        widths = (config.dev_data_bits, config.host_data_bits)
        fields = ("source", "destination") if channel == "offload" else ("destination", "source")
        for field, bits in zip(fields, widths, strict=True):
            for step in {1, word} if config.realign else {1, word, bits // 16}:
                if step % config.align(bits):
                    made = change()
                    place = made.descriptor[field] + step
                    await refuse(_with(made, **{field: place}), Status.ALIGNMENT, place)
        if channel == "prefetch":
            await refuse(change(Mode.ZVC, compressed_length=0), Status.ZERO_LENGTH)
            if word > 1:
                await refuse(change(Mode.ZVC, compressed_length=word + 1), Status.LENGTH)
        bits = config.dev_address_bits if channel == "offload" else config.host_address_bits
        for bit in range(bits, 64):
            await refuse(change(source=1 << bit), Status.WINDOW, 1 << bit)


def _with(made: Transfer, **fields: int) -> Transfer:
    made.descriptor |= fields
    return made


async def _expect_moved_nothing(
    bench: EngineBench, channel: str, made: Transfer, status: Status, address: int
) -> None:
    """Runs a descriptor that must be refused, by the specification and by the engine.

    ``address`` -1 stands for the first byte past the capacity.
    """
    if address == -1:
        address = made.descriptor["destination"] + made.descriptor["capacity"]
    made.expected = Outcome(status, address=address)
    assert bench.refusal(channel, made) == made.expected, (made.descriptor, bench.refusal(channel, made))
    end = bench.channels[channel]
    await end.submit([made.record()])
    bench.checks += made.check(await end.next())
    check_promises(bench.config, channel, made.descriptor, made.completion)
    bench.transfers += 1


@engine_test
async def windows(bench: EngineBench, budget: int) -> None:
    """Source and destination on both sides of each edge of their windows."""
    low, high = 0x20000, 0x40000
    for port in ("dev", "host"):
        # The rings, if any, lie in the first pages: only the device port's window begins later.
        await bench.set_window(port, low if port == "dev" else 0, high - 1)
    for memory in bench.memory.values():
        memory.next = low
    word = bench.config.format.word_bits // 8
    for channel in CHANNELS:
        end = bench.channels[channel]
        await end.enable()
        await bench.run(channel, [bench.transfer(channel, 30, mode=Mode.RAW)])
        bits = {"dev": bench.config.dev_data_bits, "host": bench.config.host_data_bits}
        beats = {port: width // 8 for port, width in bits.items()}
        steps = {port: bench.config.align(width) for port, width in bits.items()}
        ports = ("dev", "host") if channel == "offload" else ("host", "dev")
        for field, port in zip(("source", "destination"), ports, strict=True):
            count = max(64, beats[port]) // word + 1
            outside = [high - beats[port], high, high + 4096]
            if port == "dev":
                # The last beat before the window, and one that ends in it.
                outside += [low - beats[port], low - 4096, low - steps[port]]
            # The first place from which the last word is outside.
            outside.append((high - count * word) // steps[port] * steps[port] + steps[port])
            for place in outside:
                made = _with(bench.transfer(channel, count, mode=Mode.RAW), **{field: place})
                await _expect_moved_nothing(bench, channel, made, Status.WINDOW, place)
        # Up to the window's very last byte is fine, and so is its first.
        memory, port = bench.memory[ports[1]], ports[1]
        size = max(64 * word, beats[port])
        inside = [(high - size, size), (high - size - steps[port], size + steps[port])]
        if port == "dev":
            inside.append((low, size))
        for at, count in inside:
            made = bench.transfer(channel, count // word, mode=Mode.RAW)
            memory.allow(at, count)
            memory.write(at - 128, bytes([GUARD]) * (count + 256))
            await bench.run(channel, [_with(made, destination=at)])
        await end.disable()


def _error_places(bench: EngineBench, start: int, length: int, beat: int) -> list[int]:
    """Bytes of the first beat, the last one, both sides of the last burst's edge, and any."""
    block = beat * bench.config.burst(8 * beat)
    edge = (start + length - 1) // block * block
    places = [start, start + length - 1, bench.rng.randrange(start, start + length)]
    return [*places, *(at for at in (edge - 1, edge) if start <= at < start + length)]


@engine_test
async def bus_errors(bench: EngineBench, budget: int) -> None:
    """SLVERR and DECERR on reads and writes of data, raw and through the codec, in the first and the last beat and
    burst: told once, in order, with the address; the channel goes on, or halts if told so.
    """
    config, rng = bench.config, bench.rng
    bench.pauses(0.2)
    beats = {"dev": config.dev_data_bits // 8, "host": config.host_data_bits // 8}
    statuses = {
        ("read", AxiResp.SLVERR): Status.READ_SLVERR,
        ("read", AxiResp.DECERR): Status.READ_DECERR,
        ("write", AxiResp.SLVERR): Status.WRITE_SLVERR,
        ("write", AxiResp.DECERR): Status.WRITE_DECERR,
    }
    word = config.format.word_bits // 8
    words = max(config.burst(8 * beat) * beat for beat in beats.values()) * 5 // 2 // word

    async def one(channel: str, side: str, response: AxiResp, mode: Mode, which: int, halt: bool) -> None:
        end = bench.channels[channel]
        port = {"read": "dev", "write": "host"}[side]
        if channel == "prefetch":
            port = {"dev": "host", "host": "dev"}[port]
        memory, beat = bench.memory[port], beats[port]
        before, after = (bench.transfer(channel, 3, mode=Mode.RAW) for _ in range(2))
        made = bench.transfer(channel, words, mode=mode)
        field = "source" if side == "read" else "destination"
        start, data = made.descriptor[field], made.source if side == "read" else made.expected.written
        places = _error_places(bench, start, len(data), beat)
        at = places[which % len(places)]
        other = next(each for each in AxiResp if each in (2, 3) and each != response)
        # A second error, of the other kind, behind the first: it is not told.
        second = max(places)
        block = beat * config.burst(8 * beat)
        bad = {second: other} if second // block > at // block else {}
        bad[at] = response
        # The other channel uses the same memory at the same time.
        memory.bad |= bad
        await end.submit([made.record() for made in (before, made, after)])
        bench.check(channel, before, await end.next())
        got = unpack(COMPLETION, await end.next())
        address = at // beat * beat if side == "read" else max(start, at // block * block)
        want = (statuses[side, response], address, made.descriptor["tag"])
        assert (got["status"], got["address"], got["tag"]) == want, (made.descriptor, got, want)
        assert got["bytes_read"] == made.expected.bytes_read, (made.descriptor, got)
        if side == "write" or mode == Mode.RAW:
            # A failed burst has been sent all the same; what a failed read makes of a codec is anyone's guess.
            assert got["bytes_written"] == made.expected.bytes_written, (made.descriptor, got)
        await end.check_error(*want)
        for place in bad:
            del memory.bad[place]
        assert await end.flag("halted") == halt
        if halt:
            await end.resume()
        bench.check_memory(channel, made, exact=False)
        bench.check(channel, after, await end.next())
        bench.transfers += 1
        bench.checks += 4

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


@engine_test
async def corrupt(bench: EngineBench, budget: int) -> None:
    """Streams with flipped bits, cut or prolonged: the model's error, what it delivers, and nothing past the
    end.
    """
    await bench.channels["prefetch"].enable()
    bench.pauses(0.3)
    word = bench.config.format.word_bits // 8
    for _ in range(max(20, budget // 4)):
        words = bench.rng.randint(1, 300)
        form = bench.rules["prefetch"].format(Mode.FVC, bench.tables["prefetch"])
        raw = random_words(bench.np, words, bench.config, bench.tables["prefetch"])
        stream = bytearray(words_to_bytes(encode_packet(words_from_bytes(raw, form), form).words))
        for _ in range(bench.rng.randint(0, 3)):
            stream[bench.rng.randrange(len(stream))] ^= 1 << bench.rng.randrange(8)
        choice = bench.rng.random()
        if choice < 0.3:
            stream = stream[: word * bench.rng.randint(1, len(stream) // word)]
        elif choice < 0.6:
            stream += bytes(bench.rng.randrange(256) for _ in range(word * bench.rng.randint(1, 40)))
        made = bench.transfer("prefetch", words, mode=Mode.FVC, stream=bytes(stream))
        await bench.run("prefetch", [made, bench.transfer("prefetch", bench.rng.randint(1, 60))])


@engine_test
async def capacity(bench: EngineBench, budget: int) -> None:
    """Compressed data that do not fit: whole beats up to the capacity, nothing past it, and the next one
    runs.
    """
    await bench.channels["offload"].enable()
    bench.pauses(0.2)
    for _ in range(max(10, budget // 8)):
        words = bench.rng.randint(20, 600)
        room = bench.rng.randint(1, words * bench.config.format.word_bits // 8)
        made = bench.transfer("offload", words, mode=Mode.ZVC, capacity=room)
        await bench.run("offload", [made, bench.transfer("offload", bench.rng.randint(1, 60))])


@engine_test
async def aborts(bench: EngineBench, budget: int) -> None:
    """Aborts at random moments: all transactions end legally, what had started is ABORTED or done, the rest
    runs.
    """
    for round_ in range(max(6, budget // 20)):
        bench.pauses()
        for memory in bench.memory.values():
            memory.latency = bench.rng.choice((0, 40))

        async def job(channel: str, round_: int = round_) -> None:
            end = bench.channels[channel]
            await end.enable()
            made = [bench.transfer(channel, bench.rng.randint(1, 800)) for _ in range(6)]
            await end.submit([each.record() for each in made])
            await ClockCycles(bench.dut.aclk, bench.rng.randint(1, 600))
            await end.abort()
            await bench.settle(channel)
            assert await end.flag("halted")
            await end.resume()
            for each in made:
                data = await end.next()
                got = unpack(COMPLETION, data)
                if got["status"] == Status.ABORTED:
                    assert got["tag"] == each.descriptor["tag"], got
                    bench.check_memory(channel, each, exact=False)
                else:
                    bench.check(channel, each, data)
                bench.checks += 1
            await bench.run(channel, [bench.transfer(channel, 100)])
            await end.disable()

        await both(bench, job)


@engine_test
async def hard_resets(bench: EngineBench, budget: int) -> None:
    """aresetn at random moments with everything open: nothing is offered or taken meanwhile, nothing is left of what
    was, and data move right at once after it.
    """
    for _ in range(max(6, budget // 20)):
        bench.pauses()
        for memory in bench.memory.values():
            memory.latency = bench.rng.choice((0, 40))
        under_way: dict[str, list[Transfer]] = {}

        async def begin(channel: str, under_way: dict[str, list[Transfer]] = under_way) -> None:
            await bench.set_table(channel, _some_table(bench))
            end = bench.channels[channel]
            await end.enable()
            under_way[channel] = [bench.transfer(channel, bench.rng.randint(1, 800)) for _ in range(6)]
            await end.submit([made.record() for made in under_way[channel]])

        await both(bench, begin)
        await ClockCycles(bench.dut.aclk, bench.rng.randint(1, 700))
        await bench.reset(bench.rng.randint(1, 5))
        bench.pauses(bench.rng.choice((0.0, 0.3)))
        for channel in CHANNELS:
            end = bench.channels[channel]
            for flag in ("busy", "halted", "aborting", "stuck"):
                assert not await end.flag(flag), f"{channel} is {flag} after a reset"
            await bench.set_table(channel, [0] * bench.config.codec.table_size)
        # What has been written before the reset is no more than was allowed, and nothing comes after it.
        await ClockCycles(bench.dut.aclk, 20)
        for checker in bench.checkers.values():
            checker.finish()
        for channel, transfers in under_way.items():
            for made in transfers:
                bench.check_memory(channel, made, exact=False)

        async def go_on(channel: str) -> None:
            end = bench.channels[channel]
            await end.enable()
            await bench.run(channel, [bench.transfer(channel, bench.rng.randint(1, 200)) for _ in range(2)])
            await end.disable()

        await both(bench, go_on)


def _pattern(address: int, length: int) -> bytes:
    """Bytes that follow from their address, none of them 0."""
    words = np.arange(address // 4, (address + length + 3) // 4, dtype=np.uint64)
    mixed = (words * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(20)).astype(np.uint32) | np.uint32(0x01010101)
    return mixed.tobytes()[address % 4 :][:length]


def _ones(address: int, length: int) -> bytes:
    """A compressed stream of literals without a zero bit, from any window on."""
    return b"\xff" * length


@engine_test
async def limits(bench: EngineBench, budget: int) -> None:
    """Lengths of 2**k bytes and a few more, up to the most that is allowed: the transfer goes on behind the few, at
    the right addresses, over 2**32 where the port has such, until it is aborted. Longer ones are refused, each bit.
    """
    config = bench.config
    word = config.format.word_bits // 8
    most = MAX_BYTES if word > 1 else MAX_BYTES - 1
    address_bits = {"dev": config.dev_address_bits, "host": config.host_address_bits}
    beats = {"dev": config.dev_data_bits // 8, "host": config.host_data_bits // 8}
    few = 2 * max(beats.values()) + word

    def place(port: str) -> int:
        return 2**32 - 2 * beats[port] if address_bits[port] > 33 else SIZE

    async def cut(channel: str, mode: Mode, size: int) -> None:
        """Starts a transfer of ``size`` bytes at both ends, or nearly so, and aborts it on its way."""
        end = bench.channels[channel]
        ports = ("dev", "host") if channel == "offload" else ("host", "dev")
        source, sink = (bench.memory[port] for port in ports)
        form = bench.rules[channel].format(mode, bench.tables[channel])
        # As much as is looked at: a few windows, for the codec.
        look = few + 3 * form.window * word
        start, destination = map(place, ports)
        through = mode != Mode.RAW
        data = _ones if through and channel == "prefetch" else _pattern
        expected = data(start, 2 * look)
        if through and channel == "offload":
            words = words_from_bytes(
                expected[: len(expected) // word // form.window * form.window * word], form
            )
            expected = words_to_bytes(encode_packet(words, form).words)
        source.far, sink.far = Far(start, data), Far(destination, data, expected)
        bench.tag += 1
        descriptor = {
            "source": start,
            "destination": destination,
            "length": size,
            "capacity": size,
            "compressed_length": size if through and channel == "prefetch" else 0,
            "tag": bench.tag,
            "mode": int(mode),
        }
        await end.submit([Transfer(descriptor, b"", Outcome()).record()])
        for _ in range(4000):
            if sink.far.written >= look:
                break
            assert end.completion() is None, f"{descriptor} ended after {sink.far.written} bytes"
            await ClockCycles(bench.dut.aclk, 4)
        else:
            raise AssertionError(f"{descriptor} stands still after {sink.far.written} bytes")
        await end.abort()
        await bench.settle(channel)
        await end.resume()
        got = unpack(COMPLETION, await end.next())
        assert (got["status"], got["tag"]) == (Status.ABORTED, bench.tag), got
        source.far = sink.far = None
        bench.transfers += 1
        bench.checks += sink_beats(ports[1], look)

    def sink_beats(port: str, length: int) -> int:
        return length // beats[port]

    async def refuse(channel: str, **fields: int) -> None:
        made = _with(bench.transfer(channel, 4, mode=Mode.ZVC), **fields)
        await _expect_moved_nothing(bench, channel, made, Status.LENGTH, 0)

    for channel in CHANNELS:
        await bench.channels[channel].enable()
        room = min(1 << bits for bits in address_bits.values()) - SIZE
        sizes = {(1 << log2) + few for log2 in range(16, 32)} | {most - word, most}
        for number, size in enumerate(sorted(size for size in sizes if size <= room or room > 2 * MAX_BYTES)):
            modes = (Mode.RAW, Mode.ZVC) if size >= most - word else (Mode(number % 2),)
            for mode in modes:
                await cut(channel, mode, size // word * word)
        # Of each bit beyond, alone and with those few: too long, whatever the capacity.
        await refuse(channel, length=most + word, capacity=(1 << 64) - 1)
        for log2 in range(33, 64):
            await refuse(channel, length=(1 << log2) + 4 * word, capacity=(1 << 64) - 1)
            if channel == "prefetch" and log2 >= LENGTH_BITS:
                await refuse(channel, compressed_length=(1 << log2) + 4 * word)
        # A capacity beyond what can be filled is as good as any, if the addresses are there.
        if min(address_bits.values()) > LENGTH_BITS + 1:
            for log2 in (LENGTH_BITS - 1, LENGTH_BITS, 63):
                made = bench.transfer(channel, 40)
                needed = made.descriptor["capacity"]
                completion = await _one_with(bench, channel, made, capacity=1 << log2)
                made.descriptor["capacity"] = needed
                bench.check(channel, made, completion)
        await bench.channels[channel].disable()


async def _one_with(bench: EngineBench, channel: str, made: Transfer, **fields: int) -> bytes:
    """Runs one transfer with other fields; its completion."""
    end = bench.channels[channel]
    await end.submit([_with(made, **fields).record()])
    return await end.next()


@engine_test
async def watchdog(bench: EngineBench, budget: int) -> None:
    """A memory that falls silent under reads or writes: WATCHDOG with an address in time, the channel is stuck until
    the memory answers.
    """
    await bench.set_watchdog(200)
    ports = ["dev"] if bench.config.registers else ["dev", "host"]  # completions need a host that answers
    for channel, port in itertools.product(CHANNELS, ports):
        end = bench.channels[channel]
        await end.enable()
        bench.memory[port].frozen = True
        made = [bench.transfer(channel, 600, mode=Mode.RAW) for _ in range(2)]
        await end.submit([each.record() for each in made])
        got = unpack(COMPLETION, await end.next(3000))
        first = made[0].descriptor
        start = first["source" if (channel == "offload") == (port == "dev") else "destination"]
        if (channel == "offload") == (port == "dev"):
            # A read's is that of its beat.
            start -= start % (
                (bench.config.dev_data_bits if port == "dev" else bench.config.host_data_bits) // 8
            )
        assert (got["status"], got["tag"]) == (Status.WATCHDOG, first["tag"]), got
        assert start <= got["address"] < start + first["length"], (hex(start), got)
        assert await end.flag("stuck")
        bench.memory[port].frozen = False
        await bench.settle(channel)
        assert not await end.flag("stuck")
        assert await end.flag("halted")
        await end.resume()
        status = unpack(COMPLETION, await end.next())["status"]
        assert status in (Status.ABORTED, Status.OK), status
        for each in made:
            bench.check_memory(channel, each, exact=False)
        await bench.run(channel, [bench.transfer(channel, 100)])
        bench.checks += 5


@engine_test
async def halting(bench: EngineBench, budget: int) -> None:
    """After an error the channel halts if told so: what had not started waits for resume."""
    for channel in CHANNELS:
        end = bench.channels[channel]
        await end.enable(halt_on_error=1)
        bad = _with(bench.transfer(channel, 30), length=0)
        await end.submit([bad.record()])
        assert unpack(COMPLETION, await end.next())["status"] == Status.ZERO_LENGTH
        assert await end.flag("halted")
        good = bench.transfer(channel, 30)
        await end.submit([good.record()])
        await ClockCycles(bench.dut.aclk, 300)
        assert end.completion() is None, "a halted channel started a descriptor"
        await end.resume()
        bench.check(channel, good, await end.next())
