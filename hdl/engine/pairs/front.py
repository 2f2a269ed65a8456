"""Several queue pairs in front of one data path: to its software each is an engine of its own."""

from __future__ import annotations

from amaranth.hdl import Cat, DomainRenamer, Elaboratable, Module, Mux, Signal, Value
from amaranth.lib import wiring

from cdma.hdl.blocks.clocks import ClockGates
from cdma.hdl.blocks.memories import CodedParts, coding_of
from cdma.hdl.engine.channel.interfaces import CHANNELS, ChannelDriver, connect_members
from cdma.hdl.engine.control.counters import Counters, connect_pairs, count_channel
from cdma.hdl.engine.control.quiescence import CONTROL, accessed, settling_cycles
from cdma.hdl.engine.control.registers import RegisterBlock
from cdma.hdl.engine.control.windows import StoredWindows
from cdma.hdl.engine.rings.coalescer import Coalescer
from cdma.hdl.engine.rings.rings import Rings
from cdma.hdl.spec.engine import EngineConfig

from .delivered import DeliveredStore
from .dispatch import Dispatch
from .pair import Pair, connect_shared, connect_windows, pair_members, shared_members


class Pairs(wiring.Component):
    """Registers of several pairs, their rings, and whose descriptor each channel takes next: in the place of a
    :class:`.Pair` that is alone. Nothing that one pair does ends another one's descriptors: what an abort or a watchdog
    takes with it starts again.

    ``bus``: The registers: a page for each pair.
    ``offload``, ``prefetch``: The channels. They run always, and go on by themselves after a watchdog or a lost word.
    ``engine_clear``, ``loses``: Always low: no pair resets the channels.
    """

    def __init__(
        self, config: EngineConfig, clock: Signal | None = None, gates: ClockGates | None = None
    ) -> None:
        self.config = config
        self.clock = clock
        self.gates = gates
        super().__init__(
            {
                **pair_members(config, config.channels),
                **shared_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, memories = self.config, CodedParts(coding_of(platform))
        pairs = [
            Pair(config.of_pair(number), self.clock, self.gates, alone=False)
            for number in range(config.channels)
        ]
        registers, rings = RegisterBlock(config), Rings(config, self.clock if self.gates is None else None)
        changes = connect_shared(m, registers, rings, self)
        windows = StoredWindows(config)
        m.submodules.registers = self._gated(m, registers, pairs)
        for name, built in (("rings", rings), ("windows", memories.built("windows", windows))):
            m.submodules[name] = built if self.gates is None else DomainRenamer(CONTROL)(built)
        counters = Counters(config.units, config.channels, pipelined=config.pipelined, options=config.records)
        m.submodules.counters = memories.built("counters", counters)
        coalescer = Coalescer(config)
        m.submodules.coalescer = memories.built("coalescer", coalescer)
        wiring.connect(m, rings.events, coalescer.events)
        m.d.comb += [
            coalescer.changes.eq(changes),
            coalescer.clear.eq(Cat(pair.link.clear for pair in pairs)),
        ]
        counting = [[getattr(pair, f"{name}_counting") for name in CHANNELS] for pair in pairs]
        connect_pairs(m, counters, [pair.clear_counters for pair in pairs], counting)
        wiring.connect(m, registers.counters, counters.read)
        m.d.comb += counters.reader.eq(registers.reader)
        askers = {
            name: self._connect_channel(m, name, pairs, getattr(counters, name), registers, rings, memories)
            for name in CHANNELS
        }
        connect_windows(m, windows, changes, self, askers)
        for number, pair in enumerate(pairs):
            m.submodules[f"pair_{number}"] = pair
            wiring.connect(m, registers.controls[number], pair.control)
            m.d.comb += [
                pair.changes.index.eq(changes.index),
                pair.changes.data.eq(changes.data),
                pair.changes.enable.eq(Mux(changes.pair == number, changes.enable, 0)),
                pair.interrupts.eq(coalescer.interrupts[2 * number : 2 * number + 2]),
                pair.stuck.eq(Cat(getattr(self, name).status.stuck for name in CHANNELS)),
                *(
                    getattr(self, f"{name}_users")[number].eq(getattr(pair, f"{name}_users"))
                    for name in CHANNELS
                ),
            ]
            wiring.connect(m, getattr(rings, f"pair_{number}"), pair.link)
            if config.msi:
                wiring.connect(m, pair.messages, wiring.flipped(self.messages[number]))
            if config.coded_memories:
                found = memories.found()
                asks = [asker == number for asker in askers.values()]
                if config.pages:
                    asks += [getattr(self, name).page_pair == number for name in CHANNELS]
                m.d.comb += [
                    pair.window_lost.eq(memories.groups["windows"].loses() & Cat(asks).any()),
                    pair.word_corrected.eq(found.corrected | rings.word_corrected | self.word_corrected),
                    pair.word_lost.eq(found.lost | rings.word_lost | self.word_lost),
                ]
        if config.quiescence:
            m.d.comb += [
                self.working.eq(Cat(coalescer.waiting, *(pair.working for pair in pairs)).any()),
                self.pending.eq(Cat(pair.pending for pair in pairs).any()),
            ]
        return m

    def _gated(self, m: Module, registers: RegisterBlock, pairs: list[Pair]) -> Elaboratable:
        """The registers. Their clock, which is that of windows and rings, runs while anything of a pair does."""
        if self.gates is None:
            return registers
        active = Signal(name="pairs_active")
        answers = (self.fetch.r.valid, self.complete.b.valid)
        m.d.comb += active.eq(Cat(*(pair.active for pair in pairs), *accessed(self.bus), *answers).any())
        return self.gates.gated(m, CONTROL, registers, active, settling_cycles(self.config))

    def _connect_channel(
        self,
        m: Module,
        name: str,
        pairs: list[Pair],
        counting: wiring.PureInterface,
        registers: RegisterBlock,
        rings: Rings,
        memories: CodedParts,
    ) -> Value:
        """Connects a channel with the pairs and, on the way of its completions, with the counters; gives the pair whose
        descriptor is at the channel."""
        port, dispatch = getattr(self, name), Dispatch(self.config)
        m.submodules[f"{name}_dispatch"] = memories.built("dispatch", dispatch)
        for number, pair in enumerate(pairs):
            wiring.connect(m, getattr(pair, name), getattr(dispatch, f"pair_{number}"))
        wiring.connect(m, getattr(registers.controls[0], f"{name}_shares"), dispatch.shares)
        wiring.connect(m, getattr(rings, f"{name}_requests"), dispatch.store)
        said = [
            member
            for member in ChannelDriver(self.config).members
            if member in dispatch.signature.members and member != "done"
        ]
        connect_members(m, said, dispatch, wiring.flipped(port))
        count_channel(m, counting, port)
        clients = [getattr(pair, name) for pair in pairs]
        store = DeliveredStore(self.config)
        m.submodules[f"{name}_delivered"] = memories.built(f"{name}_delivered", store)
        for number, pair in enumerate(pairs):
            wiring.connect(m, getattr(store, f"pair_{number}"), getattr(pair, f"{name}_kept"))
        m.d.comb += [
            store.started.eq(counting.starters),
            store.done.eq(counting.takers),
            store.completion.eq(dispatch.done.payload),
            store.pair.eq(rings.pair),
            getattr(rings, f"{name}_completion").eq(store.oldest),
            dispatch.done.valid.eq(counting.output.valid & store.ready),
            dispatch.done.payload.completion.eq(counting.output.payload),
            dispatch.done.payload.interrupt.eq(port.done.payload.interrupt),
            counting.output.ready.eq(dispatch.done.ready),
            counting.takers.eq(Cat(client.done.valid for client in clients)),
            counting.starters.eq(Cat(client.started for client in clients)),
            dispatch.aborting.eq(port.status.aborting),
            port.enable.eq(1),
            port.resume.eq(port.status.halted & ~port.status.aborting),
        ]
        return dispatch.number
