"""Keeps a channel's descriptors until it takes them: fetched ahead from its ring, or pushed."""

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import Response
from cdma.hdl.blocks.elaboration import Pace, optional
from cdma.hdl.blocks.memories import PlainMemories, coding_of
from cdma.hdl.blocks.serial_memory import SerialMemory
from cdma.hdl.engine.channel.interfaces import ExtensionPort, Request
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import RECORD_BYTES, Status

from .indexes import IndexSignature
from .messages import RECORD_WORDS, WORD_BITS, Extension

_FAULTS = (Status.OK, Status.FETCH_SLVERR, Status.FETCH_DECERR, Status.WINDOW)
_REFUSED = _FAULTS.index(Status.WINDOW)
#: With coded memories there is one more: the descriptor, or what belongs to it, is lost in the store.
_LOST = (*_FAULTS, Status.MEMORY)


class _Ring(NamedTuple):
    """Where the ring of descriptors is: ``inside`` while it is in use, and ``running`` in the cycle after it; ``finished``
    with the last beat of a fetched descriptor; ``first`` the index of the oldest one that the channel has not taken,
    ``coming`` that of the one that arrives next, ``asked`` that of the one that is requested next."""

    running: Signal
    inside: Signal
    finished: Signal
    first: Signal
    coming: Signal
    asked: Signal


class _Fault(NamedTuple):
    """Number of the beat that comes, and the first error up to it: an index into ``_FAULTS``."""

    part: Signal
    worst: Signal


class _Store(NamedTuple):
    """The memories: with ``reads_record``, the entry at ``read_place`` is in ``record`` from the next cycle on, for as long
    as it ``stays``, and with ``reads_origin`` in ``fault`` and ``address``. This is the place in the cycle before. In a
    pipelined engine, what is written is there a cycle later: the wires to all memories are slow on an FPGA.

    ``checking``: The record is checked a word per cycle.
    ``there``: High in the last cycle before the entry may be used."""

    reads_record: Signal
    reads_origin: Signal
    stays: Signal
    checking: Value
    there: Value
    read_place: Signal
    record: Value
    fault: Value
    address: Value


