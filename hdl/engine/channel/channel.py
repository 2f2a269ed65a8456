"""One direction of the engine: requests in, completions out, data from one port to the other."""

from amaranth.hdl import Module, ResetInserter, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.port_shape import PortShape
from cdma.hdl.axi.ports import ReadPort, WritePort
from cdma.hdl.axi.watchdog import Watchdog
from cdma.hdl.spec.codecs import codec_of
from cdma.hdl.spec.engine import EngineConfig

from .checker import Checker
from .completer import Completer
from .data_path import DataPath
from .descriptor import Completion, Request
from .interfaces import ChannelControl, ChannelEvents, ChannelStatus, WindowPort
from .slots import Slots

__all__ = ["Channel"]


def _port_shapes(config: EngineConfig, compressing: bool) -> tuple[PortShape, PortShape]:
    """The ports that a channel reads and writes."""

    def shape(data_bits: int, address_bits: int, buffer: int) -> PortShape:
        return PortShape(
            word_bits=config.format.word_bits,
            data_bits=data_bits,
            address_bits=address_bits,
            burst=config.burst(data_bits),
            outstanding=config.outstanding,
            buffer=buffer,
            realign=config.realign,
        )

    dev = (config.dev_data_bits, config.dev_address_bits)
    host = (config.host_data_bits, config.host_address_bits)
    read, write = (dev, host) if compressing else (host, dev)
    return shape(*read, config.read_buffer), shape(*write, config.write_buffer)


