"""A channel behind rings: what one half of the register block controls."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..params import EngineConfig
from .axi import ReadPort, WritePort
from .channel import Channel
from .completion_writer import CompletionWriter
from .counters import Counters
from .fetcher import Fetcher
from .interfaces import ChannelSignature, CounterPort, Window
from .interrupts import Coalescer
from .records import Status
from .watchdog import Watchdog

__all__ = ["RingChannel"]


class RingChannel(wiring.Component):
    """A channel with its rings, its interrupts, its error register and its counters.

    Descriptors come from the ring and from ``control.push``, which goes first; completions go to the ring or,
    while that is not enabled, to ``control.completion``.

    ``stop``, ``stopped``
        While ``stop`` is high nothing new begins; ``stopped``: nothing is under way, on any port, and all of
        it may be reset.
    """

    def __init__(self, config: EngineConfig, compressing: bool) -> None:
        self.config = config
        self.channel = Channel(config, compressing)
        host = (config.host_data_bits, config.host_address_bits)
        members = self.channel.signature.members
        super().__init__(
            {
                "control": In(ChannelSignature(config)),
                "counters": In(CounterPort()),
                "clear_counters": In(1),
                "dev_window": In(Window),
                "host_window": In(Window),
                "watchdog_cycles": In(32),
                "source": members["source"],
                "sink": members["sink"],
                "fetch": Out(ReadPort(*host)),
                "complete": Out(WritePort(*host, config.format.word_bits)),
                "stop": In(1),
                "stopped": Out(1),
            }
        )
        self.compressing = compressing

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, control = self.config, self.control
        m.submodules.channel = channel = self.channel
        m.submodules.fetcher = fetcher = Fetcher(config)
        m.submodules.writer = writer = CompletionWriter(config)
        m.submodules.counters = counters = Counters()
        m.submodules.coalescer = coalescer = Coalescer()
        wiring.connect(m, channel.source, wiring.flipped(self.source))
        wiring.connect(m, channel.sink, wiring.flipped(self.sink))
        wiring.connect(m, fetcher.port, wiring.flipped(self.fetch))
        wiring.connect(m, writer.port, wiring.flipped(self.complete))
        read_window, write_window = self.dev_window, self.host_window
        if not self.compressing:
            read_window, write_window = write_window, read_window
        m.d.comb += [
            channel.values.eq(control.values),
            channel.read_window.eq(read_window),
            channel.write_window.eq(write_window),
            channel.watchdog_cycles.eq(self.watchdog_cycles),
            channel.enable.eq(control.enable),
            channel.halt_on_error.eq(control.halt_on_error),
            channel.resume.eq(control.resume),
            channel.abort.eq(control.abort),
            channel.stop.eq(self.stop),
        ]
        for ring, block in ((control.ring, fetcher), (control.completions, writer)):
            m.d.comb += [
                block.enable.eq(ring.enable),
                block.base.eq(ring.base),
                block.ring_log2.eq(control.ring_log2),
                block.tail.eq(ring.tail),
                block.window.eq(self.host_window),
                block.stop.eq(self.stop),
                ring.head.eq(block.head),
            ]

        # Requests: a choice stays as long as the channel works on it.
        pushed, kept = Signal(), Signal()
        m.d.comb += pushed.eq(Mux(channel.checking, kept, control.push.valid))
        m.d.sync += kept.eq(pushed)
        with m.If(pushed):
            m.d.comb += [
                channel.requests.valid.eq(control.push.valid),
                channel.requests.payload.descriptor.eq(control.push.payload),
                control.push.ready.eq(channel.requests.ready),
            ]
        with m.Else():
            m.d.comb += [
                channel.requests.valid.eq(fetcher.requests.valid),
                channel.requests.payload.eq(fetcher.requests.payload),
                fetcher.requests.ready.eq(channel.requests.ready),
                fetcher.held.eq(channel.checking),
            ]

        # Completions, through the counters.
        wiring.connect(m, channel.completion, counters.input)
        completed = counters.output
        done = Signal()
        direct_counts = Signal()
        m.d.comb += [
            counters.words.eq(channel.completion_words),
            counters.events.eq(channel.events),
            counters.clear.eq(self.clear_counters),
            writer.completion.payload.eq(completed.payload),
            writer.interrupt.eq(channel.completion_interrupt),
            control.completion.payload.eq(completed.payload),
            done.eq(completed.valid & completed.ready),
        ]
        wiring.connect(m, wiring.flipped(self.counters), counters.read)
        shown = Signal()
        with m.If(writer.busy | (control.completions.enable & ~shown)):
            m.d.comb += [
                writer.completion.valid.eq(completed.valid),
                completed.ready.eq(writer.completion.ready),
            ]
        with m.Else():
            m.d.comb += [
                control.completion.valid.eq(completed.valid),
                completed.ready.eq(control.completion.ready),
                # It counts when software can see it, once.
                direct_counts.eq(completed.valid & ~shown & channel.completion_interrupt),
            ]
            m.d.sync += shown.eq(completed.valid & ~completed.ready)
        m.d.comb += [
            coalescer.event.eq((writer.written & writer.counts) | direct_counts),
            coalescer.count.eq(control.coalesce_count),
            coalescer.cycles.eq(control.coalesce_cycles),
            control.completion_irq.eq(coalescer.interrupt),
        ]

        # A ring that is not answered stops the channel; there is no descriptor to blame.
        watch = {}
        for name, block in (("fetch", fetcher), ("complete", writer)):
            m.submodules[f"{name}_watchdog"] = watch[name] = watchdog = Watchdog()
            m.d.comb += [
                watchdog.limit.eq(self.watchdog_cycles),
                watchdog.waiting.eq(~block.idle),
                watchdog.progress.eq(block.progress),
            ]
        fetch_lost, complete_lost = Signal(), Signal()
        was_fetch, was_complete = Signal(), Signal()
        m.d.sync += [was_fetch.eq(watch["fetch"].fired), was_complete.eq(watch["complete"].fired)]
        m.d.comb += [
            fetch_lost.eq(watch["fetch"].fired & ~was_fetch),
            complete_lost.eq(watch["complete"].fired & ~was_complete),
        ]

        # Errors, the first kept until software clears it.
        error = control.error
        failed = Signal()
        extra = Signal()
        m.d.comb += [
            extra.eq(fetch_lost | complete_lost | writer.failed),
            counters.extra_error.eq(extra),
            channel.halt.eq(fetch_lost | complete_lost | (writer.failed & control.halt_on_error)),
            failed.eq(done & (completed.payload.status != Status.OK)),
            control.error_irq.eq(extra | failed),
        ]
        with m.If(control.error_clear):
            m.d.sync += error.valid.eq(0)
        with m.If((extra | failed) & (~error.valid | control.error_clear)):
            m.d.sync += error.valid.eq(1)
            with m.If(writer.failed):
                m.d.sync += [
                    error.status.eq(writer.status),
                    error.tag.eq(writer.tag),
                    error.address.eq(writer.address),
                ]
            with m.Elif(fetch_lost | complete_lost):
                m.d.sync += [
                    error.status.eq(Status.WATCHDOG),
                    error.tag.eq(0),
                    error.address.eq(Mux(fetch_lost, fetcher.oldest, writer.oldest)),
                ]
            with m.Else():
                m.d.sync += [
                    error.status.eq(completed.payload.status),
                    error.tag.eq(completed.payload.tag),
                    error.address.eq(completed.payload.address),
                ]

        m.d.comb += [
            control.status.busy.eq(
                channel.status.busy
                | fetcher.requests.valid
                | ~fetcher.idle
                | ~writer.idle
                | (control.ring.enable & (control.ring.tail != fetcher.head))
            ),
            control.status.halted.eq(channel.status.halted),
            control.status.aborting.eq(channel.status.aborting),
            control.status.stuck.eq(channel.status.stuck | watch["fetch"].fired | watch["complete"].fired),
            self.stopped.eq(channel.stopped & fetcher.idle & writer.idle),
        ]
        return m
