"""The rings of all queue pairs: descriptors in, completions out, and the first error of each channel.

A queue is one direction of a pair. One sequencer serves all queues, in turn. It does one job at a time, a word of 32 bits
per cycle: it finds where a record lies and whether the engine may touch it, copies a completion into its ring or into the
registers, copies a pushed descriptor out of the registers, and an error into them. Each job is done a few times per
descriptor, and none waits for a bus, so no queue waits long for others.
"""

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import ReadPort, WritePort
from cdma.hdl.blocks.clocks import PLAIN_CLOCK, Clocking
from cdma.hdl.blocks.elaboration import Pace, optional, without_reset
from cdma.hdl.blocks.memories import CodedParts, coding_of
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.engine.channel.interfaces import CHANNELS, Delivered
from cdma.hdl.engine.control.interfaces import ChangeLayout, ReportLayout, StoredSignature
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import Status
from cdma.hdl.spec.registers.map import register_map

from .completion_ring import CompletionWriter
from .indexes import RingIndexes
from .messages import Cause, Job, RingLink, queue_bits, select
from .record_words import RecordWords
from .ring_port import JobEnd, QueueState, RingPort
from .slot import RingSlot, Sequencer
from .store import DescriptorStore, RequestPort, record_parts
from .watches import EVENTS, KINDS, BusWatches

_TAG_BITS = 32
#: Reads of descriptors that wait to be taken by the bus.
_READS = 4


class _Tags(NamedTuple):
    """The memory of tags: the port that writes it, a place of a queue, the tag at the place of the slot, and whether the
    completion before the head that is told counts, in the cycle after."""

    write: wiring.PureInterface
    place: Signal
    tag: Value
    counts: Value