class Channel(wiring.Component):
    """Carries out requests in order, several at once, and completes them in order.

    ``compressing``
        An offload channel (device port to host port, through a compressor), or a prefetch channel the other
        way.

    Nothing is started while ``enable`` is low, or while ``status.halted`` is high: after an error if
    ``halt_on_error`` is high, and after an abort; until ``resume``.

    ``abort`` lets every open transaction finish, drops the data that is still inside and completes all that
    had started as ``ABORTED``. The watchdog, when a port has not answered for the time that
    ``watchdog_tick`` divides, completes the oldest descriptor as ``WATCHDOG`` at once and then does the same;
    for as long as the port does not answer, ``status.stuck`` is high.

    ``now``, ``watchdog_tick``
        From the :class:`~cdma.hdl.axi.watchdog.Timebase`.
    ``checking``
        High while a request at the input is being looked at: it must stay.
    ``halt``
        A pulse that halts the channel as an error does.
    ``stop``
        Like an abort without completions; ``stopped`` is high as soon as nothing is under way. The channel is
        then to be reset.
    """

    def __init__(self, config: EngineConfig, compressing: bool) -> None:
        self.config = config
        self.compressing = compressing
        self.read, self.write = _port_shapes(config, compressing)
        super().__init__(
            {
                "requests": In(stream.Signature(Request)),
                "completion": Out(stream.Signature(Completion)),
                "completion_interrupt": Out(1),
                "completion_words": Out(32),
                "source": Out(ReadPort(self.read.data_bits, self.read.address_bits)),
                "sink": Out(WritePort(self.write.data_bits, self.write.address_bits, self.write.word_bits)),
                **ChannelControl(config).flip().members,
                "windows": Out(WindowPort()),
                "now": In(32),
                "watchdog_tick": In(1),
                "halt": In(1),
                "stop": In(1),
                "stopped": Out(1),
                "checking": Out(1),
                "status": Out(ChannelStatus),
                "events": Out(ChannelEvents),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        codec = codec_of(config.format).load("compressor" if self.compressing else "decompressor")(
            config.codec
        )
        clear = Signal()
        path = DataPath(config, codec, self.read, self.write)
        m.submodules.path = ResetInserter(clear)(path)
        m.submodules.checker = checker = Checker(self.read, self.write, compressing=self.compressing)
        addresses = (self.read.address_bits, self.write.address_bits)
        slots = Slots(*addresses, config.descriptors)
        m.submodules.slots = ResetInserter(clear)(slots)
        m.submodules.completer = completer = Completer(*addresses)

        wiring.connect(m, wiring.flipped(self.requests), checker.requests)
        wiring.connect(m, checker.windows, wiring.flipped(self.windows))
        wiring.connect(m, checker.slot, slots.input)
        wiring.connect(m, slots.read, path.read)
        wiring.connect(m, slots.route, path.route)
        wiring.connect(m, slots.write, path.write)
        wiring.connect(m, slots.tickets, completer.tickets)
        wiring.connect(m, path.report, completer.report)
        wiring.connect(m, completer.completion, wiring.flipped(self.completion))
        wiring.connect(m, path.source, wiring.flipped(self.source))
        wiring.connect(m, path.sink, wiring.flipped(self.sink))

        m.submodules.read_watchdog = read_watchdog = Watchdog()
        m.submodules.write_watchdog = write_watchdog = Watchdog()
        m.d.comb += [
            read_watchdog.tick.eq(self.watchdog_tick),
            read_watchdog.waiting.eq(~path.read_idle),
            read_watchdog.progress.eq(path.read_progress),
            write_watchdog.tick.eq(self.watchdog_tick),
            write_watchdog.waiting.eq(~path.write_idle),
            write_watchdog.progress.eq(path.write_progress),
        ]

        halted = Signal()
        timeout = Signal()
        told = Signal()
        at_write = Signal()
        quiet = Signal()
        fired = Signal()
        with m.If(fired & ~timeout):
            m.d.sync += [timeout.eq(1), at_write.eq(~read_watchdog.fired)]
        m.d.comb += [
            fired.eq(read_watchdog.fired | write_watchdog.fired),
            quiet.eq(path.read_idle & path.write_idle),
            path.values.eq(self.values),
            path.mark.eq(fired),
            slots.now.eq(self.now),
            slots.end.eq(path.end),
            slots.overflow.eq(path.overflow),
            slots.stamp.eq(completer.stamp),
            slots.result.eq(completer.result),
            slots.result_place.eq(completer.result_place),
            slots.at_stages.eq(completer.late),
            completer.heard.eq(slots.heard),
            completer.watchdog.eq(timeout & ~told),
            completer.at_write.eq(at_write),
            self.completion_interrupt.eq(completer.interrupt),
            self.completion_words.eq(completer.words),
        ]
        # What comes after a timeout says nothing any more: the address that was marked stays.
        for outcome, heard in (
            (path.read_outcome, slots.read_outcome),
            (path.write_outcome, slots.write_outcome),
        ):
            m.d.comb += [
                heard.address.eq(outcome.address),
                heard.note.eq(outcome.note & ~timeout),
                heard.resp.eq(outcome.resp),
                heard.done.eq(outcome.done & ~timeout & ~fired),
            ]
        with m.If(self.halt | (completer.taken & completer.failed & self.halt_on_error)):
            m.d.sync += halted.eq(1)
        with m.Elif(self.resume):
            m.d.sync += halted.eq(0)

        with m.FSM() as fsm:
            with m.State("run"):
                m.d.comb += checker.run.eq(self.enable & ~halted)
                with m.If(self.stop | self.abort | fired):
                    m.next = "drain"
            with m.State("drain"):
                # What has been heard of completely is still completed; not so after a timeout, because what
                # comes late must not be taken for the next descriptor's.
                m.d.comb += [
                    path.flush.eq(1),
                    checker.flush.eq(1),
                    completer.drop.eq(timeout & ~told),
                    completer.hold.eq(timeout),
                    self.stopped.eq(quiet),
                ]
                with m.If(completer.taken & completer.late):
                    m.d.sync += told.eq(1)
                with m.If(quiet & ~self.stop & (told | ~timeout)):
                    m.next = "drop"
            with m.State("drop"):
                m.d.comb += [path.flush.eq(1), checker.flush.eq(1), completer.drop.eq(1)]
                with m.If(self.stop):
                    m.next = "drain"
                with m.Elif(slots.empty):
                    m.next = "clear"
            with m.State("clear"):
                m.d.comb += [clear.eq(1), checker.flush.eq(1)]
                m.d.sync += [timeout.eq(0), told.eq(0), halted.eq(1)]
                m.next = "run"

        m.d.comb += [
            self.checking.eq(checker.busy),
            self.status.busy.eq(checker.busy | ~slots.empty),
            self.status.halted.eq(halted),
            self.status.aborting.eq(~fsm.ongoing("run")),
            self.status.stuck.eq(fsm.ongoing("drain") & timeout),
            self.events.under_way.eq(~slots.empty),
            self.events.read_beat.eq(self.source.r.valid & self.source.r.ready),
            self.events.write_beat.eq(self.sink.w.valid & self.sink.w.ready),
            self.events.stall_source.eq(path.starved),
            self.events.stall_codec.eq(path.refused),
            self.events.stall_sink.eq(path.blocked),
        ]
        return m
