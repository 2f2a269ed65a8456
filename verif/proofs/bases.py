"""Deltas: each beat of raw data is changed by the beat of its base with the same number, and by no other."""

from __future__ import annotations

from amaranth.hdl import Assert, Assume, Cover, Module, Mux, Signal, Value

from cdma.hdl.engine.path.base import Change
from cdma.hdl.spec.engine import EngineConfig

from .bench import Bench, free, hold, obey
from .proof import Config, Proof

#: Numbers of beats and of packets are counted modulo these.
_BEATS, _PACKETS = 16, 16


class Pairing(Bench):
    """Any packets, of which any have a base, which has as many beats or more.

    Ghost state: the beats of the packet at the input and of that at ``base`` which have gone by; the bases that have
    begun to go by, and the packets that have had one.
    """

    def describe(self, m: Module) -> None:
        m.submodules.dut = dut = Change(1, 2)
        source, base, deltas, output = dut.input, dut.base, dut.deltas, dut.output
        obey(m, source, "input")
        obey(m, base, "base")
        free(m, "deltas_payload", deltas.payload)
        free(m, "deltas_valid", deltas.valid)
        # What was told of a packet stays until it has gone by.
        told, was = Signal(), Signal()
        m.d.sync += [told.eq(deltas.valid & ~deltas.ready), was.eq(deltas.payload)]
        m.d.comb += Assume(~told | (deltas.valid & (deltas.payload == was)))
        hold(m, output, "output")
        moved, taken = output.valid & output.ready, base.valid & base.ready
        beat, base_beat = (Signal(range(_BEATS), name=name) for name in ("beat", "base_beat"))
        packets, bases = (Signal(range(_PACKETS), name=name) for name in ("packets", "bases"))
        m.d.sync += [
            beat.eq(_next(beat, moved, source.payload.last)),
            base_beat.eq(_next(base_beat, taken, base.payload.last)),
            packets.eq(packets + (deltas.valid & deltas.ready & deltas.payload)),
            bases.eq(bases + (taken & base.payload.last)),
        ]
        delta = deltas.payload
        of_base = Mux(delta, base.payload.data.as_value(), 0)
        m.d.comb += [
            # A base is as long as its data at least.
            Assume(~(moved & delta & base.payload.last) | source.payload.last),
            # No count comes round within a packet.
            Assume((beat != _BEATS - 1) & (base_beat != _BEATS - 1)),
            Assert(packets == bases),
            Assert(~moved | (output.payload.data.as_value() == source.payload.data.as_value() ^ of_base)),
            Assert(~moved | (output.payload.keep == source.payload.keep)),
            Assert(~moved | (output.payload.last == source.payload.last)),
            Assert(moved == (source.valid & source.ready)),
            Assert(~(moved & delta) | (taken & (base_beat == beat))),
            Assert(~(moved & ~delta) | ~taken),
            Cover(moved & delta & source.payload.last & (beat == 2) & (packets == 1)),
            Cover(taken & ~moved & base.payload.last & (base_beat == 3)),
        ]


def _next(count: Value, moves: Value, last: Value) -> Value:
    """The count after a beat."""
    return Mux(moves, Mux(last, 0, count + 1), count)


def _has_bases(config: Config) -> bool:
    return isinstance(config, EngineConfig) and config.delta


PROOFS = [
    Proof(
        name="bases",
        config="2 lanes, words of 1 bit",
        claim="a beat of raw data is changed by the beat of its own base with the same number, and all of a base goes by",
        blocks=(Change,),
        built_so=_has_bases,
        bench=Pairing,
    )
]
