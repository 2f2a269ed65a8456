"""What the slots say about the command after the one at the writer; the completer's tests have the rest. The completer
and the slots: what the stages report becomes one completion for each descriptor, in order.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import wiring

from cdma.hdl.axi.ports import Response
from cdma.hdl.codec.parts.interface import Error
from cdma.hdl.engine.channel.completer import Completer
from cdma.hdl.engine.channel.slots import Slots
from cdma.hdl.spec.records import RecordOptions, Status
from tests.support.simulate import simulate


@pytest.mark.slow
@pytest.mark.parametrize("pipelined", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 8])
def test_knows_of_a_command_ahead_whether_it_is_early(depth: int, pipelined: bool) -> None:
    """Never in a command's first two cycles, never of the wrong slot, and always after six cycles."""
    rng = random.Random(depth)
    early = [rng.random() < 0.5 for _ in range(150)]
    dut = Slots(64, 64, depth, pipelined=pipelined)
    pushed, taken, seen = 0, 0, 0
    #: Cycles for which a command has been at the writer, and for which another one has been there behind it.
    age, behind = 0, 0

    async def drive(ctx: Any) -> None:
        nonlocal pushed, taken, seen, age, behind
        while taken < len(early):
            phase = ctx.get(dut.write.valid), pushed > taken + 1
            age = age + 1 if phase[0] else 0
            behind = behind + 1 if all(phase) else 0
            ahead = ctx.get(dut.ahead)
            if ahead and phase[0]:
                assert age > 2
                assert pushed > taken + 1
                assert early[taken + 1]
                seen += 1
            elif behind > 6:
                assert not early[taken + 1]
            push = pushed < len(early) and pushed < taken + depth and rng.random() < 0.3
            ctx.set(dut.input.push, push)
            ctx.set(dut.input.starts, push)
            ctx.set(dut.input.early, early[pushed] if push else rng.random() < 0.5)
            take = rng.random() < 0.15
            ctx.set(dut.write.ready, take)
            if phase[0] and take:
                taken, age, behind = taken + 1, 0, 0
            await ctx.tick()
            pushed += push

    simulate(dut, drive)
    assert (seen > 20) == (depth > 1)


_MASK = (1 << 34) - 1


@dataclass(frozen=True)
class Case:
    """A descriptor in its slot, and what the stages report of it. ``None`` for an address: nothing is noted."""

    refused: int = Status.OK
    objection: int = 0
    tag: int = 1
    interrupt: int = 0
    raw: int = 0
    words: int = 64
    bytes: int = 256
    destination: int = 0x1000
    written: int = 100
    literals: int = 7
    error: Error = Error.NONE
    read_resp: Response = Response.OKAY
    read_address: int | None = None
    write_resp: Response = Response.OKAY
    write_address: int | None = None
    overflow: int = 0
    check_crc: int = 0
    wanted_crc: int = 0
    crc: int = 0

    def expected(self) -> dict[str, int]:
        """The completion."""
        status, address = self._verdict()
        moved = self.refused == Status.OK
        return {
            **({"crc": self.crc if moved else 0} if Bench.summed else {}),
            "tag": self.tag,
            "status": status,
            "address": address,
            "bytes_read": self.bytes if moved else 0,
            "bytes_written": self.written if moved else 0,
            "literals": self.literals if moved and not self.raw else 0,
            "words": self.words if moved and not self.raw else 0,
            "interrupt": int(bool(self.interrupt or status)),
        }

    def _verdict(self) -> tuple[int, int]:
        if self.refused:
            return self.refused, self.objection
        if self.read_resp is not Response.OKAY:
            decoding = self.read_resp is Response.DECERR
            return (Status.READ_DECERR if decoding else Status.READ_SLVERR), self.read_address or 0
        if self.error is not Error.NONE and not self.raw:
            return {
                Error.TRUNCATED: Status.STREAM_TRUNCATED,
                Error.TRAILING: Status.STREAM_TRAILING,
                Error.CODE: Status.STREAM_CODE,
                Error.PADDING: Status.STREAM_PADDING,
            }[self.error], 0
        if self.write_resp is not Response.OKAY:
            decoding = self.write_resp is Response.DECERR
            return (Status.WRITE_DECERR if decoding else Status.WRITE_SLVERR), self.write_address or 0
        if self.overflow:
            return Status.CAPACITY, self.write_address or 0
        if Bench.summed and self.check_crc and self.wanted_crc != self.crc:
            return Status.CRC_MISMATCH, 0
        return Status.OK, 0


