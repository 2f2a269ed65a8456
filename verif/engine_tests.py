"""The cocotb tests of the engine; they run inside a simulation and leave what they did in a result file."""

from __future__ import annotations

import functools
import json
import os
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import cocotb
from cocotb.triggers import ClockCycles

from ..hdl.engine.records import COMPLETION, Mode, Status
from ..sim.packets import encode_packet
from ..sim.words import words_from_bytes, words_to_bytes
from .engine_bench import CHANNELS, EngineBench
from .engine_design import EngineDesign
from .engine_model import Expected, Transfer, format_for, random_words, unpack

__all__: list[str] = []


def engine_test(body: Callable[[EngineBench, int], Awaitable[None]]) -> Any:
    """Makes a cocotb test of ``body``, which gets the bench, started, and the budget of transfers."""
    name = body.__name__

    @functools.wraps(body)
    async def run(dut: Any) -> None:
        settings = json.loads(os.environ["CDMA_BENCH"])
        rng = random.Random(f"{settings['seed']}/{name}")
        bench = EngineBench(dut, EngineDesign.from_json(settings["design"]), rng)
        failure = None
        began = time.monotonic()
        try:
            await bench.start()
            await body(bench, settings["packets"])
            bench.finish()
        except BaseException as error:
            failure = f"cycle {bench.cycles}: {bench.failure or error!r}"
            raise
        finally:
            record = {
                "test": name,
                "failure": failure,
                "packets": bench.transfers,
                "words": bench.words,
                "checks": bench.checks,
                "cycles": bench.cycles,
                "seconds": time.monotonic() - began,
            }
            with Path(settings["result"]).open("a") as results:
                results.write(json.dumps(record) + "\n")

    return cocotb.test()(run)


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


