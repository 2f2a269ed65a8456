"""Several queue pairs in front of one data path: to its software each is an engine of its own."""

from __future__ import annotations

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.clocks import PLAIN_CLOCK, Clocking
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.blocks.memories import CodedParts, coding_of
from cdma.hdl.engine.channel.interfaces import CHANNELS, ChannelDriver, connect_members
from cdma.hdl.engine.control.counters import Counters, PairCounting, connect_pairs, count_channel
from cdma.hdl.engine.control.interfaces import ChangeLayout, ControlSignature
from cdma.hdl.engine.control.quiescence import CONTROL, accessed, settling_cycles
from cdma.hdl.engine.control.registers import RegisterBlock
from cdma.hdl.engine.control.windows import StoredWindows
from cdma.hdl.engine.rings.coalescer import Coalescer
from cdma.hdl.engine.rings.messages import RingLink
from cdma.hdl.engine.rings.rings import Rings
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import Status

from .connections import connect_shared, connect_windows, shared_members
from .delivered import DeliveredStore, KeptSignature
from .dispatch import Dispatch
from .pair import Pair, Parts, Way, pair_members
from .sharing import PairClient


class OneOfSeveral(Pair):
    """One of several pairs. A descriptor starts only if there is room for its completion, so that no pair waits for the
    software of another one. A soft reset ends what has started as an abort does, and forgets the completions.

    ``offload``, ``prefetch``: The pair's share of the channels.
    ``control``, ``link``, ``changes``: The registers, the rings, and what is written into the memory of its registers.
    ``interrupts``: Pulses for both channels: enough completions, or one long enough ago.
    ``window_lost``: In an engine with coded memories: a word of its windows is lost.
    ``stuck``: The watchdog of a channel has fired, and a port has not answered since.
    ``offload_counting``, ``prefetch_counting``, ``clear_counters``: Its counters.
    ``offload_kept``, ``prefetch_kept``: Its completions that the rings have not taken.
    """

    def __init__(self, config: EngineConfig, clocking: Clocking) -> None:
        members = {
            "control": In(ControlSignature(config)),
            "link": In(RingLink(config)),
            "changes": In(ChangeLayout()),
            **optional(config.coded_memories, window_lost=In(1)),
            **optional(config.clock_gates, active=Out(1)),
            **{name: Out(PairClient(config)) for name in CHANNELS},
            **{f"{name}_counting": Out(PairCounting()) for name in CHANNELS},
            **{f"{name}_kept": In(KeptSignature()) for name in CHANNELS},
            "clear_counters": Out(1),
            "interrupts": In(2),
            "stuck": In(2),
        }
        super().__init__(config, clocking, members)

    def _shared(
        self, m: Module, clear: Signal
    ) -> tuple[wiring.PureInterface, wiring.PureInterface, data.View]:
        return wiring.flipped(self.control), wiring.flipped(self.link), self.changes

    def _coalesced(self, m: Module, parts: Parts, clear: Signal) -> tuple[Value, Value]:
        return self.interrupts, C(0)

    def _counting(self, m: Module, parts: Parts, clear: Signal) -> list[wiring.PureInterface]:
        m.d.comb += self.clear_counters.eq(parts.control.clear_counters | clear)
        return [wiring.flipped(getattr(self, f"{name}_counting")) for name in CHANNELS]

    def _loses(self, parts: Parts) -> Value:
        return super()._loses(parts) | self.window_lost

    def _way(self, m: Module, index: int, parts: Parts, counting: wiring.PureInterface, clear: Signal) -> Way:
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
        return Way(
            extra_error=extra_error,
            busy=kept.owed | port.checking,
            halted=halted,
            aborting=drops,
            stuck=self.stuck[index],
            rests=~kept.inside & kept.settled & ~port.checking & ~counting.adding,
        )


class Pairs(wiring.Component):
    """Registers of several pairs, their rings, and whose descriptor each channel takes next: in the place of a
    :class:`.LonePair`. Nothing that one pair does ends another one's descriptors: what an abort or a watchdog
    takes with it starts again.

    ``bus``: The registers: a page for each pair.
    ``offload``, ``prefetch``: The channels. They run always, and go on by themselves after a watchdog or a lost word.
    ``engine_clear``, ``loses``: Always low: no pair resets the channels.
    """

    def __init__(self, config: EngineConfig, clocking: Clocking = PLAIN_CLOCK) -> None:
        self.config = config
        self.clocking = clocking
        super().__init__(pair_members(config, config.channels) | shared_members(config))

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, clocking, memories = self.config, self.clocking, CodedParts(coding_of(platform))
        pairs = [OneOfSeveral(config.of_pair(number), clocking) for number in range(config.channels)]
        registers, rings = RegisterBlock(config), Rings(config, clocking)
        changes = connect_shared(m, registers, rings, self)
        windows = StoredWindows(config)
        # Their clock is that of windows and of rings, too.
        m.submodules.registers = clocking.gated(
            m, CONTROL, registers, lambda: self._active(m, pairs), settling_cycles(config)
        )
        for name, built in (("rings", rings), ("windows", memories.built("windows", windows))):
            m.submodules[name] = clocking.beside(CONTROL, built)
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
                found, timed = memories.found(but="coalescer"), memories.groups["coalescer"].found()
                # A limit of another pair stays lost until that pair's software writes it.
                mine = coalescer.pair == number
                readers = dict(askers)
                if config.pages:
                    readers |= {f"{name}_pages": getattr(self, name).page_pair for name in CHANNELS}
                loses = [
                    getattr(windows, f"{name}_lost") & (reads == number) for name, reads in readers.items()
                ]
                m.d.comb += [
                    pair.window_lost.eq(Cat(loses).any()),
                    pair.word_corrected.eq(
                        found.corrected
                        | (timed.corrected & mine)
                        | rings.word_corrected
                        | self.word_corrected
                    ),
                    pair.word_lost.eq(found.lost | (timed.lost & mine) | rings.word_lost | self.word_lost),
                ]
        if config.quiescence:
            m.d.comb += [
                self.working.eq(Cat(coalescer.waiting, *(pair.working for pair in pairs)).any()),
                self.pending.eq(Cat(pair.pending for pair in pairs).any()),
            ]
        return m

    def _active(self, m: Module, pairs: list[OneOfSeveral]) -> Signal:
        """Whether the clock of the registers is to run: while anything of a pair does."""
        active = Signal(name="pairs_active")
        answers = (self.fetch.r.valid, self.complete.b.valid)
        m.d.comb += active.eq(Cat(*(pair.active for pair in pairs), *accessed(self.bus), *answers).any())
        return active

    def _connect_channel(
        self,
        m: Module,
        name: str,
        pairs: list[OneOfSeveral],
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
