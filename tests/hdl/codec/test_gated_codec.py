"""A codec with a clock gate beside one without, in Amaranth's simulator, where a gate is an enable."""

from __future__ import annotations

import random
from typing import Any, TypeVar

import pytest
from amaranth.hdl import C, Cat, Elaboratable, EnableInserter, Module, Signal, Value

from cdma.hdl.blocks.clock_gate import ClockGates
from cdma.hdl.codec.compressor import Compressor
from cdma.hdl.codec.decompressor import Decompressor
from cdma.hdl.codec.parts.gated_codec import GatedCodec
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from tests.support.simulate import simulate

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
