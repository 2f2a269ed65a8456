"""The only queue pair of an engine: it has the registers, the rings and the channels to itself."""

from __future__ import annotations

from amaranth.hdl import C, Module, Signal, Value
from amaranth.lib import data, wiring

from cdma.hdl.blocks.clocks import PLAIN_CLOCK, Clocking
from cdma.hdl.engine.channel.interfaces import CHANNELS, ChannelControl, connect_members
from cdma.hdl.engine.control.counters import Counters, PairCounting, connect_pairs, count_channel
from cdma.hdl.engine.control.quiescence import CONTROL, accessed, settling_cycles
from cdma.hdl.engine.control.registers import RegisterBlock
from cdma.hdl.engine.control.windows import StoredWindows
from cdma.hdl.engine.rings.coalescer import Coalescer
from cdma.hdl.engine.rings.rings import Rings
from cdma.hdl.spec.engine import EngineConfig

from .connections import connect_shared, connect_windows, shared_members
from .pair import OWN, Pair, Parts, Way


class LonePair(Pair):
    """Registers and rings, with the members of :func:`.shared_members`. A soft reset resets the channels as well.

    ``offload``, ``prefetch``: The channels.
    """

    def __init__(self, config: EngineConfig, clocking: Clocking = PLAIN_CLOCK) -> None:
        super().__init__(config, clocking, shared_members(config))
        self.active = Signal(name="pair_active")

    def _shared(
        self, m: Module, clear: Signal
    ) -> tuple[wiring.PureInterface, wiring.PureInterface, data.View]:
        config, clocking = self.config, self.clocking
        self._registers = registers = RegisterBlock(config)
        self._rings = rings = Rings(config, clocking)
        # Their clock is that of windows and of rings, too.
        m.submodules.registers = clocking.gated(
            m, CONTROL, registers, lambda: self.active, settling_cycles(config)
        )
        m.submodules.rings = clocking.beside(CONTROL, rings)
        m.d.comb += self.engine_clear.eq(clear)
        return registers.controls[0], rings.pair_0, connect_shared(m, registers, rings, self)

    def _coalesced(self, m: Module, parts: Parts, clear: Signal) -> tuple[Value, Value]:
        coalescer = Coalescer(self.config)
        m.submodules.coalescer = parts.memories.built(OWN, coalescer)
        wiring.connect(m, self._rings.events, coalescer.events)
        m.d.comb += [coalescer.changes.eq(parts.changes), coalescer.clear.eq(clear)]
        return coalescer.interrupts, coalescer.waiting if self.config.quiescence else C(0)

    def _answers(self) -> list[Value]:
        return [self.fetch.r.valid, self.complete.b.valid, *accessed(self.bus)]

    def _found(self) -> tuple[Value, Value]:
        rings = self._rings
        return self.word_corrected | rings.word_corrected, self.word_lost | rings.word_lost

    def _tell_losses(self, m: Module, parts: Parts) -> None:
        super()._tell_losses(m, parts)
        m.d.comb += self.loses.eq(self._loses(parts))

    def _counting(self, m: Module, parts: Parts, clear: Signal) -> list[wiring.PureInterface]:
        config, memories = self.config, parts.memories
        counters = Counters(config.units, pipelined=config.pipelined, options=config.records)
        built = memories.built(OWN, counters)
        m.submodules.counters = self.clocking.cleared(m, "counters", built, clear)
        counting = [PairCounting().create(path=(f"{name}_counting",)) for name in CHANNELS]
        connect_pairs(m, counters, [parts.control.clear_counters], [counting])
        wiring.connect(m, self._registers.counters, counters.read)
        m.d.comb += counters.reader.eq(self._registers.reader)
        windows = StoredWindows(config)
        m.submodules.windows = self.clocking.beside(CONTROL, memories.built(OWN, windows))
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

    def _way(self, m: Module, index: int, parts: Parts, counting: wiring.PureInterface, clear: Signal) -> Way:
        name, control = CHANNELS[index], parts.control
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
        return Way(
            extra_error=C(0),
            busy=status.busy,
            halted=status.halted,
            aborting=status.aborting,
            stuck=status.stuck,
            rests=port.stopped,
        )
