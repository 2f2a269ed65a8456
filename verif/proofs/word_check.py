"""The check of a word that is read from a memory: whatever the word is, and whichever bits of it have flipped."""

from __future__ import annotations

from amaranth.hdl import Assert, Assume, C, Cat, Cover, Module

from cdma.hdl.blocks.memories import WordCheck, checks_of
from cdma.hdl.spec.engine import EngineConfig

from .bench import Bench, free
from .proof import Proof

__all__ = ["PROOFS", "FlippedWord"]

#: Bits of a word. What a flip leaves does not depend on the word, so that the tests of the code show the rest.
_WIDTHS = (8, 16)


class FlippedWord(Bench):
    """A word with its checks, of which any two bits flip, or one, or none."""

    def __init__(self, check: WordCheck) -> None:
        super().__init__()
        self.check = check

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.check
        count = len(dut.coded)
        word = free(m, "word", shape=dut.bits)
        places = [free(m, name, shape=range(count)) for name in ("one", "other")]
        flips = [free(m, f"flips_{name}") for name in ("one", "other")]
        one, two = flips[0] & ~flips[1], flips[0] & flips[1]
        coded = Cat(word, checks_of(word, dut.code))
        for place, flip in zip(places, flips, strict=True):
            coded ^= (C(1, 1) << place)[:count] & flip.replicate(count)
        m.d.comb += [
            dut.coded.eq(coded),
            *(Assume(place < count) for place in places),
            Assume(places[0] != places[1]),
            Assume(flips[0] | ~flips[1]),
            Assert(flips[0] | (dut.word == word)),
            Assert(flips[0] | ~(dut.corrected | dut.lost)),
            Cover(one & (dut.corrected | dut.lost)),
            Cover(~flips[0] & word.all()),
        ]
        if dut.code == "parity":
            m.d.comb += Assert(~one | dut.lost)
            return
        m.d.comb += [
            Assert(~one | ((dut.word == word) & dut.corrected & ~dut.lost)),
            Assert(~two | (dut.lost & ~dut.corrected)),
            Cover(two & dut.lost),
        ]


def _proof(bits: int, code: str) -> Proof:
    return Proof(
        name="word_check",
        config=f"{bits} bits, {code}",
        claim="a word without a flipped bit is as it was; one with a flipped bit, of its own or of its checks, is put "
        "right, and lost with parity; one with two is lost, but with parity",
        blocks=(WordCheck,),
        built_so=lambda config: isinstance(config, EngineConfig) and config.coded_memories,
        bench=lambda: FlippedWord(WordCheck(bits, code)),
        cover=2,
        quick=bits <= _WIDTHS[0],
    )


PROOFS = [*(_proof(bits, "secded") for bits in _WIDTHS), _proof(_WIDTHS[0], "parity")]
