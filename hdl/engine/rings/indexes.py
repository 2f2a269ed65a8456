"""The indexes of all rings, in a memory, and whether there is more to do for a ring."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.arithmetic import first_set
from cdma.hdl.blocks.elaboration import Pace, flags
from cdma.hdl.blocks.memories import coding_of
from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.engine.control.interfaces import ChangeLayout, ReportLayout
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.map import register_map

from .messages import queue_bits, select

#: The rings of a queue, in the order of their numbers, as registers are called after them.
RINGS = ("ring", "completion")
#: Bits of a tail as it is written, in bytes.
_TAIL_BITS = 16


class IndexSignature(wiring.Signature):
    """A ring as the indexes see it, seen from its owner. Its index is that of the record that is moved next.

    ``restarts``: The index is 0, and ``more`` is low.
    ``behind``: Records from the head to the index, which are in flight.
    ``moved``: Pulse: the head has moved.
    ``more``: A record may be moved: there is one before the tail, of descriptors, or one that software has consumed, of
        completions. Low from the cycle after a step until its new index is compared.
    ``waits``: The head has not reached the tail.
    """

    def __init__(self, config: EngineConfig) -> None:
        most = max(config.fetched, config.ring_completions)
        super().__init__(
            {**flags(Out, "restarts", "moved"), "behind": Out(range(most + 1)), **flags(In, "more", "waits")}
        )


class RingIndexes(wiring.Component):
    """Keeps the index of each ring, tells software the heads, and compares both with the tails, one ring at a time. Rings
    whose head or tail has moved have their turns; a step, and then who waits for a head, goes first.

    The number of a ring is that of its queue, and in the lowest bit its place in ``RINGS``.

    ``changes``: All that is written into the memory of registers: the tails and sizes.
    ``ring_0``, …: The rings.
    ``step``: Pulse: the index that is ``shown`` moves on. Four cycles pass until one may again.
    ``moving``: High from the cycle after ``step`` until its index is in memory; what is ``shown`` may be the one before.
    ``asks``, ``asked``, ``told``: Software is to know the head of a ring; pulse: it does.
    ``anew``: With ``told``: the ring has restarted, and its head is that of none of its records.
    ``settles``: Something is on its way: no ring may restart, but for one that stays so for three cycles.
    ``shown``, ``index``, ``log2``: The index of a ring, and log2 of its entries: a cycle later.
    ``report``: Writes heads into the memory of registers.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.registers = register_map(config.of_pair(1))
        self.bits = queue_bits(config) + 1
        self.count = 4 * config.channels
        pair_bits = self.bits - 2
        super().__init__(
            {
                "changes": In(ChangeLayout(pair_bits)),
                **{f"ring_{number}": In(IndexSignature(config)) for number in range(self.count)},
                "step": In(1),
                "moving": Out(1),
                "asks": In(1),
                "asked": In(self.bits),
                "told": Out(1),
                "anew": Out(1),
                "settles": Out(1),
                "shown": In(self.bits),
                "index": Out(config.index_bits),
                "log2": Out(4),
                "report": Out(stream.Signature(ReportLayout(pair_bits))),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        coding = coding_of(platform)
        rings = [getattr(self, f"ring_{number}") for number in range(self.count)]
        restarts, moved = (Cat(getattr(ring, name) for ring in rings) for name in ("restarts", "moved"))
        memories = {}
        for name, bits, depth in (
            ("indexes", self.config.index_bits, self.count),
            ("tails", _TAIL_BITS, self.count),
            ("sizes", 8, self.count // 2),
        ):
            memories[name] = Memory(shape=bits, depth=depth, init=[])
        # A tail comes late in a cycle, and what looks at the rings is long.
        tail_moved = self._copy(m, memories)
        #: Of each ring: its index has been written since a restart; it is to be looked at.
        known, dirty = (Signal(self.count, name=name) for name in ("known", "dirty"))
        self._show(m, memories, known)

        # A step that waits ends a visit that is none, before that has compared anything.
        stepped, ring, at = (
            Signal(self.bits, name=name) for name in ("stepped_ring", "ring", "ring_to_read")
        )
        steps, moves, urgent, rests, compares, tells = (
            Signal(name=name) for name in ("steps", "moves", "urgent", "rests", "compares", "tells")
        )
        index, head, ahead = (
            Signal(self.config.index_bits, name=name) for name in ("new_index", "head", "ahead")
        )
        behind = Signal(rings[0].behind.shape())
        given_up = steps & ~moves
        # The head of a ring that has restarted since, which must not come after the reset value of its register.
        stale, restarted = (Signal(name=name) for name in ("stale", "restarted"))
        sure, unknown = Signal(name="sure"), Signal(name="unknown_index")
        # A restart is known late in a cycle; the reset value of its head is written two cycles later, or more.
        restarted_before = Pace(m, self.config).late(restarted, "restarted_before")
        looked = self._turn(m, ring, dirty)
        mine = Signal(self.count)
        read, tail = (memories[name].read_port(domain="sync") for name in ("indexes", "tails"))
        size, write = memories["sizes"].read_port(domain="sync"), memories["indexes"].write_port()
        m.d.comb += [
            at.eq(Mux(rests, Mux(steps, stepped, Mux(self.asks, self.asked, looked)), ring)),
            *(port.en.eq(1) for port in (read, tail, size)),
            read.addr.eq(at),
            tail.addr.eq(at),
            size.addr.eq(at[1:]),
            mine.eq(1 << ring),
            restarted.eq((restarts & mine).any()),
            write.addr.eq(ring),
            write.data.eq(index),
        ]
        with m.FSM():
            with m.State("rest"):
                m.d.comb += rests.eq(1)
                m.d.sync += [ring.eq(at), moves.eq(steps), urgent.eq(~steps & self.asks)]
                with m.If(steps | self.asks | dirty.any()):
                    m.next = "move"
            with m.State("move"):
                m.d.sync += index.eq(Mux(known.bit_select(ring, 1), read.data, 0) + moves)
                m.d.sync += unknown.eq(~known.bit_select(ring, 1))
                m.d.sync += behind.eq(select(ring, (each.behind for each in rings)))
                m.next = "compare"
                with m.If(given_up):
                    m.next = "rest"
            with m.State("compare"):
                m.d.comb += write.en.eq(1)
                m.d.sync += [head.eq(index - behind), ahead.eq(index - tail.data)]
                # A tail that was read while it was written may be anything; the ring is looked at again.
                m.d.sync += sure.eq(~tail_moved.bit_select(ring, 1))
                m.next = "judge"
                with m.If(given_up):
                    m.next = "rest"
            with m.State("judge"):
                m.d.comb += compares.eq(~given_up)
                m.next = "tell"
                with m.If(given_up):
                    m.next = "rest"
            with m.State("tell"):
                m.d.comb += [
                    stale.eq(restarted_before & (head != 0)),
                    tells.eq(~moves & ~stale),
                ]
                with m.If(self.report.ready | moves | given_up | stale):
                    m.next = "rest"
        m.d.sync += steps.eq(self.step | (steps & ~rests))
        with m.If(self.step):
            m.d.sync += stepped.eq(self.shown)
        m.d.comb += self.anew.eq(restarted | unknown)
        m.d.comb += self.moving.eq(steps | (moves & ~rests))
        m.d.comb += [self.settles.eq(~rests | steps), self.told.eq(tells & self.report.ready & urgent)]
        before, stays = (Signal.like(restarts, name=name) for name in ("restarts_before", "stays"))
        m.d.comb += stays.eq(~restarts)
        begins = rests & ~steps & ~self.asks
        again = (given_up | stale) & ~rests & ~(tells & self.report.ready)
        m.d.sync += [
            before.eq(restarts),
            known.eq((known | Mux(write.en, mine, 0)) & stays),
            dirty.eq(
                (dirty & ~Mux(begins, 1 << looked, 0))
                | (restarts ^ before)
                | moved
                | tail_moved
                | Mux(again, mine, 0)
            ),
        ]
        # Where the tail is, compared with head and index.
        able = Mux(ring[0], (ahead >> size.data[:4]) == 0, ahead != 0)
        late = (head != tail.data[: len(head)]) | (dirty | tail_moved).bit_select(ring, 1)
        more, waits = (Signal(self.count, name=name) for name in ("more", "waits"))
        m.d.sync += [
            more.eq(
                Mux(compares & sure, Mux(able, more | mine, more & ~mine), more)
                & stays
                & ~Mux(self.step, 1 << self.shown, 0)
            ),
            waits.eq(waits | tail_moved),
        ]
        with m.If(compares):
            m.d.sync += waits.eq(Mux(late, waits | mine, waits & ~mine) | tail_moved)
        for number, each in enumerate(rings):
            m.d.comb += [each.more.eq(more[number]), each.waits.eq(waits[number] | tail_moved[number])]
        self._tell(m, ring, head, tells)
        # With an index that is lost, records would be moved that are not there.
        for name, memory in memories.items():
            m.submodules[name] = coding.in_flip_flops(memory)
        return m

    def _copy(self, m: Module, memories: dict[str, Memory]) -> Value:
        """The tails and sizes, in memories of their own; gives one bit for each ring: its tail was written in the cycle
        before."""
        changes = self.changes
        tail, size = (memories[name].write_port(granularity=8) for name in ("tails", "sizes"))
        came, ring = Signal(name="tail_came"), Signal.like(tail.addr, name="tail_ring")
        m.d.comb += [tail.data.eq(changes.data), size.data.eq(changes.data)]
        with m.Switch(changes.index):
            for direction, name in enumerate(CHANNELS):
                queue = Cat(C(direction, 1), changes.pair)
                for number, kind in enumerate(RINGS):
                    with m.Case(self.registers.word(f"{name}.{kind}_tail")):
                        m.d.comb += [tail.addr.eq(Cat(C(number, 1), queue)), tail.en.eq(changes.enable)]
                with m.Case(self.registers.word(f"{name}.ring_size")):
                    m.d.comb += [size.addr.eq(queue), size.en.eq(changes.enable)]
        m.d.sync += [came.eq(tail.en.any()), ring.eq(tail.addr)]
        return Mux(came, C(1, self.count) << ring, 0)[: self.count]

    def _show(self, m: Module, memories: dict[str, Memory], known: Signal) -> None:
        """The index that the sequencer needs, and the size of the ring."""
        index, size = (memories[name].read_port(domain="sync") for name in ("indexes", "sizes"))
        ring = Signal.like(self.shown, name="shown_ring")
        m.d.sync += ring.eq(self.shown)
        m.d.comb += [
            *(port.en.eq(1) for port in (index, size)),
            index.addr.eq(self.shown),
            size.addr.eq(self.shown[1:]),
            self.index.eq(Mux(known.bit_select(ring, 1), index.data, 0)),
            self.log2.eq(size.data),
        ]

    def _turn(self, m: Module, ring: Signal, dirty: Signal) -> Signal:
        """The ring that is looked at next: those after the last one go first."""
        looked = Signal.like(ring, name="looked_ring")
        later = dirty & (C((1 << self.count) - 2, self.count) << ring)[: self.count]
        first = Mux(later.any(), later, dirty)
        m.d.comb += looked.eq(first_set(first))
        return looked

    def _tell(self, m: Module, ring: Signal, head: Signal, tells: Signal) -> None:
        """Writes a head into the memory of registers."""
        report = self.report
        m.d.comb += [report.valid.eq(tells), report.payload.pair.eq(ring[2:]), report.payload.data.eq(head)]
        with m.Switch(ring[:2]):
            for direction, name in enumerate(CHANNELS):
                for number, kind in enumerate(RINGS):
                    with m.Case(number | direction << 1):
                        m.d.comb += report.payload.index.eq(self.registers.word(f"{name}.{kind}_head"))
