"""How queue pairs share a data path and a port: shares, clients, transfers in flight."""

from __future__ import annotations

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.blocks.memories import coding_of
from cdma.hdl.engine.channel.interfaces import Delivered, Request
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import LEVEL_BITS
from cdma.hdl.spec.records import RecordOptions, Status

from .accounts import TurnsSignature, lowest


class Shares(wiring.Component):
    """Chooses one of ``count``. Of those that ask only the ones of the highest level count. Each has an account: its turns
    go on while something is left in it. When none of those that count has anything left, all of that level get their
    weight; so over time what they move is as their weights, and none of a level waits for ever.

    ``asks``: Who asks, one bit for each, in the cycle before ``look``.
    ``levels``: Of each.
    ``turns``: Their accounts.
    ``look``: Chooses anew, while the accounts are settled. A look that finds none with anything left fills these, often
        at once if all are deep in debt.
    ``choice``: One bit, or none: who was chosen, from the cycle after ``look`` to the next ``look``.
    ``charge``, ``cost``: Pulse, once between a choice and the next look: who was chosen moves so many units. One that
        is chosen and moves nothing pays, too: otherwise it could have every turn. The cost stays until the accounts
        are settled.
    """

    def __init__(self, count: int, cost_bits: int) -> None:
        self.count = count
        super().__init__(
            {
                "asks": In(count),
                "levels": In(data.ArrayLayout(LEVEL_BITS, count)),
                "turns": Out(TurnsSignature(count, cost_bits)),
                "look": In(1),
                "choice": Out(count),
                "charge": In(1),
                "cost": In(cost_bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        #: The highest level of those that ask; of that level, those that ask, and all.
        top = Signal(LEVEL_BITS)
        counts = Signal(self.count)
        mates = Signal(self.count)
        able = Signal(self.count)
        #: Those after the one that was chosen last: the turn goes round.
        after = Signal(self.count)
        turns = self.turns
        fills = self.look & counts.any() & ~able.any()
        m.d.comb += [
            able.eq(counts & turns.rich),
            turns.add.eq(Mux(fills, mates & ~turns.full, 0)),
            turns.often.eq((~counts | turns.deep).all()),
            turns.charge.eq(Mux(self.charge, self.choice, 0)),
            turns.cost.eq(self.cost),
        ]
        later = able & after
        for level in range(1, 1 << LEVEL_BITS):
            with m.If(
                Cat(ask & (own == level) for ask, own in zip(self.asks, self.levels, strict=True)).any()
            ):
                m.d.comb += top.eq(level)
        of_top = Cat(own == top for own in self.levels)
        m.d.sync += [counts.eq(self.asks & of_top), mates.eq(of_top)]
        with m.If(self.look):
            m.d.sync += self.choice.eq(lowest(Mux(later.any(), later, able)))
        with m.If(self.choice.any()):
            m.d.sync += after.eq(-self.choice & ~self.choice)
        return m


def ring_ids(number: int) -> tuple[int, int]:
    """The IDs of a pair's rings, of offload and of prefetch; 0 is data."""
    return 2 * number + 1, 2 * number + 2


def list_ids(pairs: int) -> tuple[int, int]:
    """The IDs of lists of pages of all pairs: they follow those of the rings."""
    return ring_ids(pairs)


def message_ids(number: int, pairs: int, *, pages: bool = False) -> tuple[int, int]:
    """The IDs of a pair's messages: they follow those of all rings, and of lists of pages. With one pair they are the same
    without lists."""
    return ring_ids(number + max(2, pairs + pages))


class PairClient(wiring.Signature):
    """One direction of a pair as the data path sees it, seen from the pair.

    ``offers``: There is a descriptor that the pair lets start.
    ``checking``: It is checked.
    ``started``: Pulse: it is taken. Each that is taken has a completion.
    ``done``: The completions, in order. A pair has room for those of all descriptors that it lets start.
    ``drops``: The pair ends what it has started: that is to be completed as ``ABORTED``. While high, it lets nothing
        start.
    ``owner_value``, ``owner_mask``: In an engine with owners: whose descriptors it carries out, as
        :class:`.ChannelControl` has them.
    """

    def __init__(self, config: EngineConfig) -> None:
        super().__init__(
            {
                "offers": Out(1),
                "checking": In(1),
                "started": In(1),
                "done": In(stream.Signature(Delivered(config.records), always_ready=True)),
                "drops": Out(1),
                **optional(config.records.owner_bits, owner_value=Out(32), owner_mask=Out(32)),
            }
        )


class Flight(wiring.Component):
    """Keeps what a channel has taken, so that all of it whose completion is not delivered can start again, in its order,
    after an abort that was another one's. The channel takes everything from here.

    ``put``, ``new``, ``extends``: Pulse, only while nothing starts ``again`` and ``full`` is low: what the channel may
        take next; pulse: its extension is in ``new``, too.
    ``shown``, ``add``: That, from the second cycle after; pulse: the channel has taken it.
    ``again``, ``taken``: ``shown`` is one that is to start again; pulse: the channel has taken it. ``owed`` is high
        while there are any, for some cycles before ``again`` too.
    ``known``, ``done``, ``delivered``: High while a completion may be taken; pulse: that of the oldest one in flight
        is, and whether it is delivered.
    ``restart``: Pulse: nothing is in flight any more, and what is not delivered is to start again.
    """

    def __init__(self, options: RecordOptions, count: int, depth: int) -> None:
        self.depth = depth
        self.entry = data.StructLayout({"request": Request(options), "owner": count})
        super().__init__(
            {
                "put": In(1),
                "new": In(self.entry),
                "extends": In(1),
                "shown": Out(self.entry),
                "add": In(1),
                "full": Out(1),
                "owed": Out(1),
                "again": Out(1),
                "taken": In(1),
                "known": Out(1),
                "done": In(1),
                "delivered": In(1),
                "restart": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        low = exact_log2(self.depth)
        coding = coding_of(platform)
        #: What is kept, and when it is written: an extension with ``put`` too, so that nothing is read that is not.
        kept: dict[str, tuple[tuple[str, ...], Value]] = {
            "entries": (("descriptor", "fault", "address"), self.put)
        }
        if "extension" in self.new.request.shape().members:
            kept["extensions"] = ("extension",), self.put | self.extends
        #: Of each place, whether its completion is not delivered.
        live = Array(Signal(name=f"live_{place}") for place in range(self.depth))
        # From the oldest that is kept to the oldest in flight, the next one that the channel takes, and the end.
        bottom, head, following, end = (
            Signal(low + 1, name=name) for name in ("bottom", "head", "following", "end")
        )
        settled = Signal()
        moves = Signal()
        m.d.comb += [
            self.full.eq(end - bottom == self.depth),
            self.owed.eq(following != end),
            self.again.eq(self.owed & live[following[:low]] & settled),
            self.known.eq((head != following) & live[head[:low]]),
            moves.eq(self.restart | self.add | self.taken | (self.owed & ~live[following[:low]])),
        ]
        m.d.sync += settled.eq(~moves)
        lost = []
        for name, (fields, writes) in kept.items():
            new, shown = (
                Cat(
                    *(each.request[field] for field in fields),
                    *(() if coding.coded or name != "entries" else (each.owner,)),
                )
                for each in (self.new, self.shown)
            )
            m.submodules[name] = memory = Memory(shape=len(new), depth=self.depth, init=[])
            write, read = memory.write_port(), memory.read_port(domain="sync")
            m.d.comb += [
                write.addr.eq(end[:low]),
                write.data.eq(new),
                write.en.eq(writes),
                read.addr.eq(following[:low]),
                shown.eq(read.data),
            ]
            if coding.coded:
                lost.append(coding.watch(memory))
                # What the checker looks at stays as it is.
                m.d.sync += read.en.eq(moves | writes)
            else:
                m.d.comb += read.en.eq(1)
        if coding.coded:
            self._lose(m, Cat(lost).any(), following[:low], end[:low])
        with m.If(self.add):
            m.d.sync += [end.eq(end + 1), live[end[:low]].eq(1)]
        with m.If(self.done & self.delivered):
            m.d.sync += live[head[:low]].eq(0)
        with m.If((bottom != following) & ~live[bottom[:low]]):
            m.d.sync += bottom.eq(bottom + 1)
        with m.If(self.restart):
            m.d.sync += [head.eq(bottom), following.eq(bottom)]
        with m.Else():
            with m.If(moves):
                m.d.sync += following.eq(following + 1)
            with m.If(self.done | ((head != following) & ~live[head[:low]])):
                m.d.sync += head.eq(head + 1)
        return m

    def _lose(self, m: Module, lost: Value, shown: Value, put: Value) -> None:
        """Gives a request that is ``lost`` the fault ``MEMORY``. Whose any is lies in flip-flops, by the place that is
        ``shown`` or ``put``, so that its completion comes to whom it belongs."""
        owners = Array(Signal.like(self.new.owner, name=f"owner_{place}") for place in range(self.depth))
        with m.If(self.put):
            m.d.sync += owners[put].eq(self.new.owner)
        m.d.comb += self.shown.owner.eq(owners[shown])
        with m.If(lost):
            m.d.comb += self.shown.request.fault.eq(Status.MEMORY)
