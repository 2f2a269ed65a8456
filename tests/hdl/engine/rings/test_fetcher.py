"""The fetcher: descriptors in the order of the ring, pushed ones first, each with its fault."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest
from amaranth.hdl import Elaboratable, Module, Value
from amaranth.lib import stream, wiring

from cdma.hdl.axi.ports import Response
from cdma.hdl.blocks.elaboration import copies
from cdma.hdl.engine.channel.interfaces import Descriptor, Request
from cdma.hdl.engine.rings.fetcher import Fetcher
from cdma.hdl.engine.rings.store import DescriptorStore, shaped_bit
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import Status
from tests.support.rings import Indexed
from tests.support.simulate import simulate

FAULTS = {
    Response.OKAY: Status.OK,
    Response.SLVERR: Status.FETCH_SLVERR,
    Response.DECERR: Status.FETCH_DECERR,
}


#: The memories get their address a cycle later, or not.
PIPELINED = pytest.mark.parametrize("pipelined", [False, True])


class Bench:
    """Memory, sequencer and channel around a fetcher."""

    def __init__(self, ctx: Any, dut: Indexed, config: EngineConfig, rng: random.Random) -> None:
        self.ctx, self.dut, self.rng = ctx, dut, rng
        self.modulus = 1 << config.index_bits
        self.entries, self.depth = config.ring_entries, config.descriptors
        self.part_bits, self.parts = dut.part_bits, dut.parts
        self.split = config.host_data_bits > 512
        #: Beats to come, one deque per descriptor; the descriptors by slot; what must come out, in order.
        self.coming: deque[deque[tuple[int, Response]]] = deque()
        self.fetched: deque[tuple[int, Status, int]] = deque()
        self.push: deque[int] = deque()
        self.pushed: int | None = None
        self.word = 0
        self.tail = self.asked = 0
        self.checking = False
        #: The request in hand, by whether its extension was shown.
        self.looked_at: dict[int, int] = {}
        self.taken = {"ring": 0, "push": 0, "shaped": 0}
        #: The bit that says of a descriptor that its extension follows, if it can.
        self.shaped_bit = Descriptor(config.records)["shaped"].offset if config.dimensions else 512

    def _shaped(self, record: int) -> bool:
        return bool(record >> self.shaped_bit & 1)

    def _ask(self) -> tuple[bool, bool, int]:
        """Whether to ask for or to refuse the next descriptor, and its address."""
        ctx, dut, rng = self.ctx, self.dut, self.rng
        if not ctx.get(dut.wanted) or rng.random() < 0.5:
            return False, False, 0
        address = rng.getrandbits(30) << 7 | (self.asked & 1) << 6
        if rng.random() < 0.1:
            # The sequencer does one thing at a time: it does not refuse while it copies.
            return False, not ctx.get(dut.in_flight) and self.pushed is None, address
        return True, False, address

    def _want_extension(self, extended: int) -> bool:
        """Asks for the extension of the request in hand, and for its descriptor again; whether all was seen that it has."""
        ctx, dut = self.ctx, self.dut
        if not self.checking or 0 not in self.looked_at or len(dut.wants_extension) == 0:
            return 0 in self.looked_at
        has = ctx.get(dut.requests.payload.fault) == Status.OK and self._shaped(self.looked_at[0])
        wants = has and 1 not in self.looked_at and self.rng.random() > 0.2
        ctx.set(dut.wants_extension, wants)
        return not wants and (1 in self.looked_at or not has)

    async def cycle(self, pause: float, *, more: bool = True) -> None:
        ctx, dut, rng = self.ctx, self.dut, self.rng
        if (
            more
            and (self.tail - ctx.get(dut.head)) % self.modulus < min(self.entries, 2 * self.depth)
            and rng.random() > pause
        ):
            self.tail = (self.tail + 1) % self.modulus
        ctx.set(dut.tail, self.tail)
        ask, refuse, address = self._ask()
        ctx.set(dut.ask, ask)
        ctx.set(dut.refuse, refuse)
        ctx.set(dut.address, address)
        beat = bool(self.coming) and rng.random() > max(pause, 0.2)
        ctx.set(dut.beat, beat)
        writes = False
        if beat:
            data, response = self.coming[0].popleft()
            ctx.set(dut.data, data)
            ctx.set(dut.response, response)
            ctx.set(dut.last, not self.coming[0])
            if not self.coming[0]:
                self.coming.popleft()
        elif self.pushed is not None and not ctx.get(dut.pushed):
            writes = True
            lanes = self.part_bits // 32
            word = self.pushed >> 32 * self.word & 0xFFFFFFFF
            ctx.set(dut.data, sum(word << 32 * lane for lane in range(lanes)))
            ctx.set(dut.word, self.word % 16)
        ctx.set(dut.word_valid, writes)
        if writes:
            self.word += 1
            if self.word == (32 if self._shaped(self.pushed) else 16):  # type: ignore[arg-type]
                self.push.append(self.pushed)  # type: ignore[arg-type]
                self.pushed, self.word = None, 0
        elif more and self.pushed is None and not self.push and rng.random() < 0.05:
            self.pushed = rng.getrandbits(512)
            if self._shaped(self.pushed):
                self.pushed |= rng.getrandbits(512) << 512

        ctx.set(dut.checking, self.checking)
        request, extended = dut.requests, ctx.get(dut.extended)
        if self.checking:
            assert ctx.get(request.valid), "a request that is being looked at was taken back"
            payload = ctx.get(Value.cast(request.payload))
            assert self.looked_at.setdefault(extended, payload) == payload, "it changed"
        whole = self._want_extension(extended)
        takes = self.checking and whole and not extended and rng.random() > pause
        ctx.set(dut.requests.ready, takes)
        if takes:
            descriptor = ctx.get(Value.cast(request.payload.descriptor))
            if 1 in self.looked_at:
                descriptor |= (self.looked_at[1] & (1 << 512) - 1) << 512
            self._take(descriptor, ctx.get(dut.taken_push))
            self.checking = False
        elif ctx.get(request.valid) and not extended and not self.checking and rng.random() > pause:
            self.checking, self.looked_at = True, {}
        await ctx.tick()

        if ask:
            record = rng.getrandbits(512)
            response = rng.choice((Response.OKAY,) * 6 + (Response.SLVERR, Response.DECERR))
            worst = rng.randrange(self.parts)
            parts = [record >> self.part_bits * n & (1 << self.part_bits) - 1 for n in range(self.parts)]
            self.coming.append(
                deque((part, response if n == worst else Response.OKAY) for n, part in enumerate(parts))
            )
            self.fetched.append((record, FAULTS[response], address))
        if refuse:
            self.fetched.append((0, Status.WINDOW, address))
        if ask or refuse:
            self.asked = (self.asked + 1) % self.modulus
        if self.fetched:
            # A descriptor whose extension does not come is one of these, too.
            shows = (dut.in_flight, dut.arrived, request.valid, dut.pushed)
            assert any(ctx.get(signal) for signal in shows), "nothing shows that the ring has a descriptor"

    def _take(self, descriptor: int, from_push: int) -> None:
        payload = self.dut.requests.payload
        fault, address = Status(self.ctx.get(payload.fault)), self.ctx.get(payload.address)
        if from_push:
            assert (descriptor, fault) == (self.push.popleft(), Status.OK)
            self.taken["push"] += 1
            return
        record, want, where = self.fetched.popleft()
        if want == Status.OK and self._shaped(record):
            extension, want, where = self.fetched.popleft()
            record |= extension << 512
            self.taken["shaped"] += 1
        assert fault == want
        if fault == Status.OK:
            assert descriptor == record
        else:
            assert address == where
        self.taken["ring"] += 1


class Stored(Elaboratable):
    """A fetcher and the store that has its descriptors. It has the ports of both."""

    def __init__(self, config: EngineConfig) -> None:
        self.fetcher, self.store = Fetcher(config), DescriptorStore(config)
        self.requests = stream.Signature(Request(config.records)).create()
        self.pushed = self.fetcher.entries.pushed

    def __getattr__(self, name: str) -> Any:
        for part in (self.fetcher, self.store.requests, self.store):
            if hasattr(part, name):
                return getattr(part, name)
        raise AttributeError(name)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fetcher, store, requests = self.fetcher, self.store, self.requests
        m.submodules.fetcher, m.submodules.store = fetcher, store
        wiring.connect(m, fetcher.entries, store.ring_0)
        port = store.requests
        m.d.comb += [
            *copies(store, fetcher, "beat", "last", "word_valid", "word", "address"),
            port.reads.eq(1),
            port.chosen.eq(1),
            requests.valid.eq(port.shown),
            requests.payload.eq(port.request),
            port.taken.eq(requests.valid & requests.ready),
        ]
        if self.fetcher.shapes:
            m.d.comb += fetcher.shaped.eq(store.data[shaped_bit(fetcher.config)[1]])
        return m


def run(config: EngineConfig, seed: str, body: Any) -> None:
    parts = Stored(config)
    dut = Indexed(parts, config.index_bits, parts.ask | parts.refuse)

    async def testbench(ctx: Any) -> None:
        await body(ctx, dut, Bench(ctx, dut, config, random.Random(seed)))

    simulate(dut, testbench)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bits", "entries", "depth", "pause", "pipelined", "dimensions"),
    # Each shape of a ring with two pauses, and each pause with both kinds of memories.
    [
        (256, 1024, 8, 0.0, False, 0),
        (256, 1024, 8, 0.8, True, 0),
        (64, 2, 8, 0.0, True, 0),
        (64, 2, 8, 0.3, False, 0),
        (512, 8, 2, 0.3, True, 0),
        (512, 8, 2, 0.8, False, 0),
        (128, 16, 32, 0.3, False, 0),
        (128, 16, 32, 0.0, True, 0),
        (256, 1024, 8, 0.0, False, 3),
        (64, 2, 8, 0.3, False, 3),
        (512, 8, 2, 0.8, False, 1),
    ],
)
def test_order_faults_and_pushes(
    bits: int, entries: int, depth: int, pause: float, pipelined: bool, dimensions: int
) -> None:
    config = EngineConfig(
        host_data_bits=bits,
        ring_entries=entries,
        descriptors=depth,
        pipelined=pipelined,
        dimensions=dimensions,
    )

    async def body(ctx: Any, dut: Indexed, bench: Bench) -> None:
        ctx.set(dut.enable, 1)
        for _ in range(2000):
            await bench.cycle(pause)
            assert len(bench.fetched) <= depth + 1
        for _ in range(1000):
            await bench.cycle(pause, more=False)
        # The last descriptor may wait for an extension.
        assert len(bench.fetched) <= bool(dimensions)
        assert all(bench._shaped(record) and fault == Status.OK for record, fault, _ in bench.fetched)
        assert not bench.push
        assert ctx.get(dut.head) == ctx.get(dut.moved) == bench.tail
        assert bench.taken["ring"] > (10 if pause == 0.8 else 50) / (2 if dimensions else 1)
        assert not dimensions or bench.taken["shaped"] > 5
        assert bench.taken["push"] > 5

    run(config, f"{bits} {pause}", body)


@PIPELINED
def test_a_push_goes_before_what_was_fetched_and_is_not_checked_yet(pipelined: bool) -> None:
    async def body(ctx: Any, dut: Indexed, bench: Bench) -> None:
        ctx.set(dut.enable, 1)
        ctx.set(dut.tail, 3)
        for number in range(3):
            await ctx.tick().until(dut.wanted)
            ctx.set(dut.ask, 1)
            await ctx.tick()
            ctx.set(dut.ask, 0)
            for part in range(2):
                ctx.set(dut.beat, 1)
                ctx.set(dut.data, number + 1 if part == 0 else 0)
                ctx.set(dut.last, part)
                await ctx.tick()
            ctx.set(dut.beat, 0)
        await ctx.tick().until(dut.requests.valid)
        descriptor = dut.requests.payload.descriptor
        assert ctx.get(descriptor.source) == 1
        for word in range(16):
            ctx.set(dut.word_valid, 1)
            ctx.set(dut.word, word)
            ctx.set(dut.data, sum((99 if word == 0 else 0) << 32 * lane for lane in range(8)))
            await ctx.tick()
        ctx.set(dut.word_valid, 0)
        order = []
        await ctx.tick().repeat(3)
        for _ in range(4):
            while not ctx.get(dut.requests.valid):
                await ctx.tick()
            ctx.set(dut.checking, 1)
            await ctx.tick().repeat(2)
            order.append(ctx.get(descriptor.source))
            ctx.set(dut.requests.ready, 1)
            await ctx.tick()
            ctx.set(dut.requests.ready, 0)
            ctx.set(dut.checking, 0)
        assert order == [99, 1, 2, 3]

    run(EngineConfig(pipelined=pipelined), "push", body)


@PIPELINED
def test_a_disabled_ring_is_forgotten_but_not_the_request_in_hand(pipelined: bool) -> None:
    async def body(ctx: Any, dut: Indexed, bench: Bench) -> None:
        ctx.set(dut.enable, 1)
        for _ in range(300):
            await bench.cycle(0.5)
        while not bench.checking:
            await bench.cycle(0.5)
        ctx.set(dut.checking, 1)
        ctx.set(dut.enable, 0)
        ctx.set(dut.requests.ready, 0)
        ctx.set(dut.word_valid, 0)
        for name in ("ask", "refuse"):
            ctx.set(getattr(dut, name), 0)
        kept = ctx.get(Value.cast(dut.requests.payload))
        # Data that had been asked for still come, and nothing more is.
        while bench.coming:
            beats = bench.coming.popleft()
            while beats:
                data, _ = beats.popleft()
                ctx.set(dut.beat, 1)
                ctx.set(dut.data, data)
                ctx.set(dut.last, not beats)
                await ctx.tick()
                assert not ctx.get(dut.wanted)
        ctx.set(dut.beat, 0)
        await ctx.tick().repeat(3)
        assert not ctx.get(dut.in_flight)
        assert ctx.get(dut.requests.valid)
        assert ctx.get(Value.cast(dut.requests.payload)) == kept
        ctx.set(dut.requests.ready, 1)
        await ctx.tick()
        ctx.set(dut.requests.ready, 0)
        ctx.set(dut.checking, 0)
        await ctx.tick().repeat(4)
        if not ctx.get(dut.pushed):
            assert not ctx.get(dut.requests.valid)
        assert ctx.get(dut.head) == 0
        assert ctx.get(dut.moved) == 0

    run(EngineConfig(pipelined=pipelined), "disable", body)


@pytest.mark.parametrize("gap", [1, 2, 3])
def test_a_ring_that_is_disabled_while_its_descriptor_is_requested_begins_anew_once_that_has_come(
    gap: int,
) -> None:
    """The request follows ``wanted`` by up to two cycles; the descriptor is none of the new ring's."""

    async def body(ctx: Any, dut: Indexed, bench: Bench) -> None:
        ctx.set(dut.enable, 1)
        ctx.set(dut.tail, 1)
        await ctx.tick().until(dut.wanted)
        ctx.set(dut.enable, 0)
        await ctx.tick()
        ctx.set(dut.ask, 1)
        ctx.set(dut.enable, gap == 1)
        await ctx.tick()
        ctx.set(dut.ask, 0)
        for cycle in range(2, 12):
            ctx.set(dut.enable, cycle >= gap)
            assert not ctx.get(dut.wanted)
            await ctx.tick()
        ctx.set(dut.beat, 1)
        for last in range(2):
            ctx.set(dut.last, last)
            await ctx.tick()
        ctx.set(dut.beat, 0)
        await ctx.tick().until(dut.wanted)
        assert (ctx.get(dut.moved), ctx.get(dut.head), ctx.get(dut.arrived)) == (0, 0, 0)

    run(EngineConfig(), "anew", body)


