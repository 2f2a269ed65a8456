"""The rings of both channels: descriptors in, completions out, and the first error of each channel.

One sequencer does for both channels, one thing at a time and a word of 32 bits per cycle, what has to be done a few
times per descriptor: where a record lies and whether it may be touched, a completion's way into its ring or into
the registers, a pushed descriptor's way out of them, an error's way into them. Nothing that it does waits for a
bus, so no channel waits long for the other.
"""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import ReadPort, Response, WritePort
from cdma.hdl.axi.watchdog import Watchdog
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.engine.channel.descriptor import Completion, Request
from cdma.hdl.engine.control.interfaces import ChannelSignature
from cdma.hdl.engine.control.register_file import ChangeLayout, ReportLayout, StoredSignature
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import COMPLETION, DESCRIPTOR, RECORD_BYTES, Status
from cdma.hdl.spec.registers.map import record_parts, register_map

from .coalescer import Coalescer
from .completion_writer import CompletionRing, CompletionWriter
from .fetcher import Fetcher
from .slot import RingSlot

__all__ = ["RingClient", "Rings"]

_NAMES = ("offload", "prefetch")
_WORD = 32
_WORDS = 8 * RECORD_BYTES // _WORD
#: Reads of descriptors that wait to be taken by the bus.
_READS = 4


class _Job(enum.Enum):
    """What the sequencer does."""

    #: A descriptor is asked for.
    FETCH = 0
    #: A pushed descriptor is copied to where fetched ones are.
    PUSH = 1
    #: A completion goes into its ring.
    SEND = 2
    #: A completion goes into the registers.
    SHOW = 3
    #: An error goes into the registers: a completion's own, or one of a ring.
    LOG = 4


class _Cause(enum.Enum):
    """Whose error is logged."""

    #: The completion at the input tells of it.
    OWN = 0
    #: The slot of that completion is outside the window.
    REFUSED = 1
    #: The write of an earlier one was answered with an error.
    ANSWER = 2
    #: The port does not answer under the fetch of a descriptor, or the write of a completion.
    FETCH_LOST = 3
    SEND_LOST = 4


#: What there is to do for a channel.
_Wish = data.StructLayout({"valid": 1, "job": _Job, "cause": _Cause})


class _Lost(NamedTuple):
    """Watchdogs, for each channel: what is still to be logged, pulses, levels."""

    fetch: list[Signal]
    send: list[Signal]
    fires: list[Value]
    stuck: list[Value]


class RingClient(wiring.Signature):
    """What a channel and its rings are to each other, seen from the rings."""

    def __init__(self) -> None:
        super().__init__(
            {
                "requests": Out(stream.Signature(Request)),
                "checking": In(1),  # the request is being looked at: it stays
                "completion": In(stream.Signature(Completion)),
                "interrupt": In(1),  # beside the completion: it counts
                "halt": Out(1),  # pulse: as after an error
                "extra_error": Out(1),  # pulse: an error without a completion
            }
        )