class Rings(wiring.Component):
    """Gives the channels of each pair the descriptors of their rings and those that are pushed, which go first, and writes
    their completions into the rings or, while these are not enabled, into the registers.

    ``clocking``: Of what is kept of a queue, which is reset with its pair.

    ``pair_0``, …: The pairs.
    ``offload_completion``, ``prefetch_completion``: The completion of the ``pair`` that waits longest, two cycles after
        ``pair`` has changed.
    ``events``: The queue of each completion that is in memory, or in the registers, and counts towards the interrupt.
    ``changes``: All that is written into the memory of registers.
    ``stored``, ``report``: Reads the registers that software has written, and writes those that software reads.
    ``offload_requests``, ``prefetch_requests``: Where the descriptors of each direction are.
    ``fetch``, ``complete``: The AXI4 ports, with the number of a queue for ID: 2k for the offload of pair k, and 2k + 1
        for its prefetch.
    ``word_corrected``, ``word_lost``: With coded memories: pulses for wrong words.
    """

    def __init__(self, config: EngineConfig, clocking: Clocking = PLAIN_CLOCK) -> None:
        self.config = config
        self.clocking = clocking
        #: All pairs have the registers of one that is not the first.
        self.registers = register_map(config.of_pair(1))
        host, bits = (config.host_data_bits, config.host_address_bits), queue_bits(config)
        super().__init__(
            {
                **{f"pair_{k}": Out(RingLink(config.of_pair(k))) for k in range(config.channels)},
                "watchdog_tick": In(1),
                "changes": In(ChangeLayout(bits - 1)),
                "pair": Out(bits - 1),
                **{f"{name}_completion": In(Delivered(config.records)) for name in CHANNELS},
                **{f"{name}_requests": In(RequestPort(config)) for name in CHANNELS},
                "events": Out(stream.Signature(bits)),
                "stored": Out(StoredSignature(bits - 1)),
                "report": Out(stream.Signature(ReportLayout(bits - 1))),
                "fetch": Out(ReadPort(*host, bits)),
                "complete": Out(WritePort(*host, config.moved_bits, bits)),
                **optional(config.coded_memories, word_corrected=Out(1), word_lost=Out(1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        #: Of each pair, and what they share.
        parts = CodedParts(coding_of(platform))
        ports = self._add_ports(m, parts)
        m.submodules.slot = slot = RingSlot(config)
        writer = CompletionWriter(config)
        m.submodules.writer = parts.built(self._shared, writer)
        arriving = self._arriving(m)
        #: What arrives, or a pushed word, as the fetchers get it.
        landing = arriving.signature.create(path=("landing",))
        sequencer = Sequencer(queue_bits(config), 2 * config.channels)
        m.submodules.indexes = indexes = RingIndexes(config)
        tags = self._keep_tags(m, parts, indexes, sequencer, slot)
        told = self._tell_events(m, ports, sequencer, indexes, tags.counts)
        asking = self._connect_bus(m, parts, ports, writer, told)
        state = Signal(QueueState(config))
        m.d.comb += Value.cast(state).eq(select(sequencer.queue, (port.state for port in ports)))
        # A job may begin before what the one before it has put there is counted. No job of that kind begins in the cycle
        # after, so it may be known a cycle later.
        room = Signal()
        m.d.sync += room.eq(asking.level < _READS - 1)
        sequencer.take(m, [Value.cast(port.wish) for port in ports], state.error, indexes.moving)
        index = self._read_registers(m, sequencer, slot)
        found = self._find_slot(m, sequencer, state, slot, indexes)
        words = RecordWords(
            sequencer, state, self.registers, pipelined=config.pipelined, options=config.records
        )
        done = self._delivered(m, sequencer)
        record = Value.cast(done.completion)
        phase = ~indexes.index.bit_select(indexes.log2, 1)
        words.of_completion(m, record, phase, tags.tag, slot.address, self.complete.b.payload.resp)
        pushes = self._copy(m, sequencer, words, found, writer, arriving, indexes)
        stores = self._add_stores(m, parts, ports, slot)
        words.fetch_or_push(m, index, slot.word, arriving, landing, pushes, ports, stores)
        job = self._conclude(m, sequencer, state, slot, asking, writer)
        self._look(m, sequencer, state, done, job)
        self._count(m, sequencer, ports, indexes)
        m.d.comb += [
            tags.write.addr.eq(Cat(indexes.index[: len(tags.place)], sequencer.queue)),
            tags.write.data.eq(Cat(done.completion.tag, done.interrupt)),
            tags.write.en.eq(job.sent),
        ]
        for port in ports:
            m.d.comb += [port.job.eq(job), port.may_fetch.eq(room), port.may_send.eq(writer.room)]
        for number, port in enumerate(ports):
            m.d.comb += port.mine.eq(sequencer.queue == number)
        self._watch(m, parts, ports, writer, landing)
        for number, link in enumerate(self._links):
            mine = slice(2 * number, 2 * number + 2)
            # A job that is wished for as the pair stops may begin two cycles later.
            begins = sequencer.wishing[mine].any() | sequencer.waits
            self._connect_pair(m, link, ports[mine], sequencer, told & ~begins)
        if config.coded_memories:
            for number, link in enumerate(self._links):
                m.d.comb += link.loses.eq(parts.groups[f"pair_{number}"].loses())
            found_words = parts.found()
            m.d.comb += [
                self.word_corrected.eq(found_words.corrected),
                self.word_lost.eq(found_words.lost),
            ]
        return m

    @property
    def _links(self) -> list[wiring.PureInterface]:
        return [getattr(self, f"pair_{number}") for number in range(self.config.channels)]

    @property
    def _shared(self) -> str:
        """The group of memories that all queues share: one pair answers for them itself."""
        return "pair_0" if self.config.channels == 1 else "shared"

    def _add_ports(self, m: Module, parts: CodedParts) -> list[RingPort]:
        """What is kept of each queue, which its pair resets."""
        ports = []
        for pair, link in enumerate(self._links):
            for name in CHANNELS:
                port = RingPort(self.config)
                ports.append(port)
                built = parts.built(f"pair_{pair}", port)
                path = name if self.config.channels == 1 else f"pair_{pair}_{name}"
                m.submodules[path] = self.clocking.cleared(m, f"{path}_ring", built, link.clear)
        return ports

    def _add_stores(
        self, m: Module, parts: CodedParts, ports: list[RingPort], slot: RingSlot
    ) -> list[DescriptorStore]:
        """The descriptors of each direction."""
        stores = []
        for direction, name in enumerate(CHANNELS):
            store = DescriptorStore(self.config)
            stores.append(store)
            m.submodules[f"{name}_store"] = parts.built(self._shared, store)
            wiring.connect(m, store.requests, wiring.flipped(getattr(self, f"{name}_requests")))
            m.d.comb += store.address.eq(slot.address)
            for pair, port in enumerate(ports[direction::2]):
                wiring.connect(m, port.entries, getattr(store, f"ring_{pair}"))
        return stores

    def _connect_pair(
        self,
        m: Module,
        link: wiring.PureInterface,
        ports: list[RingPort],
        sequencer: Sequencer,
        rests: Value,
    ) -> None:
        """Connects a pair with both of its queues. It stops while the sequencer ``rests`` besides."""
        mine = Cat(port.mine for port in ports).any() & sequencer.busy
        for index, (name, port) in enumerate(zip(CHANNELS, ports, strict=True)):
            wiring.connect(m, port.client, wiring.flipped(getattr(link, name)))
            wiring.connect(m, port.control, wiring.flipped(getattr(link, f"{name}_control")))
            m.d.comb += [
                port.stop.eq(link.stop),
                link.busy[index].eq(port.busy | (sequencer.busy & port.mine)),
                link.stuck[index].eq(port.stuck),
            ]
        m.d.comb += link.stopped.eq(~mine & rests & Cat(port.stopped for port in ports).all())
        if self.config.quiescence:
            m.d.comb += link.pending.eq(Cat(port.behind | port.control.push for port in ports).any())

    def _arriving(self, m: Module) -> stream.Interface:
        """What comes from the port, always taken: with pipelined codecs out of a register, because it goes far."""
        r = self.fetch.r
        m.d.comb += r.ready.eq(1)
        if not self.config.pipelined:
            return r
        arriving = r.signature.create(path=("arriving",))
        arrived = without_reset(m, "arrived", arriving.payload)
        m.d.sync += [arriving.valid.eq(r.valid), arrived.eq(r.payload)]
        return arriving

    def _tell_events(
        self, m: Module, ports: list[RingPort], sequencer: Sequencer, indexes: RingIndexes, counts: Value
    ) -> Signal:
        """Gives the events, one at a time; says whether none waits. While one does, no response is taken. A completion in
        memory is one, if it ``counts``, in the cycle after software can read the new head. That of a completion in the
        registers waits apart, and is gone before the next one is there."""
        events = self.events
        shown = Signal(events.payload.shape(), name="shown_queue")
        answered = Signal.like(shown, name="answered_queue")
        shows, knows, told = (Signal(name=name) for name in ("shows_event", "knows", "told"))
        m.d.comb += [
            told.eq(~events.valid & ~shows & ~indexes.asks & ~knows),
            indexes.asked.eq(Cat(C(1, 1), answered)),
        ]
        m.d.sync += knows.eq(indexes.told)
        with m.If(Cat(port.takes for port in ports).any()):
            m.d.sync += [indexes.asks.eq(1), answered.eq(self.complete.b.payload.id)]
        with m.Elif(indexes.told):
            m.d.sync += indexes.asks.eq(0)
        with m.If(~events.valid | events.ready):
            m.d.sync += [
                events.valid.eq((knows & counts) | shows),
                events.payload.eq(Mux(knows, answered, shown)),
            ]
            with m.If(~knows):
                m.d.sync += shows.eq(0)
        with m.If(Cat(port.shown for port in ports).any()):
            m.d.sync += [shows.eq(1), shown.eq(sequencer.queue)]
        return told

    def _connect_bus(
        self,
        m: Module,
        parts: CodedParts,
        ports: list[RingPort],
        writer: CompletionWriter,
        told: Signal,
    ) -> Fifo:
        """Sends the addresses of a queue, which it returns, and completions; takes the responses once all events are
        ``told``."""
        ar, aw, w, b = self.fetch.ar, self.complete.aw, self.complete.w, self.complete.b
        where = data.StructLayout({"queue": len(ar.payload.id), "address": len(ar.payload.address)})
        asking = Fifo(where, _READS)
        part_bits, parts_of_record = record_parts(self.config)
        # Whose descriptor comes must not be lost: it concerns all pairs.
        several = self.config.channels > 1
        m.submodules.asking = (
            parts.coding.in_flip_flops(asking) if several else parts.group(self._shared).corrected(asking)
        )
        wiring.connect(m, writer.port.aw, wiring.flipped(aw))
        wiring.connect(m, writer.port.w, wiring.flipped(w))
        m.d.comb += [
            ar.valid.eq(asking.output.valid),
            asking.output.ready.eq(ar.ready),
            ar.payload.id.eq(asking.output.payload.queue),
            ar.payload.address.eq(asking.output.payload.address),
            ar.payload.len.eq(parts_of_record - 1),
            ar.payload.size.eq(exact_log2(part_bits // 8)),
            b.ready.eq(Cat(port.takes for port in ports).any()),
        ]
        for number, port in enumerate(ports):
            m.d.comb += [
                port.answers.eq(b.valid & told & (b.payload.id == number)),
                port.answer.eq(b.payload.resp),
            ]
        return asking

    def _watch(
        self,
        m: Module,
        parts: CodedParts,
        ports: list[RingPort],
        writer: CompletionWriter,
        landing: stream.Interface,
    ) -> None:
        """Watches the bus for all queues."""
        watches = BusWatches(self.config)
        m.submodules.watches = parts.built(self._shared, watches)
        ar, aw, w, b = self.fetch.ar, self.complete.aw, self.complete.w, self.complete.b
        happens = {
            "asked": (ar.valid & ar.ready, ar.payload.id),
            "came": (landing.valid, landing.payload.id),
            "begun": (aw.valid & aw.ready, aw.payload.id),
            "moved": (w.valid & w.ready, writer.sending),
            "answered": (b.valid & b.ready, b.payload.id),
        }
        m.d.comb += [
            watches.events.eq(Cat(happens[event][0] for event in EVENTS)),
            Value.cast(watches.numbers).eq(Cat(happens[event][1] for event in EVENTS)),
            watches.tick.eq(self.watchdog_tick),
            watches.clear.eq(Cat(link.clear for link in self._links)),
        ]
        m.d.comb += [
            watches.waits.eq(Cat(getattr(port, f"{kind}_waits") for port in ports for kind in KINDS)),
            watches.logged.eq(Cat(port.watch_logged for port in ports)),
        ]
        for name in ("fires", "stuck", "lost"):
            m.d.comb += Cat(getattr(port, f"watch_{name}") for port in ports).eq(getattr(watches, name))

    def _read_registers(self, m: Module, sequencer: Sequencer, slot: RingSlot) -> Signal:
        """Reads the registers of the job's pair; gives the index, which is the slot's where nobody else asks."""
        links, pair = self._links, sequencer.queue[1:]
        index = Signal.like(slot.stored.index)
        m.d.comb += [
            index.eq(slot.stored.index),
            slot.stored.data.eq(self.stored.data),
            self.stored.index.eq(index),
            self.stored.pair.eq(pair),
        ]
        if self.config.coded_memories:
            # Words of registers are on their way for some cycles.
            late, lost = Signal(3, name="register_lost_before"), Signal(name="register_lost")
            m.d.sync += late.eq(Mux(sequencer.begins, 0, Cat(lost, late)))
            m.d.comb += [
                lost.eq(select(pair, (link.register_lost for link in links))),
                slot.word_lost.eq(lost | late.any()),
            ]
        return index

    def _find_slot(
        self, m: Module, sequencer: Sequencer, state: data.View, slot: RingSlot, indexes: RingIndexes
    ) -> Signal:
        """Gives a signal that is high from the cycle before the address of the job's record is known, or if the job needs
        none; not in the first cycle of the job. It comes from a register."""
        is_, by = sequencer.is_, sequencer.by
        needs_slot = Signal()
        found = Signal()
        # The index is read in the first cycle of a job. The search has begun by then: it reads the registers first.
        index = Pace(m, self.config).early(slot.index, "index")
        of_send = by[Cause.ANSWER] | by[Cause.SEND_LOST]
        behind = Signal.like(state.sending, name="behind")
        m.d.sync += behind.eq(Mux(slot.completions, state.sending, state.fetching))
        Pace(m, self.config).d += index.eq(indexes.index - Mux(of_send | by[Cause.FETCH_LOST], behind, 0))
        m.d.comb += [
            needs_slot.eq(
                is_[Job.FETCH] | is_[Job.SEND] | ((of_send | by[Cause.FETCH_LOST]) & ~sequencer.skipped)
            ),
            slot.start.eq(sequencer.begins),
            slot.channel.eq(sequencer.queue[0]),
            slot.completions.eq(is_[Job.SEND] | of_send),
            slot.ring_log2.eq(indexes.log2),
            indexes.shown.eq(Cat(slot.completions, sequencer.queue)),
        ]
        m.d.sync += found.eq((~needs_slot | slot.done) & ~sequencer.fresh & ~sequencer.begins)
        return found

    def _count(self, m: Module, sequencer: Sequencer, ports: list[RingPort], indexes: RingIndexes) -> None:
        """Connects the rings with their indexes."""
        m.d.comb += [
            indexes.changes.eq(self.changes),
            indexes.step.eq(Cat(port.steps for port in ports).any()),
        ]
        for number, port in enumerate(ports):
            m.d.comb += port.settles.eq(indexes.settles)
            for place, index in enumerate((port.descriptors_index, port.completions_index)):
                wiring.connect(m, getattr(indexes, f"ring_{2 * number + place}"), index)

    def _keep_tags(
        self, m: Module, parts: CodedParts, indexes: RingIndexes, sequencer: Sequencer, slot: RingSlot
    ) -> _Tags:
        """The tags of the completions in flight of all queues, and whether they count towards the interrupt. A tag that is
        lost is 0, and the interrupt comes."""
        place = Signal(exact_log2(self.config.ring_completions), name="tag_place")
        memory = Memory(shape=_TAG_BITS + 1, depth=2 * self.config.channels << len(place), init=[])
        write = memory.write_port()
        failed, answered = (memory.read_port(domain="sync") for _ in range(2))
        m.d.comb += [
            failed.addr.eq(Cat(slot.index[: len(place)], sequencer.queue)),
            place.eq(indexes.report.payload.data - 1),
            answered.addr.eq(Cat(place, indexes.asked[1:])),
            failed.en.eq(1),
            answered.en.eq(1),
        ]
        m.submodules.tags = parts.built(self._shared, memory)
        coding = parts.groups[self._shared]
        coding.watch(memory)
        tag, counts = (coding.guarded(memory, port.data, 1 << _TAG_BITS) for port in (failed, answered))
        # Of a ring that has restarted the tag is lost with its index.
        anew = Signal()
        m.d.sync += anew.eq(indexes.anew)
        return _Tags(write, place, tag[:_TAG_BITS], counts[_TAG_BITS] | anew)

    def _delivered(self, m: Module, sequencer: Sequencer) -> data.View:
        """The completion of the queue. That of a pair that is alone has been there for some cycles when its job begins; any
        other comes out of a memory."""
        chosen = Signal(Delivered(self.config.records), name="delivered")
        m.d.comb += [
            self.pair.eq(Mux(sequencer.begins, sequencer.following, sequencer.queue)[1:]),
            chosen.eq(Mux(sequencer.queue[0], self.prefetch_completion, self.offload_completion)),
        ]
        return Pace(m, self.config.pipelined and self.config.channels == 1).late(chosen, "record")

    def _look(
        self, m: Module, sequencer: Sequencer, state: data.View, done: data.View, job: data.View
    ) -> None:
        """Looks at a completion that is to be sent or shown, in the second cycle of its job. One that reports an error is
        logged first."""
        is_ = sequencer.is_
        second, looks, fails = (Signal(name=name) for name in ("second_cycle", "looks", "fails"))
        m.d.sync += second.eq(sequencer.fresh & ~sequencer.stale)
        m.d.comb += [
            looks.eq(second & (is_[Job.SEND] | is_[Job.SHOW]) & ~state.looked),
            job.looks.eq(looks),
            job.interrupt.eq(done.interrupt),
        ]
        m.d.comb += fails.eq(looks & (done.completion.status != Status.OK))
        sequencer.turn(m, Job.LOG, Cause.OWN, fails)

    def _copy(
        self,
        m: Module,
        sequencer: Sequencer,
        words: RecordWords,
        found: Value,
        writer: CompletionWriter,
        arriving: stream.Interface,
        indexes: RingIndexes,
    ) -> Signal:
        """Moves the words of the job and ends it once all are moved: those of a completion to its ring in each cycle,
        any others with the time that reading and writing a register takes between them. Gives a signal that is high while a
        word of the pushed descriptor may pass."""
        is_ = sequencer.is_
        pause = Signal(4)
        free = Signal()
        pushes = Signal()
        #: A word of the pushed descriptor has passed; known a cycle later, so that the bus reaches no count of words.
        pushed = Signal()
        reports = Signal()
        writes = Signal(2)
        addressed = Signal()
        m.d.sync += [
            addressed.eq(found & ~sequencer.begins),
            pause.eq(Cat(sequencer.advance | sequencer.fresh, pause)),
            writes.eq(Cat(is_[Job.SEND] & sequencer.advance, writes)),
            pushed.eq(pushes & ~arriving.valid),
            pushes.eq(free & is_[Job.PUSH] & ~pushed & ~(pushes & ~arriving.valid)),
        ]
        m.d.comb += [
            free.eq(~sequencer.fresh & ~pause.any() & ~sequencer.copied),
            reports.eq(free & (is_[Job.SHOW] | (is_[Job.LOG] & addressed & ~sequencer.skipped))),
            sequencer.advance.eq(
                (is_[Job.SEND] & ~sequencer.copied)
                | pushed
                | self._report(m, sequencer, words, reports, indexes)
            ),
            sequencer.ends.eq(
                found
                & ~sequencer.fresh
                & (
                    sequencer.copied
                    | (sequencer.last_word & is_[Job.SEND])
                    | is_[Job.FETCH]
                    | sequencer.unlogged
                )
            ),
            writer.word_valid.eq(writes[-1]),
            writer.word.eq(words.number),
            writer.data.eq(words.value),
        ]
        sequencer.step(m)
        return pushes

    def _report(
        self, m: Module, sequencer: Sequencer, words: RecordWords, reports: Value, indexes: RingIndexes
    ) -> Value:
        """Writes the word into the registers of the job's pair; gives a signal that is high once that is done, or if no
        register has this word."""
        report, heads = self.report, indexes.report
        record = Signal(report.payload.shape(), name="report_of_record")
        known = words.report(m, record)
        m.d.comb += [
            record.pair.eq(sequencer.queue[1:]),
            report.valid.eq((reports & known) | heads.valid),
            report.payload.eq(Mux(heads.valid, heads.payload, record)),
            heads.ready.eq(report.ready),
        ]
        return reports & (~known | (report.ready & ~heads.valid))

    def _conclude(
        self,
        m: Module,
        sequencer: Sequencer,
        state: data.View,
        slot: RingSlot,
        asking: Fifo,
        writer: CompletionWriter,
    ) -> data.View:
        """Requests the descriptor or commits the completion, unless the ring was disabled or the slot is refused."""
        is_, by = sequencer.is_, sequencer.by
        holds = Signal()
        alone = Signal()
        refused = Signal()
        wanted = Mux(is_[Job.FETCH], state.wanted, state.may_begin)
        m.d.sync += [holds.eq(sequencer.holds(m, wanted)), alone.eq(~state.in_flight)]
        job = Signal(JobEnd, name="job")
        m.d.comb += [
            job.asks.eq(holds & slot.allowed & is_[Job.FETCH]),
            job.sent.eq(holds & slot.allowed & is_[Job.SEND]),
            job.bad.eq(holds & ~slot.allowed),
            job.over.eq(sequencer.over),
            job.is_fetch.eq(is_[Job.FETCH]),
            job.is_show.eq(is_[Job.SHOW]),
            job.is_log.eq(is_[Job.LOG]),
            job.recorded.eq(~sequencer.skipped),
            job.by.eq(Cat(by.values())),
            job.address.eq(slot.address),
            refused.eq(job.bad & is_[Job.SEND] & alone),
            writer.address.eq(slot.address),
            asking.input.valid.eq(job.asks),
            asking.input.payload.queue.eq(sequencer.queue),
            asking.input.payload.address.eq(slot.address),
        ]
        # The last word of a completion is in its place a cycle after its job.
        m.d.sync += [writer.commit.eq(job.sent), writer.queue.eq(sequencer.queue)]
        sequencer.end(m, refused)
        return job