@PIPELINED
@pytest.mark.parametrize("falls", [0, 1, 2])
def test_a_ring_that_is_enabled_again_under_a_check_has_nothing_of_the_one_before(
    falls: int, pipelined: bool
) -> None:
    """The ring is disabled in the cycle in which the check begins, or after it; the request in hand is none of the new
    ring's, and neither is what was fetched ahead."""

    async def fetch(ctx: Any, dut: Indexed, source: int) -> None:
        await ctx.tick().until(dut.wanted)
        ctx.set(dut.ask, 1)
        await ctx.tick()
        ctx.set(dut.ask, 0)
        for part in range(dut.parts):
            ctx.set(dut.beat, 1)
            ctx.set(dut.data, source if part == 0 else 0)
            ctx.set(dut.last, part == dut.parts - 1)
            await ctx.tick()
        ctx.set(dut.beat, 0)

    async def take(ctx: Any, dut: Indexed) -> int:
        source: int = ctx.get(dut.requests.payload.descriptor.source)
        ctx.set(dut.requests.ready, 1)
        await ctx.tick()
        ctx.set(dut.requests.ready, 0)
        ctx.set(dut.checking, 0)
        return source

    async def body(ctx: Any, dut: Indexed, bench: Bench) -> None:
        ctx.set(dut.enable, 1)
        ctx.set(dut.tail, 3)
        for source in (1, 2, 3):
            await fetch(ctx, dut, source)
        while not ctx.get(dut.requests.valid):
            await ctx.tick()
        for cycle in range(8):
            ctx.set(dut.checking, cycle > 0)
            ctx.set(dut.enable, not falls <= cycle < falls + 3)
            ctx.set(dut.tail, 1 if cycle > falls else 3)
            await ctx.tick()
            assert cycle < falls or not ctx.get(dut.wanted), (
                "the new ring begins under the old one's descriptor"
            )
        assert await take(ctx, dut) == 1
        assert ctx.get(dut.head) == 0
        for _ in range(8):
            assert not ctx.get(dut.requests.valid), "a descriptor of the old ring comes out of the new one"
            await ctx.tick()
        await fetch(ctx, dut, 4)
        while not ctx.get(dut.requests.valid):
            await ctx.tick()
        ctx.set(dut.checking, 1)
        assert await take(ctx, dut) == 4
        for _ in range(8):
            await ctx.tick()
            assert not ctx.get(dut.requests.valid)
            assert not ctx.get(dut.wanted)
        assert not ctx.get(dut.arrived)
        assert ctx.get(dut.head) == 1

    run(EngineConfig(pipelined=pipelined), "again", body)
