"""All that is a pair's own: registers, rings, windows, counters and completions that its software has not taken."""

from amaranth.hdl import Cat, DomainRenamer, Module, ResetInserter, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import AxiLiteSignature, ReadPort, WritePort
from cdma.hdl.blocks.clocks import ALWAYS, ClockGates, reset_with
from cdma.hdl.blocks.memories import CodedParts, coding_of
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.engine.channel.interfaces import CHANNELS, ChannelEvents, OwnerLayout
from cdma.hdl.engine.control.counters import Counters
from cdma.hdl.engine.control.interfaces import SharesSignature, SidebandLayout
from cdma.hdl.engine.control.quiescence import CONTROL, accessed, settling_cycles, soft_reset
from cdma.hdl.engine.control.registers import RegisterBlock
from cdma.hdl.engine.control.windows import StoredWindows
from cdma.hdl.engine.rings.rings import Rings
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import PAIR_SPAN_LOG2, SIDEBAND_TARGETS
from cdma.hdl.spec.records import Status

from .sharing import Done, PairClient

__all__ = ["Pair"]

#: Where memories are that both channels of the pair depend on.
_OWN = "own"


class Pair(wiring.Component):
    """What software has of an engine, without the data path. A descriptor starts only if there is room for its completion,
    so that no pair waits for the software of another one. A soft reset ends what has started as an abort does, and forgets
    the completions.

    ``bus``, ``irq``, ``alert``
        The registers, the interrupt and, in an engine with coded memories, the alert.
    ``shares``, ``watchdog_cycles``
        Of the first pair: what its registers say of all.
    ``watchdog_tick``, ``stuck``
        That of the timebase; and the watchdog of the data path has fired, and a port has not answered since.
    ``working``, ``pending``
        In an engine with a Q-channel: something of the pair is in flight, and a descriptor waits in a ring.
    ``word_corrected``, ``word_lost``
        In an engine with coded memories: pulses for wrong words that are found in what is common to pairs.
    ``fetch``, ``complete``, ``messages``
        The AXI4 ports of the rings and, in an engine with any, of messages, with the number of a channel for ID.
    ``offload_ring_owner``, ``prefetch_ring_owner``
        Of an engine with owners: whose rings and messages are.
    ``offload_sideband``, ``prefetch_sideband``
        Of one with registers of the sideband: what addresses say beside.
    ``offload``, ``prefetch``
        The data path, with what it counts of each: in all pairs but the first it is told of none.
    """

    def __init__(
        self, config: EngineConfig, clock: Signal | None = None, gates: ClockGates | None = None
    ) -> None:
        self.config = config
        self.clock = clock
        self.gates = gates
        host = (config.host_data_bits, config.host_address_bits)
        shared = (
            {
                **{f"{name}_shares": Out(SharesSignature(config.channels)) for name in CHANNELS},
                "watchdog_cycles": Out(32),
            }
            if config.channels > 1
            else {}
        )
        super().__init__(
            {
                "bus": In(AxiLiteSignature(PAIR_SPAN_LOG2)),
                "irq": Out(1),
                **shared,
                "watchdog_tick": In(1),
                "stuck": In(2),
                **(
                    {"word_corrected": In(1), "word_lost": In(1), "alert": Out(1)}
                    if config.coded_memories
                    else {}
                ),
                "fetch": Out(ReadPort(*host, id_bits=1)),
                "complete": Out(WritePort(*host, config.moved_bits, id_bits=1)),
                **({"messages": Out(WritePort(*host, config.moved_bits, id_bits=1))} if config.msi else {}),
                **(
                    {f"{name}_ring_owner": Out(OwnerLayout(config.records)) for name in CHANNELS}
                    if config.records.owner_bits
                    else {}
                ),
                **(
                    {f"{name}_sideband": Out(SidebandLayout(config)) for name in CHANNELS}
                    if config.sideband_registers
                    else {}
                ),
                **({"working": Out(1), "pending": Out(1)} if config.quiescence else {}),
                **{name: Out(PairClient(config)) for name in CHANNELS},
                **{f"{name}_events": In(ChannelEvents(config.units)) for name in CHANNELS},
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        clear = Signal(name="pair_clear")
        registers = RegisterBlock(config)
        control = registers.control
        rings = Rings(config)
        counters = Counters(config.units, pipelined=config.pipelined, options=config.records)
        windows = StoredWindows(config)
        memories = CodedParts(coding_of(platform))
        built_windows, built_rings = (memories.built(_OWN, part) for part in (windows, rings))
        if self.gates is None:
            m.submodules.registers = registers
            m.submodules.windows = built_windows
            m.submodules.rings = reset_with(m, "rings", built_rings, clear, self.clock)
        else:
            self._gate(m, self.gates, registers, rings, counters)
            m.submodules.windows = DomainRenamer(CONTROL)(built_windows)
            m.submodules.rings = DomainRenamer(CONTROL)(
                ResetInserter({"sync": clear, ALWAYS: clear})(built_rings)
            )
        m.submodules.counters = reset_with(m, "counters", memories.built(_OWN, counters), clear, self.clock)
        wiring.connect(m, wiring.flipped(self.bus), registers.bus)
        wiring.connect(m, rings.fetch, wiring.flipped(self.fetch))
        wiring.connect(m, rings.complete, wiring.flipped(self.complete))
        if config.msi:
            wiring.connect(m, rings.messages, wiring.flipped(self.messages))
        wiring.connect(m, rings.stored, control.stored)
        wiring.connect(m, rings.report, control.report)
        changes: Value = control.changes
        if config.pipelined:
            changes = Signal.like(control.changes, name="late_changes")
            m.d.sync += changes.eq(control.changes)
        m.d.comb += [
            self.irq.eq(registers.irq),
            rings.watchdog_tick.eq(self.watchdog_tick),
            rings.stop.eq(control.resetting),
            rings.changes.eq(changes),
            windows.changes.eq(changes),
            counters.clear.eq(control.clear_counters),
        ]
        if config.channels > 1:
            m.d.comb += self.watchdog_cycles.eq(control.watchdog_cycles)
            for name in CHANNELS:
                shares = f"{name}_shares"
                wiring.connect(m, getattr(control, shares), wiring.flipped(getattr(self, shares)))
        rests = [
            self._direction(m, index, name, control, rings, windows, counters, clear, memories)
            for index, name in enumerate(CHANNELS)
        ]
        if memories.coding.coded:
            found = memories.found()
            m.d.comb += [
                self.alert.eq(registers.alert),
                rings.register_lost.eq(control.register_lost),
                control.word_corrected.eq(found.corrected | self.word_corrected),
                control.word_lost.eq(found.lost | self.word_lost),
            ]
        if config.quiescence:
            busy = [getattr(control, name).status for name in CHANNELS]
            m.d.comb += [
                self.working.eq(
                    Cat(
                        *(status.busy | status.aborting for status in busy),
                        control.resetting,
                        rings.timing,
                        *([rings.messaging] if config.msi else []),
                    ).any()
                ),
                self.pending.eq(rings.pending),
            ]
        soft_reset(m, control, rings.stopped & Cat(rests).all(), clear, self.clock)
        return m

    def _gate(
        self,
        m: Module,
        gates: ClockGates,
        registers: RegisterBlock,
        rings: Rings,
        counters: Counters,
    ) -> None:
        """Adds the registers. Their clock, which is that of windows and rings, stops while nothing of the pair is in flight
        and nobody accesses its registers."""
        control = registers.control
        halves = [getattr(control, name) for name in CHANNELS]
        answers = [self.fetch.r.valid, self.complete.b.valid]
        if self.config.msi:
            answers += [self.messages.b.valid, rings.messaging]
        if self.config.coded_memories:
            answers += [control.word_corrected, control.word_lost]
        active = Signal(name="pair_active")
        m.d.comb += active.eq(
            Cat(
                *accessed(self.bus),
                *(half.status.busy | half.status.aborting | half.completion_irq for half in halves),
                *(getattr(counters, name).output.valid for name in CHANNELS),
                *answers,
                control.resetting,
                control.soft_reset,
            ).any()
        )
        m.submodules.registers = gates.gated(m, CONTROL, registers, active, settling_cycles(registers))

    def _direction(
        self,
        m: Module,
        index: int,
        name: str,
        control: wiring.PureInterface,
        rings: Rings,
        windows: StoredWindows,
        counters: Counters,
        clear: Signal,
        memories: CodedParts,
    ) -> Value:
        """Connects one direction; gives whether nothing of it is in the data path."""
        half, client, counting, port = (getattr(each, name) for each in (control, rings, counters, self))
        # As many as are in flight, and as many whose completions are on their way: so a pair alone never waits for room.
        room = 2 * self.config.descriptors
        queue = Fifo(Done(self.config.records), room)
        kept = f"{name}_done"
        m.submodules[kept] = reset_with(m, kept, memories.built(kept, queue), clear, self.clock)
        wiring.connect(m, half, getattr(rings, f"{name}_control"))
        wiring.connect(m, getattr(control, f"{name}_counters"), counting.read)
        wiring.connect(m, wiring.flipped(port.windows), getattr(windows, name))
        if self.config.pages:
            wiring.connect(m, wiring.flipped(port.page_windows), getattr(windows, f"{name}_pages"))
        wiring.connect(m, client.requests, wiring.flipped(port.requests))
        wiring.connect(m, counting.output, client.completion)
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
            m.d.sync += [
                loses.eq(memories.groups[_OWN].loses() | control.register_lost),
                lost.eq(loses | (lost & drops)),
            ]
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
        events = getattr(self, f"{name}_events")
        m.d.comb += [
            port.may_start.eq(half.enable & ~halted & ~drops & ~control.resetting & (owed != room)),
            port.drops.eq(drops),
            port.values.eq(half.values),
            queue.input.valid.eq(port.done.valid),
            queue.input.payload.eq(given),
            counting.input.valid.eq(queue.output.valid),
            counting.input.payload.eq(done.completion),
            queue.output.ready.eq(counting.input.ready),
            counting.words.eq(done.words),
            counting.coded.eq(done.coded),
            counting.events.eq(events),
            counting.events.in_flight.eq(inside != 0),
            counting.extra_error.eq(client.extra_error),
            counting.hold.eq(half.hold_counters),
            half.counters_held.eq(counting.held),
            client.interrupt.eq(done.interrupt),
            client.checking.eq(port.checking),
            client.aborting.eq(drops),
            half.status.busy.eq((owed != 0) | port.checking | rings.busy[index]),
            half.status.halted.eq(halted),
            half.status.aborting.eq(drops | client.settling),
            half.status.stuck.eq(self.stuck[index] | rings.stuck[index]),
        ]
        if self.config.records.owner_bits:
            m.d.comb += [
                port.owner_value.eq(half.owner_value),
                port.owner_mask.eq(half.owner_mask),
                getattr(self, f"{name}_ring_owner").eq(half.ring_owner),
            ]
        if self.config.sideband_registers:
            sideband = getattr(self, f"{name}_sideband")
            m.d.comb += [
                sideband[target].eq(getattr(half, f"{target}_sideband")) for target in SIDEBAND_TARGETS
            ]
        return (inside == 0) & ~port.checking


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
