"""Channels that stop: aborts, resets of all clocks or of one, silent memories, halts after errors. What is uneven between
several device ports."""

from __future__ import annotations

import itertools

import numpy as np

from cdma.hdl.spec.options import reset_of
from cdma.hdl.spec.records import Mode, Status
from cdma.sim.codec.words import word_dtype, words_to_bytes
from cdma.sim.engine.transfer import Outcome
from cdma.verif.engine.bench import CHANNELS, ChannelEnd, EngineBench
from cdma.verif.engine.context import (
    abort,
    address_offered,
    both,
    changed,
    completed,
    engine_test,
    expect_end,
    some_table,
    works_again,
)
from cdma.verif.engine.design import REGISTERS
from cdma.verif.engine.ring import RingBench
from cdma.verif.engine.transfer import Transfer
from cdma.verif.simulator.plan import planned

#: Cycles from the software's write until the end of the check of what it announces, and some more.
_CHECKED = 80
#: A time of watchdogs that is short, and longer than a memory that answers takes.
_SOON = 100


def _together(bench: EngineBench, end: ChannelEnd) -> int:
    """Transfers that are handed over at once, of which each may have a shape."""
    return max(1, min(6, end.size // (2 if bench.config.dimensions else 1)))


@planned(
    "aborts at random moments",
    "transactions end legally, what had started is ABORTED or done, the rest runs",
    weight=2,
)
@engine_test
async def aborts(bench: EngineBench, budget: int) -> None:
    for round_ in range(max(6, budget // 20)):
        bench.pauses()
        for memory in bench.memory.values():
            memory.delay = bench.rng.choice((0, 40))

        async def job(channel: str, round_: int = round_) -> None:
            end = bench.channels[channel]
            await end.enable()
            made = [
                bench.any_transfer(channel, bench.rng.randint(1, 800)) for _ in range(_together(bench, end))
            ]
            await end.submit([each.record() for each in made])
            await bench.after(bench.rng.randint(1, 600))
            await end.abort()
            await bench.settle(channel)
            arrived = end.arrived()
            await bench.after(100)
            assert end.arrived() == arrived, f"{channel}: completions came after the end of the abort"
            assert await end.flag("halted")
            await end.resume()
            for each in made:
                await expect_end(bench, channel, each)
            await bench.run(channel, [bench.transfer(channel, 100)])
            await end.disable()

        await both(bench, job)


def _refused(bench: EngineBench, channel: str) -> Transfer:
    """A transfer without a length."""
    made = changed(bench.transfer(channel, 4), length=0)
    made.expected = Outcome(Status.ZERO_LENGTH)
    return made


@planned(
    "aborts in every cycle of the check of a good and of a bad descriptor, and again a little later",
    "each is ABORTED or done, in order, and the next ones run",
)
@engine_test
async def early_aborts(bench: EngineBench, budget: int) -> None:
    """Aborts in every cycle of the check of a descriptor, of a good and of a bad one, and again a little later."""

    async def job(channel: str) -> None:
        end = bench.channels[channel]
        for wait in range(_CHECKED):
            await end.enable()
            made = [bench.any_transfer(channel, 40), _refused(bench, channel)]
            if wait % 2:
                made.reverse()
            await end.submit([each.record() for each in made])
            await bench.after(wait)
            await end.abort()
            await bench.after(wait % 7)
            await abort(bench, channel)
            for each in made:
                await expect_end(bench, channel, each)
            await end.clear_error()
            await end.disable()

    # One after the other, so that no access to registers of the other one shifts a cycle.
    for channel in CHANNELS:
        await job(channel)


@planned(
    "aresetn at random moments, with transactions open everywhere",
    "nothing is offered or taken meanwhile, nothing is left, data move right after it",
    weight=2,
)
@engine_test
async def hard_resets(bench: EngineBench, budget: int) -> None:
    for _ in range(max(6, budget // 20)):
        bench.pauses()
        for memory in bench.memory.values():
            memory.delay = bench.rng.choice((0, 40))
        in_flight: dict[str, list[Transfer]] = {}

        async def begin(channel: str, in_flight: dict[str, list[Transfer]] = in_flight) -> None:
            await bench.set_table(channel, some_table(bench))
            end = bench.channels[channel]
            await end.enable()
            in_flight[channel] = [
                bench.any_transfer(channel, bench.rng.randint(1, 800)) for _ in range(_together(bench, end))
            ]
            await end.submit([made.record() for made in in_flight[channel]])

        await both(bench, begin)
        await bench.after(bench.rng.randint(1, 700))
        await bench.reset(bench.rng.randint(1, 5))
        bench.pauses(bench.rng.choice((0.0, 0.3)))
        for channel in CHANNELS:
            end = bench.channels[channel]
            for flag in ("busy", "halted", "aborting", "stuck"):
                assert not await end.flag(flag), f"{channel} is {flag} after a reset"
            await bench.set_table(channel, [0] * bench.config.codec.table_size)
        # What has been written before the reset is no more than was allowed, and nothing comes after it.
        await bench.after(20)
        bench.rules_of_axi.finish()
        for channel, transfers in in_flight.items():
            for made in transfers:
                bench.check_memory(channel, made, exact=False)

        async def go_on(channel: str) -> None:
            end = bench.channels[channel]
            await end.enable()
            await bench.run(channel, [bench.transfer(channel, bench.rng.randint(1, 200)) for _ in range(2)])
            await end.disable()

        await both(bench, go_on)


async def _stuck(bench: EngineBench, channel: str) -> None:
    """Waits until the channel says that its watchdog has fired."""
    for _ in range(100):
        if await bench.channels[channel].flag("stuck"):
            return
    raise AssertionError(f"{channel}: no watchdog")


async def _timeout(bench: EngineBench, channel: str, port: str, made: list[Transfer]) -> None:
    """Lets a port fall silent for the first of these transfers, until its watchdog has completed it."""
    end = bench.channels[channel]
    # Rings are in the host's memory, too: it falls silent when data are due, and only until the watchdog fires.
    shared = port == "host" and bench.config.registers
    bench.memory[port].frozen = not shared
    await end.submit([each.record() for each in made])
    if shared:
        await address_offered(bench, "aw" if channel == "offload" else "ar", 0)
        bench.memory[port].frozen = True
        await _stuck(bench, channel)
        bench.memory[port].frozen = False
    got = await completed(bench, channel, 3000)
    first = made[0].descriptor
    start = first["source" if (channel == "offload") == (port == "dev") else "destination"]
    if (channel == "offload") == (port == "dev"):
        # A read's is that of its beat.
        start -= start % ((bench.config.dev_data_bits if port == "dev" else bench.config.host_data_bits) // 8)
    assert (got["status"], got["tag"]) == (Status.WATCHDOG, first["tag"]), got
    assert start <= got["address"] < start + first["length"], (hex(start), got)
    assert shared or await end.flag("stuck")
    bench.memory[port].frozen = False
    await bench.settle(channel)
    assert not await end.flag("stuck")
    assert await end.flag("halted")
    await end.resume()


@planned(
    "a memory that falls silent, each of the two in each direction",
    "WATCHDOG with an address in time, the channel is stuck until the memory answers",
    needs=lambda design: design.config.times,
)
@engine_test
async def watchdog(bench: EngineBench, budget: int) -> None:
    """A transfer with one behind it, and two timeouts between which nothing is completed."""
    await bench.set_watchdog(200)
    for channel, port in itertools.product(CHANNELS, ("dev", "host")):
        end = bench.channels[channel]
        await end.enable()
        for count in (2, 1, 1):
            made = [bench.transfer(channel, 600, mode=Mode.RAW) for _ in range(count)]
            await _timeout(bench, channel, port, made)
            for _ in made[1:]:
                status = (await completed(bench, channel))["status"]
                assert status in (Status.ABORTED, Status.OK), status
            for each in made:
                bench.check_memory(channel, each, exact=False)
            bench.checks += 5
        await bench.run(channel, [bench.transfer(channel, 100)])
        await end.disable()


@planned(
    "answers to a transfer about when the watchdog of the next one fires",
    "the one that was answered is done or WATCHDOG, and the other one accordingly",
    needs=lambda design: design.config.times,
)
@engine_test
async def late_answers(bench: EngineBench, budget: int) -> None:
    """The answer to a transfer comes about when the watchdog of the next one fires."""
    await bench.set_watchdog(_SOON)
    end = bench.channels["offload"]
    await end.enable()
    for wait in range(_SOON // 2, 3 * _SOON // 2, 3):
        made = [bench.transfer("offload", length, mode=Mode.RAW) for length in (20, 600)]
        await end.submit([each.record() for each in made])
        await address_offered(bench, "aw", 0)
        for memory in bench.memory.values():
            memory.frozen = True
        await bench.after(wait)
        bench.memory["host"].frozen = False
        await _stuck(bench, "offload")
        bench.memory["dev"].frozen = False
        statuses = [(await completed(bench, "offload"))["status"] for _ in made]
        assert statuses in ([Status.OK, Status.WATCHDOG], [Status.WATCHDOG, Status.ABORTED]), (wait, statuses)
        await bench.settle("offload")
        await end.resume()
        for each in made:
            bench.check_memory("offload", each, exact=False)
        bench.checks += 2
    await bench.run("offload", [bench.transfer("offload", 100)])
    await end.disable()


@planned(
    "an error with and without halt_on_error",
    "the channel halts if it should; what had not started waits for resume",
)
@engine_test
async def halting(bench: EngineBench, budget: int) -> None:
    for channel in CHANNELS:
        end = bench.channels[channel]
        await end.enable(halt_on_error=1)
        bad = changed(bench.transfer(channel, 30), length=0)
        await end.submit([bad.record()])
        assert (await completed(bench, channel))["status"] == Status.ZERO_LENGTH
        assert await end.flag("halted")
        good = bench.transfer(channel, 30)
        await end.submit([good.record()])
        await bench.after(300)
        assert end.completion() is None, "a halted channel started a descriptor"
        await end.resume()
        bench.check(channel, good, await end.next())


#: Cycles within which nothing of what a reset has cut off is left.
_LEFT = 400
#: And within which the others have seen a reset.
_SEEN = 5


@planned(
    "the reset of one clock at random moments, of the host port, of the core and of the registers in turn",
    "what was open ends, nothing is written past what was allowed or later, and everything works again after it",
    needs=lambda design: (
        design.config.registers
        and design.config.domains.host_crosses
        and design.config.domains.registers_cross
    ),
    weight=2,
)
@engine_test
async def lone_resets(bench: RingBench, budget: int) -> None:
    domains = bench.config.domains
    clocks = list(dict.fromkeys((domains.host, domains.core, domains.registers)))
    for turn in range(max(6, budget // 20)):
        clock = clocks[turn % len(clocks)]
        bench.pauses()
        made = {channel: await _begin(bench, channel) for channel in CHANNELS}
        await bench.after(bench.rng.randint(1, 900))
        await _reset(bench, clock, bench.rng.randint(1, 5))
        if clock == domains.registers:
            # Nothing but accesses is lost, and none was open.
            for channel in CHANNELS:
                for each in made[channel]:
                    bench.check(channel, each, await bench.rings[channel].next())
                await bench.rings[channel].disable()
        elif clock == domains.core:
            for channel in CHANNELS:
                bench.rings[channel].forget()
            # Until the other end of the crossing has seen the reset, accesses are answered SLVERR.
            await bench.after(_SEEN * bench.pace)
            await bench.open_windows()
            await bench.set_owners()
        else:
            await bench.poke("engine.command", soft_reset=1)
            await bench.until("engine.status", "resetting", 0)
        await bench.after(_LEFT * bench.pace)
        bench.rules_of_axi.finish(but=REGISTERS)
        for channel in CHANNELS:
            if clock != domains.registers:
                for each in made[channel]:
                    bench.check_memory(channel, each, exact=False)
            assert not await bench.peek(f"{channel}.status", "stuck")
            await works_again(bench, channel)


async def _begin(bench: RingBench, channel: str) -> list[Transfer]:
    ring = bench.rings[channel]
    await ring.enable()
    made = [bench.transfer(channel, bench.rng.randint(1, 800)) for _ in range(5)]
    await ring.submit([each.record() for each in made])
    return made


async def _reset(bench: RingBench, clock: str, cycles: int) -> None:
    """Resets what a clock has, whatever is open; its neighbours on the bus are reset, too."""
    pin = getattr(bench.dut, reset_of(clock))
    await bench.after(1)
    pin.value = 0
    await bench.after(cycles * bench.pace)
    pin.value = 1


def _stripes(bench: EngineBench, number: int) -> int:
    return number * bench.config.stripe_bytes * 8 // bench.config.format.word_bits


def _one_sided(bench: EngineBench, unit: int, words: int) -> bytes:
    """Words without a zero in one stripe of so many as there are units, and zeros in the others."""
    form = bench.config.format
    made = bench.np.integers(1, 1 << form.word_bits, words).astype(word_dtype(form))
    stripe = np.arange(words) // _stripes(bench, 1)
    made[stripe % bench.config.units != unit] = 0
    return words_to_bytes(made)


@planned(
    "each device port in turn slow, and with all of the literals, both directions at once",
    "every byte in its place",
    needs=lambda design: design.config.units > 1,
    weight=3,
)
@engine_test
async def uneven(bench: EngineBench, budget: int) -> None:
    units = bench.config.units
    bench.pauses(0.1)
    ports = bench.ports["dev"]
    for channel in CHANNELS:
        await bench.channels[channel].enable()
    for unit in range(units):
        ports[unit].slow = 60

        async def job(channel: str, unit: int = unit) -> None:
            words = _stripes(bench, 2 * units) + bench.rng.randint(1, 40)
            await bench.run(
                channel,
                [
                    bench.transfer(channel, words, mode=Mode.ZVC, raw=_one_sided(bench, unit, words)),
                    bench.transfer(channel, bench.rng.randint(1, words)),
                    *(bench.transfer(channel, bench.rng.randint(1, 80)) for _ in range(units)),
                ],
            )

        await both(bench, job)
        ports[unit].slow = 0


@planned(
    "a device port that alone falls silent",
    "WATCHDOG with an address in one of its stripes, then all goes on",
    needs=lambda design: design.config.units > 1 and design.config.times,
)
@engine_test
async def silent_unit(bench: EngineBench, budget: int) -> None:
    config = bench.config
    # The other units have read their stripes ahead, and these take their turns on the link before the silent one's.
    turns = config.units * config.stripe_bytes * 8 // min(config.dev_data_bits, config.host_data_bits)
    await bench.set_watchdog(300 + turns)
    for channel in CHANNELS:
        end = bench.channels[channel]
        await end.enable()
        for port in bench.ports["dev"]:
            port.silent = True
            words = _stripes(bench, 2 * config.units)
            made: Transfer = bench.transfer(channel, words, mode=Mode.RAW)
            await end.submit([made.record()])
            got = await completed(bench, channel, 10000)
            assert (got["status"], got["tag"]) == (Status.WATCHDOG, made.descriptor["tag"]), got
            assert port.owns(got["address"]), (channel, got)
            assert await end.flag("stuck")
            port.silent = False
            await bench.settle(channel)
            await end.resume()
            bench.check_memory(channel, made, exact=False)
            await bench.run(channel, [bench.transfer(channel, words)])
            bench.checks += 3
