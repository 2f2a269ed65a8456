"""Notices that the bus no longer answers one kind of transfer of a queue."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.memories import coding_of
from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.spec.engine import EngineConfig

from .messages import queue_bits

#: What is watched of a queue: fetches of descriptors, and writes of completions.
KINDS = ("fetch", "send")
#: What the bus does for each kind: it takes an address, data go over it, or it answers.
EVENTS = {"asked": "fetch", "came": "fetch", "begun": "send", "moved": "send", "answered": "send"}
#: Bits of the eighths of its time that a watchdog counts after the first one.
_PART_BITS = 3


class BusWatches(wiring.Component):
    """The watchdogs of all queues, of each kind one. A tick begins a round, in which each queue is visited for a cycle, so
    that the time that has passed for each is in a memory. A tick during a round begins none.

    Vectors have a bit for each watchdog: those of a queue, by kind, and then those of the next queue.

    ``tick``: That of the timebase.
    ``events``, ``numbers``: Which of :data:`EVENTS` happen in this cycle, and the queue of each.
    ``waits``: A transfer of that kind is in flight.
    ``logged``: Pulse: its error is logged.
    ``clear``: Of each pair: its watchdogs begin anew. Nothing of it is in flight then.
    ``fires``: Pulse: nothing has happened for the time of the watchdogs, or up to a cycle for each queue and an eighth of
        that time longer, or for nine rounds.
    ``stuck``: High from the cycle after that until the bus does something.
    ``lost``: High from the cycle after that until the error is logged.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.queues = queues = 2 * config.channels
        self.count = count = len(KINDS) * queues
        super().__init__(
            {
                "tick": In(1),
                "clear": In(config.channels),
                "events": In(len(EVENTS)),
                "numbers": In(data.ArrayLayout(queue_bits(config), len(EVENTS))),
                **{name: In(count) for name in ("waits", "logged")},
                **{name: Out(count) for name in ("fires", "stuck", "lost")},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        coding = coding_of(platform)
        parts = Memory(shape=data.ArrayLayout(_PART_BITS, len(KINDS)), depth=self.queues, init=[])
        m.submodules.parts = parts
        coding.watch(parts)
        read, write = parts.read_port(domain="sync"), parts.write_port()
        queue = Signal(range(self.queues))
        runs, visits = Signal(name="runs"), Signal(name="visits")
        last = queue == self.queues - 1
        with m.If(runs):
            m.d.sync += [queue.eq(Mux(last, 0, queue + 1)), runs.eq(~last)]
        with m.Elif(self.tick):
            m.d.sync += runs.eq(1)
        visited = Signal.like(queue, name="visited_queue")
        mine = Signal(self.count)
        m.d.sync += [visits.eq(runs), visited.eq(queue)]
        m.d.comb += [
            read.addr.eq(queue),
            read.en.eq(runs),
            write.addr.eq(visited),
            write.en.eq(visits),
            mine.eq(Mux(visits, (1 << len(KINDS)) - 1 << self._first(visited), 0)),
        ]
        self._watch(m, mine, data.View(parts.shape, coding.guarded(parts, read.data)), write.data)
        return m

    def _first(self, queue: Value) -> Value:
        """The number of a queue's first watchdog."""
        return Cat(C(0, exact_log2(len(KINDS))), queue)

    def _watch(self, m: Module, mine: Signal, passed: data.View, passes: data.View) -> None:
        """Watches all queues, of which that of ``mine`` is visited, if any: of its time so many parts have ``passed``, and
        then so many as ``passes``."""
        #: Nothing has happened since the last visit.
        quiet = Signal(self.count)
        full = Cat(part.all() for part in passed).replicate(self.queues)
        visited = mine & quiet
        for kind in range(len(KINDS)):
            goes_on = visited[kind :: len(KINDS)].any()
            m.d.comb += passes[kind].eq(Mux(goes_on, passed[kind] + ~passed[kind].all(), 0))
        forgets = self.logged | Cat(each.replicate(len(CHANNELS) * len(KINDS)) for each in self.clear)
        goes_on = self.waits & ~self._moves(m)
        m.d.comb += self.fires.eq(visited & full & ~self.stuck)
        m.d.sync += [
            quiet.eq((quiet | mine) & goes_on),
            self.stuck.eq((self.stuck | self.fires) & goes_on),
            self.lost.eq((self.lost | self.fires) & ~forgets),
        ]

    def _moves(self, m: Module) -> Value:
        """The watchdogs of what has happened in the cycle before: the bus need not reach them within the cycle."""
        happened = Signal.like(self.events, name="happened")
        numbers = Signal.like(self.numbers, name="numbers_before")
        m.d.sync += [happened.eq(self.events), numbers.eq(self.numbers)]
        moves: Value = C(0, self.count)
        for event, kind in enumerate(EVENTS.values()):
            one = 1 << KINDS.index(kind)
            moves |= Mux(happened[event], one << self._first(numbers[event]), 0)[: self.count]
        return moves
