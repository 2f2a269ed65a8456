"""A channel with shapes, between two memories: what the model of the engine says must come, and nothing besides."""

from __future__ import annotations

import dataclasses
import random

import pytest
from amaranth.sim import Simulator

from cdma.hdl.engine.channel.channel import Channel
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.records import DESCRIPTOR, RECORD_BYTES, SHAPE_RECORD, Mode, Status
from cdma.hdl.spec.shape import Dimension, Shape
from cdma.sim.engine.memory import Descriptor, Memory, unpack
from cdma.sim.engine.model import EngineModel
from cdma.verif.engine.transfer import stream_of

_TABLE = (7, 0, 1)
CONFIG = EngineConfig(
    Format(window=8, word_bits=16, code_bits=2, values=_TABLE),
    lanes=4,
    dev_data_bits=64,
    host_data_bits=64,
    dev_address_bits=40,
    host_address_bits=32,
    burst_beats=4,
    outstanding=2,
    read_buffer_beats=16,
    write_buffer_beats=16,
    descriptors=2,
    open_windows=True,
    dimensions=3,
)
#: Rows are of whole beats, and of any bytes.
CONFIGS = {"beat": CONFIG, "byte": dataclasses.replace(CONFIG, alignment="byte")}
_SIZE = 1 << 14
#: The middle of device memory is where the upper part of addresses changes.
_DEV, _HOST = (1 << 34) - _SIZE // 2, 1 << 20
_WORDS = (0, 0, 7, 7, 1, 300)


