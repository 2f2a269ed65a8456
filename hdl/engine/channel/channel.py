"""One direction of the engine: requests in, completions out, data from one port to the other. A channel whose clock
stops while it has nothing to do.
"""

from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

from amaranth.hdl import C, Cat, Elaboratable, Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.answers import Watchdog
from cdma.hdl.axi.ports import PortShape, connect_ports, each_port, port_members
from cdma.hdl.blocks.clocks import PLAIN_CLOCK, Clocking
from cdma.hdl.blocks.elaboration import Pace, copies, optional
from cdma.hdl.codec.parts.interface import GatedCodec
from cdma.hdl.engine.path.data_path import DataPath
from cdma.hdl.engine.path.ports import Path, list_port
from cdma.hdl.engine.units.stores import UnitPlan
from cdma.hdl.engine.units.units_path import OffloadPath, PrefetchPath
from cdma.hdl.spec.codec import codec_of
from cdma.hdl.spec.engine import EngineConfig

from .checker import Checker
from .completer import Completer
from .interfaces import ChannelDriver
from .shape_measure import ShapeMeasure
from .slots import Slots
from .tickets import noted_bits

#: The port that a channel reads and the one that it writes, and the codec between them, by whether it compresses.
_ENDS = {True: ("dev", "host", "compressor"), False: ("host", "dev", "decompressor")}


def _port_shapes(config: EngineConfig, compressing: bool) -> tuple[PortShape, PortShape, PortShape | None]:
    """The ports that a channel reads and writes, and the device port as it reads bases."""

    def shape(port: str, buffer: int) -> PortShape:
        rows = {"dev": config.dimensions > 0, "host": config.pages}
        realign = config.realign and not config.striped(port)
        in_place = port == "dev" and realign and config.dimensions > 0
        return PortShape(
            word_bits=config.moved_bits,
            data_bits=config.data_bits(port),
            address_bits=getattr(config, f"{port}_address_bits"),
            burst=config.burst(port),
            align=config.align(port),
            outstanding=config.outstanding,
            buffer=buffer,
            realign=realign,
            in_place=in_place,
            clears=config.tail_bits > 0 and compressing and port == "dev" and not in_place,
            pipelined=config.pipelined,
            rows=rows[port],
            limited=port == "host" and config.pages,
            span_bits=config.records.length_bits + 1,
            user_bits=config.records.tag_bits,
            # Outcomes of several units, and those of pages, are made into others.
            checked=config.memory_code if config.units == 1 and not (config.pages and port == "host") else "",
        )

    read, write, _ = _ENDS[compressing]
    base = None
    if config.delta:
        clears = config.tail_bits > 0 and compressing
        base = replace(shape("dev", config.read_buffer), rows=False, in_place=False, clears=clears)
    return shape(read, config.read_buffer), shape(write, config.write_buffer), base


class _Parts(NamedTuple):
    """The parts of a channel, in the order in which a descriptor passes them."""

    checker: Checker
    slots: Slots
    path: Path
    completer: Completer


class _State(NamedTuple):
    """What the channel keeps.

    ``halted``: High from an error or an abort until ``resume``.
    ``timeout``: High from a watchdog's time until the channel is cleared.
    ``reported``: High once the descriptor of the timeout is completed.
    ``at_write``: The port that did not answer is the one that is written.
    ``fired``: A port does not answer.
    """

    halted: Signal
    timeout: Signal
    reported: Signal
    at_write: Signal
    fired: Signal


