"""The butterfly delivers every word to its place, for every set of literals and every offset."""

from __future__ import annotations

from amaranth.hdl import Assert, Cover, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.utils import exact_log2

from cdma.hdl.codec.generate import Compressor, Decompressor
from cdma.hdl.codec.parts.network import Exchange, Ranking, Routes

from .bench import Bench, free
from .design import Config, codec_in
from .proof import Proof

__all__ = ["PROOFS", "Concentrated", "Expanded", "own_proofs"]


class _Network(Bench):
    """The counts, the routes and the exchanges of all levels, in either order.

    What is sent through them are marks, of which one lane has the only one: where it arrives, a word of this lane would
    arrive. Literals, offset and the lane may be any.
    """

    def __init__(self, lanes: int) -> None:
        super().__init__()
        self.lanes = lanes
        self.levels = exact_log2(lanes)

    def through(self, m: Module, literal: Value, offset: Value, marks: Value, order: list[int]) -> Value:
        """The marks after the levels in this ``order``."""
        m.submodules.ranking = ranking = Ranking(self.lanes)
        m.submodules.routes = routes = Routes(self.lanes)
        m.d.comb += [
            ranking.literal.eq(literal),
            routes.ranks.eq(ranking.ranks),
            routes.offset.eq(offset),
        ]
        for level in order:
            m.submodules[f"level_{level}"] = exchange = Exchange(1, self.lanes, level)
            m.d.comb += [
                Value.cast(exchange.input).eq(marks),
                exchange.swap.eq(routes.swap[level]),
                exchange.straight.eq(~routes.swap[level]),
            ]
            marks = Value.cast(exchange.output)
        return marks

    def describe(self, m: Module) -> None:
        literal = free(m, "literal", shape=self.lanes)
        offset = free(m, "offset", shape=self.levels)
        lane = free(m, "lane", shape=self.levels)
        rank = Signal(range(self.lanes + 1))
        place = Signal(self.levels)
        m.d.comb += [
            # Counted in the plainest way, which is not the block's.
            rank.eq(sum((Mux(lane > index, literal[index], 0) for index in range(self.lanes)), start=0)),
            place.eq(rank + offset),
        ]
        is_literal = (literal >> lane)[0]
        arrived = Signal(self.lanes)
        m.d.comb += arrived.eq(self.route(m, literal, offset, lane, place))
        expected = self.expected(lane, place)
        with m.If(is_literal):
            m.d.comb += [
                Assert(arrived == 1 << expected),
                Cover((expected == self.lanes - 1) & (rank == 0)),
                Cover((rank == self.lanes - 1) & (offset != 0)),
            ]

    def route(self, m: Module, literal: Value, offset: Value, lane: Value, place: Value) -> Value:
        """Where the mark arrives."""
        raise NotImplementedError

    def expected(self, lane: Value, place: Value) -> Value:
        """The lane where it should."""
        raise NotImplementedError


class Concentrated(_Network):
    """The word of a literal arrives in the lane ``(offset + rank) % lanes``, and in no other."""

    def route(self, m: Module, literal: Value, offset: Value, lane: Value, place: Value) -> Value:
        marks = Signal(self.lanes)
        m.d.comb += marks.eq(1 << lane)
        return self.through(m, literal, offset, marks, list(range(self.levels)))

    def expected(self, lane: Value, place: Value) -> Value:
        return place


class Expanded(_Network):
    """The word of the lane ``(offset + rank) % lanes`` arrives at the literal that has this rank, and at no other lane."""

    def route(self, m: Module, literal: Value, offset: Value, lane: Value, place: Value) -> Value:
        marks = Signal(self.lanes)
        m.d.comb += marks.eq(1 << place)
        return self.through(m, literal, offset, marks, list(reversed(range(self.levels))))

    def expected(self, lane: Value, place: Value) -> Value:
        return lane


#: The networks of both directions: the codec that has it, the bench, the claim.
_NETWORKS: dict[str, tuple[type[wiring.Component], type[_Network], str]] = {
    "butterfly_concentrate": (
        Compressor,
        Concentrated,
        "every literal arrives in lane (offset + rank) mod lanes",
    ),
    "butterfly_expand": (
        Decompressor,
        Expanded,
        "every word arrives at the literal of its rank, for every offset",
    ),
}


def _proof(name: str, lanes: int) -> Proof:
    codec, bench, claim = _NETWORKS[name]
    return Proof(
        name=name,
        config=f"{lanes} lanes",
        claim=claim,
        blocks=(codec,),
        bench=lambda: bench(lanes),
        cover=2,
    )


PROOFS = [_proof(name, lanes) for name in _NETWORKS for lanes in (2, 4, 8, 16)]


def own_proofs(block: str, config: Config) -> list[Proof]:
    """Those of the lanes of a design's codec; of an engine, in both directions."""
    codec = codec_in(config)
    if codec is None:
        return []
    names = {"compressor": ["butterfly_concentrate"], "decompressor": ["butterfly_expand"]}
    wanted = names.get(block, list(_NETWORKS))
    return [proof for proof in PROOFS if proof.name in wanted and proof.config == f"{codec.units} lanes"]
