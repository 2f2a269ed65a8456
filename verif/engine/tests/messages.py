"""Interrupts that are written: software that sleeps until a word is at its address."""

from __future__ import annotations

import cocotb

from cdma.hdl.spec.records import Status
from cdma.verif.engine.bench import CHANNELS
from cdma.verif.engine.context import Pair, address_offered, changed, engine_test, pairs_of
from cdma.verif.engine.ring import RingBench
from cdma.verif.engine.transfer import Transfer
from cdma.verif.simulator.plan import planned

#: Where messages go, and for how many cycles one is waited for.
_CELLS, _PATIENCE = 0xF000, 20_000
#: More cycles than a message takes that nobody keeps waiting.
_QUIET = 200
#: The longest time for which an interrupt waits for others.
_LONGEST = 400


class _Line:
    """A channel of a pair, whose software waits for messages alone."""

    def __init__(self, pair: Pair, channel: str, high: int) -> None:
        self.pair, self.channel, self.ring = pair, channel, pair.rings[channel]
        index = CHANNELS.index(channel)
        self.id = 1 + index + 2 * (pair.number + max(2, pair.config.channels + pair.config.pages))
        self.cell = _CELLS + 32 * (2 * pair.number + index) + 4 * pair.rng.randrange(8)
        self.address = self.cell + high
        self.data = pair.rng.getrandbits(32) | 1
        self.host = pair.memory["host"]
        self.host.allow(self.cell, 4)
        self.clear()

    def clear(self) -> None:
        self.host.write(self.cell, bytes(4))

    @property
    def count(self) -> int:
        return self.pair.ports["host"][0].came("aw", self.id)

    async def poke(self, register: str, **fields: int) -> None:
        await self.pair.poke(f"{self.channel}_message.{register}", **fields)

    async def peek(self, register: str, field: str) -> int:
        return await self.pair.peek(f"{self.channel}_message.{register}", field)

    async def start(self) -> None:
        await self.poke("address_low", word=(self.address & 0xFFFFFFFF) >> 2)
        if self.pair.config.host_address_bits > 32:
            await self.poke("address_high", value=self.address >> 32)
        await self.poke("data", value=self.data)
        if self.pair.owners is not None:
            self.pair.owners.rings[self.channel] = await self.pair.give_rings(self.channel)
        await self.poke("control", enable=1)
        await self.enable()

    async def enable(self) -> None:
        await self.ring.enable()
        await self.pair.poke(f"{self.channel}.irq_enable", completion=1, error=1)

    async def begin_anew(self) -> None:
        """Enables all again, which a soft reset of the pair's other channel has disabled."""
        await self.ring.disable()
        await self.enable()

    async def message(self) -> None:
        end = self.pair.cycles + _PATIENCE
        while (got := int.from_bytes(self.host.read(self.cell, 4), "little")) == 0:
            left = end - self.pair.cycles
            assert left > 0, f"no message of {self.channel} of pair {self.pair.number}"
            await self.pair.record(left)
        assert got == self.data, f"a message {got:#x}, not {self.data:#x}"
        self.clear()

    async def clear_status(self) -> None:
        await self.pair.poke(f"{self.channel}.irq_status", completion=1, error=1)

    async def rest(self) -> None:
        for _ in range(_PATIENCE // _QUIET):
            if not await self.peek("status", "pending"):
                return
        raise AssertionError("a message is pending for ever")

    def some(self, *, wrong: bool = False) -> Transfer:
        """A transfer that wants an interrupt, or is refused."""
        made = self.pair.transfer(self.channel, self.pair.rng.randint(1, 100))
        changed(made, interrupt=1)
        if wrong:
            refusal = self.pair.refusal(self.channel, changed(made, length=0))
            assert refusal is not None
            made.expected = refusal
        return made

    async def one(self) -> None:
        made = self.some()
        await self.ring.submit([made.record()])
        await self.message()
        await self.clear_status()
        assert self.ring.arrived() == 1, "a message before its completion"
        self.pair.check(self.channel, made, await self.ring.next())

    async def many(self, count: int) -> None:
        """Transfers whose completions software looks for after messages alone."""
        pair, channel, rng = self.pair, self.channel, self.pair.rng
        await pair.poke(f"{channel}.coalesce_count", value=rng.randint(0, 3))
        await pair.poke(f"{channel}.coalesce_cycles", value=rng.randint(1, _LONGEST))
        waiting = [self.some(wrong=rng.random() < 0.1) for _ in range(count)]
        events = sum(1 + (each.expected.status != Status.OK) for each in waiting)
        before = self.count
        in_flight: list[Transfer] = []
        while waiting or in_flight:
            given = rng.randint(0 if in_flight else 1, self.ring.size - len(in_flight))
            taken, waiting = waiting[:given], waiting[given:]
            if taken:
                in_flight += taken
                await self.ring.submit([each.record() for each in taken])
            await self.message()
            await self.clear_status()
            await self.ring.clear_error()
            while in_flight and self.ring.arrived():
                pair.check(channel, in_flight.pop(0), await self.ring.next())
        # Software may have found completions whose interrupt still waits for its time.
        await pair.after(2 * _LONGEST)
        await self.rest()
        self.clear()
        assert self.count - before <= events, f"{self.count - before} messages of {events} events"
        await pair.poke(f"{channel}.coalesce_count", value=1)
        await pair.poke(f"{channel}.coalesce_cycles", value=0)

    async def after_the_answer(self) -> None:
        """A message waits until the write of its completion is answered."""
        before, made = self.count, self.some()
        self.host.latency = 60
        await self.ring.submit([made.record()])
        while not self.ring.arrived():
            await self.pair.record(_PATIENCE)
        self.host.frozen = True
        await self.pair.after(_QUIET)
        assert self.count == before, "a message before the answer to its completion"
        self.host.frozen, self.host.latency = False, 0
        await self.message()
        await self.clear_status()
        self.pair.check(self.channel, made, await self.ring.next())

    async def answered_with_error(self) -> None:
        self.host.spoil({self.address: self.pair.rng.choice((2, 3))})
        made = self.some()
        await self.ring.submit([made.record()])
        self.pair.check(self.channel, made, await self.ring.next())
        # The interrupt comes some cycles after the answer to the completion.
        await self.pair.after(_QUIET)
        await self.rest()
        assert await self.peek("status", "failed"), "a message that failed is none"
        assert await self.pair.peek(f"{self.channel}.irq_status", "completion")
        await self.clear_status()
        self.host.mend(self.address)
        await self.poke("status", failed=1)
        await self.one()
        assert not await self.peek("status", "failed")

    async def disabled(self) -> None:
        """Where messages or causes are not enabled there is none, and one when they are."""
        for register, fields in (("control", {"enable": 1}), ("irq_enable", {"completion": 1})):
            block = f"{self.channel}_message" if register == "control" else self.channel
            await self.pair.poke(f"{block}.{register}")
            before, made = self.count, self.some()
            await self.ring.submit([made.record()])
            self.pair.check(self.channel, made, await self.ring.next())
            await self.pair.after(_QUIET)
            assert self.count == before, f"a message without {register}"
            await self.pair.poke(f"{block}.{register}", **fields)
            await self.message()
            await self.clear_status()

    async def reset(self) -> None:
        """A soft reset amid all: where messages go stays."""
        await self.begin_anew()
        for in_flight in (True, False, False):
            made = [self.some() for _ in range(self.ring.size)]
            await self.ring.submit([each.record() for each in made])
            if in_flight:
                await address_offered(self.pair, "aw", self.id)
                self.host.frozen = True
            else:
                await self.pair.after(self.pair.rng.randint(1, 600))
            await self.pair.poke("engine.command", soft_reset=1)
            if in_flight:
                await self.pair.after(_QUIET)
                assert await self.pair.peek("engine.status", "resetting"), (
                    "a reset left a message without an answer"
                )
                self.host.frozen = False
            await self.pair.until("engine.status", "resetting", 0)
            assert not await self.peek("status", "pending"), "a message outlived a reset"
            for each in made:
                self.pair.check_memory(self.channel, each, exact=False)
            self.clear()
            await self.pair.set_table(self.channel, [0] * self.pair.config.codec.table_size)
            await self.enable()
            await self.one()
        await self.rest()

    async def locked(self) -> None:
        """With the window of host memory locked nothing of it changes."""
        await self.pair.poke("host_window.lock", locked=1)
        await self.begin_anew()
        for register, fields in (
            ("address_low", {"word": 0}),
            ("data", {"value": 0}),
            ("control", {"enable": 0}),
        ):
            await self.poke(register, **fields)
        assert await self.peek("status", "locked")
        await self.one()


@planned(
    "software of every pair that is told by messages alone, with coalescing and errors; messages that "
    "are answered with errors, disabled, locked, and cut by soft resets",
    "each word at its address, each completion in memory before; none is lost, and no more come than events",
    needs=lambda design: design.config.msi,
    weight=2,
)
@engine_test
async def messages(bench: RingBench, budget: int) -> None:
    bits = bench.config.host_address_bits
    high = bench.high("host") if bits > 20 else 0
    lines = [_Line(pair, channel, high) for pair in await pairs_of(bench) for channel in CHANNELS]
    for line in lines:
        await line.start()
    for line in lines:
        before = line.count
        for _ in range(3):
            await line.one()
        assert line.count - before == 3, "one message for each event"
        await line.after_the_answer()
        await line.answered_with_error()
        await line.disabled()
    for _ in range(max(1, budget // 100)):
        bench.pauses()
        for memory in bench.memory.values():
            memory.delay, memory.latency = bench.rng.choice(((0, 0), (40, 20)))
        tasks = [cocotb.start_soon(bench.blame(line.many(12))) for line in lines]
        for task in tasks:
            await task
    for line in lines:
        await line.reset()
    for line in lines:
        await line.locked()
        line.pair.account()
        line.pair.checks = line.pair.transfers = line.pair.words = 0
    await bench.reset(3)
    for pair in {id(line.pair): line.pair for line in lines}.values():
        for channel in CHANNELS:
            assert not await pair.peek(f"{channel}_message.control", "enable")
    bench.checks += 10 * len(lines)
