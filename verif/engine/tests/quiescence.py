"""What a controller is answered when it asks for quiescence, before it takes the clock or the power."""

from __future__ import annotations

from typing import Any

import cocotb

from cdma.hdl.spec.options import reset_of
from cdma.verif.engine.bench import CHANNELS, EngineBench
from cdma.verif.engine.context import Pair, engine_test, pairs_of, works_again
from cdma.verif.engine.design import REGISTERS
from cdma.verif.engine.ring import RingBench
from cdma.verif.simulator.plan import planned

#: Cycles for which all is at rest before the engine takes nothing, and as many until it accepts (docs/options/power.md).
_SETTLING = 32
#: Cycles of the synchronizer and of the states beside those that settle.
_STATES = 8
#: Cycles within which an answer is taken.
_ANSWER = 500
#: Cycles of an interrupt's time, and after them until it comes: a look at the time takes up to 16.
_TIME, _LOOK = 300, 24


def _pin(bench: EngineBench, name: str) -> int:
    return int(getattr(bench.dut, name).value)


async def _asked(bench: EngineBench, most: int) -> bool:
    """Requests quiescence; whether the engine accepts, within ``most`` cycles beside its own."""
    bench.dut.qreqn.value = 0
    for _ in range((most + 2 * _SETTLING + _STATES) * bench.pace):
        await bench.after(1)
        accepts, denies = not _pin(bench, "qacceptn"), _pin(bench, "qdeny")
        assert not (accepts and denies), "a request is accepted and denied"
        if accepts or denies:
            if accepts:
                # What is offered to the registers waits, and is no access yet.
                open_ports = set(bench.rules_of_axi.busy()) - {REGISTERS}
                assert not open_ports, f"accepted with a transaction open on {open_ports}"
            bench.checks += 1
            return accepts
    raise AssertionError(f"no answer to a request in {most} cycles beside its own")


async def _released(bench: EngineBench) -> None:
    bench.dut.qreqn.value = 1
    await bench.after(_STATES)
    assert _pin(bench, "qacceptn"), "quiescent without a request"
    assert not _pin(bench, "qdeny"), "a denial without a request"


