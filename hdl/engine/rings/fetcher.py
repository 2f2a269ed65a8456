"""Counts a ring's descriptors, which are fetched ahead, and assembles one that is pushed."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import Response
from cdma.hdl.blocks.elaboration import flags, optional
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import RECORD_BYTES, Status

from .indexes import IndexSignature
from .messages import RECORD_WORDS
from .store import FAULTS, EntriesSignature, record_parts, shaped_bit


class Fetcher(wiring.Component):
    """The descriptors of a ring, up to ``config.fetched`` ahead, in order, and one that was pushed, which goes first.
    They are in a :class:`.DescriptorStore`.

    ``enable``: Enables the ring. While it is low, what was fetched is forgotten, except for a request that the channel
        works on.
    ``index``, ``settles``: What there is to fetch, and that the ring may not restart: see :class:`.RingIndexes`.
    ``stop``: Keeps ``wanted`` low.
    ``wanted``: The next descriptor of the ring should be fetched. It comes from a register and is low in the cycle after
        ``ask`` and ``refuse``, and a cycle longer than ``enable``.
    ``ask``: Pulse: it is requested, from ``address``.
    ``refuse``: Pulse, only while nothing is ``in_flight``: it must not be fetched. It comes out as a request with that
        fault.
    ``in_flight``: High while a descriptor is in flight.
    ``arrived``: High while a descriptor of the ring, or a refusal, is here that the channel has not taken.
    ``beat``, ``last``, ``response``: The data that come back from memory. They are always taken.
    ``upper``: The record that comes is in the upper half of a beat, where a beat holds two.
    ``word_valid``, ``word``, ``shaped``: This word of the descriptor that is pushed comes; the last word completes it. Never
        together with ``beat`` or ``refuse``. With shapes: it says that the words of an extension follow.
    ``taken_push``: Pulse: the channel takes the pushed descriptor.
    ``entries``: Where they are.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.depth = config.fetched
        self.parts = record_parts(config)[1]
        self.shapes = bool(config.dimensions)
        super().__init__(
            {
                "index": Out(IndexSignature(config)),
                **flags(In, "enable", "settles", "stop", "ask", "refuse", "beat", "last", "word_valid"),
                **flags(Out, "wanted", "in_flight", "arrived", "upper", "taken_push"),
                "address": In(config.host_address_bits),
                "response": In(Response),
                "word": In(4),
                **optional(config.dimensions, shaped=In(1)),
                "entries": Out(EntriesSignature(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        entries = self.entries
        running, asks, comes, came, leaves = (
            Signal(name=name) for name in ("running", "asks", "comes", "came", "leaves")
        )
        #: The next descriptor that arrives, that is requested, and that the channel takes.
        bits = self.depth.bit_length()
        coming, asked, first = (Signal(bits, name=name) for name in ("coming", "asked", "first"))
        m.d.comb += [
            entries.inside.eq(self.enable & running),
            asks.eq(self.ask | self.refuse),
            comes.eq((self.beat & self.last) | self.refuse),
            self.in_flight.eq(asked != coming),
            self.arrived.eq(running & (coming != first)),
            self.index.restarts.eq(~running),
            self.index.behind.eq(Mux(running, (asked - coming)[:bits], 0)),
            self.index.moved.eq(came),
            entries.asks.eq(self.ask),
            entries.refuses.eq(self.refuse),
            entries.coming.eq(coming),
            entries.asked.eq(asked),
            entries.first.eq(first),
            entries.offers.eq(
                entries.pushed | (entries.inside & self._take(m, running, leaves, coming, first))
            ),
            self.taken_push.eq(entries.taken & entries.of_push),
        ]
        with m.If(running):
            m.d.sync += running.eq(entries.inside)
        # No ring begins while the channel may work on a descriptor of the one before.
        with m.Elif(self.enable & ~self.in_flight & ~asks & ~self.stop & ~entries.held & ~self.settles):
            m.d.sync += running.eq(1)
        # All places are in use where the indexes differ in their highest bit alone.
        credit = (asked ^ first) != self.depth
        m.d.sync += [
            # The bus reaches little logic.
            came.eq(comes),
            asked.eq(asked + asks),
            coming.eq(coming + comes),
            first.eq(Mux(running, first + leaves, coming)),
            self.wanted.eq(entries.inside & ~self.stop & ~asks & credit & self.index.more),
        ]
        self._judge(m)
        self._push(m)
        if self.config.host_data_bits > 8 * RECORD_BYTES:
            # Known when the descriptor is requested; all records in flight are of one ring.
            odd = Signal()
            with m.If(self.ask):
                m.d.sync += odd.eq(self.address[exact_log2(RECORD_BYTES)] ^ asked[0])
            m.d.comb += self.upper.eq(odd ^ coming[0])
        return m

    def _take(self, m: Module, running: Value, leaves: Signal, coming: Value, first: Value) -> Value:
        """Counts out what the channel takes, an extension in the cycle after its descriptor; gives whether there is one
        to be read."""
        entries = self.entries
        taken = entries.taken & ~entries.of_push & running
        m.d.sync += leaves.eq(taken)
        offered = self.arrived & ~leaves
        if not self.shapes:
            return offered
        again, half = Signal(name="extension_leaves"), Signal(name="half_arrived")
        m.d.comb += entries.paired.eq(self.arrived & (coming != (first + 1)[: len(first)]))
        m.d.sync += [
            again.eq(taken & entries.second),
            half.eq((half | entries.misses) & ~entries.paired & entries.inside),
        ]
        with m.If(again):
            m.d.sync += leaves.eq(running)
        return offered & ~again & ~half

    def _judge(self, m: Module) -> None:
        """Counts the beats of a descriptor, and keeps its first error."""
        part, worst = Signal(range(self.parts)), self.entries.fault
        fault = Signal.like(worst)
        m.d.comb += [worst.eq(fault), self.entries.part.eq(part)]
        with m.If(fault == 0), m.Switch(self.response):
            with m.Case(Response.SLVERR):
                m.d.comb += worst.eq(FAULTS.index(Status.FETCH_SLVERR))
            with m.Case(Response.DECERR):
                m.d.comb += worst.eq(FAULTS.index(Status.FETCH_DECERR))
        with m.If(self.beat):
            m.d.sync += [part.eq(Mux(self.last, 0, part + 1)), fault.eq(Mux(self.last, 0, worst))]

    def _push(self, m: Module) -> None:
        """Counts the words of a pushed descriptor, and of the extension that one has which is shaped."""
        entries = self.entries
        last = self.word_valid & (self.word == RECORD_WORDS - 1)
        follows, further = Signal(name="extension_follows"), Value.cast(0)
        if self.shapes:
            further = entries.further
            with m.If(self.word_valid & (self.word == shaped_bit(self.config)[0]) & ~further):
                m.d.sync += follows.eq(self.shaped)
            with m.If(last):
                m.d.sync += further.eq(follows & ~further)
        with m.If(self.taken_push):
            m.d.sync += entries.pushed.eq(0)
        with m.Elif(last):
            m.d.sync += entries.pushed.eq(~follows | further)
