"""Both channels with their rings, on two AXI4 ports: what the register block controls."""

from typing import NamedTuple

from amaranth.hdl import Cat, DomainRenamer, Elaboratable, Module, ResetInserter, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.answers import Timebase
from cdma.hdl.axi.arbiter import ReadArbiter, WriteArbiter
from cdma.hdl.axi.ports import connect_ports
from cdma.hdl.blocks.clocks import ALWAYS, ClockGates, reset_with
from cdma.hdl.blocks.memories import CodedParts, coding_of
from cdma.hdl.engine.channel.channel import Channel, gated_channel
from cdma.hdl.engine.channel.interfaces import CHANNELS, ChannelControl
from cdma.hdl.engine.control.counters import Counters
from cdma.hdl.engine.control.interfaces import ControlSignature
from cdma.hdl.engine.control.quiescence import CONTROL, soft_reset
from cdma.hdl.engine.control.windows import StoredWindows
from cdma.hdl.engine.pairs.sharing import list_ids, message_ids, ring_ids
from cdma.hdl.engine.rings.rings import Rings
from cdma.hdl.spec.engine import EngineConfig

from .core import memory_members

__all__ = [
    "LIST_IDS",
    "MESSAGE_IDS",
    "OFFLOAD_RING_ID",
    "PREFETCH_RING_ID",
    "ManagedEngine",
    "host_id_bits",
]

OFFLOAD_RING_ID, PREFETCH_RING_ID = 1, 2
#: The IDs of the lists of pages of offload and prefetch.
LIST_IDS = list_ids(1)
#: And of their messages.
MESSAGE_IDS = message_ids(0, 1)
#: IDs of the arbiters' clients: data, and the rings of two channels.
_IDS = ((0,), (OFFLOAD_RING_ID, PREFETCH_RING_ID))


def host_id_bits(config: EngineConfig) -> int:
    """Bits of an ID on the host port."""
    pairs = config.channels
    if config.msi:
        return max(message_ids(pairs - 1, pairs, pages=config.pages)).bit_length()
    return max(list_ids(pairs) if config.pages else ring_ids(pairs - 1)).bit_length()


#: Where memories are that both channels depend on.
_SHARED = "shared"


class _Parts(NamedTuple):
    """The parts of the engine."""

    timebase: Timebase
    offload: Channel
    prefetch: Channel
    rings: Rings
    windows: StoredWindows
    counters: Counters


