"""All that is a pair's own: registers, rings, windows, counters and completions that its software has not taken."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, DomainRenamer, Elaboratable, Module, ResetInserter, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import AxiLiteSignature, ReadPort, WritePort, port_members
from cdma.hdl.blocks.clocks import ALWAYS, ClockGates, reset_with
from cdma.hdl.blocks.elaboration import Pace, optional
from cdma.hdl.blocks.memories import CodedParts, coding_of
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.engine.channel.interfaces import (
    CHANNELS,
    ChannelControl,
    ChannelDriver,
    ChannelEvents,
    Done,
    connect_members,
)
from cdma.hdl.engine.control.counters import Counters
from cdma.hdl.engine.control.interfaces import SharesSignature
from cdma.hdl.engine.control.quiescence import CONTROL, accessed, settling_cycles, soft_reset
from cdma.hdl.engine.control.registers import RegisterBlock
from cdma.hdl.engine.control.windows import StoredWindows
from cdma.hdl.engine.rings.rings import Rings
from cdma.hdl.engine.user import ChannelUsers, UserLayout, connect_with_user, ring_user
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import PAIR_SPAN_LOG2
from cdma.hdl.spec.records import Status

from .sharing import PairClient

#: Where memories are that both channels of the pair depend on.
_OWN = "own"


def front_members(config: EngineConfig, pairs: int, bus_bits: int) -> dict[str, wiring.Member]:
    """What registers and rings of so many pairs have for the rest of an engine.

    ``bus``, ``irq``, ``alert``
        The registers, and of each pair the interrupt and, in an engine with coded memories, the alert.
    ``watchdog_cycles``, ``watchdog_tick``
        The time of the watchdogs, as the first pair's registers have it, and that of the timebase.
    ``working``, ``pending``
        In an engine with a Q-channel: something of a pair is in flight, and a descriptor waits in a ring.
    ``word_corrected``, ``word_lost``
        In an engine with coded memories: pulses for wrong words that are found elsewhere.
    ``fetch``, ``complete``, ``messages``
        The AXI4 ports of the rings of each pair and of messages, if any, with the number of a channel as ID.
    ``offload_users``, ``prefetch_users``
        What the registers of each pair say of the addresses of a channel.
    """
    user = UserLayout(config, "host").size
    read = ReadPort(config.host_data_bits, config.host_address_bits, 1, user)
    write = WritePort(config.host_data_bits, config.host_address_bits, config.moved_bits, 1, user)
    return {
        "bus": In(AxiLiteSignature(bus_bits)),
        "irq": Out(pairs),
        "watchdog_cycles": Out(32),
        "watchdog_tick": In(1),
        "fetch": port_members(read, pairs),
        "complete": port_members(write, pairs),
        **optional(config.msi, messages=port_members(write, pairs)),
        **{f"{name}_users": Out(data.ArrayLayout(ChannelUsers(config), pairs)) for name in CHANNELS},
        **optional(config.coded_memories, word_corrected=In(1), word_lost=In(1), alert=Out(pairs)),
        **optional(config.quiescence, working=Out(1), pending=Out(1)),
    }


class _Parts(NamedTuple):
    """The parts of the pair, and the codings of their memories."""

    registers: RegisterBlock
    rings: Rings
    windows: StoredWindows
    counters: Counters
    memories: CodedParts


class _Way(NamedTuple):
    """What a direction of the pair is told of the data path.

    ``done``
        The completions, for counters and rings.
    ``kept``
        The oldest of them.
    ``events``
        What the counters count.
    ``busy``, ``halted``, ``aborting``, ``stuck``
        Those of a :data:`~cdma.hdl.engine.channel.interfaces.ChannelStatus`.
    ``rests``
        Nothing of the pair is in the data path, and nothing comes there while ``resetting`` is high.
    """

    done: stream.Interface
    kept: data.View
    events: data.View
    busy: Value
    halted: Value
    aborting: Value
    stuck: Value
    rests: Value


class Pair(wiring.Component):
    """What software has of an engine, without the data path: with the members of :func:`front_members`.

    A pair that is ``alone`` drives the channels itself, and a soft reset resets them as well. Among several a descriptor
    starts only if there is room for its completion, so that no pair waits for the software of another one. A soft reset
    ends what has started as an abort does, and forgets the completions.

    ``offload``, ``prefetch``
        The channels of a pair that is alone, or its share of them.
    ``engine_clear``, ``loses``
        Of one that is alone: resets the channels; and, in an engine with coded memories, a word is lost that they depend on.
    ``offload_shares``, ``prefetch_shares``
        Of the first of several pairs: what its registers say of the turns of all.
    ``stuck``
        Of one of several: the watchdog of a channel has fired, and a port has not answered since.
    ``offload_events``, ``prefetch_events``
        As well: what the counters count of each channel, in the first pair.
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
        if alone:
            members = {
                **{name: Out(ChannelDriver(config)) for name in CHANNELS},
                "engine_clear": Out(1),
                **optional(config.coded_memories, loses=Out(1)),
            }
        else:
            members = {
                **{name: Out(PairClient(config)) for name in CHANNELS},
                **{f"{name}_events": In(ChannelEvents(config.units)) for name in CHANNELS},
                "stuck": In(2),
            }
        self._shares = [f"{name}_shares" for name in CHANNELS] if config.channels > 1 else []
        members |= {name: Out(SharesSignature(config.channels)) for name in self._shares}
        super().__init__(front_members(config, 1, PAIR_SPAN_LOG2) | members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        clear = Signal(name="pair_restart")
        parts = _Parts(
            RegisterBlock(config),
            Rings(config),
            StoredWindows(config),
            Counters(config.units, pipelined=config.pipelined, options=config.records),
            CodedParts(coding_of(platform)),
        )
        registers, rings, windows, counters, memories = parts
        control = registers.control
        built = {
            name: memories.built(_OWN, getattr(parts, name)) for name in ("rings", "windows", "counters")
        }
        m.submodules.registers = self._gated(m, parts) if self.gates is not None else registers
        m.submodules.windows = self._controls(built["windows"])
        m.submodules.rings = (
            self._controls(ResetInserter({"sync": clear, ALWAYS: clear})(built["rings"]))
            if self.gates is not None
            else reset_with(m, "rings", built["rings"], clear, self.clock)
        )
        m.submodules.counters = reset_with(m, "counters", built["counters"], clear, self.clock)
        wiring.connect(m, wiring.flipped(self.bus), registers.bus)
        wiring.connect(m, rings.stored, control.stored)
        wiring.connect(m, rings.report, control.report)
        for name in self._shares:
            wiring.connect(m, getattr(control, name), wiring.flipped(getattr(self, name)))
        self._connect_ports(m, rings, control)
        # The copies are far from the registers, and may be written a cycle later.
        changes = Pace(m, config).late(control.changes, "late_changes", reset=True)
        m.d.comb += [
            self.irq.eq(registers.irq),
            self.watchdog_cycles.eq(control.watchdog_cycles),
            rings.watchdog_tick.eq(self.watchdog_tick),
            rings.stop.eq(control.resetting),
            rings.changes.eq(changes),
            windows.changes.eq(changes),
            counters.clear.eq(control.clear_counters),
        ]
        rests = [self._direction(m, index, parts, clear) for index in range(len(CHANNELS))]
        if memories.coding.coded:
            self._tell_losses(m, parts)
        if config.quiescence:
            busy = [half.status.busy | half.status.aborting for half in self._halves(control)]
            m.d.comb += [
                self.working.eq(Cat(*busy, control.resetting, rings.timing, *self._messaging(rings)).any()),
                self.pending.eq(rings.pending),
            ]
        if self.alone:
            m.d.comb += self.engine_clear.eq(clear)
        # Nothing begins while ``resetting`` is high, so what has stopped stays so.
        soft_reset(m, control, rings.stopped & Cat(rests).all(), clear, self.clock)
        return m

    def _halves(self, control: wiring.PureInterface) -> list[wiring.PureInterface]:
        return [getattr(control, name) for name in CHANNELS]

    def _messaging(self, rings: Rings) -> list[Value]:
        """Whether a message is to be written or answered, in an engine with any."""
        return [rings.messaging] if self.config.msi else []

    def _controls(self, component: Elaboratable) -> Elaboratable:
        """A part whose clock is that of the registers."""
        return component if self.gates is None else DomainRenamer(CONTROL)(component)

    def _gated(self, m: Module, parts: _Parts) -> Elaboratable:
        """The registers. Their clock, which is that of windows and rings, stops while nothing of the pair is in flight and
        nobody accesses its registers."""
        control = parts.registers.control
        answers = [self.fetch.r.valid, self.complete.b.valid, *self._messaging(parts.rings)]
        if self.config.msi:
            answers.append(self.messages.b.valid)
        if self.config.coded_memories:
            answers += [control.word_corrected, control.word_lost]
        active = Signal(name="pair_active")
        m.d.comb += active.eq(
            Cat(
                *accessed(self.bus),
                *(
                    half.status.busy | half.status.aborting | half.completion_irq
                    for half in self._halves(control)
                ),
                *(getattr(parts.counters, name).output.valid for name in CHANNELS),
                *answers,
                control.resetting,
                control.soft_reset,
            ).any()
        )
        assert self.gates is not None
        return self.gates.gated(m, CONTROL, parts.registers, active, settling_cycles(parts.registers))

    def _connect_ports(self, m: Module, rings: Rings, control: wiring.PureInterface) -> None:
        """The ports of rings and messages, with what registers say of addresses."""
        users = []
        for name in CHANNELS:
            users.append(getattr(self, f"{name}_users")[0])
            ChannelUsers(self.config).drive(m, users[-1], getattr(control, name))
        for port in ("fetch", "complete", "messages") if self.config.msi else ("fetch", "complete"):
            connect_with_user(m, getattr(rings, port), getattr(self, port), ring_user(users))

    def _tell_losses(self, m: Module, parts: _Parts) -> None:
        """Words that are found wrong here and elsewhere are counted; a register that is lost concerns the rings."""
        control, found = parts.registers.control, parts.memories.found()
        m.d.comb += [
            self.alert.eq(parts.registers.alert),
            parts.rings.register_lost.eq(control.register_lost),
            control.word_corrected.eq(found.corrected | self.word_corrected),
            control.word_lost.eq(found.lost | self.word_lost),
        ]
        if self.alone:
            m.d.comb += self.loses.eq(self._loses(parts))

    def _loses(self, parts: _Parts) -> Value:
        """A word is lost that both directions depend on."""
        return parts.memories.groups[_OWN].loses() | parts.registers.control.register_lost

    def _direction(self, m: Module, index: int, parts: _Parts, clear: Signal) -> Value:
        """Connects one direction to its registers, its rings, its windows and its counters; whether nothing of it is in the
        data path."""
        name, rings, control = CHANNELS[index], parts.rings, parts.registers.control
        half, client, counting, port = (
            getattr(each, name) for each in (control, rings, parts.counters, self)
        )
        way = self._alone(m, name, parts) if self.alone else self._among(m, index, parts, clear)
        wiring.connect(m, half, getattr(rings, f"{name}_control"))
        wiring.connect(m, getattr(control, f"{name}_counters"), counting.read)
        wiring.connect(m, wiring.flipped(port.windows), getattr(parts.windows, name))
        if self.config.pages:
            wiring.connect(m, wiring.flipped(port.page_windows), getattr(parts.windows, f"{name}_pages"))
        wiring.connect(m, client.requests, wiring.flipped(port.requests))
        wiring.connect(m, counting.output, client.completion)
        m.d.comb += [
            counting.input.valid.eq(way.done.valid),
            counting.input.payload.eq(way.kept.completion),
            way.done.ready.eq(counting.input.ready),
            counting.words.eq(way.kept.words),
            counting.coded.eq(way.kept.coded),
            counting.events.eq(way.events),
            counting.extra_error.eq(client.extra_error),
            counting.hold.eq(half.hold_counters),
            half.counters_held.eq(counting.held),
            client.interrupt.eq(way.kept.interrupt),
            client.checking.eq(port.checking),
            client.aborting.eq(way.aborting),
            half.status.busy.eq(way.busy | rings.busy[index]),
            half.status.halted.eq(way.halted),
            half.status.aborting.eq(way.aborting | client.settling),
            half.status.stuck.eq(way.stuck | rings.stuck[index]),
        ]
        return way.rests

    def _alone(self, m: Module, name: str, parts: _Parts) -> _Way:
        """The channel is the pair's own."""
        control = parts.registers.control
        half, client, port = (getattr(each, name) for each in (control, parts.rings, self))
        connect_members(m, ChannelControl(self.config).members, half, wiring.flipped(port))
        m.d.comb += [port.halt.eq(client.halt), port.stop.eq(control.resetting)]
        status = port.status
        return _Way(
            done=port.done,
            kept=port.done.payload,
            events=port.events,
            busy=status.busy,
            halted=status.halted,
            aborting=status.aborting,
            stuck=status.stuck,
            rests=port.stopped,
        )

    def _among(self, m: Module, index: int, parts: _Parts, clear: Signal) -> _Way:
        """The channel is shared: completions wait for the software of the pair in a queue."""
        name, memories, control = CHANNELS[index], parts.memories, parts.registers.control
        half, client, port = (getattr(each, name) for each in (control, parts.rings, self))
        # As many as are in flight, and as many whose completions are on their way: so a pair alone never waits for room.
        room = 2 * self.config.descriptors
        queue = Fifo(Done(self.config.records), room)
        kept = f"{name}_done"
        m.submodules[kept] = reset_with(m, kept, memories.built(kept, queue), clear, self.clock)
        # Descriptors in the data path, and those whose completions the rings have not taken.
        inside, owed = (Signal(range(room + 1), name=f"{name}_{what}") for what in ("inside", "owed"))
        leaves = queue.output.valid & queue.output.ready
        m.d.sync += [
            inside.eq(inside + port.started - port.done.valid),
            owed.eq(owed + port.started - leaves),
        ]
        halted, drops = (Signal(name=f"{name}_{what}") for what in ("halted", "drops"))
        given, done = port.done.payload, queue.output.payload
        status = given.completion.status
        failed = port.done.valid & (status != Status.OK)
        # A watchdog ends all that the pair has in flight, as an abort does.
        ends = half.abort | control.soft_reset | (port.done.valid & (status == Status.WATCHDOG))
        if memories.coding.coded:
            # What may depend on a lost word of the pair ends as an abort's does, with another status.
            lost, loses = (Signal(name=f"{name}_{what}") for what in ("lost", "loses"))
            m.d.sync += [loses.eq(self._loses(parts)), lost.eq(loses | (lost & drops))]
            ends |= loses | (port.done.valid & (status == Status.MEMORY))
            given = _told(m, f"{name}_given", given, lost)
            done = _told(m, f"{name}_kept", done, memories.groups[kept].loses(lasting=True))
        with m.If(ends):
            m.d.sync += drops.eq(1)
        # The buffers of a descriptor whose watchdog has fired may be written until the port answers.
        with m.Elif((owed == 0) & ~port.checking & ~self.stuck[index]):
            m.d.sync += drops.eq(0)
        with m.If(client.halt | ends | drops | (failed & half.halt_on_error)):
            m.d.sync += halted.eq(1)
        with m.Elif(half.resume):
            m.d.sync += halted.eq(0)
        with m.If(clear):
            m.d.sync += [drops.eq(0), halted.eq(0), owed.eq(0)]
        events = Signal.like(getattr(self, f"{name}_events"), name=f"{name}_counted")
        m.d.comb += [
            port.may_start.eq(half.enable & ~halted & ~drops & ~control.resetting & (owed != room)),
            port.drops.eq(drops),
            port.values.eq(half.values),
            queue.input.valid.eq(port.done.valid),
            queue.input.payload.eq(given),
            events.eq(getattr(self, f"{name}_events")),
            events.in_flight.eq(inside != 0),
        ]
        if self.config.records.owner_bits:
            m.d.comb += [port.owner_value.eq(half.owner_value), port.owner_mask.eq(half.owner_mask)]
        return _Way(
            done=queue.output,
            kept=done,
            events=events,
            busy=(owed != 0) | port.checking,
            halted=halted,
            aborting=drops,
            stuck=self.stuck[index],
            rests=(inside == 0) & ~port.checking,
        )


def _told(m: Module, name: str, done: data.View, lost: Value) -> data.View:
    """A completion, which says so if a word is ``lost`` that it depends on."""
    told = Signal(done.shape(), name=name)
    m.d.comb += told.eq(done)
    with m.If(lost):
        m.d.comb += [
            told.completion.status.eq(Status.MEMORY),
            told.completion.address.eq(0),
            told.interrupt.eq(1),
        ]
    return told
