"""Several queue pairs in front of one data path: to its software each is an engine of its own."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring

from cdma.hdl.blocks.clocks import ClockGates
from cdma.hdl.blocks.memories import CodedParts, coding_of
from cdma.hdl.engine.channel.interfaces import CHANNELS, ChannelDriver, connect_members
from cdma.hdl.engine.control.counters import Counters, connect_pairs, count_channel
from cdma.hdl.engine.control.quiescence import settling_cycles
from cdma.hdl.engine.rings.rings import Rings
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import PAIR_SPAN_LOG2

from .dispatch import Dispatch
from .pair import Pair, connect_rings, front_members, ring_members
from .sharing import BusSplit


class Pairs(wiring.Component):
    """Registers of several pairs, their rings, and whose descriptor each channel takes next: in the place of a
    :class:`.Pair` that is alone. Nothing that one pair does ends another one's descriptors: what an abort or a watchdog
    takes with it starts again.

    ``bus``
        The registers: a page for each pair.
    ``offload``, ``prefetch``
        The channels. They run always, and go on by themselves after a watchdog or a lost word.
    ``engine_clear``, ``loses``
        Always low: no pair resets the channels.
    """

    def __init__(
        self, config: EngineConfig, clock: Signal | None = None, gates: ClockGates | None = None
    ) -> None:
        self.config = config
        self.clock = clock
        self.gates = gates
        super().__init__(
            {
                **front_members(config, config.channels, config.register_address_bits),
                **ring_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, memories = self.config, CodedParts(coding_of(platform))
        m.submodules.split = split = BusSplit(config.channels, PAIR_SPAN_LOG2, config.register_address_bits)
        wiring.connect(m, wiring.flipped(self.bus), split.bus)
        pairs = [
            Pair(config.of_pair(number), self.clock, self.gates, alone=False)
            for number in range(config.channels)
        ]
        rings = self._add_rings(m, pairs)
        counters = Counters(config.units, config.channels, pipelined=config.pipelined, options=config.records)
        m.submodules.counters = memories.built("counters", counters)
        counting = [[getattr(pair, f"{name}_counting") for name in CHANNELS] for pair in pairs]
        connect_pairs(m, counters, [pair.clear_counters for pair in pairs], counting)
        for name in CHANNELS:
            self._connect_channel(m, name, pairs, getattr(counters, name), memories)
        for number, pair in enumerate(pairs):
            m.submodules[f"pair_{number}"] = pair
            wiring.connect(m, getattr(split, f"page_{number}"), pair.bus)
            m.d.comb += [
                pair.stuck.eq(Cat(getattr(self, name).status.stuck for name in CHANNELS)),
                self.irq[number].eq(pair.irq),
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
                m.d.comb += [
                    self.alert[number].eq(pair.alert),
                    pair.word_corrected.eq(found.corrected | rings.word_corrected | self.word_corrected),
                    pair.word_lost.eq(found.lost | rings.word_lost | self.word_lost),
                ]
        m.d.comb += self.watchdog_cycles.eq(pairs[0].watchdog_cycles)
        if config.quiescence:
            m.d.comb += [
                self.working.eq(Cat(pair.working for pair in pairs).any()),
                self.pending.eq(Cat(pair.pending for pair in pairs).any()),
            ]
        return m

    def _add_rings(self, m: Module, pairs: list[Pair]) -> Rings:
        """The rings of all pairs. Their clock runs while that of the registers of any pair does."""
        gates = self.gates
        rings = Rings(self.config, self.clock if gates is None else None)
        connect_rings(m, rings, self)
        if gates is None:
            m.submodules.rings = rings
        else:
            active = Signal(name="rings_active")
            answers = (self.fetch.r.valid, self.complete.b.valid)
            m.d.comb += active.eq(Cat(*(pair.active for pair in pairs), *answers).any())
            settling = settling_cycles(self.config)
            m.submodules.rings = gates.gated(m, "rings", rings, active, settling)
        return rings

    def _connect_channel(
        self, m: Module, name: str, pairs: list[Pair], counting: wiring.PureInterface, memories: CodedParts
    ) -> None:
        """Connects a channel with the pairs and, on the way of its completions, with the counters."""
        port, dispatch = getattr(self, name), Dispatch(self.config)
        m.submodules[f"{name}_dispatch"] = memories.built("dispatch", dispatch)
        for number, pair in enumerate(pairs):
            wiring.connect(m, getattr(pair, name), getattr(dispatch, f"pair_{number}"))
        wiring.connect(m, getattr(pairs[0], f"{name}_shares"), dispatch.shares)
        said = [
            member
            for member in ChannelDriver(self.config).members
            if member in dispatch.signature.members and member != "done"
        ]
        connect_members(m, said, dispatch, wiring.flipped(port))
        count_channel(m, counting, port)
        clients = [getattr(pair, name) for pair in pairs]
        m.d.comb += [
            dispatch.done.valid.eq(counting.output.valid),
            dispatch.done.payload.completion.eq(counting.output.payload),
            dispatch.done.payload.interrupt.eq(port.done.payload.interrupt),
            counting.output.ready.eq(dispatch.done.ready),
            counting.takers.eq(Cat(client.done.valid for client in clients)),
            counting.starters.eq(Cat(client.started for client in clients)),
            dispatch.aborting.eq(port.status.aborting),
            port.enable.eq(1),
            port.resume.eq(port.status.halted & ~port.status.aborting),
        ]
