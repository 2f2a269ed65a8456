"""Several queue pairs in front of one data path: to its software each is an engine of its own."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from cdma.hdl.blocks.clocks import ClockGates
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.blocks.memories import CodedParts, coding_of
from cdma.hdl.engine.channel.interfaces import CHANNELS, ChannelDriver, connect_members
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import PAIR_SPAN_LOG2

from .dispatch import Dispatch
from .pair import Pair, front_members
from .sharing import BusSplit


class Pairs(wiring.Component):
    """Registers and rings of several pairs, and whose descriptor each channel takes next: in the place of a :class:`.Pair`
    that is alone. Nothing that one pair does ends another one's descriptors: what an abort or a watchdog takes with it
    starts again.

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
                **{name: Out(ChannelDriver(config)) for name in CHANNELS},
                "engine_clear": Out(1),
                **optional(config.coded_memories, loses=Out(1)),
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
        for name in CHANNELS:
            self._connect_channel(m, name, pairs, memories)
        for number, pair in enumerate(pairs):
            m.submodules[f"pair_{number}"] = pair
            wiring.connect(m, getattr(split, f"page_{number}"), pair.bus)
            m.d.comb += [
                pair.watchdog_tick.eq(self.watchdog_tick),
                pair.stuck.eq(Cat(getattr(self, name).status.stuck for name in CHANNELS)),
                self.irq[number].eq(pair.irq),
                *(
                    getattr(self, f"{name}_users")[number].eq(getattr(pair, f"{name}_users"))
                    for name in CHANNELS
                ),
            ]
            for port in ("fetch", "complete", "messages") if config.msi else ("fetch", "complete"):
                wiring.connect(m, getattr(pair, port), wiring.flipped(getattr(self, port)[number]))
            if config.coded_memories:
                found = memories.found()
                m.d.comb += [
                    self.alert[number].eq(pair.alert),
                    pair.word_corrected.eq(found.corrected | self.word_corrected),
                    pair.word_lost.eq(found.lost | self.word_lost),
                ]
        m.d.comb += self.watchdog_cycles.eq(pairs[0].watchdog_cycles)
        if config.quiescence:
            m.d.comb += [
                self.working.eq(Cat(pair.working for pair in pairs).any()),
                self.pending.eq(Cat(pair.pending for pair in pairs).any()),
            ]
        return m

    def _connect_channel(self, m: Module, name: str, pairs: list[Pair], memories: CodedParts) -> None:
        """Connects a channel with the pairs."""
        port, dispatch = getattr(self, name), Dispatch(self.config)
        m.submodules[f"{name}_dispatch"] = memories.built("dispatch", dispatch)
        for number, pair in enumerate(pairs):
            wiring.connect(m, getattr(pair, name), getattr(dispatch, f"pair_{number}"))
        wiring.connect(m, getattr(pairs[0], f"{name}_shares"), dispatch.shares)
        said = [
            member for member in ChannelDriver(self.config).members if member in dispatch.signature.members
        ]
        connect_members(m, said, dispatch, wiring.flipped(port))
        m.d.comb += [
            getattr(pairs[0], f"{name}_events").eq(port.events),
            dispatch.aborting.eq(port.status.aborting),
            port.enable.eq(1),
            port.resume.eq(port.status.halted & ~port.status.aborting),
        ]