class Bench:
    """Slots and completer, connected as in a channel, and processes that play checker and stages."""

    #: Slots and completer have registers for an FPGA.
    pipelined = False
    #: There are CRCs.
    summed = False
    #: Completions say their cycles, and numbers of bytes have so many bits.
    timed, length_bits = True, 33

    def __init__(self, depth: int = 4) -> None:
        options = RecordOptions(crc=self.summed, length_bits=self.length_bits, timed=self.timed)
        self.slots = slots = Slots(64, 64, depth, pipelined=self.pipelined, options=options)
        self.completer = completer = Completer(64, 64, padded=True, pipelined=self.pipelined, options=options)
        m = Module()
        m.submodules.slots, m.submodules.completer = slots, completer
        wiring.connect(m, slots.tickets, completer.tickets)
        m.d.comb += [
            completer.reported.eq(slots.reported),
            slots.result.eq(completer.result),
            slots.result_place.eq(completer.result_place),
            slots.at_stages.eq(completer.late),
        ]
        self.now = Signal(32)
        m.d.sync += self.now.eq(self.now + 1)
        if self.timed:
            m.d.comb += [slots.now.eq(self.now), slots.stamp.eq(completer.stamp)]
        self.module = m
        self.begun: list[int] = []

    async def push(self, ctx: Any, case: Case) -> None:
        """As the checker does it."""
        port = self.slots.input
        while not ctx.get(port.ready):
            await ctx.tick()
        self.begun.append(ctx.get(self.now))
        ctx.set(port.begin, 1)
        await ctx.tick()
        ctx.set(port.begin, 0)
        for name, first, last, count in (
            ("destination", case.destination, 0, 0),
            ("source", 0, 0, case.bytes),
            ("objection", 0, case.objection, 0),
        )[: 3 if case.refused else 2]:
            ctx.set(getattr(port, name), 1)
            for place in range(8):
                ctx.set(port.place, 1 << place)
                for member, value in ((port.first, first), (port.last, last), (port.count, count)):
                    ctx.set(member, value >> 8 * place & 0xFF)
                await ctx.tick()
            ctx.set(getattr(port, name), 0)
        fields = {"tag": case.tag, "interrupt": case.interrupt, "raw": case.raw, "words": case.words}
        if self.summed:
            fields |= {"check_crc": case.check_crc, "crc": case.wanted_crc}
        ctx.set(port.fields, fields | {"status": case.refused})
        ctx.set(port.starts, case.refused == Status.OK)
        ctx.set(port.push, 1)
        await ctx.tick()
        ctx.set(port.push, 0)

    async def tell(self, ctx: Any, outcome: Any, resp: Response, address: int | None) -> None:
        """As reader and writer do it: an address, some time, and the end."""
        if address is not None:
            ctx.set(outcome.address, address)
            ctx.set(outcome.note, 1)
            await ctx.tick()
            ctx.set(outcome.note, 0)
        ctx.set(outcome.resp, resp)
        ctx.set(outcome.done, 1)
        await ctx.tick()
        ctx.set(outcome.done, 0)

    async def end(self, ctx: Any, case: Case) -> None:
        """As the writer does it when it has the whole packet."""
        slots = self.slots
        ctx.set(slots.end, (case.destination + case.written) & _MASK)
        ctx.set(slots.write.ready, 1)
        await ctx.tick().until(slots.write.valid)
        ctx.set(slots.write.ready, 0)

    async def report(self, ctx: Any, case: Case) -> None:
        """As the codec's queue does it."""
        report = self.completer.report
        ctx.set(report.payload, {"literals": case.literals, "error": case.error})
        ctx.set(report.valid, 1)
        await ctx.tick().until(report.ready)
        ctx.set(report.valid, 0)

    async def sum(self, ctx: Any, case: Case) -> None:
        """As the queue of CRCs does it."""
        crc = self.completer.crc
        ctx.set(crc.payload, case.crc)
        ctx.set(crc.valid, 1)
        await ctx.tick().until(crc.ready)
        ctx.set(crc.valid, 0)

    async def complete(self, ctx: Any, wait: int = 0) -> dict[str, int]:
        """Takes a completion after a while; it must not change meanwhile."""
        completer = self.completer
        stream = completer.completion
        while not ctx.get(stream.valid):
            await ctx.tick()
        seen = []
        for cycle in range(wait + 1):
            payload = ctx.get(stream.payload)
            fields = {name: getattr(payload, name) for name in payload.shape().members}
            words = ctx.get(completer.words) if ctx.get(completer.coded) else 0
            fields |= {"words": words, "interrupt": ctx.get(completer.interrupt)}
            seen.append(fields)
            ctx.set(stream.ready, cycle == wait)
            await ctx.tick()
        ctx.set(stream.ready, 0)
        assert all(fields == seen[0] for fields in seen)
        return seen[0]


