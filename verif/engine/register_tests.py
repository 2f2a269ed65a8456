"""The cocotb tests of what an engine with registers has besides its channels: rings, registers, interrupt."""

from __future__ import annotations

import cocotb
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiResp

from cdma.hdl.spec.records import COMPLETION, RECORD_BYTES, Mode, Status
from cdma.sim.engine.descriptors import unpack

from .bench import CHANNELS
from .context import both, engine_test
from .ring import Ring, RingBench

__all__: list[str] = []


@engine_test
async def ring_windows(bench: RingBench, budget: int) -> None:
    """A locked window, and rings outside of it; a hardware reset opens the lock."""
    page = 0x40000
    await bench.set_window("host", 0, page - 1)
    for name in ("dev", "host"):
        await bench.poke(f"{name}_window.lock", locked=1)
        before = await bench.peek(f"{name}_window.limit_low", "page")
        await bench.poke(f"{name}_window.limit_low", page=0x12345)
        assert await bench.peek(f"{name}_window.limit_low", "page") == before, "the lock did not hold"
    for channel in CHANNELS:
        ring = bench.rings[channel]
        home = ring.base, ring.completions
        ring.base = page
        await ring.enable()
        made = bench.transfer(channel, 4, mode=Mode.RAW)
        await ring.submit([made.record()])
        got = unpack(COMPLETION, await ring.next())
        assert (got["status"], got["address"], got["tag"]) == (Status.WINDOW, page, 0), got
        await ring.check_error(Status.WINDOW, page, 0)
        await ring.disable()
        ring.base, ring.completions = home[0], page
        await ring.enable()
        made = bench.transfer(channel, 4, mode=Mode.RAW)
        await ring.submit([made.record()])
        # The completion is dropped and logged.
        await ring.check_error(Status.WINDOW, page, made.descriptor["tag"])
        bench.check_memory(channel, made)
        await ring.disable()
        ring.base, ring.completions = home
        bench.transfers += 2
        bench.checks += 1
    await bench.reset(3)
    await bench.poke("host_window.limit_low", page=0x12345)
    assert await bench.peek("host_window.limit_low", "page") == 0x12345, "the lock outlived a hardware reset"


@engine_test
async def ring_wrap(bench: RingBench, budget: int) -> None:
    """Both rings of both channels round and round, of two entries and of more, until the indexes themselves wrap."""
    bench.pauses(0.1)
    # A ring of more entries than this has no room here, and an index that runs further takes too long.
    largest = min(5, bench.config.ring_entries.bit_length() - 1)
    most = min(2 * bench.config.ring_entries, 2048) + 5
    batch = 1 << largest

    async def job(channel: str) -> None:
        ring = bench.rings[channel]
        for log2, count in ((1, most), (largest, 3 << largest)):
            ring.log2, ring.size = log2, 1 << log2
            await ring.enable()
            # A batch at a time: the memory does not have places for all at once.
            for first in range(0, count, batch):
                made = [bench.transfer(channel, 1 + n % 3) for n in range(first, min(first + batch, count))]
                await bench.run(channel, made)
            mask = 2 * bench.config.ring_entries - 1
            for register in ("ring_head", "completion_head"):
                got = await bench.peek(f"{channel}.{register}")
                assert got == count & mask, f"{channel}.{register} is {got} after {count} descriptors"
                bench.checks += 1
            await ring.disable()

    await both(bench, job)


