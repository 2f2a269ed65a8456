"""Keeps the descriptors of one direction until its channel takes them, those of all pairs in one memory, and reads what the
pair that is chosen has next."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.arithmetic import one_of
from cdma.hdl.blocks.elaboration import Pace, flags, optional
from cdma.hdl.blocks.memories import PlainMemories, coding_of
from cdma.hdl.blocks.serial_memory import SerialMemory
from cdma.hdl.engine.channel.interfaces import Descriptor, ExtensionPort, Request
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import RECORD_BYTES, Status

from .messages import RECORD_WORDS, WORD_BITS, select

#: What may be wrong with a descriptor that is fetched; with coded memories also that it is lost in the store.
FAULTS = (Status.OK, Status.FETCH_SLVERR, Status.FETCH_DECERR)


def record_parts(config: EngineConfig) -> tuple[int, int]:
    """Bits of the part of a descriptor that a beat has, and the parts of a descriptor."""
    bits = min(config.host_data_bits, 8 * RECORD_BYTES)
    return bits, 8 * RECORD_BYTES // bits


class EntriesSignature(wiring.Signature):
    """The entries of one ring, seen from its :class:`.Fetcher`.

    ``asks``, ``refuses``: Pulses: the next descriptor is requested; or it must not be fetched.
    ``coming``, ``asked``, ``first``: Places of the descriptor that arrives next, of the one that is requested next, and of
        the oldest one that the channel has not taken.
    ``part``, ``fault``: Number of the beat that comes, and the first error up to it: an index into :data:`FAULTS`.
    ``inside``, ``pushed``: The ring is in use; a descriptor is pushed, which goes first.
    ``offers``: There is a descriptor to be read.
    ``paired``: The entry after ``first`` has arrived, too.
    ``further``: With shapes: what is pushed next is an extension.
    ``held``: A fetched entry is being read, or is shown.
    ``taken``, ``of_push``, ``second``: Pulse: the channel takes what is shown: the pushed descriptor; one with an extension.
    ``misses``: Pulse: what was read has an extension, which has not arrived. Until it has, nothing is offered.
    """

    def __init__(self, config: EngineConfig) -> None:
        place = config.fetched.bit_length() - 1
        super().__init__(
            {
                **{name: Out(place) for name in ("coming", "asked", "first")},
                "part": Out(range(record_parts(config)[1])),
                "fault": Out(range(len(FAULTS))),
                **flags(Out, "asks", "refuses", "inside", "pushed", "offers"),
                **optional(config.dimensions, paired=Out(1), further=Out(1), second=In(1), misses=In(1)),
                **flags(In, "held", "taken", "of_push"),
            }
        )


def shaped_bit(config: EngineConfig) -> tuple[int, int]:
    """The word of a descriptor that says whether it is shaped, and the bit there."""
    return divmod(Descriptor(config.records)["shaped"].offset, WORD_BITS)


class RequestPort(wiring.Signature):
    """A store of descriptors as seen from who takes them.

    ``reads``, ``chosen``: While high, what the ring of the ``chosen`` one of all pairs has next is read and shown. Low for
        a cycle or more between two.
    ``shown``, ``request``: It is shown. It may go: if its ring is disabled, or a pushed one comes before it.
    ``checking``: It must stay.
    ``taken``: Pulse, only while ``checking``: the channel has it.
    ``wants_extension``, ``extended``: See :class:`.ExtensionPort`.
    """

    def __init__(self, config: EngineConfig) -> None:
        super().__init__(
            {
                "reads": Out(1),
                "chosen": Out(config.channels),
                "shown": In(1),
                "request": In(Request(config.records)),
                "checking": Out(1),
                "taken": Out(1),
                **ExtensionPort(config.records).flip().members,
            }
        )


class _Read:
    """What is read.

    ``place``: The entry that is read next.
    ``record``, ``origin``: The descriptor is read, and what belongs to it: they are there from the next cycle on.
    ``looks``, ``shown``: The entry is checked, or looked at; it is shown.
    ``of_push``, ``second``: It is of the pushed descriptor; the descriptor has been read, and is shaped: its extension is.
    ``turns``: What is shown of a request changes.
    """

    def __init__(self, place: Signal) -> None:
        self.place = place
        self.record, self.origin, self.looks, self.shown, self.of_push, self.second, self.turns = (
            Signal(name=name)
            for name in ("reads_record", "reads_origin", "looks", "shown", "of_push", "is_second", "turns")
        )

    @property
    def stays(self) -> Value:
        return self.looks | self.shown


class _Kept(NamedTuple):
    """The memories of descriptors: what is read, the enables of their parts, whether a word is lost, and that it is checked,
    where that takes time."""

    record: Value
    enables: list[Value]
    lost: Value
    checks: Value | None


class DescriptorStore(wiring.Component):
    """The memory of descriptors of a direction. One that is ``shaped`` has its extension in the entry after its own, and is
    shown once that is there, with the fault of either. It shows one of both.

    ``ring_0``, …: The rings.
    ``beat``, ``last``, ``lands``: A beat of a descriptor comes, the last one; for the ring of that pair.
    ``word_valid``, ``word``, ``works``: A word of a descriptor that is pushed comes, never together with ``beat``; for
        the pair whose job is in hand.
    ``data``: The beat, or every 32 bits of it the word.
    ``address``: Where the descriptor of the job in hand lies. One that must not be fetched is read with that fault.
    ``requests``: Who takes them.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.count = config.channels
        self.part_bits, self.parts = record_parts(config)
        self.shapes = bool(config.dimensions)
        pair = range(self.count)
        #: Entries: those that are fetched, and after them those that are pushed, with their extensions.
        self.fetched = config.fetched << (self.count - 1).bit_length()
        self.entries = self.fetched + self.count * (2 if self.shapes else 1)
        super().__init__(
            {
                **{f"ring_{number}": In(EntriesSignature(config)) for number in pair},
                **flags(In, "beat", "last", "word_valid"),
                "lands": In(pair),
                "works": In(pair),
                "word": In(4),
                "data": In(self.part_bits),
                "address": In(config.host_address_bits),
                "requests": In(RequestPort(config)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        coding = coding_of(platform)
        port = self.requests
        ring = self._choose(m)
        read = _Read(Signal(range(self.entries), name="read_entry", reset_less=True))
        checks = self._store(m, coding, read)
        #: The place of the descriptor that is read, also when its ring is not in use any more.
        home = Signal.like(ring.first, name="home", reset_less=True)
        rests, reads, goes, stays, misses = (
            Signal(name=name) for name in ("rests", "reads", "goes", "stays", "misses")
        )
        m.d.comb += [
            stays.eq(port.reads & Mux(read.of_push, ring.pushed, ring.inside)),
            read.origin.eq(reads),
            read.record.eq((reads & ~read.second) | read.turns),
            port.shown.eq(read.shown & (~goes | port.checking)),
        ]
        m.d.sync += goes.eq(
            read.shown
            & ~(port.checking | goes | port.taken)
            & Mux(read.of_push, ~ring.pushed, ring.pushed | ~ring.inside)
        )
        with m.FSM():
            with m.State("rest"):
                m.d.comb += rests.eq(1)
                m.d.sync += [home.eq(ring.first), read.of_push.eq(ring.pushed), read.second.eq(0)]
                with m.If(port.reads & ring.offers):
                    m.next = "read"
            with m.State("read"):
                m.d.comb += reads.eq(1)
                m.next = "show" if checks is None else "look"
                with m.If(~stays):
                    m.next = "rest"
            if checks is not None:
                with m.State("look"):
                    m.d.comb += read.looks.eq(1)
                    with m.If(~stays):
                        m.next = "rest"
                    with m.Elif(checks):
                        m.next = "show"
                    if self.shapes:
                        with m.Elif(read.of_push | ring.paired):
                            m.d.sync += read.second.eq(1)
                            m.next = "read"
                        with m.Else():
                            m.d.comb += misses.eq(1)
                            m.next = "rest"
            with m.State("show"):
                m.d.comb += read.shown.eq(1)
                with m.If(port.taken | (~port.checking & (goes | ~port.reads))):
                    m.next = "rest"
        with m.If(rests):
            m.d.sync += read.place.eq(self._at(ring.pair, ring.first, ring.pushed, C(0)))
        if self.shapes:
            further = Mux(read.shown, port.wants_extension, 1)
            with m.If(~rests):
                m.d.sync += read.place.eq(self._at(ring.pair, home, read.of_push, further))
        for pair, each in enumerate(self._rings):
            mine = port.chosen[pair]
            m.d.comb += [
                each.held.eq(~rests & ~read.of_push & mine),
                each.taken.eq(port.taken & mine),
                each.of_push.eq(read.of_push),
            ]
            if self.shapes:
                m.d.comb += [each.second.eq(read.second), each.misses.eq(misses & mine)]
        return m

    @property
    def _rings(self) -> list[wiring.PureInterface]:
        return [getattr(self, f"ring_{number}") for number in range(self.count)]

    def _choose(self, m: Module) -> data.View:
        """What is known of the ring that is chosen, and the number of its pair."""
        names = ["first", "inside", "pushed", "offers"]
        names += ["paired"] * self.shapes
        rings = self._rings
        layout = {name: len(getattr(rings[0], name)) for name in names}
        ring = Signal(data.StructLayout(layout | {"pair": (self.count - 1).bit_length()}), name="chosen_ring")
        known = [
            Cat(*(getattr(each, name) for name in names), C(pair, len(ring.pair)))
            for pair, each in enumerate(rings)
        ]
        m.d.comb += Value.cast(ring).eq(one_of(*zip(self.requests.chosen, known, strict=True)))
        return ring

    def _at(self, pair: Value, place: Value, pushed: Value, further: Value) -> Value:
        """The entry of a pair: that at a ``place``, or the ``pushed`` one, or the extension of either."""
        after = Cat(further, pair) if self.shapes else pair
        return Mux(pushed, self.fetched + after, Cat((place + further)[: len(place)], pair))

    def _store(self, m: Module, coding: PlainMemories, read: _Read) -> Value | None:
        """Adds the memories, which give the entry at the place that was read last; gives when an entry that is read may be
        shown, if that is not always."""
        port = self.requests
        # Nothing is read before it is counted, so there is time for registers before the memories.
        writes = Pace(m, self.config).d
        at = Signal(range(self.entries), name="write_entry")
        names = ("coming", "part", "fault", "inside")
        came = Signal(
            data.StructLayout({name: len(getattr(self.ring_0, name)) for name in names}), name="came"
        )
        m.d.comb += Value.cast(came).eq(
            select(self.lands, (Cat(getattr(each, name) for name in names) for each in self._rings))
        )
        further = select(self.works, (each.further for each in self._rings)) if self.shapes else C(0)
        # Where no beat is written, only a pushed word may be.
        m.d.comb += at.eq(
            Mux(
                self.beat,
                self._at(self.lands, came.coming, C(0), C(0)),
                self._at(self.works, came.coming, C(1), further),
            )
        )
        # An extension is read while its descriptor waits, which leaves no time for checks a word at a time.
        serial = coding.coded and not self.shapes
        keep = self._keep_serially if serial else self._keep
        record, enables, lost, checks = keep(m, coding, at, read)
        words = self.part_bits // WORD_BITS
        for number, enable in enumerate(enables):
            lands = Signal(name=f"part_{number}_lands")
            m.d.comb += lands.eq(self.beat & came.inside & (came.part == number))
            with m.If(self.word_valid):
                for lane in range(words):
                    writes += enable[lane].eq(self.word == number * words + lane)
            with m.Else():
                writes += enable.eq(lands.replicate(words))
        m.submodules.faults = faults = Memory(shape=range(len(FAULTS)), depth=self.entries, init=[])
        write, fault = faults.write_port(), faults.read_port(domain="sync")
        writes += [
            write.addr.eq(at),
            write.data.eq(Mux(self.beat, came.fault, 0)),
            write.en.eq(self.word_valid | (self.beat & self.last & came.inside)),
        ]
        # Where a descriptor lies is known when it is requested; a pushed one lies nowhere.
        origin = data.StructLayout({"address": len(self.address), "refused": 1})
        m.submodules.origins = origins = Memory(shape=origin, depth=self.fetched, init=[])
        write, source = origins.write_port(), origins.read_port(domain="sync")
        asked = select(self.works, (each.asked for each in self._rings))
        refuses = Cat(each.refuses for each in self._rings).any()
        writes += [
            write.addr.eq(self._at(self.works, asked, C(0), C(0))),
            write.data.address.eq(self.address),
            write.data.refused.eq(refuses),
            write.en.eq(Cat(each.asks for each in self._rings).any() | refuses),
        ]
        m.d.comb += [
            *(memory.en.eq(read.origin) for memory in (fault, source)),
            fault.addr.eq(read.place),
            source.addr.eq(read.place[: len(source.addr)]),
            port.request.descriptor.eq(record),
            port.request.address.eq(source.data.address),
        ]
        status = port.request.fault
        with m.Switch(fault.data):
            for number, each in enumerate(FAULTS):
                with m.Case(number):
                    m.d.comb += status.eq(each)
        with m.If(source.data.refused & ~read.of_push):
            m.d.comb += status.eq(Status.WINDOW)
        if coding.coded:
            lost |= coding.watch(faults) | (coding.watch(origins) & ~read.of_push)
            with m.If(lost):
                m.d.comb += status.eq(Status.MEMORY)
        if self.shapes:
            shaped = data.View(Descriptor(self.config.records), record).shaped
            return read.second | ~(shaped & (status == Status.OK))
        return checks

    def _keep(self, m: Module, coding: PlainMemories, at: Value, read: _Read) -> _Kept:
        """The memories of descriptors, one for each part."""
        writes = Pace(m, self.config).d
        records, enables, lost = [], [], []
        for number in range(self.parts):
            memory = Memory(shape=self.part_bits, depth=self.entries, init=[])
            m.submodules[f"part_{number}"] = memory
            write, out = memory.write_port(granularity=WORD_BITS), memory.read_port(domain="sync")
            written = Pace(m, self.config).early(write.data, f"written_{number}")
            writes += [write.addr.eq(at), written.eq(self.data)]
            m.d.comb += [out.addr.eq(read.place), out.en.eq(read.record)]
            records.append(out.data)
            enables.append(write.en)
            lost.append(coding.watch(memory) if coding.coded else C(0))
        any_lost = Cat(lost).any()
        return _Kept(
            Cat(records), enables, self._extend(m, any_lost, read) if self.shapes else any_lost, None
        )

    def _keep_serially(self, m: Module, coding: PlainMemories, at: Value, read: _Read) -> _Kept:
        """A memory of descriptors whose words are checked one after the other."""
        m.submodules.records = records = SerialMemory(WORD_BITS, RECORD_WORDS, self.entries)
        pace = Pace(m, self.config)
        part = Signal(self.part_bits, name="record_part")
        written = pace.early(part, "written")
        pace.d += [records.at.eq(at), written.eq(self.data)]
        m.d.comb += [
            records.data.eq(part.replicate(self.parts)),
            records.of.eq(read.place),
            records.stays.eq(read.stays),
        ]
        words = self.part_bits // WORD_BITS
        enables = [records.enable.word_select(number, words) for number in range(self.parts)]
        return _Kept(records.word, enables, records.lost, records.checked)

    def _extend(self, m: Module, lost: Value, read: _Read) -> Value:
        """Shows the extension of a descriptor, or that again, from its place in the cycle before; gives whether a word of
        what is shown is ``lost``, or one of the extension was when that was shown."""
        port = self.requests
        turns, extended = read.turns, port.extended
        placed, further = Signal(name="extension_placed"), Signal(name="extension_lost")
        m.d.comb += port.request.extension.eq(port.request.descriptor)
        m.d.sync += [
            placed.eq(port.wants_extension),
            turns.eq(read.shown & (port.wants_extension ^ extended) & ~turns),
        ]
        with m.If(~read.shown):
            m.d.sync += [extended.eq(0), turns.eq(0), further.eq(0)]
        with m.Else():
            with m.If(turns):
                m.d.sync += extended.eq(placed)
            with m.If(extended & lost):
                m.d.sync += further.eq(1)
        return lost | further
