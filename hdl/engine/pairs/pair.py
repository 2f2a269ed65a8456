"""A queue pair: states of its channels, and completions that its software has not taken; and how registers, rings and
windows, which are there once for all pairs, connect to what drives the channels."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import C, Cat, DomainRenamer, Elaboratable, Module, ResetInserter, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import AxiLiteSignature, ReadPort, WritePort, port_members
from cdma.hdl.blocks.clocks import ClockGates, reset_with
from cdma.hdl.blocks.elaboration import Pace, optional
from cdma.hdl.blocks.memories import CodedParts, coding_of
from cdma.hdl.engine.channel.interfaces import (
    CHANNELS,
    ChannelControl,
    ChannelDriver,
    connect_members,
)
from cdma.hdl.engine.control.counters import Counters, PairCounting, connect_pairs, count_channel
from cdma.hdl.engine.control.interfaces import ChangeLayout, ControlSignature
from cdma.hdl.engine.control.quiescence import CONTROL, accessed, settling_cycles, soft_reset
from cdma.hdl.engine.control.registers import RegisterBlock
from cdma.hdl.engine.control.windows import StoredWindows
from cdma.hdl.engine.rings.coalescer import Coalescer
from cdma.hdl.engine.rings.messages import Messages, RingLink, queue_bits
from cdma.hdl.engine.rings.rings import Rings
from cdma.hdl.engine.user import ChannelUsers, UserLayout, connect_with_user, ring_user
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import Status

from .delivered import KeptSignature
from .sharing import PairClient

#: Where memories are that both channels of the pair depend on.
_OWN = "own"


def pair_members(config: EngineConfig, pairs: int) -> dict[str, wiring.Member]:
    """What so many pairs have for the rest of an engine.

    ``working``, ``pending``: In an engine with a Q-channel: something of a pair is in flight, and a descriptor waits in
        a ring.
    ``word_corrected``, ``word_lost``: In an engine with coded memories: pulses for wrong words that are found
        elsewhere.
    ``messages``: The AXI4 ports of the messages of each pair, if any, with the number of a channel as ID.
    ``offload_users``, ``prefetch_users``: What the registers of each pair say of the addresses of a channel.
    """
    return {
        **optional(config.msi, messages=port_members(_host_ports(config, 1)[1], pairs)),
        **{f"{name}_users": Out(data.ArrayLayout(ChannelUsers(config), pairs)) for name in CHANNELS},
        **optional(config.coded_memories, word_corrected=In(1), word_lost=In(1)),
        **optional(config.quiescence, working=Out(1), pending=Out(1)),
    }


def shared_members(config: EngineConfig) -> dict[str, wiring.Member]:
    """What registers and rings have for the rest of an engine, and who drives its channels.

    ``bus``, ``irq``, ``alert``: The registers, and of each pair the interrupt and, in an engine with coded memories,
        the alert.
    ``watchdog_cycles``: The time of the watchdogs, as the first pair's registers have it.
    ``watchdog_tick``: That of the timebase.
    ``group_bursts``: As the first pair's registers have it.
    ``fetch``, ``complete``: The AXI4 ports of :class:`.Rings`.
    ``offload``, ``prefetch``: The channels.
    ``engine_clear``, ``loses``: Resets the channels; and, in an engine with coded memories, a word is lost that they
        depend on.
    """
    fetch, complete = _host_ports(config, queue_bits(config))
    return {
        "bus": In(AxiLiteSignature(config.register_address_bits)),
        "irq": Out(config.channels),
        "watchdog_cycles": Out(32),
        "watchdog_tick": In(1),
        **optional(config.group_bursts, group_bursts=Out(9)),
        "fetch": Out(fetch),
        "complete": Out(complete),
        **{name: Out(ChannelDriver(config)) for name in CHANNELS},
        "engine_clear": Out(1),
        **optional(config.coded_memories, alert=Out(config.channels), loses=Out(1)),
    }


def _host_ports(config: EngineConfig, id_bits: int) -> tuple[ReadPort, WritePort]:
    host, user = (config.host_data_bits, config.host_address_bits), UserLayout(config, "host").size
    return ReadPort(*host, id_bits, user), WritePort(*host, config.moved_bits, id_bits, user)


def connect_shared(m: Module, registers: RegisterBlock, rings: Rings, front: wiring.Component) -> data.View:
    """Connects registers and rings with each other and with the ports of :func:`shared_members`; gives what is written into
    the memory of registers."""
    wiring.connect(m, wiring.flipped(front.bus), registers.bus)
    wiring.connect(m, rings.stored, registers.stored)
    wiring.connect(m, rings.report, registers.report)
    m.d.comb += [
        front.irq.eq(registers.irq),
        front.watchdog_cycles.eq(registers.controls[0].watchdog_cycles),
    ]
    if rings.config.coded_memories:
        m.d.comb += front.alert.eq(registers.alert)
    if rings.config.group_bursts:
        m.d.comb += front.group_bursts.eq(registers.controls[0].group_bursts)
    pairs = range(rings.config.channels)
    users = [getattr(front, f"{name}_users")[number] for number in pairs for name in CHANNELS]
    for port in ("fetch", "complete"):
        connect_with_user(m, getattr(rings, port), getattr(front, port), ring_user(users))
    m.d.comb += rings.watchdog_tick.eq(front.watchdog_tick)
    # The copies are far from the registers, and may be written a cycle later.
    changes: data.View = Pace(m, rings.config).late(registers.changes, "late_changes", reset=True)
    m.d.comb += rings.changes.eq(changes)
    return changes


def connect_windows(
    m: Module,
    windows: StoredWindows,
    changes: data.View,
    front: wiring.Component,
    pairs: dict[str, Value] | None = None,
) -> None:
    """Connects the windows with the channels, whose checkers ask for those of ``pairs``."""
    m.d.comb += windows.changes.eq(changes)
    for name in CHANNELS:
        port = getattr(front, name)
        wiring.connect(m, wiring.flipped(port.windows), getattr(windows, name))
        if pairs is not None:
            m.d.comb += getattr(windows, f"{name}_pair").eq(pairs[name])
        if front.config.pages:
            wiring.connect(m, wiring.flipped(port.page_windows), getattr(windows, f"{name}_pages"))
            m.d.comb += getattr(windows, f"{name}_pages_pair").eq(port.page_pair)


class _Parts(NamedTuple):
    """The parts of the pair, what it has of registers and rings, what is written into the memory of registers, and the
    codings of their memories."""

    control: wiring.PureInterface
    link: wiring.PureInterface
    changes: data.View
    memories: CodedParts


class _Way(NamedTuple):
    """What a direction of the pair is told of the data path.

    ``extra_error``: Pulse: a completion becomes an error after it was counted.
    ``busy``, ``halted``, ``aborting``, ``stuck``: Those of a :data:`~cdma.hdl.engine.channel.interfaces.ChannelStatus`.
    ``rests``: Nothing of the pair is in the data path, and nothing comes there while ``resetting`` is high.
    """

    extra_error: Value
    busy: Value
    halted: Value
    aborting: Value
    stuck: Value
    rests: Value


class Pair(wiring.Component):
    """What software has of an engine, without the data path: with the members of :func:`pair_members`.

    A pair that is ``alone`` has registers and rings, with the members of :func:`shared_members`, and drives the channels
    itself; a soft reset resets them as well. Among several a descriptor starts only if there is room for its completion, so
    that no pair waits for the software of another one. A soft reset ends what has started as an abort does, and forgets the
    completions.

    ``offload``, ``prefetch``: The channels of a pair that is alone, or its share of them.
    ``control``, ``link``, ``changes``, ``active``: Of one of several: the registers, the rings, what is written into
        the memory of its registers, and, with gates, that the clock of these is to run.
    ``interrupts``: As well: pulses for both channels: enough completions, or one long enough ago.
    ``window_lost``: As well, in an engine with coded memories: a word of its windows is lost.
    ``stuck``: Of one of several: the watchdog of a channel has fired, and a port has not answered since.
    ``offload_counting``, ``prefetch_counting``, ``clear_counters``: As well: its counters.
    ``offload_kept``, ``prefetch_kept``: As well: its completions that the rings have not taken.
    """

    def __init__(
        self,
        config: EngineConfig,
        clock: Signal | None = None,
        gates: ClockGates | None = None,
        *,
        alone: bool = True,
    ) -> None:
        self.config = config
        self.clock = clock
        self.gates = gates
        self.alone = alone
        #: Wrong words that are found in the rings of a pair that is alone.
        self._found: tuple[Value, Value] = (C(0), C(0))
        if alone:
            members = shared_members(config)
        else:
            members = {
                "control": In(ControlSignature(config)),
                "link": In(RingLink(config)),
                "changes": In(ChangeLayout()),
                **optional(config.coded_memories, window_lost=In(1)),
                **optional(gates, active=Out(1)),
                **{name: Out(PairClient(config)) for name in CHANNELS},
                **{f"{name}_counting": Out(PairCounting()) for name in CHANNELS},
                **{f"{name}_kept": In(KeptSignature()) for name in CHANNELS},
                "clear_counters": Out(1),
                "interrupts": In(2),
                "stuck": In(2),
            }
        super().__init__(pair_members(config, 1) | members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        clear = Signal(name="pair_restart")
        parts = _Parts(
            *(self._add_shared(m) if self.alone else self._shared()),
            CodedParts(coding_of(platform)),
        )
        control, link, changes, memories = parts
        interrupts, waiting = self._coalesce(m, parts, clear) if self.alone else (self.interrupts, C(0))
        for name in CHANNELS:
            ChannelUsers(config).drive(m, getattr(self, f"{name}_users")[0], getattr(control, name))
        m.d.comb += [
            link.stop.eq(control.resetting),
            link.clear.eq(clear),
        ]
        counting = self._counting(m, parts, clear)
        rests = [self._direction(m, index, parts, counting[index], clear) for index in range(len(CHANNELS))]
        # Statements after those that connect all of the registers with the rings.
        m.d.comb += [
            half.completion_irq.eq(interrupt)
            for half, interrupt in zip(self._halves(control), interrupts, strict=True)
        ]
        messaging = self._add_messages(m, parts, changes, clear) if config.msi else C(0)
        if self.gates is not None:
            m.d.comb += (self._active if self.alone else self.active).eq(self._runs(parts, messaging))
        if memories.coding.coded:
            self._tell_losses(m, parts)
        if config.quiescence:
            busy = [half.status.busy | half.status.aborting for half in self._halves(control)]
            m.d.comb += [
                self.working.eq(Cat(*busy, control.resetting, waiting, messaging).any()),
                self.pending.eq(link.pending),
            ]
        if self.alone:
            m.d.comb += self.engine_clear.eq(clear)
        # Nothing begins while ``resetting`` is high, so what has stopped stays so.
        soft_reset(m, control, link.stopped & ~messaging & Cat(rests).all(), clear, self.clock)
        return m

    def _coalesce(self, m: Module, parts: _Parts, clear: Signal) -> tuple[Value, Value]:
        """Turns the events of a pair that is alone into interrupts; gives these, and whether one is to come."""
        coalescer = Coalescer(self.config)
        m.submodules.coalescer = parts.memories.built(_OWN, coalescer)
        wiring.connect(m, self._rings.events, coalescer.events)
        m.d.comb += [coalescer.changes.eq(parts.changes), coalescer.clear.eq(clear)]
        return coalescer.interrupts, coalescer.waiting if self.config.quiescence else C(0)

    def _halves(self, control: wiring.PureInterface) -> list[wiring.PureInterface]:
        return [getattr(control, name) for name in CHANNELS]

    def _shared(self) -> tuple[wiring.PureInterface, wiring.PureInterface, data.View]:
        """What one of several pairs has of registers and rings."""
        return wiring.flipped(self.control), wiring.flipped(self.link), self.changes

    def _add_shared(self, m: Module) -> tuple[wiring.PureInterface, wiring.PureInterface, data.View]:
        """The registers and the rings of a pair that is alone; gives their side of the pair."""
        self._registers = registers = RegisterBlock(self.config)
        self._rings = rings = Rings(self.config, self.clock if self.gates is None else None)
        m.submodules.registers = self._gated(m, registers) if self.gates is not None else registers
        m.submodules.rings = self._controls(rings)
        if self.config.coded_memories:
            self._found = (rings.word_corrected, rings.word_lost)
        return registers.controls[0], rings.pair_0, connect_shared(m, registers, rings, self)

    def _add_messages(self, m: Module, parts: _Parts, changes: data.View, clear: Signal) -> Value:
        """What writes messages; gives whether it has anything to do."""
        messages = Messages(self.config)
        built = parts.memories.built(_OWN, messages)
        m.submodules.messages = (
            reset_with(m, "messages", built, clear, self.clock)
            if self.gates is None
            else self._controls(ResetInserter(clear)(built))
        )
        users = [getattr(self, f"{name}_users")[0] for name in CHANNELS]
        connect_with_user(m, messages.port, self.messages, ring_user(users))
        control = parts.control
        for name, half in zip(CHANNELS, self._halves(control), strict=True):
            wiring.connect(m, half.message, getattr(messages, name))
        m.d.comb += [messages.changes.eq(changes), messages.stop.eq(control.resetting)]
        return messages.busy

    def _controls(self, component: Elaboratable) -> Elaboratable:
        """A part whose clock is that of the registers."""
        return component if self.gates is None else DomainRenamer(CONTROL)(component)

    def _gated(self, m: Module, registers: RegisterBlock) -> Elaboratable:
        """The registers. Their clock, which is that of windows and of rings, stops while nothing of the pair is in flight
        and nobody accesses its registers."""
        assert self.gates is not None
        self._active = Signal(name="pair_active")
        return self.gates.gated(m, CONTROL, registers, self._active, settling_cycles(self.config))

    def _runs(self, parts: _Parts, messaging: Value) -> Value:
        """Whether the clock of the registers is to run."""
        control = parts.control
        answers = [messaging]
        if self.alone:
            answers += [self.fetch.r.valid, self.complete.b.valid, *accessed(self.bus)]
        if self.config.msi:
            answers.append(self.messages.b.valid)
        if self.config.coded_memories:
            answers += [control.word_corrected, control.word_lost]
        return Cat(
            *(
                half.status.busy | half.status.aborting | half.completion_irq
                for half in self._halves(control)
            ),
            *(getattr(parts.link, name).waiting for name in CHANNELS),
            *answers,
            control.resetting,
            control.soft_reset,
        ).any()

    def _tell_losses(self, m: Module, parts: _Parts) -> None:
        """Words that are found wrong here and elsewhere are counted; a register that is lost concerns the rings."""
        control, found = parts.control, parts.memories.found()
        m.d.comb += [
            parts.link.register_lost.eq(control.register_lost),
            control.word_corrected.eq(found.corrected | self.word_corrected | self._found[0]),
            control.word_lost.eq(found.lost | self.word_lost | self._found[1]),
        ]
        if self.alone:
            m.d.comb += self.loses.eq(self._loses(parts))

    def _loses(self, parts: _Parts) -> Value:
        """A word is lost that both directions depend on."""
        control = parts.control
        shared: Value = C(0) if self.alone else self.window_lost
        own = parts.memories.groups[_OWN].loses() if _OWN in parts.memories.groups else C(0)
        return own | parts.link.loses | control.register_lost | shared

    def _counting(self, m: Module, parts: _Parts, clear: Signal) -> list[wiring.PureInterface]:
        """The counters of each direction: those of a pair that is alone are a part of it."""
        clears = parts.control.clear_counters
        if not self.alone:
            m.d.comb += self.clear_counters.eq(clears | clear)
            return [wiring.flipped(getattr(self, f"{name}_counting")) for name in CHANNELS]
        config, memories = self.config, parts.memories
        counters = Counters(config.units, pipelined=config.pipelined, options=config.records)
        built = memories.built(_OWN, counters)
        m.submodules.counters = reset_with(m, "counters", built, clear, self.clock)
        counting = [PairCounting().create(path=(f"{name}_counting",)) for name in CHANNELS]
        connect_pairs(m, counters, [clears], [counting])
        wiring.connect(m, self._registers.counters, counters.read)
        m.d.comb += counters.reader.eq(self._registers.reader)
        windows = StoredWindows(config)
        m.submodules.windows = self._controls(memories.built(_OWN, windows))
        connect_windows(m, windows, parts.changes, self)
        for name in CHANNELS:
            count_channel(m, getattr(counters, name), getattr(self, name))
            output, client = getattr(counters, name).output, getattr(parts.link, name)
            shown = getattr(self._rings, f"{name}_completion")
            m.d.comb += [
                client.waiting.eq(output.valid),
                output.ready.eq(client.taken),
                shown.completion.eq(output.payload),
                shown.interrupt.eq(getattr(self, name).done.payload.interrupt),
            ]
        return [wiring.flipped(each) for each in counting]

    def _direction(
        self, m: Module, index: int, parts: _Parts, counting: wiring.PureInterface, clear: Signal
    ) -> Value:
        """Connects one direction to its registers, its rings, its windows and its counters; whether nothing of it is in the
        data path."""
        name, link, control = CHANNELS[index], parts.link, parts.control
        half, client = getattr(control, name), getattr(link, name)
        way = self._alone(m, name, parts) if self.alone else self._among(m, index, parts, counting, clear)
        wiring.connect(m, half, getattr(link, f"{name}_control"))
        m.d.comb += [
            counting.extra_error.eq(client.extra_error | way.extra_error),
            counting.hold.eq(half.hold_counters),
            half.counters_held.eq(counting.held),
            client.aborting.eq(way.aborting),
            half.status.busy.eq(way.busy | link.busy[index]),
            half.status.halted.eq(way.halted),
            half.status.aborting.eq(way.aborting | client.settling),
            half.status.stuck.eq(way.stuck | link.stuck[index]),
        ]
        return way.rests

    def _alone(self, m: Module, name: str, parts: _Parts) -> _Way:
        """The channel is the pair's own."""
        control = parts.control
        half, client, port = (getattr(each, name) for each in (control, parts.link, self))
        connect_members(m, ChannelControl(self.config).members, half, wiring.flipped(port))
        requests = getattr(self._rings, f"{name}_requests")
        m.d.comb += [
            port.halt.eq(client.halt),
            port.stop.eq(control.resetting),
            requests.reads.eq(1),
            requests.chosen.eq(1),
            requests.checking.eq(port.checking),
            requests.taken.eq(port.requests.valid & port.requests.ready),
            requests.wants_extension.eq(port.wants_extension),
            port.requests.valid.eq(requests.shown),
            port.requests.payload.eq(requests.request),
            port.extended.eq(requests.extended),
        ]
        status = port.status
        return _Way(
            extra_error=C(0),
            busy=status.busy,
            halted=status.halted,
            aborting=status.aborting,
            stuck=status.stuck,
            rests=port.stopped,
        )

    def _among(
        self, m: Module, index: int, parts: _Parts, counting: wiring.PureInterface, clear: Signal
    ) -> _Way:
        """The channel is shared: completions wait for the software of the pair."""
        name, control = CHANNELS[index], parts.control
        half, client, port = (getattr(each, name) for each in (control, parts.link, self))
        kept = getattr(self, f"{name}_kept")
        halted, drops = (Signal(name=f"{name}_{what}") for what in ("halted", "drops"))
        status = port.done.payload.completion.status
        failed = port.done.valid & (status != Status.OK)
        extra_error: Value = C(0)
        # A watchdog ends all that the pair has in flight, as an abort does.
        ends = half.abort | control.soft_reset | (port.done.valid & (status == Status.WATCHDOG))
        if parts.memories.coding.coded:
            # What may depend on a lost word of the pair ends as an abort's does, with another status.
            lost, loses = (Signal(name=f"{name}_{what}") for what in ("lost", "loses"))
            m.d.sync += [loses.eq(self._loses(parts)), lost.eq(loses | (lost & drops))]
            extra_error = port.done.valid & lost & (status == Status.OK)
            ends |= loses | (port.done.valid & (status == Status.MEMORY))
            m.d.comb += kept.lost.eq(lost)
        with m.If(ends):
            m.d.sync += drops.eq(1)
        # The buffers of a descriptor whose watchdog has fired may be written until the port answers.
        with m.Elif(~kept.owed & kept.settled & ~port.checking & ~self.stuck[index]):
            m.d.sync += drops.eq(0)
        with m.If(client.halt | ends | drops | (failed & half.halt_on_error)):
            m.d.sync += halted.eq(1)
        with m.Elif(half.resume):
            m.d.sync += halted.eq(0)
        with m.If(clear):
            m.d.sync += [drops.eq(0), halted.eq(0)]
        m.d.comb += [
            client.waiting.eq(kept.waiting),
            kept.taken.eq(client.taken),
            kept.clear.eq(clear),
            port.offers.eq(client.offers & half.enable & ~halted & ~drops & ~control.resetting & ~kept.full),
            port.drops.eq(drops),
            counting.in_flight.eq(kept.inside),
        ]
        if self.config.records.owner_bits:
            m.d.comb += [port.owner_value.eq(half.owner_value), port.owner_mask.eq(half.owner_mask)]
        return _Way(
            extra_error=extra_error,
            busy=kept.owed | port.checking,
            halted=halted,
            aborting=drops,
            stuck=self.stuck[index],
            rests=~kept.inside & kept.settled & ~port.checking & ~counting.adding,
        )
