"""The engine with several queue pairs: each has registers and rings of its own, and all share the data path."""

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.answers import Timebase
from cdma.hdl.axi.arbiter import ReadArbiter, WriteArbiter
from cdma.hdl.axi.ports import AxiLiteSignature, connect_ports
from cdma.hdl.blocks.clocks import ClockGates, declare_always
from cdma.hdl.blocks.memories import CodedParts, coding_of
from cdma.hdl.engine.channel.channel import Channel, gated_channel
from cdma.hdl.engine.channel.interfaces import CHANNELS, OwnerLayout
from cdma.hdl.engine.control.interfaces import SidebandLayout
from cdma.hdl.engine.pairs.dispatch import Dispatch
from cdma.hdl.engine.pairs.pair import Pair
from cdma.hdl.engine.pairs.sharing import BusSplit, list_ids, message_ids, ring_ids
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import PAIR_SPAN_LOG2

from .core import memory_members
from .managed import host_id_bits

__all__ = ["SharedEngine"]


class SharedEngine(wiring.Component):
    """Registers, rings and data path. Nothing that one pair does ends another one's descriptors: what an abort or a watchdog
    takes with it starts again.

    ``bus``
        The registers: a page for each pair.
    ``irq``, ``alert``
        One bit for each pair; the alert in an engine with coded memories.
    ``working``, ``pending``, ``dev_read``, ``dev_write``, ``host_read``, ``host_write``
        As those of :class:`.ManagedEngine`; the rings of pair k have the IDs 2k + 1 and 2k + 2.
    ``ring_owners``
        Of an engine with owners: whose the rings and messages of each channel are, in the order of those IDs.
    ``sidebands``
        Of one with registers of the sideband: what addresses of each channel say beside, in the same order.
    """

    def __init__(
        self, config: EngineConfig, clock: Signal | None = None, gates: ClockGates | None = None
    ) -> None:
        self.config = config
        self.clock = clock
        self.gates = gates
        owner = OwnerLayout(config.records)
        super().__init__(
            {
                "bus": In(AxiLiteSignature(config.register_address_bits)),
                "irq": Out(config.channels),
                **({"alert": Out(config.channels)} if config.coded_memories else {}),
                **({"working": Out(1), "pending": Out(1)} if config.quiescence else {}),
                **memory_members(config, host_id_bits(config)),
                **({"ring_owners": Out(data.ArrayLayout(owner, 2 * config.channels))} if owner.size else {}),
                **(
                    {"sidebands": Out(data.ArrayLayout(SidebandLayout(config), 2 * config.channels))}
                    if config.sideband_registers
                    else {}
                ),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        if self.gates is not None:
            declare_always(m)
        m.submodules.timebase = timebase = Timebase()
        m.submodules.split = split = BusSplit(config.channels, PAIR_SPAN_LOG2, config.register_address_bits)
        wiring.connect(m, wiring.flipped(self.bus), split.bus)
        pairs = [Pair(config.of_pair(number), self.clock, self.gates) for number in range(config.channels)]
        for number, pair in enumerate(pairs):
            m.submodules[f"pair_{number}"] = pair
            wiring.connect(m, getattr(split, f"page_{number}"), pair.bus)
            m.d.comb += [pair.watchdog_tick.eq(timebase.tick), self.irq[number].eq(pair.irq)]
            for index, name in enumerate(CHANNELS if config.records.owner_bits else ()):
                m.d.comb += self.ring_owners[2 * number + index].eq(getattr(pair, f"{name}_ring_owner"))
            for index, name in enumerate(CHANNELS if config.sideband_registers else ()):
                m.d.comb += self.sidebands[2 * number + index].eq(getattr(pair, f"{name}_sideband"))
        m.d.comb += timebase.watchdog_cycles.eq(pairs[0].watchdog_cycles)
        channels = [
            Channel(config, compressing=name == CHANNELS[0], clock=self.clock, gates=self.gates)
            for name in CHANNELS
        ]
        memories = CodedParts(coding_of(platform))
        for name, channel in zip(CHANNELS, channels, strict=True):
            built = memories.built(name, channel)
            m.submodules[name] = (
                built if self.gates is None else gated_channel(m, name, channel, built, self.gates)
            )
            self._connect_channel(m, name, channel, pairs, timebase, memories)
        if memories.coding.coded:
            self._tell_losses(m, channels, pairs, memories)
        stuck = Cat(channel.status.stuck for channel in channels)
        m.d.comb += [pair.stuck.eq(stuck) for pair in pairs]
        if config.quiescence:
            busy = [channel.status.busy | channel.status.aborting for channel in channels]
            m.d.comb += [
                self.working.eq(Cat(*busy, *(pair.working for pair in pairs)).any()),
                self.pending.eq(Cat(pair.pending for pair in pairs).any()),
            ]
        self._connect_ports(m, *channels, pairs, memories)
        return m

    def _tell_losses(
        self, m: Module, channels: list[Channel], pairs: list[Pair], memories: CodedParts
    ) -> None:
        """A lost word concerns its channel, while that has a descriptor; every pair is told of what is common."""
        for name, channel in zip(CHANNELS, channels, strict=True):
            lost = Signal(name=f"{name}_lost")
            m.d.comb += channel.lost.eq(lost)
            m.d.sync += lost.eq(memories.groups[name].loses() & channel.status.busy)
        found = memories.found()
        for number, pair in enumerate(pairs):
            m.d.comb += self.alert[number].eq(pair.alert)
            m.d.comb += [pair.word_corrected.eq(found.corrected), pair.word_lost.eq(found.lost)]

    def _connect_channel(
        self,
        m: Module,
        name: str,
        channel: Channel,
        pairs: list[Pair],
        timebase: Timebase,
        memories: CodedParts,
    ) -> None:
        """Connects a channel with the pairs. It runs always, and goes on by itself after a watchdog or a lost word."""
        dispatch = Dispatch(self.config)
        m.submodules[f"{name}_dispatch"] = memories.built("dispatch", dispatch)
        for number, pair in enumerate(pairs):
            wiring.connect(m, getattr(pair, name), getattr(dispatch, f"pair_{number}"))
        wiring.connect(m, getattr(pairs[0], f"{name}_shares"), dispatch.shares)
        wiring.connect(m, dispatch.requests, channel.requests)
        wiring.connect(m, channel.windows, dispatch.windows)
        if self.config.pages:
            wiring.connect(m, channel.page_windows, dispatch.page_windows)
            m.d.comb += dispatch.page_pair.eq(channel.page_pair)
        if self.config.records.pair_bits:
            m.d.comb += channel.pair.eq(dispatch.pair)
        done, completion = dispatch.done, channel.completion
        m.d.comb += [
            getattr(pairs[0], f"{name}_events").eq(channel.events),
            dispatch.checking.eq(channel.checking),
            done.valid.eq(completion.valid),
            completion.ready.eq(done.ready),
            done.payload.completion.eq(completion.payload),
            done.payload.interrupt.eq(channel.completion_interrupt),
            done.payload.words.eq(channel.completion_words),
            done.payload.coded.eq(channel.completion_coded),
            channel.enable.eq(1),
            channel.resume.eq(channel.status.halted & ~channel.status.aborting),
            channel.abort.eq(dispatch.abort),
            dispatch.aborting.eq(channel.status.aborting),
            channel.values.eq(dispatch.values),
            channel.now.eq(timebase.now),
            channel.watchdog_tick.eq(timebase.tick),
        ]
        if self.config.records.owner_bits:
            m.d.comb += [
                channel.owner_value.eq(dispatch.owner_value),
                channel.owner_mask.eq(dispatch.owner_mask),
            ]

    def _connect_ports(
        self, m: Module, offload: Channel, prefetch: Channel, pairs: list[Pair], memories: CodedParts
    ) -> None:
        """Gives the device port to the channels, and the host port to the channels and the rings."""
        config = self.config
        host = (config.host_data_bits, config.host_address_bits)
        id_bits = host_id_bits(config)
        count = len(pairs)
        ids = ((0,), *(ring_ids(number) for number in range(count)))
        writers = ids
        if config.msi:
            writers += tuple(message_ids(number, count, pages=config.pages) for number in range(count))
        lists = [(id,) for id in list_ids(count)] if config.pages else []
        owner_bits = config.records.tag_bits
        m.submodules.host_reads = reads = ReadArbiter(
            (ids[0], *lists, *ids[1:]), *host, id_bits, owner_bits, owned=1 + len(lists)
        )
        writes = WriteArbiter(
            writers, *host, config.moved_bits, id_bits, owner_bits, pipelined=config.pipelined
        )
        # Whose data come next must not be lost: it concerns all.
        m.submodules.host_writes = memories.coding.in_flip_flops(writes)
        connect_ports(m, offload.source, self.dev_read)
        connect_ports(m, prefetch.sink, self.dev_write)
        wiring.connect(m, prefetch.source, reads.client_0)
        wiring.connect(m, offload.sink, writes.client_0)
        if config.pages:
            wiring.connect(m, offload.lists, reads.client_1)
            wiring.connect(m, prefetch.lists, reads.client_2)
        for number, pair in enumerate(pairs, 1):
            wiring.connect(m, pair.fetch, getattr(reads, f"client_{number + len(lists)}"))
            wiring.connect(m, pair.complete, getattr(writes, f"client_{number}"))
            if config.msi:
                wiring.connect(m, pair.messages, getattr(writes, f"client_{number + len(pairs)}"))
        wiring.connect(m, reads.port, wiring.flipped(self.host_read))
        wiring.connect(m, writes.port, wiring.flipped(self.host_write))
