"""The start and end of every cocotb test of an engine, paced memories, and steps that several tests take."""

from __future__ import annotations

import functools
import random
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Any, cast

import cocotb
from cocotbext.axi import AxiResp

from cdma.hdl.spec.options import PAIR_SPAN_LOG2
from cdma.hdl.spec.records import COMPLETION, Status
from cdma.hdl.spec.registers.map import register_map
from cdma.sim.engine.memory import unpack
from cdma.sim.engine.transfer import Outcome
from cdma.verif.simulator.plan import bench_settings, leave_samples, leaving_result

from .bench import CHANNELS, EngineBench
from .design import EngineDesign
from .measure import MOST_BYTES
from .memory import Memory
from .ring import Ring, RingBench
from .stream import StreamBench
from .transactions import RegisterBus, Response
from .transfer import Transfer

#: Hundreds of cycles within which the last responses come.
_ENDING = 20


def engine_test(body: Callable[[Any, int], Awaitable[None]], kind: type[EngineBench] | None = None) -> Any:
    """Makes a cocotb test of ``body``, which gets the started bench and the budget of transfers.

    ``kind`` is the class of the bench; by default the one for engines with registers, or without.
    """
    name = body.__name__

    @functools.wraps(body)
    async def run(dut: Any) -> None:
        settings = bench_settings()
        design = EngineDesign.from_json(settings["design"])
        make = kind or (RingBench if design.config.registers else StreamBench)
        bench = make(dut, design, random.Random(f"{settings['seed']}/{name}"))
        with leaving_result(name, bench.tally, bench.explain):
            await bench.start()
            await body(bench, settings["packets"])
            # The last completion is in memory before its write is answered, which takes the memory's latency.
            for _ in range(_ENDING):
                await bench.after(100)
                if not bench.rules_of_axi.busy():
                    break
            bench.finish()
            leave_samples(bench.samples())

    return cocotb.test()(run)


async def both(bench: Any, job: Callable[[str], Awaitable[None]]) -> None:
    """Runs a job on both channels at once."""
    tasks = [cocotb.start_soon(bench.blame(job(channel))) for channel in CHANNELS]
    for task in tasks:
        await task


#: Where data are read from, where the bases of deltas are, and where data are written to.
SOURCE = 0x100000
BASE = SOURCE + MOST_BYTES // 2
DESTINATION = SOURCE + MOST_BYTES
#: Of each memory.
SIZE = DESTINATION + MOST_BYTES


class PacedBench(RingBench):
    """The bench with memories that accept an address, a beat and return a beat in every cycle. ``host_period`` is that of
    the host's clock in core cycles."""

    @property
    def host_period(self) -> float:
        period: float = bench_settings().get("host_period", 1.0)
        return period

    def periods(self) -> dict[str, tuple[int, int]]:
        periods, domains = super().periods(), self.config.domains
        half, _ = periods[domains.core]
        return {
            clock: (round(half * (self.host_period if clock == domains.host else 1)), 0) for clock in periods
        }

    def make_memory(self) -> Memory:
        memory = Memory(self.rng, SIZE)
        memory.allow(0, SIZE)
        return memory


#: Where the rings of all pairs but the first lie, and how far apart.
_RINGS, _STEP = 0xA000, 0x200
_LOG2 = 3


def _rings_end(number: int) -> int:
    """Where the rings of the pair of that number end, and those of the next one begin."""
    return _RINGS + 2 * len(CHANNELS) * _STEP * number


class _Page:
    """The registers of a pair at the register port."""

    def __init__(self, bus: RegisterBus, base: int) -> None:
        self.bus, self.base = bus, base

    async def read(self, address: int) -> Response:
        return await self.bus.read(self.base + address)

    async def write(self, address: int, data: bytes) -> Response:
        return await self.bus.write(self.base + address, data)


class Pair(RingBench):
    """The bench as the software of one pair sees it; attributes that a pair does not have are those of ``bench``."""

    def __init__(self, bench: RingBench, number: int) -> None:
        self.__dict__["bench"] = bench
        self.number = number
        self.registers = register_map(bench.config.of_pair(number))
        self.bus = cast(RegisterBus, _Page(bench.bus, number << PAIR_SPAN_LOG2))
        self.tag = number << 26
        self.checks = self.transfers = self.words = 0
        self.tables = dict(bench.tables)
        self.spaces = dict(bench.spaces)
        self.owners = bench.owners and bench.owners.of_pair(number)
        self.rings = {name: Ring(self, name, _LOG2) for name in CHANNELS}
        self.channels = self.rings
        places = count(_rings_end(number - 1), _STEP)
        for ring in self.rings.values() if number else ():
            ring.base, ring.completions = next(places), next(places)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.bench, name)

    @property
    def cycles(self) -> int:
        return self.bench.cycles

    @property
    def interrupts(self) -> bool:
        return bool(int(self.bench.dut.irq.value) >> self.number & 1)

    def pauses(self, share: float | None = None) -> None:
        self.bench.pauses(share)

    async def blame(self, job: Awaitable[None]) -> None:
        await self.bench.blame(job)

    def account(self) -> None:
        """Adds what it has done to what the bench has done."""
        for name in ("checks", "transfers", "words"):
            setattr(self.bench, name, getattr(self.bench, name) + getattr(self, name))