async def _both(bench: EngineBench, job: Callable[[str], Awaitable[None]]) -> None:
    """Runs a job on both channels at once."""
    tasks = [cocotb.start_soon(bench.blame(job(channel))) for channel in CHANNELS]
    for task in tasks:
        await task


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
            await bench.rings[channel].enable()
            transfers = [bench.transfer(channel, _some_length(bench)) for _ in range(count // 2 + 1)]
            await bench.run(channel, transfers)
            await bench.rings[channel].disable()

        await _both(bench, job)


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
        await bench.rings[channel].enable()
        for mode in (Mode.RAW, Mode.ZVC):
            await bench.run(
                channel, [bench.transfer(channel, size, mode=mode) for size in sorted(sizes - {0})]
            )

    await _both(bench, job)


@engine_test
async def refusals(bench: EngineBench, budget: int) -> None:
    """Every objection to a descriptor: nothing is transferred, the cause and the address are told, the next
    one runs.
    """
    config = bench.config
    word = config.format.word_bits // 8
    bench.pauses(0.2)
    for channel in CHANNELS:
        await bench.rings[channel].enable()

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
        made = change()
        source = made.descriptor["source"] + word
        await refuse(_with(made, source=source), Status.ALIGNMENT, source)
        made = change()
        destination = made.descriptor["destination"] + word
        await refuse(_with(made, destination=destination), Status.ALIGNMENT, destination)
        if channel == "prefetch":
            await refuse(change(Mode.ZVC, compressed_length=0), Status.ZERO_LENGTH)
            if word > 1:
                await refuse(change(Mode.ZVC, compressed_length=word + 1), Status.LENGTH)
        beyond = 1 << (config.dev_address_bits if channel == "offload" else config.host_address_bits)
        await refuse(change(source=beyond), Status.WINDOW, beyond)


def _with(made: Transfer, **fields: int) -> Transfer:
    made.descriptor |= fields
    return made


async def _expect_moved_nothing(
    bench: EngineBench, channel: str, made: Transfer, status: Status, address: int
) -> None:
    """``address`` -1 stands for the first byte past the capacity."""
    if address == -1:
        address = made.descriptor["destination"] + made.descriptor["capacity"]
    made.expected = Expected(status=status, address=address)
    ring = bench.rings[channel]
    await ring.submit([made.record()])
    bench.checks += made.check(await ring.next())
    bench.transfers += 1


@engine_test
async def windows(bench: EngineBench, budget: int) -> None:
    """Source, destination, descriptor ring and completion ring outside their windows; the lock holds."""
    page = 0x40000
    for name in ("dev", "host"):
        await bench.poke(f"{name}_window.base_low", page=0)
        await bench.poke(f"{name}_window.limit_low", page=(page >> 12) - 1)
        await bench.poke(
            f"{name}_window.limit_high", **({"value": 0} if bench.config.host_address_bits > 32 else {})
        )
        await bench.poke(f"{name}_window.lock", locked=1)
        await bench.poke(f"{name}_window.limit_low", page=0xFFFFF)
        assert await bench.peek(f"{name}_window.limit_low", "page") == (page >> 12) - 1, (
            "the lock did not hold"
        )
    for channel in CHANNELS:
        await bench.rings[channel].enable()
        await bench.run(channel, [bench.transfer(channel, 30, mode=Mode.RAW)])
        for field, place in (
            ("source", page - 16),
            ("source", page),
            ("destination", page - 16),
            ("destination", page),
        ):
            made = _with(bench.transfer(channel, 30, mode=Mode.RAW), **{field: place})
            await _expect_moved_nothing(bench, channel, made, Status.WINDOW, place)
        # Up to the window's very last byte is fine.
        word = bench.config.format.word_bits // 8
        made = bench.transfer(channel, 64, mode=Mode.RAW)
        at = page - 64 * word
        memory = bench.memory["host" if channel == "offload" else "dev"]
        memory.allow(at, 64 * word)
        await bench.run(channel, [_with(made, destination=at)])
        await bench.rings[channel].disable()
    # A ring outside: each descriptor is refused and reported; a completion outside is dropped and logged.
    ring = bench.rings["offload"]
    ring.base = page
    await ring.enable()
    made = bench.transfer("offload", 4, mode=Mode.RAW)
    await ring.submit([made.record()])
    got = unpack(COMPLETION, await ring.next())
    assert (got["status"], got["address"], got["tag"]) == (Status.WINDOW, page, 0), got
    await ring.disable()
    ring.base = 0x1000
    await bench.poke("offload.command", clear_error=1)
    await ring.enable()
    await bench.poke("offload.control", enable=1, ring_enable=1)
    await bench.poke("offload.completion_base_low", line=page >> 6)
    await bench.poke("offload.control", enable=1, ring_enable=1, completion_ring_enable=1)
    made = bench.transfer("offload", 4, mode=Mode.RAW)
    await ring.submit([made.record()])
    for _ in range(200):
        if await bench.peek("offload.error", "valid"):
            break
    assert await bench.peek("offload.error", "status") == Status.WINDOW
    assert await bench.peek("offload.error_address_low") == page
    assert await bench.peek("offload.error_tag") == made.descriptor["tag"]
    bench.checks += 3


@engine_test
async def bus_errors(bench: EngineBench, budget: int) -> None:
    """SLVERR on reads, writes, fetches and completions: told once, with the address, and the next descriptor
    runs.
    """
    bench.pauses(0.2)
    for channel in CHANNELS:
        ring = bench.rings[channel]
        await ring.enable()
        read, write = ("dev", "host") if channel == "offload" else ("host", "dev")
        beats = {"dev": bench.config.dev_data_bits // 8, "host": bench.config.host_data_bits // 8}
        for _ in range(6):
            made = bench.transfer(channel, 700)
            length = len(made.source)
            at = made.descriptor["source"] + bench.rng.randrange(length)
            bench.memory[read].bad = {at}
            await ring.submit([made.record(), bench.transfer(channel, 3, mode=Mode.RAW).record()])
            got, after = unpack(COMPLETION, await ring.next()), unpack(COMPLETION, await ring.next())
            want = (Status.READ_SLVERR, at // beats[read] * beats[read], made.descriptor["tag"], Status.OK)
            assert (got["status"], got["address"], got["tag"], after["status"]) == want, (got, after, want)
            bench.memory[read].bad = set()
            bench.check_memory(channel, made, exact=False)

            made = bench.transfer(channel, 700, mode=Mode.RAW)
            start = made.descriptor["destination"]
            at = start + bench.rng.randrange(len(made.expected.written))
            bench.memory[write].bad = {at}
            await ring.submit([made.record(), bench.transfer(channel, 3, mode=Mode.RAW).record()])
            got, after = unpack(COMPLETION, await ring.next()), unpack(COMPLETION, await ring.next())
            block = beats[write] * bench.config.burst(8 * beats[write])
            want = (Status.WRITE_SLVERR, max(start, at // block * block), made.descriptor["tag"], Status.OK)
            assert (got["status"], got["address"], got["tag"], after["status"]) == want, (got, after, want)
            bench.memory[write].bad = set()
            bench.check_memory(channel, made, exact=False)
            bench.transfers += 4
            bench.checks += 2
        # The fetch of a descriptor.
        at = ring.base + ring.submitted % ring.size * 64
        bench.memory["host"].bad = {at + 60}
        await ring.submit([bench.transfer(channel, 3).record()])
        got = unpack(COMPLETION, await ring.next())
        assert (got["status"], got["address"], got["tag"]) == (Status.FETCH_SLVERR, at, 0), got
        bench.memory["host"].bad = set()
        await bench.run(channel, [bench.transfer(channel, 50)])
        # The write of a completion: in the error register, for there is nowhere else.
        await bench.poke(f"{channel}.command", clear_error=1)
        at = ring.completions + ring.done % ring.size * 64
        bench.memory["host"].bad = {at}
        made = bench.transfer(channel, 3, mode=Mode.RAW)
        await ring.submit([made.record()])
        for _ in range(300):
            if await bench.peek(f"{channel}.error", "valid"):
                break
        found = (
            await bench.peek(f"{channel}.error", "status"),
            await bench.peek(f"{channel}.error_address_low"),
        )
        assert found == (Status.COMPLETION_SLVERR, at), found
        assert await bench.peek(f"{channel}.error_tag") == made.descriptor["tag"]
        bench.memory["host"].bad = set()
        ring.done += 1
        await bench.run(channel, [bench.transfer(channel, 50)])
        bench.checks += 3


@engine_test
async def corrupt(bench: EngineBench, budget: int) -> None:
    """Streams with flipped bits, cut or prolonged: the model's error, what it delivers, and nothing past the
    end.
    """
    await bench.rings["prefetch"].enable()
    bench.pauses(0.3)
    word = bench.config.format.word_bits // 8
    for _ in range(max(20, budget // 4)):
        words = bench.rng.randint(1, 300)
        form = format_for(bench.config, Mode.FVC, bench.tables["prefetch"])
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
    await bench.rings["offload"].enable()
    bench.pauses(0.2)
    for _ in range(max(10, budget // 8)):
        words = bench.rng.randint(20, 600)
        room = bench.rng.randint(1, words * bench.config.format.word_bits // 8)
        made = bench.transfer("offload", words, mode=Mode.ZVC, capacity=room)
        await bench.run("offload", [made, bench.transfer("offload", bench.rng.randint(1, 60))])


async def _settle(bench: EngineBench, channel: str) -> None:
    for _ in range(2000):
        if not await bench.peek(f"{channel}.status", "aborting"):
            return
    raise AssertionError(f"{channel}: the abort did not end")


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
            ring = bench.rings[channel]
            await ring.enable()
            made = [bench.transfer(channel, bench.rng.randint(1, 800)) for _ in range(6)]
            await ring.submit([each.record() for each in made])
            await ClockCycles(bench.dut.aclk, bench.rng.randint(1, 600))
            await bench.poke(f"{channel}.command", abort_now=1)
            await _settle(bench, channel)
            assert await bench.peek(f"{channel}.status", "halted")
            await bench.poke(f"{channel}.command", resume=1)
            for each in made:
                data = await ring.next()
                got = unpack(COMPLETION, data)
                if got["status"] == Status.ABORTED:
                    assert got["tag"] == each.descriptor["tag"], got
                    bench.check_memory(channel, each, exact=False)
                else:
                    bench.check(channel, each, data)
                bench.checks += 1
            await bench.run(channel, [bench.transfer(channel, 100)])
            await ring.disable()

        await _both(bench, job)


@engine_test
async def soft_resets(bench: EngineBench, budget: int) -> None:
    """Soft resets at random moments: the ports fall silent legally, and everything works again after."""
    for _ in range(max(5, budget // 30)):
        bench.pauses()
        made = {}
        for channel in CHANNELS:
            await bench.rings[channel].enable()
            made[channel] = [bench.transfer(channel, bench.rng.randint(1, 800)) for _ in range(5)]
            await bench.rings[channel].submit([each.record() for each in made[channel]])
        await ClockCycles(bench.dut.aclk, bench.rng.randint(1, 900))
        await bench.poke("engine.command", soft_reset=1)
        for _ in range(2000):
            if not await bench.peek("engine.status", "resetting"):
                break
        else:
            raise AssertionError("the soft reset did not end")
        for checker in bench.checkers.values():
            checker.finish()
        for channel in CHANNELS:
            assert await bench.peek(f"{channel}.control") == 0
            assert await bench.peek(f"{channel}.completion_head") == 0
            for each in made[channel]:
                bench.check_memory(channel, each, exact=False)
            await bench.set_table(channel, [0] * bench.config.codec.table_size)
            await bench.rings[channel].enable()
            await bench.run(channel, [bench.transfer(channel, 100)])
            await bench.rings[channel].disable()


@engine_test
async def watchdog(bench: EngineBench, budget: int) -> None:
    """A memory that falls silent: WATCHDOG with an address in time, the channel is stuck until the memory
    answers.
    """
    await bench.poke("engine.watchdog", value=200)
    for channel, port in (("offload", "dev"), ("prefetch", "dev")):
        ring = bench.rings[channel]
        await ring.enable()
        bench.memory[port].frozen = True
        made = [bench.transfer(channel, 600, mode=Mode.RAW) for _ in range(2)]
        await ring.submit([each.record() for each in made])
        got = unpack(COMPLETION, await ring.next(3000))
        first = made[0].descriptor
        start = first["source" if channel == "offload" else "destination"]
        assert (got["status"], got["tag"]) == (Status.WATCHDOG, first["tag"]), got
        assert start <= got["address"] < start + first["length"], (hex(start), got)
        assert await bench.peek(f"{channel}.status", "stuck")
        bench.memory[port].frozen = False
        await _settle(bench, channel)
        assert not await bench.peek(f"{channel}.status", "stuck")
        assert await bench.peek(f"{channel}.status", "halted")
        await bench.poke(f"{channel}.command", resume=1)
        status = unpack(COMPLETION, await ring.next())["status"]
        assert status in (Status.ABORTED, Status.OK), status
        for each in made:
            bench.check_memory(channel, each, exact=False)
        await bench.run(channel, [bench.transfer(channel, 100)])
        bench.checks += 5


@engine_test
async def halting(bench: EngineBench, budget: int) -> None:
    """After an error the channel halts if told so: what had not started waits for resume."""
    for channel in CHANNELS:
        ring = bench.rings[channel]
        await ring.enable(halt_on_error=1)
        bad = _with(bench.transfer(channel, 30), length=0)
        await ring.submit([bad.record()])
        assert unpack(COMPLETION, await ring.next())["status"] == Status.ZERO_LENGTH
        assert await bench.peek(f"{channel}.status", "halted")
        good = bench.transfer(channel, 30)
        await ring.submit([good.record()])
        await ClockCycles(bench.dut.aclk, 300)
        assert ring.completion() is None, "a halted channel started a descriptor"
        await bench.poke(f"{channel}.command", resume=1)
        bench.check(channel, good, await ring.next())


@engine_test
async def registers(bench: EngineBench, budget: int) -> None:
    """Without rings: descriptors and completions through registers, interrupts with coalescing, counters."""
    for channel in CHANNELS:
        await bench.poke(f"{channel}.control", enable=1)
        await bench.poke(f"{channel}.irq_enable", completion=1)
        await bench.poke(f"{channel}.coalesce_count", value=2)
        await bench.poke("engine.command", clear_counters=1)
        await ClockCycles(bench.dut.aclk, 40)
        raw_words = literals = read = written = 0
        for number in range(4):
            made = bench.transfer(channel, 100 + number, mode=Mode.ZVC, interrupt=1)
            for name, value in made.descriptor.items():
                if name in ("source", "destination", "length", "capacity", "compressed_length"):
                    await bench.poke(f"push.{name}_low", value=value & 0xFFFFFFFF)
                    await bench.poke(f"push.{name}_high", value=value >> 32)
            await bench.poke("push.tag", value=made.descriptor["tag"])
            await bench.poke("push.flags", mode=Mode.ZVC, interrupt=1)
            await bench.poke("push.submit", **{channel: 1})
            for _ in range(500):
                if await bench.peek(f"{channel}.status", "completion_waiting"):
                    break
            assert await bench.peek(f"{channel}.completion_tag") == made.descriptor["tag"]
            assert await bench.peek(f"{channel}.completion_result", "status") == Status.OK
            assert await bench.peek(f"{channel}.completion_literals") == made.expected.literals
            assert await bench.peek(f"{channel}.completion_bytes_written_low") == made.expected.bytes_written
            assert int(bench.dut.irq.value) == number % 2, f"interrupt after {number + 1} of two completions"
            await bench.poke(f"{channel}.command", pop_completion=1)
            if number % 2:
                await bench.poke(f"{channel}.irq_status", completion=1)
                await ClockCycles(bench.dut.aclk, 3)
                assert not int(bench.dut.irq.value)
            bench.check_memory(channel, made)
            bench.transfers += 1
            bench.checks += 6
            raw_words += 100 + number
            literals += made.expected.literals
            read += made.expected.bytes_read
            written += made.expected.bytes_written
        want = {"raw_words": raw_words, "literals": literals, "bytes_read": read, "bytes_written": written}
        want |= {"descriptors": 4, "errors": 0}
        for name, value in want.items():
            got = await bench.peek(f"{channel}_counters.{name}_low")
            assert got == value, f"counter {name} is {got}, not {value}"
            bench.checks += 1
        # Held, they stand still while the next descriptor is counted.
        await bench.poke(f"{channel}.counter_hold", hold=1)
        while not await bench.peek(f"{channel}.counter_hold", "held"):
            pass
        assert await bench.peek(f"{channel}_counters.descriptors_low") == 4
        # One completion that nobody follows: the time brings the interrupt.
        await bench.poke(f"{channel}.coalesce_cycles", value=300)
        await bench.rings[channel].enable()
        await bench.run(channel, [bench.transfer(channel, 20, interrupt=1)])
        assert await bench.peek(f"{channel}_counters.descriptors_low") == 4, "the counters are held"
        await bench.poke(f"{channel}.counter_hold", hold=0)
        while await bench.peek(f"{channel}.counter_hold", "held"):
            pass
        await ClockCycles(bench.dut.aclk, 32)
        assert await bench.peek(f"{channel}_counters.descriptors_low") == 5
        bench.checks += 3
        for _ in range(200):
            if int(bench.dut.irq.value):
                break
            await ClockCycles(bench.dut.aclk, 4)
        else:
            raise AssertionError("no interrupt after the coalescing time")
        await bench.poke(f"{channel}.irq_status", completion=1)
        await bench.poke(f"{channel}.irq_enable")


@engine_test
async def silent_host(bench: EngineBench, budget: int) -> None:
    """A host memory that falls silent under the fetch of a descriptor: the error register and the interrupt
    tell, the channel halts, and when the memory answers nothing is lost."""
    await bench.poke("engine.watchdog", value=200)
    for channel in CHANNELS:
        ring = bench.rings[channel]
        await ring.enable()
        await bench.poke(f"{channel}.irq_enable", error=1)
        bench.memory["host"].frozen = True
        made = bench.transfer(channel, 50)
        at = ring.base + ring.submitted % ring.size * 64
        await ring.submit([made.record()])
        for _ in range(100):
            if int(bench.dut.irq.value):
                break
            await ClockCycles(bench.dut.aclk, 10)
        else:
            raise AssertionError("no interrupt from a silent host")
        found = [await bench.peek(f"{channel}.error", name) for name in ("valid", "status")]
        assert found == [1, Status.WATCHDOG], found
        assert await bench.peek(f"{channel}.error_address_low") == at
        assert await bench.peek(f"{channel}.status", "stuck")
        assert await bench.peek(f"{channel}.status", "halted")
        bench.memory["host"].frozen = False
        await ClockCycles(bench.dut.aclk, 100)
        assert not await bench.peek(f"{channel}.status", "stuck")
        assert ring.completion() is None, "a halted channel started a descriptor"
        await bench.poke(f"{channel}.command", resume=1, clear_error=1)
        await bench.poke(f"{channel}.irq_status", error=1)
        bench.check(channel, made, await ring.next())
        bench.checks += 6