class Rings(wiring.Component):
    """Gives ``offload`` and ``prefetch`` the descriptors of their rings and those that are pushed, which go first,
    and writes their completions into the rings or, while these are not enabled, into the registers.

    ``stop``, ``stopped``
        While ``stop`` is high nothing new begins; ``stopped``: nothing is under way, and all may be reset.
    ``stored``, ``report``, ``changes``
        The registers that hardware reads, and those that it writes; what is written into either.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.registers = register_map(config)
        words = len(self.registers.kept)
        host = (config.host_data_bits, config.host_address_bits)
        super().__init__(
            {
                **{name: Out(RingClient()) for name in _NAMES},
                **{f"{name}_control": In(ChannelSignature(config)) for name in _NAMES},
                "watchdog_tick": In(1),
                "stored": Out(StoredSignature(words)),
                "report": Out(stream.Signature(ReportLayout(words))),
                "changes": In(ChangeLayout(words)),
                "fetch": Out(ReadPort(*host, id_bits=1)),
                "complete": Out(WritePort(*host, config.format.word_bits, id_bits=1)),
                "busy": Out(2),
                "stuck": Out(2),
                "stop": In(1),
                "stopped": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        controls = [getattr(self, f"{name}_control") for name in _NAMES]
        m.submodules.slot = slots = RingSlot(config)
        m.submodules.writer = writer = CompletionWriter(config)
        fetchers, sends = [], []
        for name in _NAMES:
            m.submodules[f"{name}_fetcher"] = fetcher = Fetcher(config)
            m.submodules[f"{name}_completions"] = send = CompletionRing(config)
            fetchers.append(fetcher)
            sends.append(send)

        self._reads(m, fetchers)
        self._answers(m, writer, sends)
        lost = self._watch(m, fetchers, sends, writer)
        shown = [Signal(name=f"{name}_shown") for name in _NAMES]
        logged = [Signal(name=f"{name}_logged") for name in _NAMES]
        wishes = self._wishes(m, fetchers, sends, writer, lost, shown, logged)

        # -- The job in hand. `word` counts its words, `fresh` is its first cycle, `over` its last.
        job = Signal(_Job)
        cause = Signal(_Cause)
        number = Signal()
        busy = Signal()
        fresh = Signal()
        over = Signal()
        turn = Signal()
        word = Signal(range(_WORDS))
        copied = Signal()
        stale = Signal()
        begins = Signal()
        other = Signal()
        m.d.comb += [
            other.eq(~Mux(turn, wishes[1].valid, wishes[0].valid)),
            begins.eq(~busy & (wishes[0].valid | wishes[1].valid) & ~self.stop),
        ]
        chosen = turn ^ other
        m.d.sync += fresh.eq(begins)
        with m.If(begins):
            m.d.sync += [
                busy.eq(1),
                number.eq(chosen),
                turn.eq(~chosen),
                job.eq(Mux(chosen, wishes[1].job, wishes[0].job)),
                cause.eq(Mux(chosen, wishes[1].cause, wishes[0].cause)),
            ]

        def of(values: Iterable[Value]) -> Value:
            """What belongs to the channel in hand."""
            offload, prefetch = values
            return Mux(number, prefetch, offload)

        is_ = {kind: Signal(name=f"is_{kind.name.lower()}") for kind in _Job.__members__.values()}
        by = {kind: Signal(name=f"by_{kind.name.lower()}") for kind in _Cause.__members__.values()}
        m.d.comb += [signal.eq(busy & (job == kind)) for kind, signal in is_.items()]
        m.d.comb += [signal.eq(is_[_Job.LOG] & (cause == kind)) for kind, signal in by.items()]

        # An error behind the first one is told, but leaves no record.
        valid = [Signal(name=f"{name}_error") for name in _NAMES]
        skipped = Signal()
        with m.If(begins):
            m.d.sync += skipped.eq(Mux(chosen, valid[1], valid[0]))
        unlogged = is_[_Job.LOG] & skipped

        # -- The slot.
        needs_slot = Signal()
        found = Signal()
        later = by[_Cause.ANSWER] | by[_Cause.SEND_LOST]
        m.d.comb += [
            needs_slot.eq(is_[_Job.FETCH] | is_[_Job.SEND] | ((later | by[_Cause.FETCH_LOST]) & ~skipped)),
            found.eq(~needs_slot | (slots.done & ~fresh)),
            slots.start.eq(fresh & needs_slot),
            slots.channel.eq(number),
            slots.completions.eq(is_[_Job.SEND] | later),
            slots.ring_log2.eq(of(control.ring_log2 for control in controls)),
        ]
        for kinds, values in (
            (is_[_Job.FETCH], [fetcher.asked for fetcher in fetchers]),
            (is_[_Job.SEND], [send.index for send in sends]),
            (by[_Cause.FETCH_LOST], [fetcher.head for fetcher in fetchers]),
            (later, [send.head for send in sends]),
        ):
            with m.If(kinds):
                m.d.comb += slots.index.eq(of(values))

        # -- The words.
        advance = Signal()
        primed = Signal()
        value = self._word(m, word, number, is_, by, slots.address, sends)
        self._report(m, word, number, is_, unlogged, found, value)
        pushing = primed & is_[_Job.PUSH]
        m.d.sync += primed.eq(is_[_Job.PUSH])
        m.d.comb += [
            advance.eq(
                ~copied
                & (
                    is_[_Job.SEND]
                    | (pushing & ~self.fetch.r.valid)
                    | ((is_[_Job.SHOW] | (is_[_Job.LOG] & found)) & (~self.report.valid | self.report.ready))
                )
            ),
            over.eq(busy & found & ~fresh & (copied | is_[_Job.FETCH] | unlogged)),
            writer.word_valid.eq(is_[_Job.SEND] & advance),
            writer.word.eq(word),
            writer.data.eq(value),
            self.stored.index.eq(slots.stored.index),
            slots.stored.data.eq(self.stored.data),
        ]
        with m.If(begins):
            m.d.sync += [word.eq(0), copied.eq(0), stale.eq(0)]
        with m.Elif(advance):
            m.d.sync += [word.eq(word + 1), copied.eq(word == _WORDS - 1)]
        self._push(m, fetchers, number, word, advance, pushing, is_[_Job.PUSH])

        # -- What comes of it. A ring that was disabled meanwhile, however shortly, makes the work void.
        wanted = Mux(
            is_[_Job.FETCH],
            of(fetcher.wanted for fetcher in fetchers),
            of(send.may_begin for send in sends),
        )
        with m.If(busy & ~wanted):
            m.d.sync += stale.eq(1)
        good = over & wanted & ~stale & slots.allowed
        bad = over & wanted & ~stale & ~slots.allowed
        sent = Signal()
        asks = Signal()
        refused = Signal()
        m.d.comb += [
            sent.eq(good & is_[_Job.SEND]),
            asks.eq(good & is_[_Job.FETCH]),
            refused.eq(bad & is_[_Job.SEND] & ~of(send.under_way for send in sends)),
            writer.commit.eq(sent),
            writer.channel.eq(number),
            writer.address.eq(slots.address),
            self._asking.input.valid.eq(asks),
            self._asking.input.payload.channel.eq(number),
            self._asking.input.payload.address.eq(slots.address),
        ]
        with m.If(refused):
            m.d.sync += [job.eq(_Job.LOG), cause.eq(_Cause.REFUSED), word.eq(0), copied.eq(0)]
        with m.Elif(over):
            m.d.sync += busy.eq(0)

        m.submodules.coalescer = coalescer = Coalescer(config)
        m.d.comb += coalescer.changes.eq(self.changes)
        for index, name in enumerate(_NAMES):
            client, control, coalescing = getattr(self, name), controls[index], getattr(coalescer, name)
            fetcher, send = fetchers[index], sends[index]
            mine = number == index
            completion = client.completion
            log = over & is_[_Job.LOG] & mine
            extra = log & ~by[_Cause.OWN]
            refusal = over & by[_Cause.REFUSED] & mine
            show = over & is_[_Job.SHOW] & mine
            m.d.comb += [
                fetcher.ask.eq(asks & mine),
                fetcher.refuse.eq(bad & is_[_Job.FETCH] & mine & ~fetcher.under_way),
                fetcher.address.eq(slots.address),
                fetcher.enable.eq(control.ring.enable),
                fetcher.tail.eq(control.ring.tail),
                control.ring.head.eq(fetcher.head),
                fetcher.checking.eq(client.checking),
                fetcher.stop.eq(self.stop),
                control.push_taken.eq(fetcher.taken_push),
                send.enable.eq(control.completions.enable),
                send.tail.eq(control.completions.tail),
                send.ring_log2.eq(control.ring_log2),
                control.completions.head.eq(send.head),
                send.commit.eq(sent & mine),
                send.tag.eq(completion.payload.tag),
                send.interrupt.eq(client.interrupt),
                completion.ready.eq((sent & mine) | refusal | (shown[index] & control.pop)),
                control.completion_waiting.eq(shown[index]),
                coalescing.event.eq((send.answer & send.counts) | (show & client.interrupt)),
                coalescing.count.eq(control.coalesce_count),
                control.completion_irq.eq(coalescing.interrupt),
                control.error_irq.eq(log),
                control.error_valid.eq(valid[index]),
                client.extra_error.eq(extra),
                client.halt.eq(
                    lost.fires[index]
                    | (control.halt_on_error & (self._failed[index] | (by[_Cause.REFUSED] & mine)))
                ),
                self.busy[index].eq(
                    control.push
                    | client.requests.valid
                    | fetcher.under_way
                    | send.under_way
                    | (busy & mine)
                    | (control.ring.enable & (control.ring.tail != fetcher.head))
                ),
                self.stuck[index].eq(lost.stuck[index]),
            ]
            wiring.connect(m, fetcher.requests, wiring.flipped(client.requests))
            with m.If(completion.ready):
                m.d.sync += [shown[index].eq(0), logged[index].eq(0)]
            with m.Else():
                m.d.sync += [
                    shown[index].eq(shown[index] | show),
                    logged[index].eq(logged[index] | (log & by[_Cause.OWN])),
                ]
            with m.If(log & ~skipped):
                m.d.sync += valid[index].eq(1)
            with m.Elif(control.error_clear):
                m.d.sync += valid[index].eq(0)
            m.d.comb += self._logged_answer[index].eq(log & by[_Cause.ANSWER])
            with m.If(log & by[_Cause.FETCH_LOST]):
                m.d.sync += lost.fetch[index].eq(0)
            with m.If(log & by[_Cause.SEND_LOST]):
                m.d.sync += lost.send[index].eq(0)
        m.d.comb += self.stopped.eq(
            ~busy & ~Cat(*(f.under_way for f in fetchers), *(send.under_way for send in sends)).any()
        )
        return m

    def _wishes(
        self,
        m: Module,
        fetchers: list[Fetcher],
        sends: list[CompletionRing],
        writer: CompletionWriter,
        lost: _Lost,
        shown: list[Signal],
        logged: list[Signal],
    ) -> list[data.View]:
        """What there is to do for each channel."""
        wishes = []
        for index, name in enumerate(_NAMES):
            client, control = getattr(self, name), getattr(self, f"{name}_control")
            wish = Signal(_Wish, name=f"{name}_wish")
            completion = client.completion
            waits = Signal(name=f"{name}_waits")
            m.d.comb += [waits.eq(completion.valid & ~shown[index]), wish.valid.eq(1)]
            with m.If(self._failed[index]):
                m.d.comb += [wish.job.eq(_Job.LOG), wish.cause.eq(_Cause.ANSWER)]
            with m.Elif(lost.fetch[index]):
                m.d.comb += [wish.job.eq(_Job.LOG), wish.cause.eq(_Cause.FETCH_LOST)]
            with m.Elif(lost.send[index]):
                m.d.comb += [wish.job.eq(_Job.LOG), wish.cause.eq(_Cause.SEND_LOST)]
            with m.Elif(waits & (completion.payload.status != Status.OK) & ~logged[index]):
                m.d.comb += [wish.job.eq(_Job.LOG), wish.cause.eq(_Cause.OWN)]
            with m.Elif(waits & ~control.completions.enable):
                m.d.comb += wish.job.eq(_Job.SHOW)
            with m.Elif(waits & sends[index].may_begin & writer.room):
                m.d.comb += wish.job.eq(_Job.SEND)
            with m.Elif(control.push & ~fetchers[index].pushed):
                m.d.comb += wish.job.eq(_Job.PUSH)
            with m.Elif(fetchers[index].wanted & self._asking.input.ready):
                m.d.comb += wish.job.eq(_Job.FETCH)
            with m.Else():
                m.d.comb += wish.valid.eq(0)
            wishes.append(wish)
        return wishes

    def _reads(self, m: Module, fetchers: list[Fetcher]) -> None:
        """Addresses out, descriptors in."""
        ar, r = self.fetch.ar, self.fetch.r
        parts = fetchers[0].parts
        where = data.StructLayout({"channel": 1, "address": len(ar.payload.address)})
        m.submodules.asking = self._asking = asking = Fifo(where, _READS)
        m.d.comb += [
            ar.valid.eq(asking.output.valid),
            asking.output.ready.eq(ar.ready),
            ar.payload.id.eq(asking.output.payload.channel),
            ar.payload.address.eq(asking.output.payload.address),
            ar.payload.len.eq(parts - 1),
            ar.payload.size.eq(exact_log2(fetchers[0].part_bits // 8)),
            r.ready.eq(1),
        ]
        for index, fetcher in enumerate(fetchers):
            m.d.comb += [
                fetcher.beat.eq(r.valid & (r.payload.id == index)),
                fetcher.last.eq(r.payload.last),
                fetcher.response.eq(r.payload.resp),
            ]

    def _push(
        self,
        m: Module,
        fetchers: list[Fetcher],
        number: Value,
        word: Signal,
        advance: Value,
        pushing: Value,
        is_push: Value,
    ) -> None:
        """A pushed descriptor on its way from the registers; the one multiplexer between it and the bus."""
        parts = record_parts(DESCRIPTOR, "flags")
        names = {part.word: f"push.{part.register}" for part in parts}
        wanted = Signal(range(_WORDS))
        m.d.comb += wanted.eq(word + advance)
        with m.If(is_push), m.Switch(wanted):
            for at, name in names.items():
                with m.Case(at):
                    m.d.comb += self.stored.index.eq(self.registers.word(name))
        part_bits = fetchers[0].part_bits
        pushed = Mux(word < len(names), self.stored.data, 0)
        beat = self.fetch.r.payload.data
        for index, fetcher in enumerate(fetchers):
            m.d.comb += [
                fetcher.word_valid.eq(pushing & advance & (number == index)),
                fetcher.word.eq(word),
            ]
        if len(beat) > part_bits:
            upper = Mux(self.fetch.r.payload.id, fetchers[1].upper, fetchers[0].upper)
            beat = Mux(upper, beat[part_bits:], beat[:part_bits])
        both = Signal(part_bits)
        m.d.comb += both.eq(Mux(pushing & ~self.fetch.r.valid, pushed.replicate(part_bits // _WORD), beat))
        m.d.comb += [fetcher.data.eq(both) for fetcher in fetchers]

    def _answers(self, m: Module, writer: CompletionWriter, sends: list[CompletionRing]) -> None:
        """Completions out, answers in: one that tells of an error waits until that is logged."""
        wiring.connect(m, writer.port.aw, wiring.flipped(self.complete.aw))
        wiring.connect(m, writer.port.w, wiring.flipped(self.complete.w))
        b = self.complete.b
        failed = Value.cast(b.payload.resp)[1]
        self._failed = [Signal(name=f"{name}_failed") for name in _NAMES]
        self._logged_answer = [Signal(name=f"{name}_logged_answer") for name in _NAMES]
        for index, send in enumerate(sends):
            here = Signal(name=f"{_NAMES[index]}_answer")
            m.d.comb += [
                here.eq(b.valid & (b.payload.id == index) & send.expects),
                self._failed[index].eq(here & failed),
                send.answer.eq(here & (~failed | self._logged_answer[index] | self.stop)),
            ]
        m.d.comb += b.ready.eq(sends[0].answer | sends[1].answer)

    def _watch(
        self, m: Module, fetchers: list[Fetcher], sends: list[CompletionRing], writer: CompletionWriter
    ) -> _Lost:
        """A ring that is not answered stops the channel; there is no descriptor to blame."""
        lost = _Lost([], [], [], [])
        ar, r, aw, w = self.fetch.ar, self.fetch.r, self.complete.aw, self.complete.w
        for index, name in enumerate(_NAMES):
            fires, stuck = [], []
            for what, waiting, progress, flags in (
                (
                    "fetch",
                    fetchers[index].under_way,
                    (ar.valid & ar.ready & (ar.payload.id == index)) | (r.valid & (r.payload.id == index)),
                    lost.fetch,
                ),
                (
                    "send",
                    sends[index].under_way,
                    (aw.valid & aw.ready & (aw.payload.id == index))
                    | (w.valid & w.ready & (writer.sending == index))
                    | sends[index].answer,
                    lost.send,
                ),
            ):
                m.submodules[f"{name}_{what}_watchdog"] = watchdog = Watchdog()
                was = Signal(name=f"{name}_{what}_was")
                flag = Signal(name=f"{name}_{what}_lost")
                fire = Signal(name=f"{name}_{what}_fires")
                m.d.comb += [
                    watchdog.tick.eq(self.watchdog_tick),
                    watchdog.waiting.eq(waiting),
                    watchdog.progress.eq(progress),
                    fire.eq(watchdog.fired & ~was),
                ]
                m.d.sync += was.eq(watchdog.fired)
                with m.If(fire):
                    m.d.sync += flag.eq(1)
                flags.append(flag)
                fires.append(fire)
                stuck.append(watchdog.fired)
            lost.fires.append(fires[0] | fires[1])
            lost.stuck.append(stuck[0] | stuck[1])
        return lost

    def _word(
        self,
        m: Module,
        word: Signal,
        number: Value,
        is_: dict[Any, Signal],
        by: dict[Any, Signal],
        address: Value,
        sends: list[CompletionRing],
    ) -> Value:
        """The word of the completion in hand, or of the error."""
        foreign = is_[_Job.LOG] & ~by[_Cause.OWN]
        at = {part.word: part for part in record_parts(COMPLETION, "result")}
        tag, low, high, result = (_word_of(name) for name in ("tag", "address", "address_high", "status"))
        terms: list[Value] = []
        for index, name in enumerate(_NAMES):
            record = getattr(self, name).completion.payload.as_value()
            for place in at:
                own = ~foreign | (by[_Cause.REFUSED] if place == tag else C(0))
                here = (number == index) & (word == place) & own
                terms.append(Mux(here, record[place * _WORD : (place + 1) * _WORD], 0))
            answered = (number == index) & (word == tag) & by[_Cause.ANSWER]
            terms.append(Mux(answered, sends[index].answered_tag, 0))
        status = Signal(_WORD)
        decerr = self.complete.b.payload.resp == Response.DECERR
        m.d.comb += status.eq(Status.WATCHDOG)
        with m.If(by[_Cause.REFUSED]):
            m.d.comb += status.eq(Status.WINDOW)
        with m.Elif(by[_Cause.ANSWER]):
            m.d.comb += status.eq(Mux(decerr, Status.COMPLETION_DECERR, Status.COMPLETION_SLVERR))
        terms += [
            Mux(foreign & (word == low), address[:_WORD], 0),
            Mux(foreign & (word == high), address[_WORD:], 0),
            Mux(foreign & (word == result), status, 0),
        ]
        phase = Mux(number, sends[1].phase, sends[0].phase) & is_[_Job.SEND] & (word == _WORDS - 1)
        whole = Signal(_WORD)
        m.d.comb += whole.eq(reduce(or_, terms) | (phase << (_WORD - 1)))
        return whole

    def _report(
        self,
        m: Module,
        word: Signal,
        number: Value,
        is_: dict[Any, Signal],
        unlogged: Value,
        found: Value,
        value: Value,
    ) -> None:
        """The registers that the word belongs to."""
        report = self.report
        m.d.comb += report.payload.data.eq(value)
        shows = {part.word: f"completion_{part.register}" for part in record_parts(COMPLETION, "result")}
        logs = {
            _word_of("status"): "error",
            _word_of("tag"): "error_tag",
            _word_of("address"): "error_address_low",
            _word_of("address_high"): "error_address_high",
        }
        for active, names in (
            (is_[_Job.SHOW], shows),
            (is_[_Job.LOG] & ~unlogged & found, logs),
        ):
            with m.If(active), m.Switch(Cat(word, number)):
                for index, name in enumerate(_NAMES):
                    for place, register in names.items():
                        with m.Case(place | index * _WORDS):
                            m.d.comb += [
                                report.valid.eq(1),
                                report.payload.index.eq(self.registers.word(f"{name}.{register}")),
                            ]


def _word_of(name: str) -> int:
    """Which word of a completion the field, or its ``_high`` half, is in."""
    field, half = name.removesuffix("_high"), int(name.endswith("_high"))
    return next(f.byte for f in COMPLETION if f.name == field) // 4 + half
