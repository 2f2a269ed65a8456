"""The collector: of the reports of a descriptor's stripes, in their order, one outcome and one verdict."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from amaranth.sim import Simulator

from cdma.hdl.axi.ports import Response
from cdma.hdl.codec.parts.interface import Error
from cdma.hdl.engine.units.outcomes import Collector

_UNITS, _STRIPE_BYTES, _WORDS = 3, 256, 64


@dataclass(frozen=True)
class Stripe:
    """What a unit reports of a stripe."""

    number: int
    resp: Response = Response.OKAY
    place: int = 0
    end: int = 0
    literals: int = 0
    error: Error = Error.NONE
    raw: bool = False
    first: int = 0
    padding: bool = False
    base: tuple[Response, int, int] | None = None

    @property
    def unit(self) -> int:
        return self.number % _UNITS


def expected(stripes: list[Stripe], shaped: bool, writes: bool) -> dict[str, int]:
    """What becomes of the stripes of one descriptor."""
    wrong = next((at for at, one in enumerate(stripes) if not one.raw and one.error is not Error.NONE), None)
    failed = next(
        (one for one in stripes if one.resp is not Response.OKAY and not _silent(one, writes)), None
    )
    counted = stripes[: len(stripes) if wrong is None else wrong + 1]
    result = {"resp": Response.OKAY.value}
    if writes:
        end = counted[-1].number * _STRIPE_BYTES + counted[-1].end
        result["end"] = sum(one.end - one.first for one in counted) if shaped else end
    if not stripes[0].raw:
        result["literals"] = sum(one.literals for one in counted)
        result["error"] = (Error.NONE if wrong is None else stripes[wrong].error).value
    if failed is not None:
        result["resp"] = failed.resp.value
        result["address"] = failed.number * _STRIPE_BYTES + failed.place
    if stripes[0].base is not None:
        fails = (one.base for one in stripes if one.base and one.base[0] is not Response.OKAY)
        resp, place, number = next(fails, (Response.OKAY, 0, 0))
        result["base"] = resp.value
        if resp is not Response.OKAY:
            result["base address"] = number * _STRIPE_BYTES + place
    return result


def _silent(stripe: Stripe, writes: bool) -> bool:
    """Whether the port has no part in a stripe: what is made in its place is not read."""
    return stripe.padding and not writes


def collect(
    descriptors: list[list[Stripe]], seed: int, *, shaped: bool, writes: bool
) -> list[dict[str, int]]:
    """Has the units report at random times, each in the order of its stripes; gives what is collected."""
    source = random.Random(seed)
    dut = Collector(32, _UNITS, _STRIPE_BYTES, _WORDS, writes=writes, shaped=shaped, based=True)
    stripes = [one for stripes in descriptors for one in stripes]
    finals = [at == len(stripes) - 1 for stripes in descriptors for at in range(len(stripes))]
    reports = {
        (unit, name): [
            one
            for one in stripes
            if one.unit == unit
            and not (name == "codec" and one.raw)
            and not (name == "port" and _silent(one, writes))
            and not (name == "base" and one.base is None)
        ]
        for unit in range(_UNITS)
        for name in ("port", *(["end"] if writes else []), "codec", "base")
    }
    result: list[dict[str, int]] = []

    async def bench(ctx: Any) -> None:
        at, address, of_base = 0, None, None
        offered: set[tuple[int, str]] = set()
        for _ in range(100 * len(stripes)):
            if at == len(stripes) and not ctx.get(dut.verdict.valid):
                return
            here = stripes[min(at, len(stripes) - 1)]
            ctx.set(dut.order.valid, at < len(stripes))
            ctx.set(dut.order.payload.unit, here.unit)
            ctx.set(dut.order.payload.number, here.number)
            ctx.set(dut.order.payload.raw, here.raw)
            ctx.set(dut.order.payload.final, finals[min(at, len(stripes) - 1)])
            ctx.set(dut.order.payload.delta, here.base is not None)
            ctx.set(dut.order.payload.base, 0 if here.base is None else here.base[2])
            if shaped:
                ctx.set(dut.order.payload.padding, here.padding)
                ctx.set(dut.order.payload.place, here.first)
            for (unit, name), queue in reports.items():
                if queue and source.random() < 0.4:
                    offered.add((unit, name))
                port = getattr(dut.units[unit], name)
                ctx.set(port.valid, (unit, name) in offered)
                if (unit, name) not in offered:
                    continue
                if name == "end":
                    ctx.set(port.payload, queue[0].end)
                    continue
                if name == "base":
                    ctx.set(port.payload.resp, queue[0].base[0])
                    ctx.set(port.payload.place, queue[0].base[1])
                    continue
                fields = ("resp", "place") if name == "port" else ("literals", "error")
                for field in fields:
                    ctx.set(port.payload[field], getattr(queue[0], field))
            if ctx.get(dut.verdict.valid):
                # A cycle after the outcome.
                result[-1]["literals"] = ctx.get(dut.verdict.payload.literals)
                result[-1]["error"] = ctx.get(dut.verdict.payload.error).value
            if ctx.get(dut.outcome.note):
                address = ctx.get(dut.outcome.address)
            if ctx.get(dut.base_outcome.note):
                of_base = ctx.get(dut.base_outcome.address)
            if ctx.get(dut.outcome.done):
                found = {"resp": ctx.get(dut.outcome.resp).value}
                found |= {"end": ctx.get(dut.end)} if writes else {}
                if address is not None:
                    found["address"] = address
                if ctx.get(dut.base_outcome.done):
                    found["base"] = ctx.get(dut.base_outcome.resp).value
                if of_base is not None:
                    found["base address"] = of_base
                result.append(found)
                address = of_base = None
            taken = [key for key in offered if ctx.get(getattr(dut.units[key[0]], key[1]).ready)]
            at += ctx.get(dut.order.ready)
            await ctx.tick()
            for key in taken:
                offered.discard(key)
                reports[key].pop(0)
        raise AssertionError("the reports are not collected")

    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
    assert not any(reports.values())
    return result


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "shaped", "writes"), [(0, False, True), (1, False, True), (2, True, True), (3, True, False)]
)
def test_the_first_wrong_stripe_is_the_descriptors(seed: int, shaped: bool, writes: bool) -> None:
    """Neither error, literals nor end of a later stripe count, and the next descriptor begins anew. With shapes, the end is
    the bytes that are written, and padding that is made has nothing of a port. A base has an outcome of its own."""
    source = random.Random(seed)
    descriptors, number = [], 0
    for _ in range(60):
        raw, based = source.random() < 0.3, source.random() < 0.5
        stripes = []
        for _ in range(source.randint(1, 9)):
            bad = source.random() < 0.15
            padding = shaped and source.random() < 0.3
            end = source.randint(0, _STRIPE_BYTES)
            first = source.randint(0, min(end, _STRIPE_BYTES - 1)) if shaped else 0
            stripes.append(
                Stripe(
                    number,
                    source.choice((Response.SLVERR, Response.DECERR))
                    if source.random() < 0.1
                    else Response.OKAY,
                    source.randrange(_STRIPE_BYTES),
                    end,
                    0 if raw else source.randint(0, _WORDS),
                    source.choice([error for error in Error if error is not Error.NONE])
                    if bad and not raw
                    else Error.NONE,
                    raw,
                    end if padding and end < _STRIPE_BYTES else first,
                    padding,
                    (
                        source.choice((Response.OKAY, Response.OKAY, Response.SLVERR, Response.DECERR)),
                        source.randrange(_STRIPE_BYTES),
                        source.getrandbits(24),
                    )
                    if based and not shaped
                    else None,
                )
            )
            number += 1
        descriptors.append(stripes)
    got = collect(descriptors, seed, shaped=shaped, writes=writes)
    assert got == [expected(stripes, shaped, writes) for stripes in descriptors]
