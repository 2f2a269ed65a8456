"""Whose transfers are: the IDs that descriptors say, and those of rings."""

from __future__ import annotations

import cocotb

from cdma.hdl.spec.records import Status
from cdma.sim.engine.memory import OwnerRule, stray_owner
from cdma.verif.engine.bench import CHANNELS, EngineBench
from cdma.verif.engine.context import Pair, both, changed, engine_test, expect_refusal, pairs_of, some_length
from cdma.verif.engine.owners import Owners
from cdma.verif.engine.ring import RingBench
from cdma.verif.engine.transfer import Transfer
from cdma.verif.simulator.plan import planned


def _some_rule(bench: EngineBench, owners: Owners) -> OwnerRule:
    """Everybody, one alone, or some."""
    mask = bench.rng.choice((0, 0xFFFF_FFFF, 0xFFF0_0000, bench.rng.getrandbits(32))) & owners.has
    return OwnerRule(owners.some(bench.rng)["owner"], mask)


async def _somebodies(bench: EngineBench, known: Owners, budget: int) -> int:
    """Transfers of anybody in channels of everybody, of one alone, and of some; gives how many are refused."""
    refused = 0

    async def job(channel: str) -> None:
        nonlocal refused
        for _ in range(max(3, budget // 25)):
            bench.pauses()
            rule = _some_rule(bench, known)
            await bench.set_owners(channel, rule)
            if isinstance(bench, RingBench):
                await _set_rings(bench, known, channel)
            await bench.channels[channel].enable()
            transfers: list[Transfer] = []
            for _ in range(8):
                made = bench.any_transfer(channel, some_length(bench))
                owner = made.descriptor["owner"] & ~rule.mask | rule.value & rule.mask
                wanted = {"owned": 1, "owner": owner}
                if bench.rng.random() < 0.7 and not stray_owner(wanted, known.fields):
                    made.descriptor |= wanted
                if refusal := bench.refusal(channel, made):
                    made.expected = refusal
                    refused += refusal.status == Status.OWNER
                transfers.append(made)
            await bench.run(channel, transfers)
            await bench.channels[channel].disable()
            await _rest(bench, channel)

    await both(bench, job)
    return refused


@planned(
    "descriptors of anybody in channels of everybody, of one alone, and of some; rings of anybody",
    "every address says whose it is; who may not is refused before anything moves",
    needs=lambda design: design.config.records.owner_bits,
    weight=2,
)
@engine_test
async def owners(bench: EngineBench, budget: int) -> None:
    known = bench.owners
    assert known is not None
    refused = await _somebodies(bench, known, budget)
    assert refused, "no owner was refused"
    bench.notes["refused"] = refused
    await _refuse_strays(bench, known)
    for name, count in known.seen.items():
        assert count or (name == "rings" and not isinstance(bench, RingBench)), (
            f"no address of {name} was looked at"
        )


@planned(
    "the same in all pairs at once, each with rules and rings of its own",
    "every address says whose it is, and every descriptor has the rule of its pair",
    needs=lambda design: design.config.records.owner_bits and design.config.channels > 1,
    weight=2,
)
@engine_test
async def pair_owners(bench: RingBench, budget: int) -> None:
    pairs = await pairs_of(bench)

    async def job(pair: Pair) -> None:
        assert pair.owners is not None
        assert await _somebodies(pair, pair.owners, budget // len(pairs)), (
            f"pair {pair.number} refused nobody"
        )

    for task in [cocotb.start_soon(job(pair)) for pair in pairs]:
        await task
    for pair in pairs:
        pair.account()


async def _refuse_strays(bench: EngineBench, known: Owners) -> None:
    """Each bit that the engine does not have; an owner that is not owned; each bit that alone is not allowed."""
    await bench.set_owners()
    for channel in CHANNELS:
        await bench.channels[channel].enable()
        for bit in range(32):
            word = 1 << bit
            made = bench.transfer(channel, 9)
            await expect_refusal(bench, channel, changed(made, owned=0, owner=word), Status.RESERVED, 0)
            if not known.has & word:
                made = bench.transfer(channel, 9)
                await expect_refusal(bench, channel, changed(made, owned=1, owner=word), Status.RESERVED, 0)
            elif bit >= known.fields.get("substream", (0, 0))[1]:
                await bench.set_owners(channel, OwnerRule(0, word))
                made = bench.transfer(channel, 9)
                await expect_refusal(bench, channel, changed(made, owned=1, owner=word), Status.OWNER, 0)
                await bench.set_owners(channel, OwnerRule(word, word))
                await bench.run(channel, [changed(bench.transfer(channel, 9), owned=1, owner=word)])
                await bench.set_owners(channel)
        await bench.channels[channel].disable()


async def _rest(bench: EngineBench, channel: str) -> None:
    while await bench.channels[channel].flag("busy"):
        pass


async def _set_rings(bench: RingBench, known: Owners, channel: str) -> None:
    """Sets whose the rings of a channel at rest are, and again while it is not: then that holds when it is at rest."""
    known.rings[channel] = await bench.give_rings(channel)
    await bench.rings[channel].enable()
    allowed = bench.transfer(channel, bench.rng.randint(200, 600))
    rule = known.rules[channel]
    changed(allowed, owned=1, owner=rule.value)
    await bench.rings[channel].submit([allowed.record()])
    later = await bench.give_rings(channel)
    bench.check(channel, allowed, await bench.rings[channel].next())
    await _rest(bench, channel)
    known.rings[channel] = later
    await bench.rings[channel].disable()
    await _rest(bench, channel)
