"""Two levels: the store of a compressor marks each beat as its whole window is, and a mask says the same; lossless."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.hdl import Assert, Assume, Cat, Cover, Module, Mux, Signal, Value

from cdma.hdl.codec.plain.groups import GroupStore
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.format import Format

from .bench import Bench, free, hold, obey
from .codec import Lossless
from .proof import Config, Proof, codec_in
from .word_flow import packed

#: More groups than are ever inside.
_GROUPS = 32


@dataclass(eq=False)
class Marking(Bench):
    """Any packets; one window is followed, any.

    Ghost state: ``place`` and ``window`` of the beat at the input, and ``group``, which counts groups; the same of the
    followed window, with ``present``, whether a word of it is stored so far, and ``ahead``, the beats before it.
    """

    store: GroupStore

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = self.store
        obey(m, dut.input, "input")
        hold(m, dut.output, "output")
        hold(m, dut.mask, "mask")
        beat, out = dut.input.payload, dut.output.payload
        enters, leaves = dut.input.valid & dut.input.ready, dut.output.valid & dut.output.ready
        m.d.comb += [
            Assume(~dut.input.valid | (packed(beat.keep) & beat.keep[0])),
            Assume(~dut.input.valid | beat.last | beat.keep.all()),
        ]
        here = self._count(m, enters, "in", beat.last)
        kept = {name: Signal.like(value, name=f"kept_{name}") for name, value in here.items()}
        stored = Cat(beat.keep[lane] & (beat.data[lane] != 0) for lane in range(dut.config.lanes)).any()
        #: A window is followed; more of it may come; its mask has not left.
        tracked, open_, unseen = (Signal(name=name) for name in ("tracked", "open", "unseen"))
        present, first = Signal(), Signal.like(beat, name="first_beat")
        ahead, inside = (Signal(range(64), name=name) for name in ("ahead", "inside"))
        ends = beat.last | (here["place"] == dut.config.beats - 1)
        follows = free(m, "follow") & enters & (here["place"] == 0) & ~tracked & ~unseen
        m.d.sync += inside.eq(inside + enters - leaves)
        with m.If(follows):
            m.d.sync += [kept[name].eq(value) for name, value in here.items()]
            m.d.sync += [tracked.eq(1), open_.eq(~ends), unseen.eq(1), first.eq(beat), present.eq(stored)]
            m.d.sync += ahead.eq(inside - leaves)
        with m.Elif(enters & open_):
            m.d.sync += [open_.eq(~ends), present.eq(present | stored)]
        mine = tracked & dut.output.valid & (ahead == 0)
        with m.If(tracked & leaves):
            m.d.sync += ahead.eq(Mux(ahead == 0, 0, ahead - 1))
            with m.If(ahead == 0):
                m.d.sync += tracked.eq(0)
        taken = Signal(range(_GROUPS))
        takes = dut.mask.valid & dut.mask.ready
        my_mask = unseen & dut.mask.valid & (taken == kept["group"])
        with m.If(takes):
            m.d.sync += taken.eq(taken + 1)
        with m.If(my_mask & takes):
            m.d.sync += unseen.eq(0)
        same = Cat(out[name] == first[name] for name in ("data", "keep", "last")).all()
        m.d.comb += [
            Assert(~mine | (same & ~open_ & (out.absent == ~present) & (out.opens == (kept["window"] == 0)))),
            Assert(~my_mask | (~open_ & (dut.mask.payload.bit_select(kept["window"], 1) == present))),
            Cover(mine & leaves & out.absent & (kept["window"] == 1)),
            Cover(mine & leaves & ~out.absent & ~first.last & (kept["window"] == 1)),
            Cover(my_mask & takes & (kept["window"] == 2) & present & (kept["group"] != 0)),
        ]

    def _count(self, m: Module, moves: Value, name: str, last: Value) -> dict[str, Any]:
        """The place of a beat in its window, its window in its group, and its group."""
        config = self.store.config
        place = Signal(range(config.beats), name=f"place_{name}")
        window = Signal(range(config.format.group), name=f"window_{name}")
        group = Signal(range(_GROUPS), name=f"group_{name}")
        ends_window = last | (place == config.beats - 1)
        with m.If(moves):
            m.d.sync += place.eq(Mux(ends_window, 0, place + 1))
        with m.If(moves & ends_window):
            m.d.sync += window.eq(Mux(last, 0, window + 1))
            m.d.sync += group.eq(group + (last | window.all()))
        return {"place": place, "window": window, "group": group}


def _two_levels(config: Config) -> bool:
    codec = codec_in(config)
    return codec is not None and codec.format.levels == 2


_SMALL = CodecConfig(Format(4, 8, levels=2, group=8), lanes=4)


PROOFS = [
    Proof(
        name="group_store",
        config="4 lanes, words of 4 bits, groups of 8 windows of 8",
        claim="a beat is marked absent, and its mask has a 0, if and only if no word of its whole window is stored",
        blocks=(GroupStore,),
        built_so=_two_levels,
        bench=lambda: Marking(GroupStore(_SMALL, stages=4)),
        method="bmc",
        depth=12,
        cover=24,
    ),
    Proof(
        name="lossless",
        config="two levels, 4 lanes, words of 4 bits, groups of 8 windows of 8",
        claim="each word that was compressed is delivered again, in its place, and each packet with its length",
        # A codec has one half.
        built_so=_two_levels,
        bench=lambda: Lossless(_SMALL, most=20, packets=32),
        method="bmc",
        depth=17,
        cover=24,
        quick=False,
    ),
]