@pytest.fixture(params=[(True, False), (False, True)], ids=["pipelined", "crc"])
def _memories(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both kinds of memories, with CRCs and without."""
    pipelined, summed = request.param
    monkeypatch.setattr(Bench, "pipelined", pipelined)
    monkeypatch.setattr(Bench, "summed", summed)


#: A test of completer and slots, with both.
both = pytest.mark.usefixtures("_memories")


def _run(cases: list[Case], seed: int = 0) -> list[dict[str, int]]:
    """All cases one after the other, each side at its own pace."""
    bench = Bench()
    rng = random.Random(seed)
    started = [(number, case) for number, case in enumerate(cases) if case.refused == Status.OK]
    completions: list[dict[str, int]] = []

    async def check(ctx: Any) -> None:
        for case in cases:
            await bench.push(ctx, case)

    async def stage(ctx: Any, job: Any, cases: list[tuple[int, Case]]) -> None:
        for number, case in cases:
            while len(bench.begun) <= number:
                await ctx.tick()
            await ctx.tick().repeat(40 + rng.randrange(60))
            await job(ctx, case)

    async def read(ctx: Any) -> None:
        await stage(
            ctx, lambda c, x: bench.tell(c, bench.slots.read_outcome, x.read_resp, x.read_address), started
        )

    async def write(ctx: Any) -> None:
        async def job(ctx: Any, case: Case) -> None:
            await bench.end(ctx, case)
            ctx.set(bench.slots.overflow, case.overflow)
            await bench.tell(ctx, bench.slots.write_outcome, case.write_resp, case.write_address)

        await stage(ctx, job, started)

    async def report(ctx: Any) -> None:
        await stage(ctx, bench.report, [(number, case) for number, case in started if not case.raw])

    async def add_up(ctx: Any) -> None:
        if Bench.summed:
            await stage(ctx, bench.sum, started)

    async def collect(ctx: Any) -> None:
        for number in range(len(cases)):
            completion = await bench.complete(ctx, rng.randrange(4))
            elapsed = (ctx.get(bench.now) - bench.begun[number]) & 0xFFFFFFFF
            assert Bench.timed <= completion["cycles"] <= (elapsed if Bench.timed else 0)
            completions.append(completion)

    simulate(bench.module, check, read, write, report, add_up, collect)
    return completions


def _compare(cases: list[Case], completions: list[dict[str, int]]) -> None:
    for case, completion in zip(cases, completions, strict=True):
        expected = case.expected()
        assert {name: completion[name] for name in expected} == expected, case
        assert not completion["reserved"]
        assert not completion["reserved_status"]


@both
@pytest.mark.slow
def test_the_first_cause_in_the_order_of_the_data_counts() -> None:
    """Every combination of causes, in random order, each with addresses of its own."""
    rng = random.Random(1)
    cases = []
    for read in (Response.OKAY, Response.SLVERR, Response.DECERR):
        for error in (Error.NONE, Error.TRUNCATED, Error.TRAILING, Error.CODE, Error.PADDING):
            for write in (Response.OKAY, Response.SLVERR, Response.DECERR):
                for overflow in (0, 1):
                    noted = write is not Response.OKAY or overflow
                    cases.append(
                        Case(
                            tag=rng.getrandbits(32),
                            raw=rng.getrandbits(1),
                            read_resp=read,
                            read_address=rng.getrandbits(64) if read is not Response.OKAY else None,
                            error=error,
                            write_resp=write,
                            write_address=rng.getrandbits(64) if noted else None,
                            overflow=overflow,
                            interrupt=rng.getrandbits(1),
                            literals=rng.getrandbits(32),
                            words=rng.getrandbits(32),
                            bytes=rng.getrandbits(33),
                            check_crc=rng.getrandbits(1),
                            wanted_crc=0x12345678,
                            crc=0x12345678 ^ rng.choice((0, 1 << rng.randrange(32))),
                        )
                    )
    for status in (Status.WINDOW, Status.ZERO_LENGTH, Status.FETCH_SLVERR):
        cases += [Case(refused=status, objection=rng.getrandbits(64), tag=rng.getrandbits(32))] * 2
    rng.shuffle(cases)
    _compare(cases, _run(cases))


@both
def test_without_times_and_with_short_lengths(monkeypatch: pytest.MonkeyPatch) -> None:
    """Completions have no cycles, and the rest as ever."""
    monkeypatch.setattr(Bench, "timed", False)
    monkeypatch.setattr(Bench, "length_bits", 17)
    rng = random.Random(4)
    places = (0, (1 << 18) - 32, rng.getrandbits(64) // 32 * 32)
    cases = [Case(destination=place, written=(1 << bit) - 1) for place in places for bit in (1, 8, 9, 16, 17)]
    _compare(cases, _run(cases, seed=5))


@both
@pytest.mark.slow
def test_lengths_with_borrows_through_every_byte() -> None:
    """Also where the lower bits of the end are less than those of the beginning."""
    rng = random.Random(2)
    cases = []
    for bit in range(33):
        written = (1 << bit) - rng.randrange(2)
        place = rng.choice((0, (1 << 34) - 32, (1 << bit) - 32, rng.getrandbits(64))) % (1 << 64)
        cases.append(Case(destination=place // 32 * 32, written=written, raw=bit & 1))
    _compare(cases, _run(cases, seed=3))


@both
@pytest.mark.parametrize("late", ["read", "write"])
def test_the_watchdog_takes_the_first_and_drops_the_rest(late: str) -> None:
    """A refused descriptor before it keeps its status. The address is that of the stage, which may be at a later slot."""
    bench = Bench(depth=8)
    cases = [Case(refused=Status.WINDOW, objection=0xABC), *(Case(tag=tag) for tag in (5, 6, 7))]
    completions = []

    async def drive(ctx: Any) -> None:
        slots, completer = bench.slots, bench.completer
        for case in cases:
            await bench.push(ctx, case)
        # The stage is through with the first that was started, and stands in the second.
        outcome = slots.read_outcome if late == "read" else slots.write_outcome
        await bench.tell(ctx, outcome, Response.OKAY, None)
        ctx.set(outcome.address, 0x1234_5678_9ABC_DE00)
        ctx.set(outcome.note, 1)
        await ctx.tick()
        ctx.set(outcome.note, 0)
        ctx.set(completer.at_write, late == "write")
        ctx.set(completer.watchdog, 1)
        ctx.set(completer.drop, 1)
        for _ in cases:
            completions.append(await bench.complete(ctx, wait=3))
            if completions[-1]["status"] == Status.WATCHDOG:
                ctx.set(completer.watchdog, 0)
        await ctx.tick().repeat(3)
        assert ctx.get(slots.empty)

    simulate(bench.module, drive)
    assert [each["status"] for each in completions] == [
        Status.WINDOW,
        Status.WATCHDOG,
        Status.ABORTED,
        Status.ABORTED,
    ]
    assert [each["address"] for each in completions] == [0xABC, 0x1234_5678_9ABC_DE00, 0, 0]
    assert [each["tag"] for each in completions] == [case.tag for case in cases]
    moved = ("bytes_read", "bytes_written", "literals", "words")
    assert not any(each[name] for each in completions for name in moved)


@both
def test_holds_but_does_not_lose() -> None:
    """While ``hold`` is high nothing is completed, although all stages have reported."""
    bench = Bench()
    case = Case(raw=1)

    async def drive(ctx: Any) -> None:
        ctx.set(bench.completer.hold, 1)
        if bench.summed:
            ctx.set(bench.completer.crc.valid, 1)
        await bench.push(ctx, case)
        await bench.end(ctx, case)
        await bench.tell(ctx, bench.slots.read_outcome, Response.OKAY, None)
        await bench.tell(ctx, bench.slots.write_outcome, Response.OKAY, None)
        for _ in range(30):
            assert not ctx.get(bench.completer.completion.valid)
            await ctx.tick()
        ctx.set(bench.completer.hold, 0)
        cycles = 13
        for cycle in range(cycles + 1):
            assert ctx.get(bench.completer.completion.valid) == (cycle == cycles)
            await ctx.tick()

    simulate(bench.module, drive)