@engine_test
async def ring_errors(bench: RingBench, budget: int) -> None:
    """SLVERR and DECERR on the fetch of a descriptor and on the write of a completion, in the first and the last
    beat: told once, in order, with the address; the channel goes on, or halts if told so.
    """
    bench.pauses(0.2)
    host = bench.memory["host"]
    fetches = {AxiResp.SLVERR: Status.FETCH_SLVERR, AxiResp.DECERR: Status.FETCH_DECERR}
    writes = {AxiResp.SLVERR: Status.COMPLETION_SLVERR, AxiResp.DECERR: Status.COMPLETION_DECERR}
    for channel in CHANNELS:
        ring = bench.rings[channel]
        for halt in (False, True):
            await bench.poke("engine.command", clear_counters=1)
            await ring.enable(halt_on_error=int(halt))
            errors = 0

            async def go_on(halt: bool = halt, ring: Ring = ring) -> None:
                assert await ring.flag("halted") == halt
                if halt:
                    await ring.resume()

            for response in (AxiResp.SLVERR, AxiResp.DECERR):
                for offset in (0, RECORD_BYTES - 1):
                    # The fetch of the second of three.
                    at = ring.base + (ring.submitted + 1) % ring.size * RECORD_BYTES
                    host.bad = {at + offset: response}
                    made = [bench.transfer(channel, 20) for _ in range(3)]
                    await ring.submit([each.record() for each in made])
                    bench.check(channel, made[0], await ring.next())
                    got = unpack(COMPLETION, await ring.next())
                    want = (fetches[response], at, 0)
                    assert (got["status"], got["address"], got["tag"]) == want, (got, want)
                    assert [got["bytes_read"], got["bytes_written"]] == [0, 0], got
                    await ring.check_error(*want)
                    await go_on()
                    bench.check(channel, made[2], await ring.next())
                    bench.check_memory(channel, made[1], exact=False)
                    host.bad = {}

                    # The write of the second of three completions: in the error register, for there is nowhere else.
                    at = ring.completions + (ring.done + 1) % ring.size * RECORD_BYTES
                    host.bad = {at + offset: response}
                    made = [bench.transfer(channel, 20, mode=Mode.RAW) for _ in range(3)]
                    await ring.submit([each.record() for each in made])
                    bench.check(channel, made[0], await ring.next())
                    await ring.check_error(writes[response], at, made[1].descriptor["tag"])
                    host.bad = {}
                    await go_on()
                    bench.check_memory(channel, made[1])
                    ring.skip()
                    bench.check(channel, made[2], await ring.next())
                    bench.transfers += 2
                    bench.checks += 2
                    errors += 2
            counted = await bench.peek(f"{channel}_counters.errors_low")
            assert counted == errors, f"{channel} counts {counted} errors, not {errors}"
            await ring.disable()


@engine_test
async def soft_resets(bench: RingBench, budget: int) -> None:
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
async def registers(bench: RingBench, budget: int) -> None:
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
async def register_bus(bench: RingBench, budget: int) -> None:
    """Reads and writes at once, of registers and of addresses without one, with byte strobes, under back-pressure on
    all five channels, while the channels work; the checker on the port judges each answer.
    """
    rng = bench.rng
    placed = {each.address: each for each in bench.registers.placed()}
    last = max(placed)
    stored: dict[int, int] = {}
    # Plain storage, which nothing else touches here.
    plain = [
        bench.registers[f"{channel}.{name}"].address for channel in CHANNELS for name in ("coalesce_cycles",)
    ]
    plain += [bench.registers["push.tag"].address, bench.registers["push.source_low"].address]
    masks = {address: sum(field.mask for field in placed[address].register.fields) for address in plain}
    for address in plain:
        await bench.bus.write(address, bytes(4))
        stored[address] = 0

    async def write(count: int) -> None:
        for _ in range(count):
            if rng.random() < 0.3:
                address = rng.randrange(0, last + 256)
                if address & ~3 not in placed:
                    response = await bench.bus.write(address & ~3, b"\xff" * 4)
                    assert response.resp == AxiResp.SLVERR, hex(address)
                continue
            address, first = rng.choice(plain), rng.randrange(4)
            data = rng.randbytes(rng.randint(1, 4 - first))
            response = await bench.bus.write(address + first, data)
            assert response.resp == AxiResp.OKAY, hex(address)
            strobed = ((1 << 8 * len(data)) - 1) << 8 * first & masks[address]
            placed_bits = int.from_bytes(data, "little") << 8 * first & strobed
            stored[address] = stored[address] & ~strobed | placed_bits
            response = await bench.bus.read(address, 4)
            got = int.from_bytes(response.data, "little")
            assert got == stored[address], f"{address:#x} reads {got:#x}, not {stored[address]:#x}"
            bench.checks += 1

    async def read(count: int) -> None:
        for _ in range(count):
            address = rng.randrange(0, last + 256) & ~3
            response = await bench.bus.read(address, 4)
            assert (response.resp == AxiResp.OKAY) == (address in placed), hex(address)
            bench.checks += 1

    for share in (0.0, None, None, 0.8):
        bench.pauses(share)
        jobs = [write(30), read(60)]
        for channel in CHANNELS:
            await bench.rings[channel].enable()
            jobs.append(bench.run(channel, [bench.transfer(channel, 200) for _ in range(2)]))
        tasks = [cocotb.start_soon(bench.blame(job)) for job in jobs]
        for task in tasks:
            await task
        for channel in CHANNELS:
            await bench.rings[channel].disable()


@engine_test
async def silent_host(bench: RingBench, budget: int) -> None:
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
