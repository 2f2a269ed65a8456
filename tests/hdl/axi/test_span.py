"""The addresses of bursts, as the reader and the writer put them out."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.hdl.axi.port_shape import PortShape
from cdma.hdl.axi.reader import AxiReader
from cdma.hdl.axi.writer import AxiWriter
from tests.support.handshake import send
from tests.support.simulate import simulate
from tests.support.stream_bench import beats_of


@pytest.mark.parametrize("kind", [AxiReader, AxiWriter])
def test_addresses_carry_past_the_bits_that_are_counted(kind: type[AxiReader] | type[AxiWriter]) -> None:
    """Bursts on both sides of a multiple of 2**34, twice: the second command begins anew."""
    dut = kind(PortShape(word_bits=32, data_bits=64, address_bits=48, burst=8, outstanding=16, buffer=64))
    edge = 5 << 34
    firsts = (edge - 128, edge - 64)
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
        while len(seen) < 6:
            (payload,) = await ctx.tick().sample(port.payload).until(port.valid)
            seen.append(payload.address)

    async def accept(ctx: Any) -> None:
        ctx.set(dut.port.w.ready, 1)

    simulate(dut, command, *([feed, accept] if isinstance(dut, AxiWriter) else []), addresses)
    assert seen == [first + offset for first in firsts for offset in (0, 64, 128)]
