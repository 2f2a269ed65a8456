"""Fetchers and the store of their descriptors: each ring has its own in its order, pushed ones first, each with its fault,
whoever is chosen, and however their beats mix."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest
from amaranth.hdl import Elaboratable, Module, Value
from amaranth.lib import wiring

from cdma.hdl.axi.ports import Response
from cdma.hdl.blocks.elaboration import copies
from cdma.hdl.engine.channel.interfaces import Descriptor
from cdma.hdl.engine.rings.fetcher import Fetcher
from cdma.hdl.engine.rings.store import DescriptorStore, shaped_bit
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import Status
from tests.support.simulate import simulate

#: Cycles in which no ring that has a descriptor may be without an offer.
_PATIENCE = 40
#: Cycles in which the other half of a request is shown.
_TURN = 4


class _Rings(Elaboratable):
    """The fetchers of all pairs, whose rings never end, and the store."""

    def __init__(self, config: EngineConfig) -> None:
        self.store = DescriptorStore(config)
        self.fetchers = [Fetcher(config) for _ in range(config.channels)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.store = self.store
        for number, fetcher in enumerate(self.fetchers):
            m.submodules[f"fetcher_{number}"] = fetcher
            wiring.connect(m, fetcher.entries, getattr(self.store, f"ring_{number}"))
            m.d.comb += [
                *copies(fetcher, self.store, "last", "word", "address"),
                fetcher.enable.eq(1),
                fetcher.index.more.eq(1),
            ]
            if fetcher.shapes:
                m.d.comb += fetcher.shaped.eq(self.store.data[shaped_bit(fetcher.config)[1]])
        return m


class _Bench:
    """The sequencer, the bus and the channel, each with what must come."""

    def __init__(self, ctx: Any, dut: _Rings, config: EngineConfig, seed: int) -> None:
        self.ctx, self.dut, self.rng = ctx, dut, random.Random(seed)
        self.store, self.port = dut.store, dut.store.requests
        self.shaped = Descriptor(config.records)["shaped"].offset if config.dimensions else None
        self.pairs = config.channels
        #: Of each ring: the beats to come, and what must come out: record, fault and address.
        self.coming: list[deque[deque[tuple[int, Response]]]] = [deque() for _ in range(self.pairs)]
        self.owed: list[deque[tuple[int, Status, int]]] = [deque() for _ in range(self.pairs)]
        #: Of each ring: the words of the descriptor that is pushed, and that whole.
        self.words: list[deque[int]] = [deque() for _ in range(self.pairs)]
        self.pushed: list[int | None] = [None] * self.pairs
        self.taken = {"ring": 0, "push": 0}
        #: The share of cycles in which none is asked for: now and then an extension comes long after its descriptor.
        self.rests = 0.3

    def job(self) -> None:
        """Asks for a descriptor, or refuses it."""
        ctx, rng = self.ctx, self.rng
        number = rng.randrange(self.pairs)
        fetcher = self.dut.fetchers[number]
        for each in self.dut.fetchers:
            ctx.set(each.ask, 0)
            ctx.set(each.refuse, 0)
        ctx.set(self.store.works, number)
        ctx.set(self.store.address, address := rng.getrandbits(40) << 6)
        if not ctx.get(fetcher.wanted) or rng.random() < self.rests or any(self.words):
            return
        record = rng.getrandbits(512)
        if self.shaped is not None and rng.random() < 0.5:
            record &= ~(1 << self.shaped)
        if not ctx.get(fetcher.in_flight) and rng.random() < 0.3:
            ctx.set(fetcher.refuse, 1)
            self.owed[number].append((0, Status.WINDOW, address))
            return
        ctx.set(fetcher.ask, 1)
        bad = rng.random() < 0.2
        bits, parts = self.store.part_bits, self.store.parts
        answers = [Response.SLVERR if bad and part == parts - 1 else Response.OKAY for part in range(parts)]
        self.coming[number].append(
            deque((record >> bits * part & (1 << bits) - 1, answer) for part, answer in enumerate(answers))
        )
        self.owed[number].append((record, Status.FETCH_SLVERR if bad else Status.OK, address))

    def beat(self) -> None:
        """A beat of any ring that waits for one, or a word of a pushed descriptor."""
        ctx, rng, store = self.ctx, self.rng, self.store
        for fetcher in self.dut.fetchers:
            ctx.set(fetcher.beat, 0)
            ctx.set(fetcher.word_valid, 0)
        ctx.set(store.beat, 0)
        ctx.set(store.word_valid, 0)
        waiting = [number for number in range(self.pairs) if self.coming[number]]
        if waiting and rng.random() < 0.6:
            number = rng.choice(waiting)
            beats = self.coming[number][0]
            data, response = beats.popleft()
            ctx.set(store.data, data)
            ctx.set(self.dut.fetchers[number].response, response)
            ctx.set(store.last, not beats)
            ctx.set(store.lands, number)
            ctx.set(store.beat, 1)
            ctx.set(self.dut.fetchers[number].beat, 1)
            if not beats:
                self.coming[number].popleft()
        else:
            self._push()

    def _push(self) -> None:
        ctx, rng, store = self.ctx, self.rng, self.store
        for number, words in enumerate(self.words):
            if words:
                ctx.set(store.works, number)
                ctx.set(store.word, (16 - len(words)) % 16)
                ctx.set(store.data, sum(words[0] << 32 * lane for lane in range(store.part_bits // 32)))
                ctx.set(store.word_valid, 1)
                ctx.set(self.dut.fetchers[number].word_valid, 1)
                words.popleft()
                return
        number = rng.randrange(self.pairs)
        if self.pushed[number] is None and rng.random() < 0.05:
            record = rng.getrandbits(512)
            if self.shaped is not None:
                record &= ~(1 << self.shaped)
            self.pushed[number] = record
            self.words[number] = deque(record >> 32 * word & 0xFFFFFFFF for word in range(16))

    async def cycle(self) -> None:
        self.job()
        self.beat()
        await self.ctx.tick()

    async def take(self) -> None:
        """Chooses a ring that offers something, and takes it, or turns away."""
        ctx, rng, port = self.ctx, self.rng, self.port
        for _ in range(_PATIENCE):
            await self.cycle()
            offers = [number for number, each in enumerate(self.dut.fetchers) if ctx.get(each.entries.offers)]
            if offers:
                break
        else:
            assert not any(each is not None for each in self.pushed)
            return
        self.rests = rng.choice((0.3, 0.95))
        number = rng.choice(offers)
        ctx.set(port.chosen, 1 << number)
        ctx.set(port.reads, 1)
        for _ in range(rng.randrange(1, 12)):
            await self.cycle()
        if ctx.get(port.shown) and rng.random() < 0.8:
            await self._check(number)
        ctx.set(port.reads, 0)
        self.rests = rng.choice((0.3, 0.95))
        await self.cycle()
        await self.cycle()
        assert not ctx.get(port.shown)

    async def _check(self, number: int) -> None:
        ctx, port = self.ctx, self.port
        ctx.set(port.checking, 1)
        for _ in range(self.rng.randrange(4)):
            await self.cycle()
            assert ctx.get(port.shown)
        record, fault = ctx.get(Value.cast(port.request.descriptor)), Status(ctx.get(port.request.fault))
        of_push = ctx.get(getattr(self.store, f"ring_{number}").of_push)
        shaped = not of_push and self._shaped(record) and fault == Status.OK
        extension = await self._extension() if shaped else None
        ctx.set(port.taken, 1)
        if of_push:
            assert (record, fault) == (self.pushed[number], Status.OK)
            self.pushed[number] = None
            self.taken["push"] += 1
        else:
            self._take_fetched(number, record, extension, fault)
        await self.cycle()
        ctx.set(port.taken, 0)
        ctx.set(port.checking, 0)

    def _shaped(self, record: int) -> bool:
        return self.shaped is not None and bool(record >> self.shaped & 1)

    async def _extension(self) -> int:
        """Has the extension of the request shown, and the descriptor again."""
        found = 0
        for wanted in (1, 0):
            self.ctx.set(self.port.wants_extension, wanted)
            for _ in range(_TURN):
                await self.cycle()
            assert self.ctx.get(self.port.extended) == wanted
            found = found or self.ctx.get(Value.cast(self.port.request.descriptor))
        return found

    def _take_fetched(self, number: int, record: int, extension: int | None, fault: Status) -> None:
        want, status, address = self.owed[number].popleft()
        if status == Status.OK and self._shaped(want):
            further, status, address = self.owed[number].popleft()
            assert extension in (None, further), "another extension"
        assert fault == status
        assert record == want if fault == Status.OK else self.ctx.get(self.port.request.address) == address
        self.taken["ring"] += 1


@pytest.mark.parametrize(
    ("pairs", "bits", "depth", "dimensions", "pipelined"),
    [
        (3, 256, 4, 0, False),
        (3, 256, 4, 0, True),
        (3, 256, 4, 2, False),
        (1, 64, 8, 3, False),
        (1, 64, 8, 0, True),
        (1, 512, 2, 1, False),
        (1, 128, 32, 0, True),
    ],
)
def test_each_ring_has_its_own_descriptors(
    pairs: int, bits: int, depth: int, dimensions: int, pipelined: bool
) -> None:
    config = EngineConfig(
        channels=pairs, host_data_bits=bits, descriptors=depth, dimensions=dimensions, pipelined=pipelined
    )
    dut = _Rings(config)

    async def testbench(ctx: Any) -> None:
        bench = _Bench(ctx, dut, config, dimensions)
        for _ in range(120):
            await bench.take()
        assert bench.taken["ring"] > 30
        assert bench.taken["push"] > 3

    simulate(dut, testbench)