def _shape(rng: random.Random, compressing: bool, unit: int) -> Shape:
    """A small shape of so many bytes each; one that overlaps itself is only read."""
    run = unit * rng.randint(1, 48 // unit)
    shape = Shape(
        run,
        tuple(
            Dimension(
                rng.randint(1, 3),
                rng.choice((run, unit * rng.randint(-480 // unit, 480 // unit))),
                rng.randint(0, 1),
                rng.randint(0, 1),
            )
            for _ in range(rng.randint(0, 3))
        ),
        unit * rng.choice((0, 0, 1)),
        unit * rng.choice((0, 0, 2)),
    )
    if shape.length > 640 or (shape.overlaps and not compressing):
        return _shape(rng, compressing, unit)
    return shape


def _words(rng: random.Random, count: int) -> bytes:
    return b"".join(word.to_bytes(2, "little") for word in rng.choices(_WORDS, k=count))


def _descriptor(rng: random.Random, number: int, compressing: bool, host: Memory, unit: int) -> Descriptor:
    """Any transfer: one in five has no shape, and a few are refused or have a stream that is cut."""
    shape = None if rng.random() < 0.2 else _shape(rng, compressing, unit)
    length = unit * rng.randint(1, 320 // unit) if shape is None else shape.length
    mode = rng.choice(list(Mode))
    device, there, packed = _DEV + _SIZE // 2 + rng.randrange(0, 8, unit), _HOST + 1024 * (number % 8), 0
    if not compressing:
        form = CONFIG.format if mode is Mode.FVC else CONFIG.format.with_table((0, 0, 0))
        raw = _words(rng, -(-length // 2))[:length]
        stream = raw if mode is Mode.RAW else stream_of(raw, form)
        host.write(there, stream)
        if mode is not Mode.RAW:
            packed = len(stream) - (2 * rng.randint(1, 4) if rng.random() < 0.2 and len(stream) > 8 else 0)
    wrong = 8 if rng.random() < 0.05 else 0
    source, destination = (device, there) if compressing else (there, device)
    capacity = 1024 if compressing else length + 8 * rng.choice((0, 0, 20)) + wrong
    return Descriptor(source, destination, length + wrong, capacity, mode, packed, number, shape=shape)


async def _passes(ctx, value, when):
    """The value in the first cycle in which ``when`` is high."""
    while True:
        *_, sampled, high = await ctx.tick().sample(value, when)
        if high:
            return sampled


class _Bench:
    """A channel, its two memories, and the model with memories of its own."""

    def __init__(self, config: EngineConfig, compressing: bool) -> None:
        rng = random.Random(f"shapes {compressing}")
        self.word_bytes = config.moved_bits // 8
        dev, host = _words(rng, _SIZE // 2), bytes([0xA5]) * _SIZE
        self.memories = {"dev": bytearray(dev), "host": bytearray(host)}
        model_dev, model_host = Memory(bytearray(dev), _DEV), Memory(bytearray(host), _HOST)
        name = "offload" if compressing else "prefetch"
        channel = EngineModel(config, model_dev, model_host).channels[name]
        channel.table = lambda: _TABLE
        self.read, self.write = ("dev", "host") if compressing else ("host", "dev")
        self.base = {"dev": _DEV, "host": _HOST}
        self.made, self.wanted, self.images = [], [], []
        channel.interrupt = lambda cause: None
        self.dut = Channel(config, compressing=compressing)
        self.rng = rng
        for number in range(40):
            made = _descriptor(rng, number, compressing, model_host, config.align("dev"))
            given = bytes(model_host.buffer)
            channel._complete(made.pack().ljust(2 * RECORD_BYTES, b"\0"))
            self.made.append((made.pack(), given))
            self.wanted.append(channel.waiting)
            self.images.append(bytes(model_dev.buffer if self.write == "dev" else model_host.buffer))

    async def reads(self, ctx) -> None:
        """Answers reads in order, with pauses."""
        port, memory, base = self.dut.source, self.memories[self.read], self.base[self.read]
        while True:
            ctx.set(port.ar.ready, 1)
            ar = await _passes(ctx, port.ar.payload, port.ar.valid)
            ctx.set(port.ar.ready, 0)
            assert ar.address % 4096 + 8 * (ar.len + 1) <= 4096
            for beat in range(ar.len + 1):
                while self.rng.random() < 0.2:
                    await ctx.tick()
                start = ar.address + 8 * beat - base
                data = int.from_bytes(memory[start : start + 8], "little")
                ctx.set(port.r.payload.data, data)
                ctx.set(port.r.payload.last, int(beat == ar.len))
                ctx.set(port.r.valid, 1)
                await _passes(ctx, port.r.ready, port.r.ready)
                ctx.set(port.r.valid, 0)

    async def writes(self, ctx) -> None:
        """Takes writes in order, with pauses."""
        port, memory, base = self.dut.sink, self.memories[self.write], self.base[self.write]
        while True:
            ctx.set(port.aw.ready, 1)
            aw = await _passes(ctx, port.aw.payload, port.aw.valid)
            ctx.set(port.aw.ready, 0)
            for beat in range(aw.len + 1):
                while self.rng.random() < 0.2:
                    await ctx.tick()
                ctx.set(port.w.ready, 1)
                w = await _passes(ctx, port.w.payload, port.w.valid)
                ctx.set(port.w.ready, 0)
                assert w.last == (beat == aw.len)
                start = aw.address + 8 * beat - base
                data, size = w.data.to_bytes(8, "little"), self.word_bytes
                for place in range(0, 8, size):
                    if w.keep >> place // size & 1:
                        memory[start + place : start + place + size] = data[place : place + size]
            ctx.set(port.b.valid, 1)
            await _passes(ctx, port.b.ready, port.b.ready)
            ctx.set(port.b.valid, 0)

    async def turns(self, ctx) -> None:
        """Shows the half of a request that is needed, a cycle later."""
        while True:
            await ctx.tick()
            ctx.set(self.dut.extended, ctx.get(self.dut.wants_extension))

    async def run(self, ctx) -> None:
        """Hands the descriptors over one at a time, and compares."""
        dut = self.dut
        ctx.set(dut.enable, 1)
        ctx.set(dut.windows.limit, 0xFFFFFFFF)
        ctx.set(dut.values, list(_TABLE))
        ctx.set(dut.done.ready, 1)
        for (raw, host), wanted, image in zip(self.made, self.wanted, self.images, strict=True):
            if self.read == "host":
                self.memories["host"][:] = host
            request = {"descriptor": unpack_fields(raw)}
            if len(raw) > RECORD_BYTES:
                request["extension"] = unpack(SHAPE_RECORD, raw[RECORD_BYTES:])
            ctx.set(dut.requests.payload, request)
            ctx.set(dut.requests.valid, 1)
            await ctx.tick().until(dut.requests.ready)
            ctx.set(dut.requests.valid, 0)
            (got,) = await ctx.tick().sample(dut.done.payload.completion).until(dut.done.valid)
            assert Status(got.status) is wanted.status, raw.hex()
            for name in ("tag", "bytes_read", "bytes_written", "literals", "address"):
                assert getattr(got, name) == getattr(wanted, name), (name, wanted)
            assert self.memories[self.write] == image, wanted


def unpack_fields(raw: bytes) -> dict[str, int]:
    """The fields that the descriptors of this engine have."""
    values = unpack(DESCRIPTOR, raw[:RECORD_BYTES])
    return {name: value for name, value in values.items() if value}


@pytest.mark.slow
@pytest.mark.parametrize("compressing", [True, False], ids=["offload", "prefetch"])
@pytest.mark.parametrize("alignment", CONFIGS)
def test_a_channel_moves_shapes_as_the_model_does(alignment: str, compressing: bool) -> None:
    bench = _Bench(CONFIGS[alignment], compressing)
    statuses = {wanted.status for wanted in bench.wanted}
    assert {Status.OK, Status.SHAPE} <= statuses
    assert compressing or Status.STREAM_TRUNCATED in statuses
    simulator = Simulator(bench.dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench.reads, background=True)
    simulator.add_testbench(bench.turns, background=True)
    simulator.add_testbench(bench.writes, background=True)
    simulator.add_testbench(bench.run)
    simulator.run()
