"""The rings of both channels: descriptors in, completions out, and the first error of each channel.

One sequencer serves both channels. It does one job at a time, a word of 32 bits per cycle: it finds where a record
lies and whether the engine may touch it, copies a completion into its ring or into the registers, copies a pushed
descriptor out of the registers, and an error into them. Each job is done a few times per descriptor, and none waits
for a bus, so no channel waits long for the other.
"""

from amaranth.hdl import Cat, DomainRenamer, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import ReadPort, WritePort
from cdma.hdl.blocks.clocks import ALWAYS
from cdma.hdl.blocks.elaboration import optional, without_reset
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.engine.channel.interfaces import CHANNELS
from cdma.hdl.engine.control.interfaces import ChangeLayout, ChannelSignature, ReportLayout, StoredSignature
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.map import register_map

from .coalescer import Coalescer
from .completion_ring import CompletionWriter
from .messages import Cause, Job, Messages, RingClient
from .record_words import RecordWords
from .ring_port import RingPort
from .slot import Conclusion, RingSlot, Sequencer

#: Reads of descriptors that wait to be taken by the bus.
_READS = 4


class Rings(wiring.Component):
    """Gives ``offload`` and ``prefetch`` the descriptors of their rings and those that are pushed, which go first,
    and writes their completions into the rings or, while these are not enabled, into the registers.

    ``pending``, ``timing``
        In an engine with a Q-channel: a ring has descriptors that are not fetched yet, or one is pushed; and an interrupt
        comes when its time has passed.
    ``stop``
        While high, no job begins.
    ``stopped``
        High while nothing is in flight, so that all may be reset.
    ``stored``
        Reads the registers that software has written.
    ``report``
        Writes the registers that software reads.
    ``changes``
        All that is written into either.
    ``fetch``, ``complete``
        The AXI4 ports, with the number of a channel for ID.
    ``messages``, ``messaging``
        In an engine with messages: their port, and whether there is any to be written or answered.
    ``busy``, ``stuck``
        High, one bit per channel, while there is something to do, and while the port does not answer.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.registers = register_map(config)
        words = len(self.registers.kept)
        host = (config.host_data_bits, config.host_address_bits)
        super().__init__(
            {
                **{name: Out(RingClient(config.records)) for name in CHANNELS},
                **{f"{name}_control": In(ChannelSignature(config)) for name in CHANNELS},
                "watchdog_tick": In(1),
                "stored": Out(StoredSignature(words)),
                "report": Out(stream.Signature(ReportLayout(words))),
                "changes": In(ChangeLayout(words)),
                "fetch": Out(ReadPort(*host, id_bits=1)),
                "complete": Out(WritePort(*host, config.moved_bits, id_bits=1)),
                "busy": Out(2),
                "stuck": Out(2),
                **optional(config.coded_memories, register_lost=In(1)),
                "stop": In(1),
                "stopped": Out(1),
                **optional(config.quiescence, pending=Out(1), timing=Out(1)),
                **optional(
                    config.msi, messages=Out(WritePort(*host, config.moved_bits, id_bits=1)), messaging=Out(1)
                ),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.slot = slot = RingSlot(self.config)
        m.submodules.writer = writer = CompletionWriter(self.config)
        ports = [RingPort(self.config, index, name, self) for index, name in enumerate(CHANNELS)]
        for port in ports:
            m.submodules[f"{port.name}_fetcher"] = port.fetcher
            m.submodules[f"{port.name}_completions"] = port.completions
        arriving = self._arriving(m)
        #: What arrives, or a pushed word, as the fetchers get it.
        landing = arriving.signature.create(path=("landing",))
        asking = self._connect_fetch(m, ports, landing)
        self._connect_complete(m, ports, writer)
        for port in ports:
            port.watch(m, arriving, writer.sending)

        if self.config.coded_memories:
            # Words of registers are on their way for some cycles.
            late = Signal(3, name="register_lost_before")
            m.d.sync += late.eq(Cat(self.register_lost, late))
            m.d.comb += slot.word_lost.eq(self.register_lost | late.any())
            m.d.comb += [port.fetcher.word_lost.eq(slot.word_lost) for port in ports]
        sequencer = Sequencer()
        # A job may begin before what the one before it has put there is counted. No job of that kind begins in the cycle
        # after, so it may be known a cycle later.
        room = Signal()
        m.d.sync += room.eq(asking.level < _READS - 1)
        wishes = [port.wish(m, writer.room, room) for port in ports]
        sequencer.take(m, wishes, [port.error for port in ports], self.stop)
        found = self._find_slot(m, sequencer, ports, slot)
        words = RecordWords(
            sequencer, ports, self.registers, pipelined=self.config.pipelined, options=self.config.records
        )
        pushes = self._copy(m, sequencer, words, found, slot, writer, arriving)
        words.fetch_or_push(m, self.stored, slot.word, arriving, landing, pushes)
        conclusion = self._conclude(m, sequencer, ports, slot, asking, writer)
        coalescer = Coalescer(self.config)
        m.submodules.coalescer = DomainRenamer(ALWAYS)(coalescer) if self.config.clock_gates else coalescer
        m.d.comb += coalescer.changes.eq(self.changes)
        if self.config.quiescence:
            m.d.comb += [
                self.pending.eq(Cat(port.behind | port.control.push for port in ports).any()),
                self.timing.eq(coalescer.waiting),
            ]
        for port in ports:
            port.conclude(m, sequencer, conclusion, getattr(coalescer, port.name))
        in_flight = Cat(
            *(port.fetcher.in_flight for port in ports), *(port.completions.in_flight for port in ports)
        )
        stopped = ~sequencer.busy & ~in_flight.any()
        if self.config.msi:
            stopped &= ~self._connect_messages(m, ports)
        m.d.comb += self.stopped.eq(stopped)
        return m

    def _connect_messages(self, m: Module, ports: list[RingPort]) -> Value:
        """Connects what writes messages; gives whether it has anything to do."""
        m.submodules.messages = messages = Messages(self.config)
        for port in ports:
            wiring.connect(m, wiring.flipped(port.control.message), getattr(messages, port.name))
        wiring.connect(m, messages.port, wiring.flipped(self.messages))
        m.d.comb += [
            messages.changes.eq(self.changes),
            messages.stop.eq(self.stop),
            self.messaging.eq(messages.busy),
        ]
        return messages.busy

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

    def _connect_fetch(self, m: Module, ports: list[RingPort], landing: stream.Interface) -> Fifo:
        """Sends the addresses of a queue, which it returns, and takes the descriptors."""
        ar = self.fetch.ar
        fetcher = ports[0].fetcher
        where = data.StructLayout({"channel": 1, "address": len(ar.payload.address)})
        m.submodules.asking = asking = Fifo(where, _READS)
        m.d.comb += [
            ar.valid.eq(asking.output.valid),
            asking.output.ready.eq(ar.ready),
            ar.payload.id.eq(asking.output.payload.channel),
            ar.payload.address.eq(asking.output.payload.address),
            ar.payload.len.eq(fetcher.parts - 1),
            ar.payload.size.eq(exact_log2(fetcher.part_bits // 8)),
        ]
        for port in ports:
            port.take_descriptors(m, landing)
        return asking

    def _connect_complete(self, m: Module, ports: list[RingPort], writer: CompletionWriter) -> None:
        """Sends the completions, and takes the responses."""
        wiring.connect(m, writer.port.aw, wiring.flipped(self.complete.aw))
        wiring.connect(m, writer.port.w, wiring.flipped(self.complete.w))
        b = self.complete.b
        for port in ports:
            port.take_answers(m)
        m.d.comb += b.ready.eq(ports[0].completions.answer | ports[1].completions.answer)

    def _find_slot(self, m: Module, sequencer: Sequencer, ports: list[RingPort], slot: RingSlot) -> Signal:
        """Gives a signal that is high from the cycle before the address of the job's record is known, or if the job needs
        none; not in the first cycle of the job. It comes from a register."""
        is_, by = sequencer.is_, sequencer.by
        needs_slot = Signal()
        found = Signal()
        # The index is selected in the first cycle of a job. The search has begun by then: it reads the registers first.
        index = Signal.like(slot.index, reset_less=True)
        of_send = by[Cause.ANSWER] | by[Cause.SEND_LOST]
        m.d.comb += [
            needs_slot.eq(
                is_[Job.FETCH] | is_[Job.SEND] | ((of_send | by[Cause.FETCH_LOST]) & ~sequencer.skipped)
            ),
            slot.start.eq(sequencer.begins),
            slot.channel.eq(sequencer.channel),
            slot.completions.eq(is_[Job.SEND] | of_send),
            slot.ring_log2.eq(sequencer.of_channel(port.control.ring_log2 for port in ports)),
            slot.index.eq(index),
        ]
        m.d.sync += found.eq((~needs_slot | slot.done) & ~sequencer.fresh & ~sequencer.begins)
        for active, indexes in (
            (is_[Job.FETCH], [port.fetcher.asked for port in ports]),
            (is_[Job.SEND], [port.completions.index for port in ports]),
            (by[Cause.FETCH_LOST], [port.fetcher.head for port in ports]),
            (of_send, [port.completions.head for port in ports]),
        ):
            with m.If(active):
                m.d.sync += index.eq(sequencer.of_channel(indexes))
        return found

    def _copy(
        self,
        m: Module,
        sequencer: Sequencer,
        words: RecordWords,
        found: Value,
        slot: RingSlot,
        writer: CompletionWriter,
        arriving: stream.Interface,
    ) -> Signal:
        """Moves the words of the job and ends it once all are moved: those of a completion to its ring in each cycle,
        any others with the time that reading and writing a register takes between them. Gives a signal that is high while a
        word of the pushed descriptor may pass."""
        is_ = sequencer.is_
        words.of_completion(m, slot.address, self.complete.b.payload.resp)
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
        ]
        reported = words.report(m, self.report, reports)
        m.d.comb += [
            sequencer.advance.eq((is_[Job.SEND] & ~sequencer.copied) | pushed | reported),
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
            self.stored.index.eq(slot.stored.index),
            slot.stored.data.eq(self.stored.data),
        ]
        sequencer.step(m)
        return pushes

    def _conclude(
        self,
        m: Module,
        sequencer: Sequencer,
        ports: list[RingPort],
        slot: RingSlot,
        asking: Fifo,
        writer: CompletionWriter,
    ) -> Conclusion:
        """Requests the descriptor or commits the completion, unless the ring was disabled or the slot is refused."""
        is_ = sequencer.is_
        wanted = Mux(
            is_[Job.FETCH],
            sequencer.of_channel(port.fetcher.wanted for port in ports),
            sequencer.of_channel(port.completions.may_begin for port in ports),
        )
        in_flight = sequencer.of_channel(port.completions.in_flight for port in ports)
        holds = Signal()
        alone = Signal()
        sent = Signal()
        asks = Signal()
        bad = Signal()
        refused = Signal()
        m.d.sync += [holds.eq(sequencer.holds(m, wanted)), alone.eq(~in_flight)]
        m.d.comb += [
            sent.eq(holds & slot.allowed & is_[Job.SEND]),
            asks.eq(holds & slot.allowed & is_[Job.FETCH]),
            bad.eq(holds & ~slot.allowed),
            refused.eq(bad & is_[Job.SEND] & alone),
        ]
        # The last word of a completion is in its place a cycle after its job.
        m.d.sync += [writer.commit.eq(sent), writer.channel.eq(sequencer.channel)]
        m.d.comb += [
            writer.address.eq(slot.address),
            asking.input.valid.eq(asks),
            asking.input.payload.channel.eq(sequencer.channel),
            asking.input.payload.address.eq(slot.address),
        ]
        sequencer.end(m, refused)
        return Conclusion(asks, sent, bad, slot.address)