class Fetcher(wiring.Component):
    """The descriptors of a ring, up to ``config.descriptors`` ahead, in order, and one
    that was pushed, which goes first. One that is ``shaped`` has its extension in the entry after its own, and comes out
    once that is there, with the fault of either. It shows one of both: see :class:`.ExtensionPort`.

    ``enable``: Enables the ring. While it is low, what was fetched is forgotten, except for a request that the channel
        works on.
    ``index``, ``settles``: What there is to fetch, and that the ring may not restart: see :class:`.RingIndexes`.
    ``stop``: Keeps ``wanted`` low.
    ``wanted``: The next descriptor of the ring should be fetched. It comes from a register and is low in the cycle after
        ``ask`` and ``refuse``, and a cycle longer than ``enable``.
    ``ask``: Pulse: it is requested, from ``address``.
    ``refuse``: Pulse, only while nothing is ``in_flight``: it must not be fetched from ``address``. It comes out as a
        request with that fault.
    ``in_flight``: High while a descriptor is in flight.
    ``arrived``: High while a descriptor of the ring, or a refusal, is here that the channel has not taken, and a cycle
        longer.
    ``beat``, ``last``, ``response``, ``data``: The data that come back from memory. They are always taken.
    ``upper``: The record that comes is in the upper half of a beat, where a beat holds two.
    ``word_valid``, ``word``: ``data``, every 32 bits of it, is this word of the descriptor that is pushed; the last
        word completes it. Never together with ``beat`` or ``refuse``.
    ``word_lost``: With coded memories: the registers have lost a word, and what is being pushed is refused.
    ``extends``: The words that are pushed next are those of the extension of the descriptor before.
    ``pushed``, ``taken_push``: High from the last word on, until the pulse with which the channel takes the pushed
        descriptor.
    ``checking``: The channel works on the request: it must stay.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.depth = config.descriptors
        self.part_bits = min(config.host_data_bits, 8 * RECORD_BYTES)
        self.parts = 8 * RECORD_BYTES // self.part_bits
        self.extension = Extension(config.records) if config.dimensions else None
        #: Entries of the store: those that are fetched, and after them the one that is pushed, with its extension.
        self.entries = self.depth + (2 if config.dimensions else 1)
        super().__init__(
            {
                "enable": In(1),
                "index": Out(IndexSignature(config)),
                "settles": In(1),
                "wanted": Out(1),
                "ask": In(1),
                "refuse": In(1),
                "address": In(64),
                "in_flight": Out(1),
                "arrived": Out(1),
                "beat": In(1),
                "last": In(1),
                "response": In(Response),
                "data": In(self.part_bits),
                "upper": Out(1),
                "word_valid": In(1),
                "word": In(4),
                **optional(config.coded_memories, word_lost=In(1)),
                **optional(config.dimensions, extends=Out(1)),
                **ExtensionPort(config.records).members,
                "pushed": Out(1),
                "taken_push": Out(1),
                "requests": Out(stream.Signature(Request(config.records))),
                "checking": In(1),
                "stop": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shown = Signal()
        shown_push = Signal()
        leaves = Signal()
        #: An entry is read, and not shown yet.
        reads = Signal()
        ring = self._count(m, (shown | reads) & ~shown_push, leaves)
        fault = self._judge(m)
        if self.config.host_data_bits > self.part_bits:
            # Known when the descriptor is requested; all records in flight are of one ring.
            odd = Signal()
            with m.If(self.ask):
                m.d.sync += odd.eq(self.address[exact_log2(RECORD_BYTES)] ^ ring.asked[0])
            m.d.comb += self.upper.eq(odd ^ ring.coming[0])
        store = self._store(m, ring, fault, coding_of(platform))

        # What is shown is in the memories' read registers, which are loaded while nothing is shown. A fetched descriptor
        # goes if its ring is disabled or a pushed one replaces it, but not if the channel begins to check it first.
        request = self.requests
        goes = Signal()
        shows = Signal()
        taken = Signal()
        m.d.comb += [
            request.valid.eq(shown & (~goes | self.checking)),
            # Only what is being checked is taken, and that does not go.
            taken.eq(shown & request.ready),
            self.taken_push.eq(taken & shown_push),
            store.read_place.eq(Mux(self.pushed, self.depth, ring.first[: self._low])),
            request.payload.descriptor.eq(store.record),
            request.payload.address.eq(store.address),
        ]
        with m.Switch(store.fault):
            for number, status in enumerate(_LOST if self.config.coded_memories else _FAULTS):
                with m.Case(number):
                    m.d.comb += request.payload.fault.eq(status)
        m.d.sync += goes.eq(
            shown & ~shown_push & ~self.checking & ~goes & ~taken & (self.pushed | ~ring.inside)
        )
        # Whether a descriptor is taken is known late, so it is counted a cycle later.
        m.d.sync += leaves.eq(taken & ~shown_push & ring.running)
        found = self.pushed | (ring.inside & self.arrived & ~leaves)
        if self.extension is not None:
            found &= self._may_read(self.extension, shown_push)
        # The memories have their address in a register, and give the entry.
        passing = Signal()
        m.d.comb += [
            store.reads_record.eq(passing),
            store.reads_origin.eq(passing),
            reads.eq(store.checking),
        ]
        if store.there is not store.reads_record:
            m.d.comb += store.stays.eq(shown | store.checking)
        rests = ~(shown | passing | store.checking)
        m.d.sync += passing.eq(rests & found)
        with m.If(rests):
            m.d.sync += shown_push.eq(self.pushed)
        m.d.comb += shows.eq(store.there & (shown_push | ring.inside))
        with m.If(~shown):
            m.d.sync += shown.eq(shows)
        with m.Elif(taken | (goes & ~self.checking)):
            m.d.sync += shown.eq(0)
        with m.If(self.taken_push):
            m.d.sync += self.pushed.eq(0)
        with m.Elif(self.word_valid & (self.word == RECORD_WORDS - 1)):
            m.d.sync += self.pushed.eq(1)
        if self.extension is not None:
            with m.If(self.word_valid):
                self.extension.push(m, self.extends, self.pushed, self.word, self.data)
            waits = ~shown & ~passing & ~self.extension.looks & ~shown_push
            forgets = waits & (self.pushed | ~ring.inside)
            extension = self.extension
            #: The place of the descriptor, also when its ring is not in use any more.
            home = Signal.like(store.read_place, reset_less=True)
            second = Mux(shown, self.wants_extension, extension.second)
            m.d.comb += [
                extension.drops.eq(taken | (goes & ~self.checking) | forgets),
                shows.eq(extension.shows),
                # The descriptor stays, while it is looked what became of its extension.
                store.reads_record.eq((passing & ~extension.second) | extension.turns),
                request.payload.extension.eq(store.record),
                self.extended.eq(extension.extended),
            ]
            with m.If(shown | extension.second):
                m.d.comb += store.read_place.eq(Cat((home + second)[: self._low], home[self._low :]))
            with m.Elif(~passing & ~extension.looks):
                m.d.sync += home.eq(store.read_place)
            stays = shown_push | ring.inside
            extension.read(m, store.record, store.fault == _FAULTS.index(Status.OK), passing, stays)
            extension.turn(m, shown, self.wants_extension)
            m.d.sync += self.extension.again.eq(taken & ~shown_push & ring.running & self.extension.second)
            with m.If(self.extension.again):
                m.d.sync += leaves.eq(ring.running)
            with m.If(self.extension.looks):
                m.d.sync += shown_push.eq(shown_push)
        return m

    def _may_read(self, extension: Extension, shown_push: Value) -> Value:
        """Whether an entry may be read: with a descriptor that is kept it is the extension of that."""
        there = ~extension.second | shown_push | extension.paired
        return ~extension.looks & ~extension.drops & there

    @property
    def _index_bits(self) -> int:
        """Bits of an index that tell the store's entries apart, and one more. A ring may have fewer."""
        return min(self.config.index_bits, self.depth.bit_length())

    @property
    def _low(self) -> int:
        """Bits of an index that are an entry's address in the store."""
        return min(self._index_bits, self.depth.bit_length() - 1)

    def _count(self, m: Module, shows: Value, leaves: Value) -> _Ring:
        """Counts the descriptors of the ring.

        ``shows``: A fetched descriptor is at the output. The channel may work on it when its ring is disabled: no ring
            begins until it is gone, as it would be taken for one of that.
        ``leaves``: The channel has taken a fetched descriptor in the cycle before.
        """
        running = Signal()
        inside = Signal()
        finished = Signal()
        in_flight = Signal(range(self.depth + 1), name="number_in_flight")
        next_in_flight = Signal.like(in_flight, name="next_in_flight")
        # A descriptor that has come is counted a cycle later: the bus then passes little logic.
        came = Signal()
        m.d.sync += came.eq(finished)
        m.d.comb += [
            inside.eq(self.enable & running),
            finished.eq(self.beat & self.last),
            next_in_flight.eq(in_flight + self.ask - came),
        ]
        with m.If(running):
            m.d.sync += running.eq(inside)
        # A descriptor that is requested in this cycle is not in flight yet.
        with m.Elif(self.enable & ~self.in_flight & ~self.ask & ~self.stop & ~shows & ~self.settles):
            m.d.sync += running.eq(1)
        m.d.sync += [
            in_flight.eq(next_in_flight),
            self.in_flight.eq(next_in_flight != 0),
        ]
        asks = Signal()
        arrives = Signal()
        m.d.comb += [asks.eq(self.ask | self.refuse), arrives.eq(came | self.refuse)]
        m.d.comb += [
            self.index.restarts.eq(~running),
            self.index.behind.eq(Mux(running, in_flight, 0)),
            self.index.moved.eq(arrives),
        ]
        credit = self._credit(m, running, asks, leaves)
        m.d.sync += self.wanted.eq(inside & ~self.stop & ~asks & credit & self.index.more)
        coming, asked = (Signal(self._index_bits, name=name) for name in ("coming", "asked"))
        for index, moves in ((coming, finished | self.refuse), (asked, asks)):
            with m.If(~running):
                m.d.sync += index.eq(0)
            with m.Elif(moves):
                m.d.sync += index.eq(index + 1)
        return _Ring(running, inside, finished, self._oldest(m, running, arrives, leaves), coming, asked)

    def _credit(self, m: Module, running: Value, asks: Value, leaves: Value) -> Signal:
        """Counts the entries of the store that are in use; gives whether one is free."""
        used = Signal(range(self.depth + 1))
        credit = Signal()
        m.d.comb += credit.eq(used != self.depth)
        m.d.sync += used.eq(Mux(running, used + asks - leaves, 0))
        return credit

    def _oldest(self, m: Module, running: Value, arrives: Value, leaves: Value) -> Signal:
        """Counts the descriptors that have arrived and that the channel has not taken; gives the index of the oldest."""
        first = Signal(self._index_bits)
        count = Signal(range(self.depth + 1))
        m.d.sync += count.eq(Mux(running, count + arrives - leaves, 0))
        m.d.comb += self.arrived.eq(count != 0)
        if self.extension is not None:
            m.d.comb += self.extension.paired.eq(count > 1)
        with m.If(~running):
            m.d.sync += first.eq(0)
        with m.Elif(leaves):
            m.d.sync += first.eq(first + 1)
        return first

    def _judge(self, m: Module) -> _Fault:
        """Counts the beats of a descriptor, and keeps its first error."""
        part = Signal(range(self.parts))
        fault = Signal(range(len(_FAULTS)))
        worst = Signal(range(len(_FAULTS)))
        m.d.comb += worst.eq(fault)
        with m.If(fault == 0), m.Switch(self.response):
            with m.Case(Response.SLVERR):
                m.d.comb += worst.eq(_FAULTS.index(Status.FETCH_SLVERR))
            with m.Case(Response.DECERR):
                m.d.comb += worst.eq(_FAULTS.index(Status.FETCH_DECERR))
        with m.If(self.beat):
            m.d.sync += [part.eq(Mux(self.last, 0, part + 1)), fault.eq(Mux(self.last, 0, worst))]
        return _Fault(part, worst)

    def _store_serially(self, m: Module, write_place: Value) -> SerialMemory:
        """Adds a memory of records whose words are checked one after the other."""
        m.submodules.records = records = SerialMemory(WORD_BITS, RECORD_WORDS, self.entries)
        pace = Pace(m, self.config.pipelined)
        part = Signal(self.part_bits, name="record_part")
        written = pace.early(part, "written")
        pace.d += [records.at.eq(write_place), written.eq(self.data)]
        m.d.comb += records.data.eq(part.replicate(self.parts))
        return records

    def _store(self, m: Module, ring: _Ring, fault: _Fault, coding: PlainMemories) -> _Store:
        """Adds the memories. The pushed descriptor has the entry after the fetched ones."""
        write_place = Signal(range(self.entries))
        read_place = Signal.like(write_place)
        push_place: Value | int = self.depth
        if self.extension is not None:
            push_place = self.depth + self.extends
        # Where no beat is written, only a pushed word may be.
        m.d.comb += write_place.eq(Mux(self.beat, ring.coming[: self._low], push_place))
        reads_record = Signal()
        reads_origin = Signal()
        stays = Signal(name="entry_stays")
        place = Signal.like(read_place, name="read_place_before", reset_less=True)
        # Nothing is read before it is counted, so there is time for registers before the memories.
        pipelined = self.config.pipelined
        writes = Pace(m, pipelined).d

        # An extension is read while its descriptor waits, which leaves no time for checks a word at a time.
        serial = coding.coded and self.extension is None
        checking, there = C(0), reads_record
        words = self.part_bits // WORD_BITS
        records, enables = [], []
        if serial:
            checking, there = Signal(name="entry_is_checked"), Signal(name="entry_is_there")
            memory = self._store_serially(m, write_place)
            m.d.comb += [memory.of.eq(place), memory.stays.eq(stays), there.eq(checking & memory.checked)]
            with m.If(~(reads_record | stays)):
                m.d.sync += place.eq(read_place)
            m.d.sync += checking.eq(reads_record | (checking & ~there))
            records.append(memory.word)
            enables += [memory.enable.word_select(number, words) for number in range(self.parts)]
            lost_record = memory.lost
        else:
            m.d.sync += place.eq(read_place)
            for number in range(self.parts):
                memory = Memory(shape=self.part_bits, depth=self.entries, init=[])
                m.submodules[f"part_{number}"] = memory
                write, out = memory.write_port(granularity=WORD_BITS), memory.read_port(domain="sync")
                written = Pace(m, pipelined).early(write.data, f"written_{number}")
                writes += [write.addr.eq(write_place), written.eq(self.data)]
                m.d.comb += [out.addr.eq(place), out.en.eq(reads_record)]
                records.append(out.data)
                enables.append(write.en)
            lost_record = Cat(
                coding.watch(m.submodules[f"part_{number}"]) for number in range(self.parts)
            ).any()
        for number, enable in enumerate(enables):
            with m.If(self.word_valid):
                for lane in range(words):
                    writes += enable[lane].eq(self.word == number * words + lane)
            with m.Else():
                writes += enable.eq((self.beat & ring.inside & (fault.part == number)).replicate(words))
        m.submodules.faults = memory = Memory(shape=len(fault.worst), depth=self.entries, init=[])
        write, fault_out = memory.write_port(), memory.read_port(domain="sync")
        writes += [
            write.addr.eq(Mux(self.word_valid, push_place, ring.coming[: self._low])),
            write.data.eq(Mux(self.word_valid, 0, Mux(self.refuse, _REFUSED, fault.worst))),
            write.en.eq(self.word_valid | (ring.inside & (ring.finished | self.refuse))),
        ]
        m.d.comb += [fault_out.addr.eq(place), fault_out.en.eq(reads_origin)]
        # Where a descriptor lies is known when it is requested; a pushed one lies nowhere.
        m.submodules.addresses = memory = Memory(
            shape=self.config.host_address_bits, depth=self.depth, init=[]
        )
        write, address_out = memory.write_port(), memory.read_port(domain="sync")
        writes += [
            write.addr.eq(ring.asked[: self._low]),
            write.data.eq(self.address),
            write.en.eq(self.ask | self.refuse),
        ]
        m.d.comb += [
            address_out.addr.eq(place[: len(address_out.addr)]),
            address_out.en.eq(reads_origin),
        ]
        found: Value = fault_out.data
        if coding.coded:
            fault_line, address_line = (coding.watch(m.submodules[name]) for name in ("faults", "addresses"))
            # A pushed one has no address.
            fetched = Signal()
            with m.If(reads_origin):
                m.d.sync += fetched.eq(place < self.depth)
            pushed_lost = Signal()
            with m.If(self.word_valid):
                m.d.sync += pushed_lost.eq(self.word_lost | (pushed_lost & (self.word != 0)))
            if self.extension is not None:
                lost_record = self.extension.lost(m, lost_record)
            lost = lost_record | fault_line | Mux(fetched, address_line, pushed_lost)
            found = Mux(lost, _LOST.index(Status.MEMORY), found)
        origin = (found, address_out.data)
        return _Store(reads_record, reads_origin, stays, checking, there, read_place, Cat(records), *origin)
