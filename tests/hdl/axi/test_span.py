"""The addresses of bursts, as the reader and the writer put them out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from cdma.hdl.axi.port_shape import PortShape
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from tests.support.handshake import send
from tests.support.simulate import simulate
from tests.support.stream_bench import beats_of


def _addresses(dut: AxiReader | AxiWriter, firsts: Sequence[int], bursts: int) -> list[int]:
    """The addresses of the bursts of commands of 192 bytes, which begin there."""
    seen: list[int] = []
    port = dut.port.ar if isinstance(dut, AxiReader) else dut.port.aw

    async def command(ctx: Any) -> None:
        for first in firsts:
            await send(ctx, dut.command, {"first": first, "last": first + 191})

    async def feed(ctx: Any) -> None:
        for _ in firsts:
            for beat in beats_of(list(range(48)), dut.shape.lanes):
                await send(ctx, dut.input, beat)

    async def addresses(ctx: Any) -> None:
        ctx.set(port.ready, 1)
        while len(seen) < bursts:
            (payload,) = await ctx.tick().sample(port.payload).until(port.valid)
            seen.append(payload.address)

    async def accept(ctx: Any) -> None:
        ctx.set(dut.port.w.ready, 1)

    simulate(dut, command, *([feed, accept] if isinstance(dut, AxiWriter) else []), addresses)
    return seen


@pytest.mark.parametrize("kind", [AxiReader, AxiWriter])
def test_addresses_carry_past_the_bits_that_are_counted(kind: type[AxiReader] | type[AxiWriter]) -> None:
    """Bursts on both sides of a multiple of 2**34, twice: the second command begins anew."""
    dut = kind(PortShape(word_bits=32, data_bits=64, address_bits=48, burst=8, outstanding=16, buffer=64))
    edge = 5 << 34
    firsts = (edge - 128, edge - 64)
    assert _addresses(dut, firsts, 6) == [first + offset for first in firsts for offset in (0, 64, 128)]


@pytest.mark.parametrize("kind", [AxiReader, AxiWriter])
def test_commands_that_stay_within_a_multiple(kind: type[AxiReader] | type[AxiWriter]) -> None:
    """Two commands that end with a multiple of 2**8, or begin with it: the bits above are the command's."""
    dut = kind(
        PortShape(
            word_bits=32,
            data_bits=64,
            address_bits=48,
            burst=8,
            outstanding=16,
            buffer=64,
            span_bits=8,
            contained=True,
        )
    )
    assert dut.shape.blocks.block_bits == 2
    edge = 5 << 34
    assert _addresses(dut, [edge - 192, edge], 6) == [edge - 192 + 64 * burst for burst in range(6)]
