"""The register in a stream: against a list of what went in."""

from __future__ import annotations

from typing import Any

import pytest

from cdma.hdl.blocks.stream_register import StreamRegister
from tests.support.pauses import PAIRS
from tests.support.queue_check import check_stream
from tests.support.simulate import simulate


@pytest.mark.parametrize(("writes", "reads"), PAIRS)
def test_stream_register(writes: str, reads: str) -> None:
    dut = StreamRegister(16)

    async def check(ctx: Any) -> None:
        def ready() -> bool:
            taken = not ctx.get(dut.output.valid) or bool(ctx.get(dut.output.ready))
            assert ctx.get(dut.input.ready) == taken
            return taken

        await check_stream(ctx, dut, (writes, reads), writes, reads, 1, ready)

    simulate(dut, check)
