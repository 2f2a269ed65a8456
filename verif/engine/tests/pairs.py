"""Several queue pairs: none disturbs another one, and all share the data path as they are told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import cocotb
from cocotb.utils import get_sim_time
from cocotbext.axi import AxiResp

from cdma.hdl.spec.options import BANK_LOG2, PAIR_SPAN_LOG2, TURN_LOG2, UNIT_LOG2
from cdma.hdl.spec.records import Mode, Status
from cdma.verif.engine.bench import CHANNELS
from cdma.verif.engine.context import Pair, changed, completed, engine_test, pairs_of, some_table, works_again
from cdma.verif.engine.edges import PERIOD_NS
from cdma.verif.engine.ring import RingBench
from cdma.verif.simulator.plan import planned

#: Cycles over which shares are measured at least, and the bytes of a turn of the least weight.
_LEAST_CYCLES, _MOST_CYCLES = 16000, 32000
#: The period of its limit.
_PERIOD = 1000
_TURN = 1 << UNIT_LOG2 + TURN_LOG2
#: What the hostile one does.
_KINDS = ("leave", "abort", "long", "refused", "disable")
#: Words of a transfer that an abort certainly cuts short.
_LONG = 20_000
#: The most pairs that disturb each other at once, and the most transfers of one that are counted.
_MOST = 8


def _some(bench: RingBench, pairs: list[Pair]) -> list[Pair]:
    """All pairs or, of many, the first, the last and some between them."""
    if len(pairs) <= _MOST:
        return pairs
    between = sorted(bench.rng.sample(range(1, len(pairs) - 1), _MOST - 2))
    return [pairs[number] for number in (0, *between, len(pairs) - 1)]


async def _all(bench: RingBench, jobs: list[Awaitable[None]]) -> None:
    for task in [cocotb.start_soon(bench.blame(job)) for job in jobs]:
        await task


async def _honest(pair: Pair, channel: str, goes_on: Callable[[], bool]) -> None:
    """Transfers of random data, which must all be right."""
    ring = pair.rings[channel]
    await pair.set_table(channel, some_table(pair))
    await ring.enable()
    await pair.poke(f"{channel}.irq_enable", completion=1)
    while goes_on():
        made = [pair.any_transfer(channel, pair.rng.randint(1, 300)) for _ in range(4)]
        for each in made:
            each.descriptor["interrupt"] = 1
        await pair.run(channel, made)


async def _hostile(pair: Pair, channel: str, rounds: int) -> None:
    """Transfers that are aborted or refused, whose ring is disabled, or whose completions nobody takes."""
    ring, rng = pair.rings[channel], pair.rng
    for round_ in range(rounds):
        kind = _KINDS[(round_ + 2 * pair.number + CHANNELS.index(channel)) % len(_KINDS)]
        await ring.enable(halt_on_error=rng.randint(0, 1))
        words = {"long": _LONG, "leave": 16}.get(kind, rng.randint(1, 300))
        made = [pair.transfer(channel, words, mode=Mode.RAW) for _ in range(2 if kind == "long" else 6)]
        if kind == "refused":
            changed(made[1], length=0)
        await ring.submit([each.record() for each in made])
        await pair.after(rng.randint(1, 600))
        for _ in range(4 if kind == "leave" else 0):
            # In the end there is no room for the completions of more.
            await pair.after(600)
            if await ring.credit() >= len(made):
                await ring.submit([each.record() for each in made])
        if kind in ("abort", "long"):
            await ring.abort()
            await pair.settle(channel)
            statuses = [(await completed(pair, channel))["status"] for _ in range(ring.arrived())]
            assert set(statuses) <= {Status.OK, Status.ABORTED}, statuses
            pair.checks += len(statuses)
        await _rest(pair, channel)


async def _rest(pair: Pair, channel: str) -> None:
    for _ in range(2000):
        await pair.poke(f"{channel}.control")
        await pair.poke(f"{channel}.command", pop_completion=1, abort_now=1)
        if not await pair.rings[channel].flag("busy"):
            break
    else:
        raise AssertionError(f"{channel} of pair {pair.number} does not come to rest")
    await pair.settle(channel)
    await pair.poke(f"{channel}.command", resume=1)
    await pair.rings[channel].clear_error()


@planned(
    "random descriptors and tables on all pairs, beside one that aborts, resets itself, errs and takes no completions",
    "every other pair's completions in order, every byte in its place, an interrupt for each",
    needs=lambda design: design.config.channels > 1,
    weight=4,
)
@engine_test
async def pairs(bench: RingBench, budget: int) -> None:
    """One pair after the other is hostile; in the end it resets itself."""
    every = await pairs_of(bench)
    pairs = _some(bench, every)
    for hostile in pairs:
        bench.pauses()
        for memory in bench.memory.values():
            memory.delay = bench.rng.choice((0, 40))
        honest = [pair for pair in pairs if pair is not hostile]
        attacked = [False]

        async def attack(hostile: Pair = hostile, attacked: list[bool] = attacked) -> None:
            rounds = max(2, budget // 100)
            await _all(bench, [_hostile(hostile, channel, rounds) for channel in CHANNELS])
            for channel in CHANNELS:
                await hostile.rings[channel].enable()
                made = [hostile.transfer(channel, 300, mode=Mode.RAW) for _ in range(6)]
                await hostile.rings[channel].submit([each.record() for each in made])
            await bench.after(bench.rng.randint(1, 300))
            await hostile.poke("engine.command", soft_reset=1)
            await hostile.until("engine.status", "resetting", 0)
            attacked[0] = True

        def goes_on(attacked: list[bool] = attacked) -> bool:
            return not attacked[0]

        jobs = [_honest(pair, channel, goes_on) for pair in honest for channel in CHANNELS]
        await _all(bench, [attack(), *jobs])
        for pair in honest:
            assert pair.interrupts, f"pair {pair.number} has no interrupt"
            for channel in CHANNELS:
                assert not await pair.rings[channel].flag("halted"), f"pair {pair.number} was halted"
                await pair.rings[channel].disable()
        for channel in CHANNELS:
            await works_again(hostile, channel)
    await _count(bench, every)
    for pair in every:
        pair.account()


async def _count(bench: RingBench, pairs: list[Pair]) -> None:
    """All pairs at once: each has counted its own descriptors, and those since it cleared its counters."""
    for pair in pairs:
        await pair.poke("engine.command", clear_counters=1)
    await bench.after(80 * len(pairs))
    for channel in CHANNELS:
        for pair in pairs:
            await pair.rings[channel].enable()
            await pair.set_table(channel, some_table(pair))
        made = [[pair.any_transfer(channel, 60) for _ in range(pair.number % _MOST + 1)] for pair in pairs]
        began = get_sim_time("ns")
        await _all(bench, [pair.run(channel, some) for pair, some in zip(pairs, made, strict=True)])
        elapsed = (get_sim_time("ns") - began) / PERIOD_NS
        await bench.after(72)
        for pair, some in zip(pairs, made, strict=True):
            want = {
                "descriptors": len(some),
                "errors": 0,
                **{
                    name: sum(getattr(each.expected, name) for each in some)
                    for name in ("bytes_read", "bytes_written", "literals")
                },
            }
            for name, value in want.items():
                got = await pair.peek(f"{channel}_counters.{name}_low")
                assert got == value, f"counter {name} of pair {pair.number} is {got}, not {value}"
            assert 0 < await pair.peek(f"{channel}_counters.cycles_low") <= elapsed
            assert (await pair.peek(f"{channel}_counters.read_beats_low") > 0) == (pair.number == 0)
            pair.checks += len(want) + 2
            await pair.rings[channel].disable()


@planned(
    "descriptors and rings of each pair on both sides of its window's edge, while the other pairs' windows are others",
    "what is outside of its own is refused, and nothing else",
    needs=lambda design: design.config.channels > 1,
)
@engine_test
async def pair_windows(bench: RingBench, budget: int) -> None:
    every = await pairs_of(bench)
    pairs = _some(bench, every)
    missing = len(every) << PAIR_SPAN_LOG2
    if missing < 1 << bench.config.register_address_bits:
        for response in (await bench.bus.read(missing), await bench.bus.write(missing, bytes(4))):
            assert response.resp == AxiResp.SLVERR, "there is a page more than pairs"
    for pair in pairs:
        for channel in CHANNELS:
            # What it may reach are the pages of this transfer and its rings; all others reach everything.
            made = pair.transfer(channel, 40, mode=Mode.RAW)
            read, write = pair.rules[channel].source, pair.rules[channel].sink
            for port, field, count in (
                (read, "source", len(made.source)),
                (write, "destination", made.descriptor["capacity"]),
            ):
                first = made.descriptor[field]
                low, high = first & -4096, first + count - 1 | 4095
                if port == "host":
                    low = 0
                await pair.set_window(port, low, high)
            beyond = pair.transfer(channel, 40, mode=Mode.RAW)
            if pair.refusal(channel, beyond) is None:
                beyond.descriptor["destination"] += 1 << 20
            refusal = pair.refusal(channel, beyond)
            assert refusal is not None
            beyond.expected = refusal
            for each in pairs:
                await each.rings[channel].enable()
            await pair.rings[channel].submit([beyond.record(), made.record()])
            others = [each for each in pairs if each is not pair]
            await _all(bench, [each.run(channel, [each.transfer(channel, 40)]) for each in others])
            pair.checks += beyond.check(await pair.rings[channel].next())
            assert beyond.completion["status"] == Status.WINDOW, beyond.completion
            pair.check(channel, made, await pair.rings[channel].next())
            await pair.rings[channel].clear_error()
            await pair.open_windows()
            for each in pairs:
                await each.rings[channel].disable()
    for pair in pairs:
        pair.account()


async def _moved(pairs: list[Pair], channel: str, lengths: list[int], cycles: int) -> list[int]:
    """The raw bytes that each pair moves in ``cycles``, with its ring always full of descriptors of ``lengths``."""
    moved = [0] * len(pairs)
    word = pairs[0].config.format.word_bits // 8
    end = pairs[0].cycles + cycles

    async def job(place: int, pair: Pair) -> None:
        ring, length = pair.rings[channel], lengths[place]
        made = pair.transfer(channel, length // word, mode=Mode.RAW)
        await ring.enable()
        await ring.submit([made.record()] * ring.size)
        while pair.cycles < end:
            await ring.next()
            if pair.cycles < end:
                moved[place] += length
                await ring.submit([made.record()])
        while ring.done < ring.submitted:
            await ring.next()
        await ring.disable()

    await _all(pairs[0].bench, [job(*each) for each in enumerate(pairs)])
    return moved


async def _set(first: Pair, channel: str, register: str, pair: Pair, **fields: int) -> None:
    """Writes the register of a pair's share, whose bank is chosen, in the page of the ``first`` pair."""
    bank, index = divmod(pair.number, 1 << BANK_LOG2)
    if first.config.channels > 1 << BANK_LOG2:
        await first.poke(f"{channel}_shares.bank", value=bank)
    await first.poke(f"{channel}_shares.{register}[{index}]", **fields)


