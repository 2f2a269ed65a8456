"""The serial decoder that decompressors are proven against, held against the numpy model."""

import numpy as np
import pytest
from amaranth.hdl import Module, Mux, Signal, Value

from cdma.hdl.spec.format import Format
from cdma.sim.codec.model import compress_words
from cdma.verif.proofs.codec import Reader, step
from tests.support.simulate import simulate

FORMATS = [
    Format(word_bits=2, window=4),
    Format(word_bits=4, window=4, code_bits=2, values=(0, 5, 9)),
]


def decoded(fmt, stream, words, window, place):
    """The word at one place of one window of a packet, as the serial decoder finds it; None if it finds none."""
    m = Module()
    state = Reader.registers(fmt)
    word, follow, ended = Signal(fmt.word_bits), Signal(), Signal()
    chosen = Signal(range(fmt.window))
    fresh = Signal(init=1)
    shown = Reader(**{**vars(state), "left": Mux(fresh, words, state.left)})
    after, ends, _ = step(m, fmt, 0, shown, word, chosen, follow=follow)
    m.d.sync += [Value.cast(vars(state)[name]).eq(value) for name, value in vars(after).items()]
    m.d.sync += fresh.eq(0)
    m.d.comb += ended.eq(ends)
    found = []

    async def read(ctx):
        ctx.set(chosen, place)
        for number, each in enumerate(stream):
            ctx.set(word, int(each))
            ctx.set(follow, ctx.get(state.windows) == window)
            assert ctx.get(ended) == (number == len(stream) - 1)
            await ctx.tick()
        found.append(ctx.get(state.word) if ctx.get(state.known) else None)

    simulate(m, read)
    return found[0]


@pytest.mark.parametrize("fmt", FORMATS, ids=str)
def test_finds_the_words_of_the_model(fmt):
    rng = np.random.default_rng(3)
    for words in (1, 4, 5, 7):
        raw = rng.integers(0, 1 << fmt.word_bits, words) * rng.integers(0, 2, words)
        stream = compress_words(raw.astype(np.uint8), fmt)
        for number, word in enumerate(raw):
            window, place = divmod(number, fmt.window)
            assert decoded(fmt, stream, words, window, place) == word, (words, number)
