"""The classifier against the table, word by word. A codec with a clock gate beside one without, in Amaranth's simulator,
where a gate is an enable.

The compressor in Amaranth's simulator: the model's words and reports, the contract of cycles, malformed beats.

The regression has the same with more packets, more shapes and the whole contract, under Verilator.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import pytest
from amaranth.hdl import C, Cat, Elaboratable, EnableInserter, Module, Signal, Value

from cdma.hdl.blocks.clocks import ClockGates
from cdma.hdl.codec.generate import Compressor, Decompressor
from cdma.hdl.codec.parts.codes import Classifier
from cdma.hdl.codec.parts.interface import Error, GatedCodec
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from cdma.sim.codec.headers import packing_cycles
from cdma.verif.stream.codec.codec_bench import BENCH
from tests.support.codec_bench import (
    CODECS,
    LOADS,
    MALFORMED,
    STANDARDS,
    compress_packets,
    in_phases,
    random_words,
    raw_packets,
    stream_of,
    windows_of_beats,
    work,
)
from tests.support.simulate import simulate
from tests.support.stream_bench import StreamBench, beats_of


def test_the_codecs_have_every_value_and_the_pairs_that_matter() -> None:
    configs = list(CODECS.values())

    def header(config: CodecConfig) -> int:
        """Shorter than a beat, a beat, or longer."""
        return np.sign(config.format.header_words - config.units)

    assert {config.format.word_bits for config in configs} == {2, 4, 8, 16, 32}
    assert {config.format.code_bits for config in configs} == {1, 2, 3, 4}
    assert {config.lanes for config in configs} == {1, 2, 4, 8}
    assert {(config.queue, header(config)) for config in configs if not config.pipelined} == {
        (queue, size) for queue in (0, 1, 2) for size in (-1, 0, 1)
    }
    assert {header(config) for config in configs if config.pipelined} == {-1, 0, 1}
    kinds = [(c.pipelined, c.format.field_bits > 0, c.format.align > 1) for c in configs]
    assert {(False, True, False), (False, False, True), (False, True, True)} <= set(kinds)
    assert {(True, True, False), (True, False, True)} <= set(kinds)
    assert {c.format.zero for c in configs if c.format.field_bits} == {False, True}
    assert {c.beats for c in configs} >= {1, 4, 32}
    assert {c.beats for c in configs if c.pipelined} >= {4, 8}


@pytest.mark.slow
@pytest.mark.parametrize("config", CODECS.values(), ids=CODECS)
def test_packets(config: CodecConfig) -> None:
    """Short ones and long ones, while every stream rests in phases of its own."""
    source = random.Random(str(config))
    compress_packets(config, raw_packets(config, source, 20), in_phases(str(config)))


@pytest.mark.parametrize("config", STANDARDS)
def test_bound(config: CodecConfig) -> None:
    packets = [windows_of_beats(config, [[6, 0, 0, 0], *patterns * 8]) for patterns in LOADS]
    for words, passed in zip(packets, compress_packets(config, packets), strict=True):
        limits = BENCH.limits(config, "compressor")
        assert passed.cycles <= work(config, words) / config.lanes + limits.constant


@pytest.mark.parametrize("config", STANDARDS)
def test_latency_of_a_dense_window(config: CodecConfig) -> None:
    (passed,) = compress_packets(config, [[1] * 64])
    assert passed.latency == (14 if config.pipelined else 4)


@pytest.mark.slow
@pytest.mark.parametrize("queue", [0, 1, 2])
@pytest.mark.parametrize(
    "name", ["the standard", "one lane, header of sixteen beats", "one queued beat, window of a beat"]
)
def test_cycles_are_those_of_the_model(name: str, queue: int) -> None:
    config = replace(CODECS[name], queue=queue)
    source = random.Random(f"{name} {queue}")
    window = config.format.window
    arrives = max(config.beats - 1, (config.lanes.bit_length() + 3) // 2)
    literal = next(word for word in range(1, 4) if word not in config.format.values)
    packets = [random_words(source, config, count, 0.7) for count in (1, window - 1, 4 * window + 3)]
    # Windows that fill whole beats: the last of them must not stay behind and meet the next header.
    literals = max(0, window - config.format.header_words)
    packets.append(([literal] * literals + [config.format.values[0]] * (window - literals)) * 4)
    for words, passed in zip(packets, compress_packets(config, packets), strict=True):
        stored = ~np.isin(words, config.format.values)
        assert passed.cycles == arrives + packing_cycles(stored, config) + (queue == 1)


@pytest.mark.parametrize("config", STANDARDS)
@pytest.mark.parametrize(("keep", "last"), MALFORMED)
def test_malformed_beat_is_reported(config: CodecConfig, keep: int, last: int) -> None:
    bench = StreamBench(Compressor(config))
    bad = [{"data": [1] * 8, "keep": keep, "last": last}]
    if not last:
        bad += beats_of([5] * 11, 8)
    bench.source("input", bad + beats_of([9, 0, 3], 8))
    received = bench.packets("output", 2)
    reports = bench.collect("report", 2)
    bench.run(300)
    assert [report.error for _, report in reports] == [Error.BEAT, Error.NONE]
    assert [report.words_out for _, report in reports] == [len(packet.words) for packet in received]
    assert received[1].words == stream_of([9, 0, 3], config)


@pytest.mark.parametrize("values", [(0, 1, 7), (3, 3, 0), (5,)])
@pytest.mark.parametrize("runtime", [False, True])
@pytest.mark.parametrize("pipelined", [False, True])
def test_lowest_equal_entry_wins(values: tuple[int, ...], runtime: bool, pipelined: bool) -> None:
    # Of 8 bits, so that several parts of a word are compared; each word that there is is.
    config = CodecConfig(Format(8, 8, 2, tuple(17 * value for value in values)), 4, runtime)
    dut = Classifier(config, pipelined=pipelined)
    table = [17 * value for value in values] + [17 * values[0]] * (config.table_size - len(values))

    async def check(ctx: Any) -> None:
        if runtime:
            ctx.set(dut.values, table)
        for base in range(0, 256, 4):
            words = [base + lane for lane in range(4)]
            for keep in (0, 0b1001, 0b1111):
                ctx.set(dut.data, words)
                ctx.set(dut.keep, keep)
                if pipelined:
                    await ctx.tick()
                else:
                    await ctx.delay(1e-9)
                for lane, word in enumerate(words):
                    code = table.index(word) if word in table else 3
                    assert ctx.get(dut.codes[lane]) == (code if keep >> lane & 1 else 0)

    simulate(dut, check)


_Component = TypeVar("_Component", bound=Elaboratable)
_CONFIG = CodecConfig(Format(8), 2)
_PACKETS = 12
#: Longer than anything settles.
_REST = 80


class Enables(ClockGates):
    """Gates that are enables: without a clock a register keeps what it has. ``runs`` says whether there is one."""

    def __init__(self) -> None:
        super().__init__("", C(0))
        self.runs = Signal()

    def stopping(
        self, m: Module, name: str, component: _Component, runs: Value, reset: Value, *, local: bool
    ) -> _Component:
        m.d.comb += self.runs.eq(runs)
        return EnableInserter(runs)(component)


@pytest.mark.parametrize("kind", [Compressor, Decompressor])
def test_a_gate_closes_at_rest_and_between_packets_and_changes_nothing(
    kind: type[Compressor] | type[Decompressor],
) -> None:
    """Packets of anything, rests between them, streams that stall at random: both offer and take the same in each cycle."""
    source = random.Random(kind.__name__)
    gates = Enables()
    gated, plain = GatedCodec(kind(_CONFIG), _CONFIG, gates), kind(_CONFIG)
    m = Module()
    m.submodules.gated, m.submodules.plain = gated, plain
    inputs = [name for name in ("input", "length") if name in plain.signature.members]
    same: list[Value] = []
    for name in inputs:
        port, other = getattr(gated, name), getattr(plain, name)
        m.d.comb += [other.valid.eq(port.valid), Value.cast(other.payload).eq(Value.cast(port.payload))]
        same.append(port.ready == other.ready)
    for name in ("output", "report"):
        port, other = getattr(gated, name), getattr(plain, name)
        m.d.comb += other.ready.eq(port.ready)
        payloads = Value.cast(port.payload) == Value.cast(other.payload)
        same.append((port.valid == other.valid) & (~port.valid | payloads))
    agree = Signal()
    m.d.comb += agree.eq(Cat(same).all())
    closed: list[int] = []

    async def testbench(ctx: Any) -> None:
        for _ in range(_PACKETS):
            beats = source.randrange(1, 40)
            if "length" in inputs:
                ctx.set(gated.length.valid, 1)
                ctx.set(gated.length.payload, source.randrange(1, 60))
            resting = stopped = 0
            while resting < _REST:
                if not ctx.get(gated.input.valid) and beats and source.random() < 0.7:
                    ctx.set(gated.input.valid, 1)
                    ctx.set(gated.input.payload, _beat(source, gated.input.payload, last=beats == 1))
                ctx.set(gated.output.ready, source.random() < 0.7)
                ctx.set(gated.report.ready, source.random() < 0.7)
                assert ctx.get(agree)
                taken = ctx.get(gated.input.valid) and ctx.get(gated.input.ready)
                sized = "length" in inputs and ctx.get(gated.length.valid) and ctx.get(gated.length.ready)
                moving = taken or beats or ctx.get(gated.output.valid) or ctx.get(gated.report.valid)
                resting = 0 if moving else resting + 1
                stopped += not ctx.get(gates.runs)
                await ctx.tick()
                if taken:
                    beats -= 1
                    ctx.set(gated.input.valid, 0)
                if sized:
                    ctx.set(gated.length.valid, 0)
            closed.append(stopped)

    simulate(m, testbench)
    # All but the cycles in which it settles.
    assert min(closed) > _REST // 2


def _beat(source: random.Random, payload: Any, *, last: bool) -> Any:
    """A whole beat of random words, of which half are zero."""
    lanes = len(payload.keep)
    words = [source.choice((0, source.randrange(256))) for _ in range(lanes)]
    return payload.shape().const({"data": words, "keep": (1 << lanes) - 1, "last": last})