@planned(
    "pairs that always have descriptors, of different lengths, with weights, with priorities, and with a limit",
    "what each moves is as its weight within a twentieth; a higher one goes first; the limit holds",
    needs=lambda design: design.config.channels > 1,
    weight=4,
)
@engine_test
async def shares(bench: RingBench, budget: int) -> None:
    """Leaves as a note what each pair was given, and moved."""
    bench.pauses(0)
    pairs = _some(bench, await pairs_of(bench))
    # Each takes as many beats at any width of the port, so that the next one is fetched in time.
    wide = bench.config.dev_data_bits // 32
    lengths = [(512, 1536, 1024)[place % 3] * wide for place in range(len(pairs))]
    # Shares hold over many turns; in half of these cycles those behind the last pair wait for a completion.
    cycles = min(max(40 * budget, _LEAST_CYCLES), _MOST_CYCLES)
    rows = bench.notes.setdefault("shares", [])
    last = len(pairs) - 1

    async def moved_in(channel: str, cycles: int, weights: list[int], **of_last: int) -> list[int]:
        for pair, weight in zip(pairs, weights, strict=True):
            priority = of_last.get("priority", 0) if pair is pairs[last] else 0
            await _set(pairs[0], channel, "share", pair, weight=weight, priority=priority)
        moved = await _moved(pairs, channel, lengths, cycles)
        row = {"direction": channel, "cycles": cycles, "bytes": lengths, "weights": weights}
        rows.append(row | of_last | {"moved": moved})
        return moved

    for channel in CHANNELS:
        weights = [1 + 2 * (place % 2) for place in range(len(pairs))]
        moved = await moved_in(channel, cycles, weights)
        for weight, length, count in zip(weights, lengths, moved, strict=True):
            share = sum(moved) * weight / sum(weights)
            # At the end a pair may be amid its turn, whose last descriptor may be longer than what is left of it.
            assert abs(count - share) <= share / 20 + weight * _TURN + length, (
                f"{channel}: {moved} with {weights}"
            )
        # The last pair goes first.
        weights[last] = 1
        moved = await moved_in(channel, cycles // 2, weights, priority=2)
        # The others began with some before it had any.
        begun = pairs[0].config.descriptors * sum(lengths[:-1])
        assert sum(moved[:-1]) <= begun + sum(moved) / 20, f"{channel}: {moved}, and the last one goes first"
        # So it does up to its limit, once what is in flight of the others has moved.
        units = 3 * wide
        limited, most = max(cycles // 4, 4 * _PERIOD), units << UNIT_LOG2
        await pairs[0].poke(f"{channel}_shares.period", cycles=_PERIOD)
        await _set(pairs[0], channel, "limit", pairs[last], units=units)
        moved = await moved_in(channel, limited, weights, priority=2, limit=units)
        allowed = limited // _PERIOD * most
        assert abs(moved[-1] - allowed) <= 2 * lengths[-1] + 2 * most, f"{channel}: {moved[-1]} of {allowed}"
        assert sum(moved[:-1]) > moved[-1], f"{channel}: {moved}, and what the last one leaves is not used"
        bench.checks += 4
        bench.transfers += sum(pair.rings[channel].done for pair in pairs)
