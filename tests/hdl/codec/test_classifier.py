"""The classifier against the table, word by word."""

from typing import Any

import pytest

from cdma.hdl.codec.parts.classifier import Classifier
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format
from tests.support.simulate import simulate


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
