"""One channel at the rings: its descriptors, its completions, and its errors."""

from typing import NamedTuple

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data, stream, wiring

from cdma.hdl.blocks.elaboration import Pace
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import Status

from .completion_ring import CompletionRing
from .fetcher import Fetcher
from .messages import BusWatch, Cause, Job, Wish
from .slot import Conclusion, Sequencer


class _Ends(NamedTuple):
    """High in the last cycle of a job of this channel; ``mine`` is high during all of it."""

    mine: Value
    log: Value
    refusal: Value
    show: Value


class RingPort:
    """A channel's fetcher and completion ring, and what the sequencer must know of the channel, as signals of one
    module. The methods add the statements that drive them, each once.

    ``rings``
        The component whose ports the channel shares with the other one.
    ``client``, ``control``
        The channel, a :class:`.RingClient`, and its registers, a :class:`.ChannelSignature` seen from the engine.
    ``failed``
        High while the response at the port reports an error.
    ``answer_logged``
        Pulse: that error is logged, so the response is taken.
    ``shown``
        High while the completion at the input is in the registers.
    ``own_logged``
        High once the error of that completion is in the registers.
    ``error``
        High while the registers hold an error.
    ``behind``
        High while the ring has descriptors that are not fetched yet.
    """

    def __init__(self, config: EngineConfig, index: int, name: str, rings: wiring.Component) -> None:
        self.index = index
        self.name = name
        self.rings = rings
        self.client = getattr(rings, name)
        self.control = getattr(rings, f"{name}_control")
        self.pipelined = config.pipelined
        self.fetcher = Fetcher(config)
        self.completions = CompletionRing(config)
        self.fetch_watch = BusWatch(f"{name}_fetch")
        self.send_watch = BusWatch(f"{name}_send")
        self.failed = Signal(name=f"{name}_failed")
        self.answer_logged = Signal(name=f"{name}_logged_answer")
        self.shown = Signal(name=f"{name}_shown")
        self.own_logged = Signal(name=f"{name}_logged")
        self.error = Signal(name=f"{name}_error")
        self.behind = Signal(name=f"{name}_behind")

    def take_descriptors(self, m: Module, r: stream.Interface) -> None:
        """Gives the fetcher the beats of its ID."""
        m.d.comb += [
            self.fetcher.beat.eq(r.valid & (r.payload.id == self.index)),
            self.fetcher.last.eq(r.payload.last),
            self.fetcher.response.eq(r.payload.resp),
        ]

    def take_answers(self, m: Module) -> None:
        """Gives the completion ring the responses of its ID. An error at the port is taken when it is logged."""
        b = self.rings.complete.b
        here = Signal(name=f"{self.name}_answer")
        failed = Value.cast(b.payload.resp)[1]
        m.d.comb += [
            here.eq(b.valid & (b.payload.id == self.index) & self.completions.expects),
            self.failed.eq(here & failed),
            self.completions.answer.eq(here & (~failed | self.answer_logged | self.rings.stop)),
        ]

    def watch(self, m: Module, r: stream.Interface, sending: Value) -> None:
        """Watches both kinds of transfers; ``r`` has what arrives, and ``sending`` is the channel whose data the port
        offers."""
        ar = self.rings.fetch.ar
        aw, w = self.rings.complete.aw, self.rings.complete.w
        tick = self.rings.watchdog_tick
        index = self.index
        self.fetch_watch.watch(
            m,
            tick,
            self.fetcher.in_flight,
            (ar.valid & ar.ready & (ar.payload.id == index)) | (r.valid & (r.payload.id == index)),
        )
        self.send_watch.watch(
            m,
            tick,
            self.completions.in_flight,
            (aw.valid & aw.ready & (aw.payload.id == index))
            | (w.valid & w.ready & (sending == index))
            | self.completions.answer,
        )

    def wish(self, m: Module, writer_ready: Value, asking_ready: Value) -> data.View:
        """The next job. Errors come first, because the completions after them wait."""
        completion, control, fetcher = self.client.completion, self.control, self.fetcher
        wish = Signal(Wish, name=f"{self.name}_wish")
        waits = Signal(name=f"{self.name}_waits")
        m.d.comb += [waits.eq(completion.valid & ~self.shown), wish.valid.eq(1)]
        own_error = waits & (completion.payload.status != Status.OK) & ~self.own_logged
        shows = waits & ~self.completions.enable
        sends = waits & self.completions.may_begin & writer_ready
        pushes = control.push & ~fetcher.pushed
        with m.If(self.failed):
            m.d.comb += [wish.job.eq(Job.LOG), wish.cause.eq(Cause.ANSWER)]
        with m.Elif(self.fetch_watch.lost):
            m.d.comb += [wish.job.eq(Job.LOG), wish.cause.eq(Cause.FETCH_LOST)]
        with m.Elif(self.send_watch.lost):
            m.d.comb += [wish.job.eq(Job.LOG), wish.cause.eq(Cause.SEND_LOST)]
        with m.Elif(own_error):
            m.d.comb += [wish.job.eq(Job.LOG), wish.cause.eq(Cause.OWN)]
        with m.Elif(shows):
            m.d.comb += wish.job.eq(Job.SHOW)
        with m.Elif(sends):
            m.d.comb += wish.job.eq(Job.SEND)
        with m.Elif(pushes):
            m.d.comb += wish.job.eq(Job.PUSH)
        with m.Elif(fetcher.wanted & asking_ready):
            m.d.comb += wish.job.eq(Job.FETCH)
        with m.Else():
            m.d.comb += wish.valid.eq(0)
        return wish

    def conclude(
        self,
        m: Module,
        sequencer: Sequencer,
        conclusion: Conclusion,
        coalescing: wiring.PureInterface,
    ) -> None:
        """Reports what comes of the job in hand to the fetcher, the completion ring, the registers and the channel."""
        mine = sequencer.channel == self.index
        ends = _Ends(
            mine,
            log=sequencer.over & sequencer.is_[Job.LOG] & mine,
            refusal=sequencer.over & sequencer.by[Cause.REFUSED] & mine,
            show=sequencer.over & sequencer.is_[Job.SHOW] & mine,
        )
        self._follow(m)
        self._descriptors(m, sequencer, conclusion, mine)
        self._completions(m, conclusion, ends)
        self._interrupts(m, ends, coalescing)
        self._errors(m, sequencer, ends)
        self._status(m, sequencer, mine)
        wiring.connect(m, self.fetcher.requests, wiring.flipped(self.client.requests))
        self._remember(m, sequencer, ends)

    def _descriptors(self, m: Module, sequencer: Sequencer, conclusion: Conclusion, mine: Value) -> None:
        """The ring of descriptors, and a pushed one."""
        fetcher, control = self.fetcher, self.control
        m.d.comb += [
            fetcher.ask.eq(conclusion.asks & mine),
            fetcher.refuse.eq(conclusion.bad & sequencer.is_[Job.FETCH] & mine & ~fetcher.in_flight),
            fetcher.address.eq(conclusion.address),
            fetcher.checking.eq(self.client.checking),
            fetcher.stop.eq(self.rings.stop),
            control.push_taken.eq(fetcher.taken_push),
        ]

    def _follow(self, m: Module) -> None:
        """What software says of the rings, and what it reads of them: with pipelined codecs out of registers, as it goes
        far."""
        domain = Pace(m, self.pipelined).d
        control = self.control
        domain += [
            self.fetcher.enable.eq(control.ring.enable),
            self.fetcher.tail.eq(control.ring.tail),
            self.completions.enable.eq(control.completions.enable),
            self.completions.tail.eq(control.completions.tail),
            self.completions.ring_log2.eq(control.ring_log2),
            control.ring.head.eq(self.fetcher.head),
            control.completions.head.eq(self.completions.head),
        ]

    def _completions(self, m: Module, conclusion: Conclusion, ends: _Ends) -> None:
        """The ring of completions, and the completion in the registers."""
        completions, control, completion = self.completions, self.control, self.client.completion
        m.d.comb += [
            completions.commit.eq(conclusion.sent & ends.mine),
            completions.tag.eq(completion.payload.tag),
            completions.interrupt.eq(self.client.interrupt),
            completions.aborting.eq(self.client.aborting),
            self.client.settling.eq(completions.settling),
            completion.ready.eq((conclusion.sent & ends.mine) | ends.refusal | (self.shown & control.pop)),
            control.completion_waiting.eq(self.shown),
        ]

    def _interrupts(self, m: Module, ends: _Ends, coalescing: wiring.PureInterface) -> None:
        completions, control = self.completions, self.control
        m.d.sync += coalescing.event.eq(
            (completions.answer & completions.counts) | (ends.show & self.client.interrupt)
        )
        m.d.comb += [
            coalescing.count.eq(control.coalesce_count),
            control.completion_irq.eq(coalescing.interrupt),
            control.error_irq.eq(ends.log),
        ]

    def _errors(self, m: Module, sequencer: Sequencer, ends: _Ends) -> None:
        """Reports the errors that have no completion. They may halt the channel."""
        client, control = self.client, self.control
        m.d.comb += [
            control.error_valid.eq(self.error),
            client.extra_error.eq(ends.log & ~sequencer.by[Cause.OWN]),
            client.halt.eq(
                (self.fetch_watch.fires | self.send_watch.fires)
                | (control.halt_on_error & (self.failed | (sequencer.by[Cause.REFUSED] & ends.mine)))
            ),
        ]

    def _status(self, m: Module, sequencer: Sequencer, mine: Value) -> None:
        """``busy`` is high also while the ring is ``behind``."""
        fetcher, control = self.fetcher, self.control
        m.d.sync += self.behind.eq(control.ring.enable & (control.ring.tail != control.ring.head))
        m.d.comb += [
            self.rings.busy[self.index].eq(
                control.push
                | self.client.requests.valid
                | fetcher.in_flight
                | fetcher.arrived
                | self.completions.in_flight
                | (sequencer.busy & mine)
                | self.behind
            ),
            self.rings.stuck[self.index].eq(self.fetch_watch.stuck | self.send_watch.stuck),
        ]

    def _remember(self, m: Module, sequencer: Sequencer, ends: _Ends) -> None:
        """Keeps what is in the registers, and which errors are still to be logged."""
        by = sequencer.by
        with m.If(self.client.completion.ready):
            m.d.sync += [self.shown.eq(0), self.own_logged.eq(0)]
        with m.Else():
            m.d.sync += [
                self.shown.eq(self.shown | ends.show),
                self.own_logged.eq(self.own_logged | (ends.log & by[Cause.OWN])),
            ]
        with m.If(ends.log & ~sequencer.skipped):
            m.d.sync += self.error.eq(1)
        with m.Elif(self.control.error_clear):
            m.d.sync += self.error.eq(0)
        m.d.comb += self.answer_logged.eq(ends.log & by[Cause.ANSWER])
        self.fetch_watch.forget(m, ends.log & by[Cause.FETCH_LOST])
        self.send_watch.forget(m, ends.log & by[Cause.SEND_LOST])