class Channel(wiring.Component):
    """Carries out requests in order, several at once, and completes them in order.

    Nothing is started while ``enable`` is low, or while ``status.halted`` is high: from an error with
    ``halt_on_error``, or from an abort, until ``resume``.

    ``abort`` lets every open transaction finish, drops the data that are still inside, and completes as ``ABORTED`` all
    that had started. A watchdog fires when a port has not answered for the time that ``watchdog_tick`` divides. It
    completes the oldest descriptor as ``WATCHDOG`` at once and then does the same as an abort; ``status.stuck`` is high
    for as long as the port does not answer.

    ``clocking``: Of its parts, and of the codecs.
    ``compressing``: Makes an offload channel: from the device port to the host port, through a compressor. A prefetch
        channel goes the other way, through a decompressor.
    ``source``, ``sink``: The AXI4 ports that are read and written: one of them is an array with several units.
    ``bases``: With ``config.delta``: the AXI4 port for bases in device memory, or an array as of the others.
    ``lists``: With ``config.pages``: an AXI4 port for lists of pages in host memory.
    ``now``, ``watchdog_tick``: The time, from the :class:`~cdma.hdl.axi.answers.Timebase`.
    ``lost``: In an engine with coded memories: a word that this channel may depend on is lost. The oldest descriptor
        completes as ``MEMORY`` at once, as do those whose completion is being made, and then it is as after an abort.
    """

    def __init__(self, config: EngineConfig, compressing: bool, clocking: Clocking = PLAIN_CLOCK) -> None:
        self.config = config
        self.clocking = clocking
        self.compressing = compressing
        self.read, self.write, self.base = _port_shapes(config, compressing)
        ports = {"dev": config.units, "host": 1}
        source, sink, self._codec = _ENDS[compressing]
        super().__init__(
            {
                **ChannelDriver(config).flip().members,
                "source": port_members(self.read.read_port, ports[source]),
                "sink": port_members(self.write.write_port, ports[sink]),
                **({} if self.base is None else {"bases": port_members(self.base.read_port, config.units)}),
                **optional(config.pages, lists=Out(list_port(config))),
                **optional(config.times, now=In(32), watchdog_tick=In(1)),
                **optional(config.coded_memories, lost=In(1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        clear = Signal(name="channel_clear")
        addresses = (self.read.address_bits, self.write.address_bits)
        noted = noted_bits(addresses[0], config.dev_address_bits, config.records)
        scatters = self.write.rows
        parts = _Parts(
            path=self._path(),
            checker=Checker(
                self.read,
                self.write,
                config.format.word_bits,
                compressing=self.compressing,
                pipelined=config.pipelined,
                options=config.records,
                quantisation=config.quantisation,
                windowed=config.windows,
                stream_bytes=config.format.moved_bits // 8,
                tail_bits=config.tail_bits,
                units=config.units,
                stripe_bytes=config.stripe_bytes,
            ),
            slots=Slots(
                *addresses,
                config.descriptors,
                pipelined=config.pipelined,
                end_when_done=scatters or (config.units > 1 and not self.compressing),
                counted=scatters,
                compressing=self.compressing,
                options=config.records,
                tail_bits=config.tail_bits,
                code=config.memory_code,
                checked=(self.read.checked, self.write.checked),
            ),
            completer=Completer(
                noted,
                addresses[1],
                padded=config.format.padded,
                pipelined=config.pipelined,
                options=config.records,
                ranged=config.records.lossy and self.compressing,
                code=config.memory_code,
            ),
        )
        m.submodules.path = self.clocking.cleared(m, "path", parts.path, clear, whole=True)
        m.submodules.checker = parts.checker
        m.submodules.slots = self.clocking.cleared(m, "slots", parts.slots, clear)
        m.submodules.completer = parts.completer
        self._connect_streams(m, parts)

        silent = self._watch(m, parts.path) if config.times else (C(0), C(0))
        state = _State(
            halted=Signal(name="halted"),
            timeout=Signal(name="timeout"),
            reported=Signal(name="reported"),
            at_write=Signal(name="at_write"),
            fired=Signal(name="fired"),
        )
        quiet = Signal()
        with m.If(state.fired & ~state.timeout):
            m.d.sync += [state.timeout.eq(1), state.at_write.eq(~silent[0])]
        loses = Cat(self.lost, parts.slots.lost).any() if config.coded_memories else C(0)
        m.d.comb += [
            state.fired.eq(silent[0] | silent[1] | loses),
            quiet.eq(parts.path.read_idle & parts.path.write_idle),
        ]
        self._connect_parts(m, parts, state)
        self._supervise(m, parts, state, quiet, clear)
        return m

    def _path(self) -> Path:
        """The stages of the data."""
        config = self.config
        kind = codec_of(config.format).load(self._codec)

        def codec() -> wiring.Component:
            made: wiring.Component = kind(config.codec)
            return GatedCodec(made, config.codec, self.clocking) if config.clock_gates else made

        if config.units == 1:
            ports = (self.read, self.write)
            return DataPath(config, codec(), *ports, compressing=self.compressing, base=self.base)
        if self.compressing:
            return OffloadPath(UnitPlan(config, dev=self.read, host=self.write, base=self.base), codec)
        return PrefetchPath(UnitPlan(config, dev=self.write, host=self.read, base=self.base), codec)

    def _connect_streams(self, m: Module, parts: _Parts) -> None:
        checker, slots, path, completer = parts
        busy: Value = checker.busy
        if self.config.dimensions:
            busy = busy | self._connect_shapes(m, checker, path)
        else:
            wiring.connect(m, wiring.flipped(self.requests), checker.requests)
        m.d.comb += self.checking.eq(busy)
        if self.config.windows:
            wiring.connect(m, checker.windows, wiring.flipped(self.windows))
        wiring.connect(m, checker.slot, slots.input)
        wiring.connect(m, slots.read, path.read)
        wiring.connect(m, slots.route, path.route)
        wiring.connect(m, slots.write, path.write)
        wiring.connect(m, slots.tickets, completer.tickets)
        wiring.connect(m, path.report, completer.report)
        for name in ("crc", "range"):
            if name in completer.signature.members:
                wiring.connect(m, getattr(path, name), getattr(completer, name))
        if self.config.records.lossy:
            wiring.connect(m, slots.step, path.step)
        if self.base is not None:
            wiring.connect(m, slots.base, path.base)
            connect_ports(m, path.bases, self.bases)
            m.d.comb += slots.base_waits.eq(path.base_waits)
        connect_ports(m, path.source, self.source)
        connect_ports(m, path.sink, self.sink)
        if self.config.pages:
            wiring.connect(m, path.lists, wiring.flipped(self.lists))
            m.d.comb += [
                self.page_windows.at.write.eq(int(self.compressing)),
                self.page_windows.at.high.eq(path.window.high),
                path.window.base.eq(self.page_windows.base),
                path.window.limit.eq(self.page_windows.limit),
                self.page_pair.eq(path.window.pair),
            ]

    def _connect_shapes(self, m: Module, checker: Checker, path: Path) -> Value:
        """Measures shapes before they are checked, and has those walked that are not refused; whether one is measured."""
        of_device = checker.rules.of_device
        m.submodules.measure = measure = ShapeMeasure(
            self.config.records,
            compressing=self.compressing,
            align_log2=of_device(self.read, self.write).align_log2,
        )
        wiring.connect(m, wiring.flipped(self.requests), measure.input)
        wiring.connect(m, measure.output, checker.requests)
        wiring.connect(m, measure.walk, path.shapes)
        slot = checker.slot
        m.d.comb += [
            checker.measured.eq(measure.measured),
            measure.run.eq(checker.run),
            measure.flush.eq(checker.flush),
            measure.begun.eq(checker.busy),
            self.wants_extension.eq(measure.wants_extension),
            measure.extended.eq(self.extended),
            measure.starts.eq(slot.push & slot.starts & slot.shaped),
            # With a step the padding is numbers, before they are integers; the table has integers.
            measure.frequent.eq(~Cat(slot.route.raw, slot.route.zeros, slot.fields.lossy).any()),
        ]
        return measure.busy

    def _watch(self, m: Module, path: Path) -> tuple[Value, Value]:
        """One watchdog for each port; whether that which is read is silent, and that which is written."""
        m.submodules.read_watchdog = read = Watchdog()
        m.submodules.write_watchdog = write = Watchdog()
        m.d.comb += [
            read.tick.eq(self.watchdog_tick),
            read.waiting.eq(~path.read_idle),
            read.progress.eq(path.read_progress),
            write.tick.eq(self.watchdog_tick),
            write.waiting.eq(~path.write_idle),
            write.progress.eq(path.write_progress),
        ]
        return read.fired, write.fired

    def _connect_parts(self, m: Module, parts: _Parts, state: _State) -> None:
        """What the parts report to each other beside the streams."""
        checker, slots, path, completer = parts
        owner = optional(self.config.records.owner_bits, owner_value="allowed", owner_mask="compared")
        m.d.comb += [
            path.values.eq(self.values),
            checker.pair.eq(self.pair),
            *(getattr(checker, to).eq(getattr(self, said)) for said, to in owner.items()),
            path.mark.eq(state.fired),
            path.ahead.eq(slots.ahead),
            slots.result.eq(completer.result),
            slots.result_place.eq(completer.result_place),
            slots.at_stages.eq(completer.late),
            completer.reported.eq(slots.reported),
            completer.watchdog.eq(state.timeout & ~state.reported),
            completer.at_write.eq(state.at_write),
            self.done.valid.eq(completer.completion.valid),
            completer.completion.ready.eq(self.done.ready),
            self.done.payload.completion.eq(completer.completion.payload),
            self.done.payload.interrupt.eq(completer.interrupt),
            self.done.payload.words.eq(completer.words),
            self.done.payload.coded.eq(completer.coded),
        ]
        if self.config.times:
            m.d.comb += [slots.now.eq(self.now), slots.stamp.eq(completer.stamp)]
        # On an FPGA, outcomes go through registers on their way to the slots.
        domain = Pace(m, self.config.pipelined).d
        domain += slots.overflow.eq(path.overflow)
        of_outcome = domain if slots.end_when_done else m.d.comb
        of_outcome += slots.end.eq(path.end)
        # An outcome after a timeout is ignored, so that the address that was marked stays.
        of_base = [(path.base_outcome, slots.base_outcome)] if self.base is not None else []
        for outcome, noted in (
            (path.read_outcome, slots.read_outcome),
            (path.write_outcome, slots.write_outcome),
            *of_base,
        ):
            domain += [
                *copies(noted, outcome, "address", "checks"),
                noted.note.eq(outcome.note & ~state.timeout),
                noted.resp.eq(outcome.resp),
                noted.done.eq(outcome.done & ~state.timeout & ~state.fired),
            ]

    def _supervise(self, m: Module, parts: _Parts, state: _State, quiet: Signal, clear: Signal) -> None:
        """Runs the channel; after an abort, a timeout or a stop drains it, drops what is left, and clears it."""
        checker, slots, path, completer = parts
        # A lost word may be found while there is no descriptor that could tell of it.
        told: Value = state.reported | ~state.timeout
        if self.config.coded_memories:
            some_lost = Signal()
            m.d.comb += completer.lost.eq(some_lost | self.lost | slots.lost)
            m.d.sync += some_lost.eq(completer.lost & ~clear)
            told |= some_lost & slots.empty
        with m.If(self.halt | (completer.taken & completer.failed & self.halt_on_error)):
            m.d.sync += state.halted.eq(1)
        with m.Elif(self.resume):
            m.d.sync += state.halted.eq(0)

        later = ["clearing", "cleared"] * self.clocking.staged + ["run"]
        ends = self.stop | self.abort | state.fired
        enable = Signal(name="enabled")
        m.d.sync += enable.eq(self.enable)
        with m.FSM() as fsm:
            with m.State("run"):
                m.d.comb += checker.run.eq(enable & ~state.halted)
                with m.If(ends):
                    m.next = "drain"
            with m.State("drain"):
                # A descriptor whose outcomes have all come is still completed. After a timeout it is not, because a
                # late outcome must not be taken for that of the next descriptor.
                m.d.comb += [
                    completer.drop.eq(state.timeout & ~state.reported),
                    completer.hold.eq(state.timeout),
                    self.stopped.eq(quiet),
                ]
                with m.If(completer.taken & completer.late):
                    m.d.sync += state.reported.eq(1)
                with m.If(quiet & ~self.stop & told):
                    m.next = "drop"
            with m.State("drop"):
                m.d.comb += completer.drop.eq(1)
                with m.If(self.stop):
                    m.next = "drain"
                with m.Elif(slots.empty):
                    m.next = "clear"
            with m.State("clear"):
                m.d.comb += clear.eq(1)
                m.d.sync += [state.timeout.eq(0), state.reported.eq(0), state.halted.eq(1)]
                m.next = later[0]
            # The parts are reset a cycle later, and for two cycles.
            for name, following in pairwise(later):
                with m.State(name):
                    m.next = following
        # The state itself, from a flip-flop: it goes far.
        flush = Signal(name="flush")
        with m.If(fsm.ongoing("run") & ends):
            m.d.sync += flush.eq(1)
        with m.Elif(fsm.ongoing(["clear", *later][-2])):
            m.d.sync += flush.eq(0)

        m.d.comb += [
            path.flush.eq(flush),
            checker.flush.eq(flush),
            self.status.busy.eq(self.checking | ~slots.empty),
            self.status.halted.eq(state.halted),
            self.status.aborting.eq(~fsm.ongoing("run")),
            self.status.stuck.eq(fsm.ongoing("drain") & state.timeout),
        ]
        # The counters are elsewhere: what happens is reported a cycle later.
        m.d.sync += [
            self.events.in_flight.eq(~slots.empty),
            self.events.read_beat.eq(sum(port.r.valid & port.r.ready for port in each_port(self.source))),
            self.events.write_beat.eq(sum(port.w.valid & port.w.ready for port in each_port(self.sink))),
            self.events.stall_source.eq(path.starved),
            self.events.stall_codec.eq(path.refused),
            self.events.stall_sink.eq(path.blocked),
        ]


#: Beyond a window in the codec, what a channel does once nothing is in flight takes less.
_SETTLING_CYCLES = 32


def clocked_channel(
    m: Module,
    name: str,
    channel: Channel,
    component: Elaboratable,
    clocking: Clocking,
    clear: Value | None = None,
) -> Elaboratable:
    """The ``component``, which is the ``channel`` or stands for it, as a submodule that is reset by ``clear`` too, and whose
    clock stops if it is gated."""
    settling = channel.config.codec.beats + _SETTLING_CYCLES
    return clocking.gated(m, name, component, lambda: _active(m, name, channel), settling, clear=clear)


def _active(m: Module, name: str, channel: Channel) -> Value:
    """Whether the clock of a channel is to run. A descriptor that is offered opens the gate in the same cycle, and so does a
    command."""
    enabled = Signal(name=f"{name}_was_enabled")
    m.d.sync += enabled.eq(channel.enable)
    answers = [port.r.valid for port in each_port(channel.source)]
    answers += [port.b.valid for port in each_port(channel.sink)]
    if channel.config.delta:
        answers += [port.r.valid for port in each_port(channel.bases)]
    if channel.config.pages:
        answers.append(channel.lists.r.valid)
    if channel.config.coded_memories:
        answers.append(channel.lost)
    active = Signal(name=f"{name}_active")
    m.d.comb += active.eq(
        Cat(
            channel.requests.valid,
            channel.done.valid,
            channel.status.busy,
            channel.status.aborting,
            channel.enable != enabled,
            channel.resume,
            channel.abort,
            channel.halt,
            channel.stop,
            *answers,
        ).any()
    )
    return active
