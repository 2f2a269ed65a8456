"""Lost words of what is common to pairs end at the pair that they belong to."""

from __future__ import annotations

from amaranth.hdl import Elaboratable, Module, Signal, Value
from amaranth.lib.memory import Memory

from cdma.hdl.blocks.coded_memory import MemoryCoding, elaborated
from cdma.hdl.blocks.memory_styles import FlipFlops
from cdma.hdl.engine.pairs.dispatch import Dispatch
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import Mode, Status
from tests.support.simulate import simulate

_CONFIG = EngineConfig(channels=2, memories_protect="secded")
#: Cycles in which a descriptor starts.
_LIMIT = 40


class _Losing(MemoryCoding):
    """Every word that is read is lost, and each bit of it is wrong, while ``loses`` is high."""

    def __init__(self) -> None:
        super().__init__("secded", 16)
        self.loses = Signal()

    def line(self, memory: Memory) -> Signal:
        return self.loses

    def get_memory(self, memory: Memory) -> Elaboratable:
        m = Module()
        [writer], [reader] = memory.write_ports, memory.read_ports
        width = len(Value.cast(writer.data))
        inner = Memory(shape=width, depth=memory.depth, init=[])
        write, read = inner.write_port(), inner.read_port(domain="sync")
        m.submodules.inner = elaborated(inner, FlipFlops())
        m.d.comb += [
            write.addr.eq(writer.addr),
            write.data.eq(writer.data),
            write.en.eq(writer.en),
            read.addr.eq(reader.addr),
            read.en.eq(reader.en),
            reader.data.eq(read.data ^ self.loses.replicate(width)),
        ]
        return m


class _Bench:
    """A dispatch whose descriptors start at once, and whose completions the test gives."""

    def __init__(self, ctx, dut: Dispatch) -> None:
        self.ctx, self.dut = ctx, dut
        self.pairs = [dut.pair_0, dut.pair_1]
        self.started: list[int] = []

    async def offer(self, number: int, length: int, mode: int = Mode.RAW) -> int:
        """Starts a descriptor of a pair; gives its fault."""
        ctx, pair = self.ctx, self.pairs[number]
        ctx.set(pair.requests.payload.descriptor.length, length)
        ctx.set(pair.requests.payload.descriptor.mode, mode)
        for signal in (pair.requests.valid, pair.may_start):
            ctx.set(signal, 1)
        fault = await self.takes()
        await ctx.tick().until(pair.started)
        ctx.set(pair.requests.valid, 0)
        return fault

    async def takes(self) -> int:
        """Takes what is at the channel, if anything comes; gives its fault."""
        ctx, requests = self.ctx, self.dut.requests
        for _ in range(_LIMIT):
            if ctx.get(requests.valid):
                break
            await ctx.tick()
        else:
            raise AssertionError("nothing starts")
        fault = ctx.get(requests.payload.fault)
        ctx.set(requests.ready, 1)
        await ctx.tick()
        ctx.set(requests.ready, 0)
        return fault

    async def completes(self, status: Status) -> list[int]:
        """Gives a completion of the channel; who gets it."""
        ctx, done = self.ctx, self.dut.done
        ctx.set(done.payload.completion.status, status)
        ctx.set(done.valid, 1)
        for _ in range(_LIMIT):
            if ctx.get(done.ready):
                break
            await ctx.tick()
        got = [number for number, pair in enumerate(self.pairs) if ctx.get(pair.done.valid)]
        await ctx.tick()
        ctx.set(done.valid, 0)
        return got

    async def clears(self) -> None:
        """The channel has dropped all that was in flight."""
        self.ctx.set(self.dut.aborting, 1)
        await self.ctx.tick().repeat(4)
        self.ctx.set(self.dut.aborting, 0)


def _run(test) -> None:
    coding, dut = _Losing(), Dispatch(_CONFIG)

    async def testbench(ctx) -> None:
        await test(ctx, coding, _Bench(ctx, dut))

    simulate(elaborated(dut, coding), testbench)


def test_a_lost_request_is_refused_and_needs_nothing() -> None:
    async def test(ctx, coding: _Losing, bench: _Bench) -> None:
        assert await bench.offer(0, 256) == Status.OK
        # It seems to need the table, which is the other pair's, and something is in flight.
        ctx.set(coding.loses, 1)
        assert await bench.offer(1, 256, 0xFF ^ Mode.FVC) == Status.MEMORY
        ctx.set(coding.loses, 0)
        # The length that it seems to have is not charged.
        assert await bench.offer(1, 256) == Status.OK
        assert [await bench.completes(Status.OK) for _ in range(3)] == [[0], [1], [1]]

    _run(test)


def test_what_starts_again_is_lost_and_comes_to_its_pair() -> None:
    async def test(ctx, coding: _Losing, bench: _Bench) -> None:
        for number in (0, 1, 0):
            assert await bench.offer(number, 256) == Status.OK
        # A lost word in the channel ends the oldest one; the others start again.
        assert await bench.completes(Status.MEMORY) == [0]
        ctx.set(bench.dut.aborting, 1)
        assert [await bench.completes(Status.ABORTED) for _ in range(2)] == [[], []]
        ctx.set(coding.loses, 1)
        await bench.clears()
        assert await bench.takes() == Status.MEMORY
        ctx.set(coding.loses, 0)
        await ctx.tick()
        assert await bench.takes() == Status.OK
        assert [await bench.completes(Status.MEMORY), await bench.completes(Status.OK)] == [[1], [0]]

    _run(test)
