"""The skid buffer, the elastic one, and the slice of both for beats: what went in, and what their handshakes depend on."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from amaranth.back import rtlil
from amaranth.hdl import Cat, Module, Mux, ResetInserter, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.beat_slice import BeatSlice
from cdma.hdl.blocks.beats import Beat
from cdma.hdl.blocks.elastic_buffer import ElasticBuffer
from cdma.hdl.blocks.skid_buffer import SkidBuffer
from cdma.synth.yosys import find_yosys, scratch
from tests.support.pauses import PAIRS
from tests.support.queue_check import check_stream
from tests.support.simulate import simulate


class FlatSlice(wiring.Component):
    """A slice for beats whose payload is a number of ``bits``."""

    def __init__(self, bits: int) -> None:
        # Beside keep and last.
        self.beat = Beat(bits - 2, 1)
        super().__init__({"input": In(stream.Signature(bits)), "output": Out(stream.Signature(bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.slice = beats = BeatSlice(self.beat)
        for outer, inner in ((self.input, beats.input), (self.output, beats.output)):
            source, sink = (outer, inner) if inner is beats.input else (inner, outer)
            m.d.comb += [
                sink.valid.eq(source.valid),
                source.ready.eq(sink.ready),
                Value.cast(sink.payload).eq(Value.cast(source.payload)),
            ]
        return m


class Copies(wiring.Component):
    """An elastic buffer that is wide enough for three parts, with a payload that has its ``bits`` in each many times."""

    def __init__(self, bits: int) -> None:
        self.copies = 300 // bits
        super().__init__({"input": In(stream.Signature(bits)), "output": Out(stream.Signature(bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        width = len(self.input.payload)
        m.submodules.buffer = buffer = ElasticBuffer(self.copies * width)
        copies = [buffer.output.payload.word_select(copy, width) for copy in range(self.copies)]
        m.d.comb += [
            buffer.input.valid.eq(self.input.valid),
            buffer.input.payload.eq(self.input.payload.replicate(self.copies)),
            self.input.ready.eq(buffer.input.ready),
            self.output.valid.eq(buffer.output.valid),
            buffer.output.ready.eq(self.output.ready),
            # Something else as soon as one copy differs.
            self.output.payload.eq(
                Mux(Cat(copy == copies[0] for copy in copies).all(), copies[0], ~copies[0])
            ),
        ]
        return m


Buffer = SkidBuffer | ElasticBuffer | FlatSlice | Copies


@pytest.fixture(params=[SkidBuffer, ElasticBuffer, FlatSlice, Copies])
def dut(request: pytest.FixtureRequest) -> Buffer:
    return request.param(16)


@pytest.mark.parametrize(("writes", "reads"), PAIRS)
def test_transfers_come_out_as_they_went_in(dut: Buffer, writes: str, reads: str) -> None:

    async def check(ctx: Any) -> None:
        await ctx.tick()
        await check_stream(
            ctx, dut, (writes, reads), writes, reads, 1, lambda: bool(ctx.get(dut.input.ready))
        )

    simulate(dut, check)


def test_ready_and_valid_follow_nothing_within_a_cycle(dut: Buffer) -> None:
    source = random.Random(1)

    async def check(ctx: Any) -> None:
        for _ in range(200):
            shown = set()
            for valid, ready in ((0, 0), (0, 1), (1, 0), (1, 1)):
                ctx.set(dut.input.valid, valid)
                ctx.set(dut.output.ready, ready)
                ctx.set(dut.input.payload, source.getrandbits(16))
                shown.add((ctx.get(dut.input.ready), ctx.get(dut.output.valid), ctx.get(dut.output.payload)))
            assert len(shown) == 1
            ctx.set(dut.input.valid, source.getrandbits(1))
            ctx.set(dut.output.ready, source.getrandbits(1))
            await ctx.tick()

    simulate(dut, check)


def test_nothing_moves_in_reset(dut: Buffer) -> None:
    """Ready is low too, because whoever offers in reset would lose the transfer."""
    m = Module()
    reset = Signal(init=1)
    m.submodules.buffer = dut
    m = ResetInserter(reset)(m)

    async def check(ctx: Any) -> None:
        ctx.set(dut.input.valid, 1)
        for _ in range(3):
            await ctx.tick()
            assert (ctx.get(dut.input.ready), ctx.get(dut.output.valid)) == (0, 0)
        ctx.set(reset, 0)
        assert ctx.get(dut.input.ready) == 0
        await ctx.tick()
        assert (ctx.get(dut.input.ready), ctx.get(dut.output.valid)) == (1, 0)

    simulate(m, check)


def test_synthesis_keeps_the_flip_flops_of_each_part() -> None:
    """Of 300 bits: two for each bit, and six for each of three parts."""
    with scratch() as folder:
        Path(folder, "buffer.il").write_text(rtlil.convert(ElasticBuffer(300), name="buffer", emit_src=False))
        find_yosys().run(
            "read_rtlil buffer.il\nsynth_ecp5 -noiopad -top buffer\nwrite_json buffer.json\n", folder
        )
        cells = json.loads(Path(folder, "buffer.json").read_text())["modules"]["buffer"]["cells"].values()
    assert sum(cell["type"] == "TRELLIS_FF" for cell in cells) == 2 * 300 + 6 * 3
