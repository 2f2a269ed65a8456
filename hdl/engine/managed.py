"""Both channels with their registers and rings, on AXI4 ports: the engine that software controls."""

from __future__ import annotations

from typing import NamedTuple

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.answers import Timebase
from cdma.hdl.axi.arbiter import ReadArbiter, WriteArbiter
from cdma.hdl.axi.ports import AxiLiteSignature, each_port
from cdma.hdl.blocks.clocks import PLAIN_CLOCK, Clocking
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.blocks.memories import CodedParts, PlainMemories, coding_of
from cdma.hdl.engine.channel.channel import Channel, clocked_channel
from cdma.hdl.engine.channel.interfaces import CHANNELS, ChannelDriver, connect_members
from cdma.hdl.engine.pairs.front import Pairs
from cdma.hdl.engine.pairs.lone import LonePair
from cdma.hdl.engine.pairs.sharing import list_ids, message_ids, ring_ids
from cdma.hdl.spec.engine import EngineConfig

from .core import connect_device, memory_members
from .user import UserLayout, connect_with_user, data_user, list_user


class HostIds(NamedTuple):
    """The IDs of the transactions on the host port: of data; of the rings of each pair, for offload and for prefetch; of the
    lists of pages of both channels; of the messages of each pair."""

    data: int
    rings: tuple[int, ...]
    lists: tuple[int, ...]
    messages: list[tuple[int, int]]

    @classmethod
    def of(cls, config: EngineConfig) -> HostIds:
        """Those of an engine."""
        pairs = config.channels
        return cls(
            0,
            tuple(id for number in range(pairs) for id in ring_ids(number)),
            list_ids(pairs) if config.pages else (),
            [message_ids(number, pairs, pages=config.pages) for number in range(pairs) if config.msi],
        )

    @property
    def all(self) -> list[int]:
        """All of them."""
        return [self.data, *self.rings, *self.lists, *(id for pair in self.messages for id in pair)]

    @property
    def bits(self) -> int:
        """Bits of an ID."""
        return max(self.all).bit_length()


class ManagedEngine(wiring.Component):
    """The engine between its ports. Each queue pair has registers of its own, and all share rings and channels.

    A soft reset of a pair that is alone lets every open transaction finish and then resets everything except the windows.

    ``clocking``: Of the channels, of the rings and of each pair's registers.

    ``bus``, ``irq``, ``alert``: The registers, and of each pair the interrupt and, in an engine with coded memories,
        the alert.
    ``working``, ``pending``: In an engine with a Q-channel: something is in flight, and a descriptor waits in a ring.
    ``group_bursts``: In an engine with groups: bursts of one, as registers have it.
    ``dev_read``, ``dev_write``: The device port, or an array of them.
    ``host_read``, ``host_write``: The host port, with the IDs of :class:`HostIds`.
    """

    def __init__(self, config: EngineConfig, clocking: Clocking = PLAIN_CLOCK) -> None:
        self.config = config
        self.clocking = clocking
        super().__init__(
            {
                "bus": In(AxiLiteSignature(config.register_address_bits)),
                "irq": Out(config.channels),
                **optional(config.coded_memories, alert=Out(config.channels)),
                **optional(config.quiescence, working=Out(1), pending=Out(1)),
                **optional(config.group_bursts, group_bursts=Out(9)),
                **memory_members(config, HostIds.of(config).bits),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, memories = self.config, CodedParts(coding_of(platform))
        m.submodules.timebase = timebase = Timebase()
        front = (Pairs if config.channels > 1 else LonePair)(config, self.clocking)
        m.submodules.front = front
        wiring.connect(m, wiring.flipped(self.bus), front.bus)
        m.d.comb += [
            self.irq.eq(front.irq),
            timebase.watchdog_cycles.eq(front.watchdog_cycles),
            front.watchdog_tick.eq(timebase.tick),
        ]
        channels = []
        for name in CHANNELS:
            channel = Channel(config, name == CHANNELS[0], self.clocking)
            channels.append(channel)
            built = memories.built(name, channel)
            m.submodules[name] = clocked_channel(m, name, channel, built, self.clocking, front.engine_clear)
            connect_members(m, ChannelDriver(config).members, getattr(front, name), channel)
            m.d.comb += [channel.now.eq(timebase.now), channel.watchdog_tick.eq(timebase.tick)]
        self._connect_ports(m, front, memories.coding, *channels)
        if memories.coding.coded:
            self._tell_losses(m, front, channels, memories)
        if config.group_bursts:
            m.d.comb += self.group_bursts.eq(front.group_bursts)
        if config.quiescence:
            busy = [channel.status.busy | channel.status.aborting for channel in channels]
            m.d.comb += [
                self.working.eq(Cat(*busy, front.working).any()),
                self.pending.eq(front.pending),
            ]
        return m

    def _tell_losses(
        self, m: Module, front: LonePair | Pairs, channels: list[Channel], memories: CodedParts
    ) -> None:
        """A lost word concerns its channel, while that has a descriptor; both, if it is in what they share."""
        for name, channel in zip(CHANNELS, channels, strict=True):
            lost = Signal(name=f"{name}_lost")
            m.d.comb += channel.lost.eq(lost)
            m.d.sync += lost.eq((memories.groups[name].loses() & channel.status.busy) | front.loses)
        found = memories.found()
        m.d.comb += [
            self.alert.eq(front.alert),
            front.word_corrected.eq(found.corrected),
            front.word_lost.eq(found.lost),
        ]

    def _connect_ports(
        self, m: Module, front: LonePair | Pairs, coding: PlainMemories, offload: Channel, prefetch: Channel
    ) -> None:
        """Gives the device port to the channels, and the host port to the channels and the rings."""
        config, ids = self.config, HostIds.of(self.config)
        host = (config.host_data_bits, config.host_address_bits)
        user_bits = UserLayout(config, "host").size
        lists = [(id,) for id in ids.lists]
        m.submodules.host_reads = reads = ReadArbiter(
            ((ids.data,), ids.rings, *lists), *host, ids.bits, user_bits
        )
        writes = WriteArbiter(
            ((ids.data,), ids.rings, *ids.messages),
            *host,
            config.moved_bits,
            ids.bits,
            user_bits,
            pipelined=config.pipelined,
        )
        # Whose data come next must not be lost: it concerns all.
        m.submodules.host_writes = coding.in_flip_flops(writes)
        users = [list(getattr(front, f"{name}_users")) for name in CHANNELS]
        connect_device(m, config, self, offload, prefetch, users)
        for channel, client, mine in (
            (prefetch.source, reads.client_0, users[1]),
            (offload.sink, writes.client_0, users[0]),
        ):
            connect_with_user(m, channel, wiring.flipped(client), data_user(config, "host", mine))
        wiring.connect(m, front.fetch, reads.client_1)
        wiring.connect(m, front.complete, writes.client_1)
        for number, port in enumerate(each_port(front.messages) if config.msi else (), 2):
            wiring.connect(m, port, getattr(writes, f"client_{number}"))
        for number, (channel, mine) in enumerate(zip((offload, prefetch), users, strict=True), 2):
            if config.pages:
                client = getattr(reads, f"client_{number}")
                connect_with_user(m, channel.lists, wiring.flipped(client), list_user(config, mine))
        wiring.connect(m, reads.port, wiring.flipped(self.host_read))
        wiring.connect(m, writes.port, wiring.flipped(self.host_write))
