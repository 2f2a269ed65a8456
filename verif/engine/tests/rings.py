"""What an engine with registers has besides its channels: rings."""

from __future__ import annotations

import itertools

from cocotbext.axi import AxiResp

from cdma.hdl.spec.records import RECORD_BYTES, Mode, Status
from cdma.verif.engine.bench import CHANNELS
from cdma.verif.engine.context import address_offered, both, completed, engine_test
from cdma.verif.engine.ring import Ring, RingBench
from cdma.verif.simulator.plan import planned


@planned(
    "a locked window, and rings outside of it",
    "fetches outside are refused; a hardware reset opens the lock",
    needs=lambda design: design.config.registers,
)
@engine_test
async def ring_windows(bench: RingBench, budget: int) -> None:
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
        got = await completed(bench, channel)
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


@planned(
    "descriptors in registers and in rings after a reset, with no window open or one alone",
    "refused for their windows, and nothing is reached",
    needs=lambda design: design.config.registers and not design.config.open_windows,
)
@engine_test
async def closed_windows(bench: RingBench, budget: int) -> None:
    """Nothing is reached after a reset: neither by a descriptor in registers, nor by a ring, nor with one window alone."""
    for channel, opened in itertools.product(CHANNELS, (None, "dev", "host")):
        made = bench.transfer(channel, 8, mode=Mode.RAW)
        await bench.reset(2, opens=False)
        if opened is not None:
            await bench.set_window(opened, 0, (1 << bench.spaces[opened].address_bits) - 1)
        before = list(bench.bursts())
        await bench.poke(f"{channel}.control", enable=1)
        await bench.push(channel, made.record())
        await bench.rings[channel].check_error(
            Status.WINDOW,
            made.descriptor["destination" if bench.rules[channel].source == opened else "source"],
            made.descriptor["tag"],
        )
        await bench.until(f"{channel}.status", "completion_waiting")
        await bench.poke(f"{channel}.command", pop_completion=1)
        if opened != "host":
            await bench.rings[channel].enable()
            await bench.rings[channel].submit([made.record()])
            await bench.rings[channel].check_error(Status.WINDOW, bench.rings[channel].base, 0)
        assert list(bench.bursts()) == before, "something was reached"
        bench.check_memory(channel, made, exact=False)
        bench.checks += 1
    await bench.reset(2)
    for channel in CHANNELS:
        await bench.rings[channel].enable()
        await bench.run(channel, [bench.transfer(channel, 30)])


#: Reads of a head until it must be that of all completions in memory.
_PATIENCE = 20


@planned(
    "both rings of both channels round and round, anywhere, of two entries and more, until the indexes themselves wrap",
    "every descriptor once, every completion in order",
    needs=lambda design: design.config.registers,
    weight=6,
)
@engine_test
async def ring_wrap(bench: RingBench, budget: int) -> None:
    bench.pauses(0.1)
    # A larger ring does not fit into this memory, and an index that runs further takes too long.
    largest = min(5, bench.config.ring_entries.bit_length() - 1)
    most = min(2 * bench.config.ring_entries, 2048) + 5
    batch = 1 << largest

    async def job(channel: str) -> None:
        ring = bench.rings[channel]
        ring.high = bench.high("host")
        # Indexes run to their end in the ring that is full of descriptors, which is the faster one.
        for log2, count in ((1, 3 << largest), (largest, most)):
            ring.log2, ring.size = log2, 1 << log2
            await ring.enable()
            # A batch at a time: the memory cannot hold all at once.
            for first in range(0, count, batch):
                made = [bench.transfer(channel, 1 + n % 3) for n in range(first, min(first + batch, count))]
                await bench.run(channel, made)
            mask = 2 * bench.config.ring_entries - 1
            for register in ("ring_head", "completion_head"):
                # A head follows once the response has come, which a completion in memory may precede.
                for _ in range(_PATIENCE):
                    got = await bench.peek(f"{channel}.{register}")
                    if got == count & mask:
                        break
                assert got == count & mask, f"{channel}.{register} is {got} after {count} descriptors"
                bench.checks += 1
            await ring.disable()

    await both(bench, job)


