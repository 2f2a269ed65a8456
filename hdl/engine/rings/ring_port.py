"""One queue at the rings: its descriptors, its completions, and its errors."""

from typing import Any

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import Response
from cdma.hdl.blocks.elaboration import Pace, copies
from cdma.hdl.engine.control.interfaces import ChannelSignature
from cdma.hdl.spec.engine import EngineConfig

from .completion_ring import CompletionRing
from .fetcher import Fetcher
from .indexes import IndexSignature
from .messages import Cause, Job, RingClient, Wish
from .store import EntriesSignature
from .watches import KINDS

#: What comes of the job in hand. The first four are pulses at its end.
#:
#: ``asks``, ``sent``, ``bad``
#:     The descriptor at ``address`` is requested; the completion is on its way there; the engine may not touch it.
#: ``over``
#:     The last cycle of the job.
#: ``is_fetch``, ``is_show``, ``is_log``, ``by``, ``recorded``
#:     Which job it is, the cause of a ``LOG``, and whether that has a record in the registers.
#: ``looks``
#:     The completion is looked at, before it is sent or shown: what it reports is logged first.
#: ``interrupt``
#:     The completion counts towards the interrupt.
JobEnd = data.StructLayout(
    {
        **dict.fromkeys(("asks", "sent", "bad", "over", "is_fetch", "is_show", "is_log", "recorded"), 1),
        "by": len(Cause),
        "address": 64,
        "looks": 1,
        "interrupt": 1,
    }
)


class QueueState(data.StructLayout):
    """What the sequencer must know of the queue whose job is in hand: of the fetcher ``wanted`` and ``extends``; of the
    completion ring ``may_begin`` and ``in_flight``; how many records of either are in flight, ``fetching`` and
    ``sending``; whether its completion has been ``looked`` at, and whether its registers hold an ``error``."""

    def __init__(self, config: EngineConfig) -> None:
        behind = IndexSignature(config).members["behind"].shape
        bits = dict.fromkeys(("wanted", "extends", "may_begin", "in_flight", "looked", "error"), 1)
        super().__init__({**bits, "fetching": behind, "sending": behind})