async def pairs_of(bench: RingBench) -> list[Pair]:
    """All pairs, with open windows, and descriptors of everybody."""
    pairs = [Pair(bench, number) for number in range(bench.config.channels)]
    host = bench.memory["host"]
    host.first = max(host.first, _rings_end(len(pairs) - 1))
    host.next = max(host.next, host.first)
    for pair in pairs:
        await pair.open_windows()
        await pair.set_owners()
    return pairs


#: How errors of the bus end a transfer, by what they are met in.
BUS_ERRORS = {
    "read": {AxiResp.SLVERR: Status.READ_SLVERR, AxiResp.DECERR: Status.READ_DECERR},
    "write": {AxiResp.SLVERR: Status.WRITE_SLVERR, AxiResp.DECERR: Status.WRITE_DECERR},
}


async def completed(bench: EngineBench, channel: str, limit: int = 20000) -> dict[str, int]:
    """The fields of the next completion of a channel."""
    return unpack(COMPLETION, await bench.channels[channel].next(limit))


async def expect_failure(
    bench: EngineBench, channel: str, made: Transfer, status: Status, address: int, limit: int = 20000
) -> dict[str, int]:
    """Waits for the completion of a transfer, which fails so, and for the same in the error register; the completion."""
    got, want = await completed(bench, channel, limit), (status, address, made.descriptor["tag"])
    assert (got["status"], got["address"], got["tag"]) == want, (made, got, want)
    await bench.channels[channel].check_error(*want)
    bench.transfers += 1
    bench.checks += 2
    return got


async def abort(bench: EngineBench, channel: str) -> None:
    """Aborts a channel, waits for the end of that, and lets it go on."""
    await bench.channels[channel].abort()
    await bench.settle(channel)
    await bench.channels[channel].resume()


async def expect_end(bench: EngineBench, channel: str, made: Transfer) -> None:
    """Waits for the completion of a transfer that an abort may have cut off: it is ABORTED, or right."""
    data = await bench.channels[channel].next()
    got = unpack(COMPLETION, data)
    if got["status"] == Status.ABORTED:
        assert got["tag"] == made.descriptor["tag"], got
        bench.check_memory(channel, made, exact=False)
    else:
        bench.check(channel, made, data)
    bench.checks += 1


async def works_again(bench: EngineBench, channel: str) -> None:
    """Moves data through a channel that a reset has disabled, and disables it again."""
    await bench.set_table(channel, [0] * bench.config.codec.table_size)
    await bench.channels[channel].enable()
    await bench.run(channel, [bench.transfer(channel, 100)])
    await bench.channels[channel].disable()


#: Cycles for a transfer of tens of thousands of rows of a byte each.
_LONG = 100_000


async def address_offered(bench: EngineBench, channel: str, id: int) -> None:
    """Waits until the host's port offers an address with this ID: 0 is data, and what comes after it the channels' rings."""
    valid, of = (getattr(bench.dut, f"m_axi_host_{channel}{name}") for name in ("valid", "id"))
    [port] = bench.ports["host"]
    before = port.came(channel, id)
    for _ in range(2000 * bench.pace):
        await bench.after(1)
        # One of a faster clock may have come between two cycles.
        if (int(valid.value) and int(of.value) == id) or port.came(channel, id) != before:
            return
    raise AssertionError(f"no {channel} with ID {id} at the host's port")


def some_table(bench: EngineBench) -> list[int]:
    top = (1 << bench.config.format.entry_bits) - 1
    return [
        bench.rng.choice((0, 1, top, bench.rng.randint(0, top))) for _ in range(bench.config.codec.table_size)
    ]


def some_length(bench: EngineBench) -> int:
    """Words: short ones, boundaries of beats, windows, bursts and pages, one more and one less."""
    config, rng = bench.config, bench.rng
    form = config.format
    # Raw data are whole bytes.
    more = 8 * form.raw_bytes // form.word_bits
    choice = rng.random()
    if choice < 0.3:
        return rng.randint(1, 3 * config.lanes)
    if choice < 0.8:
        beat = rng.choice((config.dev_data_bits, config.host_data_bits)) // 8
        unit = rng.choice((beat, beat * config.burst_beats, form.window * form.word_bits // 8, 4096))
        return max(1, unit * 8 // form.word_bits * rng.randint(1, 2) + rng.choice((-more, 0, more)))
    return rng.randint(1, 2000)


def changed(made: Transfer, **fields: int) -> Transfer:
    made.descriptor |= fields
    return made


async def expect_refusal(
    bench: EngineBench,
    channel: str,
    made: Transfer,
    status: Status,
    address: int,
    *,
    behind: Sequence[Transfer] = (),
) -> None:
    """Runs a descriptor that specification and engine must refuse, and ``behind`` others that they must not.

    ``address`` -1 stands for the first byte past the capacity.
    """
    if address == -1:
        address = made.descriptor["destination"] + made.descriptor["capacity"]
    made.expected = Outcome(status, address=address)
    assert bench.refusal(channel, made) == made.expected, (made.descriptor, bench.refusal(channel, made))
    end = bench.channels[channel]
    await end.submit([each.record() for each in (*behind, made)])
    for each in behind:
        bench.check(channel, each, await end.next(_LONG))
    bench.checks += made.check(await end.next())
    bench.transfers += 1