@planned(
    "requests for quiescence at rest and at random moments of transfers; descriptors and accesses while it lasts",
    "an answer in time, no transaction open when it accepts, nothing taken until it runs again, and nothing lost",
    needs=lambda design: design.config.quiescence,
)
@engine_test
async def quiescence(bench: EngineBench, budget: int) -> None:
    """At rest it accepts, and then takes nothing until it runs again. Amid transfers it denies or lets them end."""
    for channel in CHANNELS:
        await bench.channels[channel].enable()
    answers: dict[bool, int] = {True: 0, False: 0}
    for number in range(max(12, budget // 10)):
        channel = CHANNELS[number % 2]
        bench.pauses()
        await bench.after(_SETTLING)
        made = [bench.any_transfer(channel, bench.rng.randint(1, 400)) for _ in range(3)]
        at_rest = number < 4
        if at_rest:
            assert await _asked(bench, 200), "denied at rest"
            assert not _pin(bench, "qactive"), "active at rest"
        job: Any = cocotb.start_soon(bench.blame(bench.run(channel, made)))
        if not at_rest:
            await bench.after(bench.rng.randint(0, 600))
            answers[await _asked(bench, 20000)] += 1
        elif number % 2:
            await bench.after(2 * _SETTLING)
        if not _pin(bench, "qacceptn") and (at_rest and number % 2):
            assert _pin(bench, "qactive"), "what waits is not seen"
            assert not job.done(), "something was taken in quiescence"
        await _released(bench)
        await job
    bench.notes["quiescent"], bench.notes["denied"] = answers[True], answers[False]


@planned(
    "requests while what is fetched is in flight, an interrupt waits for its time, or descriptors wait",
    "accepted when the completion is written and the interrupt has come; denied while descriptors wait",
    needs=lambda design: design.config.quiescence and design.config.registers,
)
@engine_test
async def quiescence_of_rings(bench: RingBench, budget: int) -> None:
    """A fetched descriptor completes first, a delayed interrupt comes, and a doorbell is a denial; of each pair."""
    for pair in await pairs_of(bench):
        await _of_rings(pair)
        pair.account()


async def _of_rings(bench: Pair) -> None:
    for channel in CHANNELS:
        ring = bench.rings[channel]
        bench.pauses(0.3)
        await ring.enable()
        await bench.poke(f"{channel}.irq_enable", completion=1)
        for count, time in ((1, 0), (2, _TIME), (2, 0)):
            await bench.poke(f"{channel}.coalesce_count", value=count)
            await bench.poke(f"{channel}.coalesce_cycles", value=time)
            made = bench.transfer(channel, 300, interrupt=1)
            await ring.submit([made.record()])
            while await bench.peek(f"{channel}.ring_head") != await bench.peek(f"{channel}.ring_tail"):
                pass
            assert await _asked(bench, 20000), "denied although nothing waits"
            assert ring.arrived() == 1, "accepted before a completion was written"
            assert bench.interrupts == (count == 1 or time != 0), "accepted before an interrupt came"
            await _released(bench)
            bench.check(channel, made, await ring.next())
            await bench.poke(f"{channel}.irq_status", completion=1)
            await bench.after(_LOOK)
        await bench.poke(f"{channel}.irq_enable")
        await bench.poke(f"{channel}.coalesce_count", value=0)
        more = [bench.transfer(channel, 200) for _ in range(ring.size)]
        bench.memory["host"].frozen = True
        await ring.submit([each.record() for each in more])
        assert not await _asked(bench, 0), "accepted although descriptors wait"
        bench.memory["host"].frozen = False
        await _released(bench)
        for each in more:
            bench.check(channel, each, await ring.next())
        await ring.disable()


@planned(
    "accesses to registers about when a request is answered, under back-pressure",
    "answered before the engine accepts, or waiting until it runs again",
    needs=lambda design: design.config.quiescence and design.config.registers,
)
@engine_test
async def quiescence_of_registers(bench: RingBench, budget: int) -> None:
    """A register that is read or written about when the engine closes is answered before it accepts, or waits."""

    async def access(cycles: int, reads: bool) -> None:
        await bench.after(cycles)
        if reads:
            await bench.peek("engine.status")
        else:
            await bench.poke("engine.watchdog", value=0)

    bench.pauses(0.0)
    # Answers wait longer than the engine settles.
    bench.bus.pauses.r = bench.bus.pauses.b = 0.97
    # On registers with another clock they are waited for.
    most = _ANSWER if bench.config.domains.registers_cross else 0
    for number in range(max(60, budget // 5)):
        await bench.after(_SETTLING)
        # The data of a write may come when the engine has closed, long after the address, or the other way round.
        bench.bus.pauses.aw, bench.bus.pauses.w = ((0.0, 0.0), (0.0, 0.9), (0.9, 0.0))[number // 2 % 3]
        delay = bench.rng.randint(_SETTLING - 8, 2 * _SETTLING + _STATES)
        job: Any = cocotb.start_soon(bench.blame(access(delay, bool(number % 2))))
        if await _asked(bench, most):
            for _ in range(_SETTLING * bench.pace):
                answers = [_pin(bench, f"s_axil_{channel}valid") for channel in ("r", "b")]
                assert not any(answers), "accepted amid an access"
                await bench.after(1)
        await _released(bench)
        await job
    bench.pauses(0.0)
    for channel in CHANNELS:
        await bench.rings[channel].enable()
        await bench.run(channel, [bench.transfer(channel, 100)])


@planned(
    "a request right after a reset of the core alone, amid transfers to a slow host",
    "accepted when the host port has finished what was open there; everything works again after it",
    needs=lambda design: (
        design.config.quiescence and design.config.registers and design.config.domains.host_crosses
    ),
)
@engine_test
async def quiescence_apart(bench: RingBench, budget: int) -> None:
    """After a reset of the core alone it accepts when all that was open on the host port is finished there."""
    core = getattr(bench.dut, reset_of(bench.config.domains.core))
    for _ in range(max(6, budget // 20)):
        bench.pauses()
        bench.memory["host"].delay = 4 * _SETTLING
        for channel in CHANNELS:
            await bench.rings[channel].enable()
            await bench.rings[channel].submit([bench.transfer(channel, 800).record() for _ in range(4)])
        await bench.after(bench.rng.randint(100, 900))
        core.value = 0
        await bench.after(bench.rng.randint(1, 5) * bench.pace)
        core.value = 1
        for channel in CHANNELS:
            bench.rings[channel].forget()
        while not _pin(bench, "qacceptn"):
            await bench.after(1)
        assert await _asked(bench, 2000), "denied although nothing waits"
        await _released(bench)
        await bench.after(_STATES * bench.pace)
        await bench.open_windows()
        await bench.set_owners()
        for channel in CHANNELS:
            await works_again(bench, channel)