@planned(
    "SLVERR and DECERR on fetches and completions, first and last beat",
    "reported once, in order, with the address; the channel goes on, or halts where it should",
    needs=lambda design: design.config.registers and design.config.ring_entries >= 4,
    weight=2,
)
@engine_test
async def ring_errors(bench: RingBench, budget: int) -> None:
    bench.pauses(0.2)
    host = bench.memory["host"]
    fetches = {AxiResp.SLVERR: Status.FETCH_SLVERR, AxiResp.DECERR: Status.FETCH_DECERR}
    writes = {AxiResp.SLVERR: Status.COMPLETION_SLVERR, AxiResp.DECERR: Status.COMPLETION_DECERR}
    for channel in CHANNELS:
        ring = bench.rings[channel]
        for halt in (False, True):
            ring.high = bench.high("host")
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
                    at = ring.high + ring.base + (ring.submitted + 1) % ring.size * RECORD_BYTES
                    host.spoil({at + offset: response})
                    made = [bench.transfer(channel, 20) for _ in range(3)]
                    await ring.submit([each.record() for each in made])
                    bench.check(channel, made[0], await ring.next())
                    got = await completed(bench, channel)
                    want = (fetches[response], at, 0)
                    assert (got["status"], got["address"], got["tag"]) == want, (got, want)
                    assert [got["bytes_read"], got["bytes_written"]] == [0, 0], got
                    await ring.check_error(*want)
                    await go_on()
                    bench.check(channel, made[2], await ring.next())
                    bench.check_memory(channel, made[1], exact=False)
                    host.mend(at + offset)

                    # The write of the second of three completions: the error register has to report it.
                    at = ring.high + ring.completions + (ring.done + 1) % ring.size * RECORD_BYTES
                    host.spoil({at + offset: response})
                    made = [bench.transfer(channel, 20, mode=Mode.RAW) for _ in range(3)]
                    await ring.submit([each.record() for each in made])
                    bench.check(channel, made[0], await ring.next())
                    await ring.check_error(writes[response], at, made[1].descriptor["tag"])
                    host.mend(at + offset)
                    await go_on()
                    bench.check_memory(channel, made[1])
                    ring.skip()
                    bench.check(channel, made[2], await ring.next())
                    bench.transfers += 2
                    bench.checks += 2
                    errors += 2
            # An error without a completion is counted when its pair has its turn.
            await bench.after(80 * bench.config.channels)
            counted = await bench.peek(f"{channel}_counters.errors_low")
            assert counted == errors, f"{channel} counts {counted} errors, not {errors}"
            await ring.disable()


async def _interrupted(bench: RingBench) -> None:
    """Waits for the interrupt of a watchdog."""
    for _ in range(100):
        if int(bench.dut.irq.value):
            return
        await bench.after(10)
    raise AssertionError("no interrupt from a silent host")


@planned(
    "a host that falls silent under a fetch, and under the write of a completion",
    "error register and interrupt, a halt, and nothing lost after it",
    needs=lambda design: design.config.registers,
)
@engine_test
async def silent_host(bench: RingBench, budget: int) -> None:
    await bench.poke("engine.watchdog", value=200)
    for number, channel in enumerate(CHANNELS):
        ring = bench.rings[channel]
        await ring.enable()
        await bench.poke(f"{channel}.irq_enable", error=1)
        bench.memory["host"].frozen = True
        made = bench.transfer(channel, 50)
        at = ring.base + ring.submitted % ring.size * 64
        await ring.submit([made.record()])
        await _interrupted(bench)
        found = [await bench.peek(f"{channel}.error", name) for name in ("valid", "status")]
        assert found == [1, Status.WATCHDOG], found
        assert await bench.peek(f"{channel}.error_address_low") == at
        assert await bench.peek(f"{channel}.status", "stuck")
        assert await bench.peek(f"{channel}.status", "halted")
        bench.memory["host"].frozen = False
        await bench.after(100)
        assert not await bench.peek(f"{channel}.status", "stuck")
        assert ring.completion() is None, "a halted channel started a descriptor"
        await bench.poke(f"{channel}.command", resume=1, clear_error=1)
        await bench.poke(f"{channel}.irq_status", error=1)
        bench.check(channel, made, await ring.next())
        # It falls silent again when a completion is on its way.
        made = bench.transfer(channel, 50)
        at = ring.completions + ring.done % ring.size * RECORD_BYTES
        await ring.submit([made.record()])
        await address_offered(bench, "aw", 1 + number)
        bench.memory["host"].frozen = True
        await _interrupted(bench)
        await ring.check_error(Status.WATCHDOG, at, 0)
        assert await ring.flag("stuck")
        bench.memory["host"].frozen = False
        await bench.after(100)
        assert not await ring.flag("stuck")
        await ring.resume()
        await bench.poke(f"{channel}.irq_status", error=1)
        bench.check(channel, made, await ring.next())
        await bench.run(channel, [bench.transfer(channel, 20)])
        bench.checks += 8


@planned(
    "a ring of completions is disabled, for good or for a moment, while one is on its way",
    "that one arrives, and the ring begins anew",
    needs=lambda design: design.config.registers,
)
@engine_test
async def begun_anew(bench: RingBench, budget: int) -> None:
    """A ring of completions is disabled while one is on its way, for good or for a moment: that one still arrives."""
    host = bench.memory["host"]
    for (number, channel), again in itertools.product(enumerate(CHANNELS), (False, True)):
        ring = bench.rings[channel]
        await ring.enable()
        await bench.run(channel, [bench.transfer(channel, 20)])
        made = bench.transfer(channel, 20)
        await ring.submit([made.record()])
        await address_offered(bench, "aw", 1 + number)
        host.frozen = True
        await bench.after(20)
        await bench.poke(f"{channel}.control", enable=1, ring_enable=1)
        if again:
            await bench.poke(f"{channel}.control", enable=1, ring_enable=1, completion_ring_enable=1)
        host.frozen = False
        bench.check(channel, made, await ring.next())
        await bench.after(20)
        assert await bench.peek(f"{channel}.completion_head") == 0
        await ring.disable()
        bench.checks += 1