class ManagedEngine(wiring.Component):
    """The engine without its register block.

    A soft reset lets every open transaction finish and then resets everything except the windows, which belong to the
    register block. ``control.resetting`` is high until then.

    ``clock``
        Where it is given, parts of the engine have resets of their own: see :func:`.reset_with`.
    ``gates``
        Where they are given, those of the channels stop their clocks, and what is not of a channel is in the domain
        :data:`CONTROL`, but for time and counters, whose phase shows.
    ``control``
        The register block.
    ``active``
        With gates: what is in that domain may change.
    ``working``, ``pending``
        In an engine with a Q-channel: something is in flight, and a descriptor waits in a ring.
    ``dev_read``, ``dev_write``
        The device port, or an array of them.
    ``host_read``, ``host_write``
        The host port: ID 0 is data, ID 1 the rings of the offload channel, ID 2 those of the prefetch channel.
    """

    def __init__(
        self, config: EngineConfig, clock: Signal | None = None, gates: ClockGates | None = None
    ) -> None:
        self.config = config
        self.clock = clock
        self.gates = gates
        super().__init__(
            {
                "control": In(ControlSignature(config)),
                **memory_members(config, host_id_bits(config)),
                **({"working": Out(1), "pending": Out(1)} if config.quiescence else {}),
                **({"active": Out(1)} if config.clock_gates else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, control = self.config, self.control
        clear = Signal(name="engine_clear")
        parts = _Parts(
            timebase=Timebase(),
            offload=Channel(config, compressing=True, clock=self.clock, gates=self.gates),
            prefetch=Channel(config, compressing=False, clock=self.clock, gates=self.gates),
            rings=Rings(config),
            windows=StoredWindows(config),
            counters=Counters(config.units, pipelined=config.pipelined, options=config.records),
        )
        m.submodules.timebase = parts.timebase
        m.d.comb += parts.timebase.watchdog_cycles.eq(control.watchdog_cycles)
        memories = CodedParts(coding_of(platform))
        for name in ("offload", "prefetch", "rings"):
            group = name if name in CHANNELS else _SHARED
            built = memories.built(group, part := getattr(parts, name))
            if self.gates is None:
                m.submodules[name] = reset_with(m, name, built, clear, self.clock)
            elif isinstance(part, Channel):
                m.submodules[name] = gated_channel(m, name, part, built, self.gates, clear)
            else:
                m.submodules[name] = self._controls(ResetInserter({"sync": clear, ALWAYS: clear})(built))
        self._connect_ports(m, parts, memories)
        m.submodules.windows = self._controls(memories.built(_SHARED, parts.windows))
        m.submodules.counters = reset_with(
            m, "counters", memories.built(_SHARED, parts.counters), clear, self.clock
        )
        if memories.coding.coded:
            self._tell_losses(m, parts, memories)
        self._connect_registers(m, parts)
        self._connect_channel(m, parts, 0, "offload", parts.offload)
        self._connect_channel(m, parts, 1, "prefetch", parts.prefetch)
        if config.quiescence:
            busy = [half.status.busy | half.status.aborting for half in (control.offload, control.prefetch)]
            m.d.comb += [
                self.working.eq(
                    Cat(*busy, control.resetting, parts.rings.timing, *self._messaging(parts)).any()
                ),
                self.pending.eq(parts.rings.pending),
            ]

        if config.clock_gates:
            self._notice_activity(m, parts)

        # Nothing begins while ``resetting`` is high, so what has stopped stays so.
        stopped = parts.offload.stopped & parts.prefetch.stopped & parts.rings.stopped
        soft_reset(m, control, stopped, clear, self.clock)
        return m

    def _controls(self, component: Elaboratable) -> Elaboratable:
        """A part that is in no channel, in its domain."""
        return component if self.gates is None else DomainRenamer(CONTROL)(component)

    def _notice_activity(self, m: Module, parts: _Parts) -> None:
        """Says when anything may change in the parts that are in no channel."""
        control = self.control
        halves = (control.offload, control.prefetch)
        activity = [self.host_read.r.valid, self.host_write.b.valid, control.resetting, control.soft_reset]
        activity += [half.status.busy | half.status.aborting | half.completion_irq for half in halves]
        activity += [getattr(parts.counters, name).output.valid for name in CHANNELS]
        activity += self._messaging(parts)
        if self.config.coded_memories:
            activity += [control.word_corrected, control.word_lost]
        m.d.comb += self.active.eq(Cat(activity).any())

    def _messaging(self, parts: _Parts) -> list[Value]:
        """Whether a message is to be written or answered, in an engine with any."""
        return [parts.rings.messaging] if self.config.msi else []

    def _tell_losses(self, m: Module, parts: _Parts, memories: CodedParts) -> None:
        """A lost word concerns its channel, while that has a descriptor; both, if it is in what they share."""
        control, codings, found = self.control, memories.groups, memories.found()
        shared_loses = Signal()
        m.d.comb += shared_loses.eq(codings[_SHARED].loses() | control.register_lost)
        for name in CHANNELS:
            channel = getattr(parts, name)
            loses, lost = Signal(name=f"{name}_loses"), Signal(name=f"{name}_lost")
            m.d.comb += [loses.eq(codings[name].loses()), channel.lost.eq(lost)]
            m.d.sync += lost.eq((loses & channel.status.busy) | shared_loses)
        m.d.comb += [
            parts.rings.register_lost.eq(control.register_lost),
            control.word_corrected.eq(found.corrected),
            control.word_lost.eq(found.lost),
        ]

    def _connect_ports(self, m: Module, parts: _Parts, memories: CodedParts) -> None:
        """Gives the device port to the channels, and the host port to the channels and the rings."""
        config = self.config
        host = (config.host_data_bits, config.host_address_bits)
        offload, prefetch, rings = parts.offload, parts.prefetch, parts.rings
        id_bits = host_id_bits(config)
        lists = [(id,) for id in LIST_IDS] if config.pages else []
        owner_bits = config.records.owner_bits
        reads = ReadArbiter((*_IDS, *lists), *host, id_bits, owner_bits)
        writers = (*_IDS, MESSAGE_IDS) if config.msi else _IDS
        writes = WriteArbiter(
            writers, *host, config.moved_bits, id_bits, owner_bits, pipelined=config.pipelined
        )
        m.submodules.host_reads = self._controls(memories.built(_SHARED, reads))
        m.submodules.host_writes = self._controls(memories.built(_SHARED, writes))
        connect_ports(m, offload.source, self.dev_read)
        connect_ports(m, prefetch.sink, self.dev_write)
        wiring.connect(m, prefetch.source, reads.client_0)
        wiring.connect(m, rings.fetch, reads.client_1)
        if config.pages:
            wiring.connect(m, offload.lists, reads.client_2)
            wiring.connect(m, prefetch.lists, reads.client_3)
        wiring.connect(m, offload.sink, writes.client_0)
        wiring.connect(m, rings.complete, writes.client_1)
        if config.msi:
            wiring.connect(m, rings.messages, writes.client_2)
        wiring.connect(m, reads.port, wiring.flipped(self.host_read))
        wiring.connect(m, writes.port, wiring.flipped(self.host_write))

    def _connect_registers(self, m: Module, parts: _Parts) -> None:
        """What the register block gives to, and takes from, more than one channel."""
        control, rings = self.control, parts.rings
        changes: Value = control.changes
        if self.config.pipelined:
            # The copies are far from the registers, and may be written a cycle later.
            changes = Signal.like(control.changes, name="late_changes")
            m.d.sync += changes.eq(control.changes)
        wiring.connect(m, rings.stored, wiring.flipped(control.stored))
        wiring.connect(m, rings.report, wiring.flipped(control.report))
        m.d.comb += [
            rings.watchdog_tick.eq(parts.timebase.tick),
            rings.stop.eq(control.resetting),
            parts.windows.changes.eq(changes),
            rings.changes.eq(changes),
            parts.counters.clear.eq(control.clear_counters),
        ]

    def _connect_channel(self, m: Module, parts: _Parts, index: int, name: str, channel: Channel) -> None:
        """Connects a channel to its registers, its rings, its windows and its counters."""
        control, rings, timebase = self.control, parts.rings, parts.timebase
        half, client, counting = getattr(control, name), getattr(rings, name), getattr(parts.counters, name)
        wiring.connect(m, wiring.flipped(half), getattr(rings, f"{name}_control"))
        wiring.connect(m, wiring.flipped(getattr(control, f"{name}_counters")), counting.read)
        ChannelControl(self.config).connect(m, half, channel)
        wiring.connect(m, channel.windows, getattr(parts.windows, name))
        if self.config.pages:
            wiring.connect(m, channel.page_windows, getattr(parts.windows, f"{name}_pages"))
        wiring.connect(m, client.requests, channel.requests)
        wiring.connect(m, channel.completion, counting.input)
        wiring.connect(m, counting.output, client.completion)
        m.d.comb += [
            channel.now.eq(timebase.now),
            channel.watchdog_tick.eq(timebase.tick),
            channel.stop.eq(control.resetting),
            channel.halt.eq(client.halt),
            client.checking.eq(channel.checking),
            client.interrupt.eq(channel.completion_interrupt),
            client.aborting.eq(channel.status.aborting),
            counting.words.eq(channel.completion_words),
            counting.coded.eq(channel.completion_coded),
            counting.events.eq(channel.events),
            counting.extra_error.eq(client.extra_error),
            counting.hold.eq(half.hold_counters),
            half.counters_held.eq(counting.held),
            half.status.busy.eq(channel.status.busy | rings.busy[index]),
            half.status.halted.eq(channel.status.halted),
            half.status.aborting.eq(channel.status.aborting | client.settling),
            half.status.stuck.eq(channel.status.stuck | rings.stuck[index]),
        ]
