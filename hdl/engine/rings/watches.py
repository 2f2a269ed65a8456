"""Notices that the bus no longer answers one kind of transfer of a queue."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.memories import coding_of
from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.spec.engine import EngineConfig

from .messages import queue_bits

#: What is watched of a queue: fetches of descriptors, and writes of completions; and what the bus does for each: it takes an
#: address, data go over it, or it answers.
KINDS = {"fetch": ("asked", "came"), "send": ("begun", "moved", "answered")}
#: Bits of the eighths of its time that a watchdog counts after the first one.
_PART_BITS = 3


class BusEvent(data.StructLayout):
    """The bus does something for a ``queue`` in the cycle in which ``valid`` is high."""

    def __init__(self, config: EngineConfig) -> None:
        super().__init__({"valid": 1, "queue": queue_bits(config)})


class BusWatches(wiring.Component):
    """The watchdogs of all queues. A tick begins a round, in which each queue is visited for a cycle, so that the time that
    has passed for each is in a memory. A tick during a round begins none.

    ``tick``: That of the timebase.
    ``asked``, …: What the bus does.
    ``fetch_waits``, …: Of each queue: a transfer of that kind is in flight.
    ``fetch_logged``, …: Pulse of each: its error is logged.
    ``clear``: Of each pair: its watchdogs begin anew. Nothing of it is in flight then.
    ``fetch_fires``, …: Pulse of each: nothing has happened for the time of the watchdogs, or up to a cycle for each queue
        and an eighth of that time longer, or for nine rounds.
    ``fetch_stuck``, …: High from the cycle after that until the bus does something.
    ``fetch_lost``, …: High from the cycle after that until the error is logged.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.queues = queues = 2 * config.channels
        event = In(BusEvent(config))
        super().__init__(
            {
                "tick": In(1),
                "clear": In(config.channels),
                **{name: event for names in KINDS.values() for name in names},
                **{f"{kind}_{name}": In(queues) for kind in KINDS for name in ("waits", "logged")},
                **{f"{kind}_{name}": Out(queues) for kind in KINDS for name in ("fires", "stuck", "lost")},
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
        mine = Signal(self.queues)
        m.d.sync += [visits.eq(runs), visited.eq(queue)]
        m.d.comb += [
            read.addr.eq(queue),
            read.en.eq(runs),
            write.addr.eq(visited),
            write.en.eq(visits),
            mine.eq(Mux(visits, 1 << visited, 0)),
        ]
        passed = data.View(parts.shape, coding.guarded(parts, read.data))
        for number, kind in enumerate(KINDS):
            m.d.comb += write.data[number].eq(self._watch(m, kind, mine, passed[number]))
        return m

    def _watch(self, m: Module, kind: str, mine: Signal, part: Value) -> Value:
        """Watches all queues, of which ``mine`` is visited, if any, and has ``part`` of its time passed; gives the part that
        has passed then."""
        waits, logged, fires, stuck, lost = (
            getattr(self, f"{kind}_{name}") for name in ("waits", "logged", "fires", "stuck", "lost")
        )
        #: Of each queue: nothing has happened since its last visit.
        quiet = Signal(self.queues, name=f"{kind}_quiet")
        moves: Value = C(0, self.queues)
        for name in KINDS[kind]:
            # The bus need not reach the watchdogs within the cycle.
            event = Signal(BusEvent(self.config), name=f"{name}_before")
            m.d.sync += event.eq(getattr(self, name))
            moves |= Mux(event.valid, 1 << event.queue, 0)[: self.queues]
        begins = ~(quiet & mine).any()
        forgets = logged | Cat(each.replicate(len(CHANNELS)) for each in self.clear)
        m.d.comb += fires.eq(Mux(part.all(), mine & quiet & ~stuck, 0))
        goes_on = waits & ~moves
        m.d.sync += [
            quiet.eq((quiet | mine) & goes_on),
            stuck.eq((stuck | fires) & goes_on),
            lost.eq((lost | fires) & ~forgets),
        ]
        return Mux(begins, 0, part + ~part.all())