class RingPort(wiring.Component):
    """A queue's fetcher and completion ring, and what the sequencer must know of it.

    ``client``, ``control``: The channel, and its registers.
    ``shown``: Pulse: a completion is in the registers that counts towards the interrupt.
    ``busy``, ``stuck``, ``behind``: High while there is something to do, while the port does not answer, and while the
        ring has descriptors that are not fetched yet.
    ``stopped``: High while nothing is in flight.
    ``beat``, ``last``, ``response``, ``upper``, ``word_valid``, ``word``, ``shaped``, ``entries``: Those of
        the :class:`.Fetcher`.
    ``descriptors_index``, ``completions_index``, ``settles``, ``steps``: Those of both rings, and a pulse: a record of the
        job in hand is moved: see :class:`.RingIndexes`.
    ``fetch_waits``, ``send_waits``, ``watch_logged``, …: Its watchdogs: see :class:`.BusWatches`.
    ``answers``, ``answer``, ``takes``: A response to the oldest completion is at the port, and what it is; it is taken,
        but an error only once it is logged.
    ``may_fetch``, ``may_send``: A descriptor can be requested, and a completion be written.
    ``wish``, ``state``: The next job, and what that must know. Errors come first, because the completions after them
        wait.
    ``mine``, ``job``: The job in hand is one of this queue, and what comes of it.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.fetcher = Fetcher(config)
        self.completions = CompletionRing(config)
        passed = ("beat", "last", "response", "upper", "word_valid", "word", "shaped")
        members = self.fetcher.signature.members
        flags = (
            "stop",
            "settles",
            "answers",
            "may_fetch",
            "may_send",
            "mine",
        )
        self._passed = [name for name in passed if name in members]
        super().__init__(
            {
                "client": Out(RingClient()),
                "control": In(ChannelSignature(config)),
                **dict.fromkeys(("shown", "busy", "stuck", "behind", "stopped", "takes"), Out(1)),
                **dict.fromkeys(flags, In(1)),
                **{f"watch_{name}": In(len(KINDS)) for name in ("fires", "stuck", "lost")},
                **{f"{kind}_waits": Out(1) for kind in KINDS},
                "watch_logged": Out(len(KINDS)),
                **{name: members[name] for name in self._passed},
                "entries": Out(EntriesSignature(config)),
                "descriptors_index": Out(IndexSignature(config)),
                "completions_index": Out(IndexSignature(config)),
                "steps": Out(1),
                "answer": In(Response),
                "wish": Out(Wish),
                "state": Out(QueueState(config)),
                "job": In(JobEnd),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.fetcher = fetcher = self.fetcher
        m.submodules.completions = completions = self.completions
        self.failed, self.shows, self.looked, self.error = (
            Signal(name=name) for name in ("failed", "shows", "looked", "error")
        )
        for ring, index in ((fetcher, self.descriptors_index), (completions, self.completions_index)):
            wiring.connect(m, ring.index, wiring.flipped(index))
            m.d.comb += ring.settles.eq(self.settles)
        for name in self._passed:
            inner, outer = getattr(fetcher, name), getattr(self, name)
            m.d.comb += outer.eq(inner) if name == "upper" else inner.eq(outer)
        wiring.connect(m, fetcher.entries, wiring.flipped(self.entries))
        self._follow(m)
        self._watch(m)
        self._wish(m)
        self._descriptors(m)
        self._completions(m)
        self._errors(m)
        state = self.state
        m.d.comb += [
            state.wanted.eq(fetcher.wanted),
            *copies(state, completions, "may_begin", "in_flight"),
            state.fetching.eq(fetcher.index.behind),
            state.sending.eq(completions.index.behind),
            self.steps.eq(fetcher.ask | fetcher.refuse | completions.commit),
            state.error.eq(self.error),
            state.looked.eq(self.looked),
            self.stopped.eq(~fetcher.in_flight & ~completions.in_flight),
        ]
        if self.config.dimensions:
            m.d.comb += state.extends.eq(fetcher.entries.further)
        return m

    def _ends(self, kind: str) -> Value:
        """High in the last cycle of such a job of this queue."""
        return self.mine & self.job.over & self.job[f"is_{kind}"]

    def _by(self, cause: Any) -> Value:
        return self.job.by[cause.value]

    def _follow(self, m: Module) -> None:
        """What software says of the rings: with pipelined codecs out of registers, as it goes far."""
        domain = Pace(m, self.config).d
        domain += [
            self.fetcher.enable.eq(self.control.ring_enable),
            self.completions.enable.eq(self.control.completions_enable),
        ]

    def _watch(self, m: Module) -> None:
        """Tells the watchdogs what is in flight, and which errors are logged."""
        m.d.comb += [
            self.fetch_waits.eq(self.fetcher.in_flight),
            self.send_waits.eq(self.completions.in_flight),
            self.watch_logged.eq(
                Cat(self._ends("log") & self._by(cause) for cause in (Cause.FETCH_LOST, Cause.SEND_LOST))
            ),
        ]

    def _wish(self, m: Module) -> None:
        completions, wish = self.completions, self.wish
        waits = Signal()
        sends = Signal()
        m.d.comb += [
            waits.eq(self.client.waiting & ~self.shows),
            # A completion is looked at although its ring is full.
            sends.eq(waits & self.may_send & (completions.may_begin | ~self.looked)),
            wish.valid.eq(~self.stop),
        ]
        with m.If(self.failed):
            m.d.comb += [wish.job.eq(Job.LOG), wish.cause.eq(Cause.ANSWER)]
        with m.Elif(self.watch_lost[0]):
            m.d.comb += [wish.job.eq(Job.LOG), wish.cause.eq(Cause.FETCH_LOST)]
        with m.Elif(self.watch_lost[1]):
            m.d.comb += [wish.job.eq(Job.LOG), wish.cause.eq(Cause.SEND_LOST)]
        with m.Elif(waits & ~completions.enable):
            m.d.comb += wish.job.eq(Job.SHOW)
        with m.Elif(sends):
            m.d.comb += wish.job.eq(Job.SEND)
        with m.Elif(self.control.push & ~self.fetcher.entries.pushed):
            m.d.comb += wish.job.eq(Job.PUSH)
        with m.Else():
            m.d.comb += [
                wish.job.eq(Job.FETCH),
                wish.valid.eq(self.fetcher.wanted & self.may_fetch & ~self.stop),
            ]

    def _descriptors(self, m: Module) -> None:
        """The ring of descriptors, and a pushed one. ``busy`` is high also while the ring is ``behind``."""
        fetcher, control, job = self.fetcher, self.control, self.job
        m.d.comb += [
            self.behind.eq(control.ring_enable & fetcher.index.waits),
            fetcher.ask.eq(job.asks & self.mine),
            fetcher.refuse.eq(job.bad & job.is_fetch & self.mine & ~fetcher.in_flight),
            fetcher.address.eq(job.address),
            self.client.offers.eq(fetcher.entries.offers),
            fetcher.stop.eq(self.stop),
            control.push_taken.eq(fetcher.taken_push),
            self.busy.eq(
                control.push
                | fetcher.entries.held
                | fetcher.in_flight
                | fetcher.arrived
                | self.completions.in_flight
                | self.behind
            ),
        ]

    def _completions(self, m: Module) -> None:
        """The ring of completions, and the completion in the registers."""
        completions, control, client = self.completions, self.control, self.client
        sent = self.job.sent & self.mine
        expected = self.answers & completions.in_flight
        logged = self._ends("log") & self._by(Cause.ANSWER)
        bad = self.answer.as_value()[1]
        m.d.comb += [
            self.failed.eq(expected & bad),
            completions.answer.eq(expected & (~bad | logged | self.stop)),
            self.takes.eq(completions.answer),
            completions.commit.eq(sent),
            completions.aborting.eq(client.aborting),
            client.settling.eq(completions.settling),
            client.taken.eq(
                sent | (self._ends("log") & self._by(Cause.REFUSED)) | (self.shows & control.pop)
            ),
            control.completion_waiting.eq(self.shows),
            self.shown.eq(self._ends("show") & self.job.interrupt),
        ]
        with m.If(client.taken):
            m.d.sync += [self.shows.eq(0), self.looked.eq(0)]
        with m.Else():
            m.d.sync += [
                self.shows.eq(self.shows | self._ends("show")),
                self.looked.eq(self.looked | (self.job.looks & self.mine)),
            ]

    def _errors(self, m: Module) -> None:
        """Reports the errors that have no completion. They may halt the channel."""
        client, control = self.client, self.control
        logs = self._ends("log")
        m.d.comb += [
            control.error_irq.eq(logs),
            control.error_valid.eq(self.error),
            client.extra_error.eq(logs & ~self._by(Cause.OWN)),
            client.halt.eq(
                self.watch_fires.any()
                | (control.halt_on_error & (self.failed | (self._by(Cause.REFUSED) & self.mine)))
            ),
            self.stuck.eq(self.watch_stuck.any()),
        ]
        with m.If(logs & self.job.recorded):
            m.d.sync += self.error.eq(1)
        with m.Elif(control.error_clear):
            m.d.sync += self.error.eq(0)
