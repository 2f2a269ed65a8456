"""What the memories of the engine are for. Both channels, driven by streams: the engine without registers and rings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.answers import Timebase
from cdma.hdl.axi.arbiter import ReadArbiter
from cdma.hdl.axi.ports import ReadPort, WritePort, each_port, port_members
from cdma.hdl.blocks.clocks import PLAIN_CLOCK, Clocking
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.codec.parts.interface import PURPOSES as CODEC_PURPOSES
from cdma.hdl.engine.channel.channel import Channel, clocked_channel
from cdma.hdl.engine.channel.interfaces import (
    ChannelControl,
    ChannelStatus,
    Completion,
    Request,
    connect_members,
)
from cdma.hdl.engine.control.interfaces import Window
from cdma.hdl.engine.control.windows import DrivenWindows
from cdma.hdl.spec.engine import EngineConfig

from .user import ChannelUsers, UserLayout, connect_with_user, data_user, host_ports

#: By the end of the path of the instance, as a regular expression.
PURPOSES = {
    r"path\.(unit_\d+\.)?reader\.store(\.beats)?(\.memory(_[01])?)?": "read buffer of a channel",
    r"path\.(unit_\d+\.)?writer\.store(\.beats)?(\.memory(_[01])?)?": "write buffer of a channel",
    r"path\.(unit_\d+\.)?reader\.opened\.memory": "bursts that a reader has in flight",
    r"path\.(unit_\d+\.)?(reader\.turns|writer\.shifts)\.memory": "word of a beat at which a packet begins",
    r"path\.(unit_\d+\.)?writer\.bursts\.memory": "bursts that a writer has data for",
    r"path\.(unit_\d+\.)?writer\.lengths\.memory": "lengths of bursts whose data follows",
    r"path\.(unit_\d+\.)?writer\.opened\.memory": "bursts that a writer has in flight",
    r"path\.reports\.memory": "results of the codec, until the completion is made",
    r"path\.ranges\.memory": "how many numbers of a packet are out of range, until the completion is made",
    r"path\.checksum\.ended\.memory": "CRCs of packets that have ended, until their words of zeros are taken back",
    r"path\.unit_\d+\.pieces\.beats\.memory": "compressed words of a unit, until their turn or until they are expanded",
    r"path\.unit_\d+\.(commands|routes)\.memory": "stripes of a unit in flight",
    r"path\.unit_\d+\.next_stripe\.stripes\.memory": "whether a unit's next stripe is whole",
    r"path\.unit_\d+\.(outcomes|verdicts|ends)\.memory": "reports of a unit's stripes, until their turn",
    r"path\.(unit_\d+\.)?cut\.waiting\.memory": "bytes that are meant of the last words of packets in flight",
    r"path\.orders\.\w+\.memory": "the order of the stripes in flight",
    r"measure\.sums": "sums of a shape that is being measured",
    r"feed\.(walker\.(numbers|places)|cut\.lengths)": "numbers of shapes, until their rows are walked",
    r"feed\.(frames|rows|runs|marks)\.memory": "shapes, until their rows are walked",
    r"path\.(filler|dropper)\.waiting\.memory": "rows with padding, until it is put in or taken out",
    r"path\.writer\.(ends|gather\.cut)\.memory": "bursts of rows or pages that a writer is given, and where they end",
    r"path\.pages\.faults\.memory": "errors of pages, until their descriptor is done",
    r"path\.pages\.list\.reader\.(opened|store)\.memory": "entries of lists of pages",
    r"path\.cuts\.memory": "lengths of the stripes that a stream is split into",
    r"path\.joiner\.\w+(\.\w+)*": "words of a stream, until their beat is joined",
    r"path\.splitter\.\w+(\.\w+)*": "words of a stream, and where its windows end, until it is split",
    r"slots\.(read|write)_commands(\.(words|coded))?": "descriptors in flight: where each reads and writes, and for whom",
    r"slots\.(read|write)_(addresses|resps)": "descriptors in flight: the bus error of each",
    r"slots\.tickets(\.(words|coded))?": "descriptors in flight: tag, numbers and status of each, or its wrong address",
    r"slots\.base_(commands(\.(words|coded))?|addresses|resps)": "descriptors in flight: bases, and their bus errors",
    r"path\.(unit_\d+\.)?base\.reader\.store(\.beats)?(\.memory(_[01])?)?": "read buffer of bases",
    r"path\.(unit_\d+\.)?base\.(reader\.(opened|turns)|deltas)\.memory": "bases in flight",
    r"path\.unit_\d+\.(bases|base_outcomes)\.memory": "bases of a unit's stripes, and how their reads ended",
    r"slots\.ends": "descriptors in flight: where the writes of each end",
    r"slots\.results": "descriptors in flight: when each ended, and how much it wrote",
    r"slots\.(routes|steps|early)": "descriptors in flight: the way of each through the codec",
    r"rings\.\w+\.fetcher\.(part_\d+|records)": "descriptors that are fetched or pushed, until the channel takes them",
    r"rings\.\w+\.fetcher\.addresses": "addresses of the fetched descriptors",
    r"rings\.\w+\.fetcher\.faults": "errors of the fetches",
    r"rings\.tags": "tags of completions whose write is in flight",
    r"rings\.indexes\.\w+": "indexes, tails and sizes of all rings",
    r"(offload|prefetch)_delivered\.completions": "completions of all queue pairs, until their rings take them",
    r"(offload|prefetch)_delivered\.rows": "counts of the completions of each queue pair",
    r"(offload|prefetch)_dispatch\.order\.memory": "the pairs whose descriptors are in flight",
    r"(offload|prefetch)_dispatch\.accounts\.balances": "what each queue pair may still move, of its turn and of its limit",
    r"(offload|prefetch)_dispatch\.terms": "weights and limits of queue pairs",
    r"(offload|prefetch)_dispatch\.tables": "frequent values of queue pairs",
    r"(offload|prefetch)_dispatch\.flight\.(entries|extensions)": "descriptors, until their completion is delivered",
    r"rings\.asking(\.memory)?": "fetches in flight",
    r"rings\.writer\.\w+(\.memory)?": "completions on their way to host memory",
    r"coalescer\.\w+": "coalescing limits, and how many completions have waited how long",
    r"messages\.copies": "where the messages of both channels go, and what they say",
    r"rings\.(\w+\.)*\w+": "records and addresses on their way between rings and host port",
    r"host_(reads|writes)\.owners(\.memory)?": "the client whose data comes next on the host port",
    r"host_crossing\.(ar|aw|w|r|b)\.memory": "transfers of the host port between two clocks",
    r"host_crossing\.finishing\.lengths\.memory": "lengths of bursts whose data follows at the host port",
    r"register_crossing\.\w+\.\w+\.memory": "accesses to registers between two clocks",
    r"counters\.limb_\d+": "counters of both channels and all pairs, 16 bits of each",
    r"counters\.(copy_\d+|uppers)": "counters as software reads them",
    r"counters\.(offload|prefetch)_since": "when each pair's cycles in flight were counted last",
    r"windows\.(bases|limits)": "address windows",
    r"register_file\.memory": "registers that software writes",
    **CODEC_PURPOSES,
}


class ChannelPorts(wiring.Signature):
    """How logic drives a channel, seen from that logic; see :class:`~cdma.hdl.engine.channel.channel.Channel`."""

    def __init__(self, config: EngineConfig) -> None:
        super().__init__(
            {
                "requests": Out(stream.Signature(Request(config.records))),
                "completion": In(stream.Signature(Completion(config.records))),
                **ChannelControl(config).members,
                "status": In(ChannelStatus),
            }
        )


def dev_id_bits(config: EngineConfig) -> int:
    """Bits of an ID at a device port; without any all transactions have the same."""
    return (config.dev_reads - 1).bit_length()


def connect_device(
    m: Module, config: EngineConfig, engine: Any, offload: Channel, prefetch: Channel, users: Sequence[Any]
) -> None:
    """Gives the device port of an ``engine`` to both channels, whose ``users`` are the user bits of each."""
    of_offload, of_prefetch = (data_user(config, "dev", each) for each in users)
    connect_with_user(m, prefetch.sink, engine.dev_write, of_prefetch)
    if not config.delta:
        connect_with_user(m, offload.source, engine.dev_read, of_offload)
        return
    ports = map(each_port, (engine.dev_read, offload.source, offload.bases, prefetch.bases))
    for unit, (port, source, *bases) in enumerate(zip(*ports, strict=True)):
        reads = ReadArbiter(
            [(client,) for client in range(config.dev_reads)],
            config.dev_data_bits,
            config.dev_address_bits,
            dev_id_bits(config),
            UserLayout(config, "dev").size,
        )
        m.submodules[f"dev_reads_{unit}" if config.units > 1 else "dev_reads"] = reads
        connect_with_user(m, source, wiring.flipped(reads.client_0), of_offload)
        connect_with_user(m, bases[0], wiring.flipped(reads.client_1), of_offload)
        connect_with_user(m, bases[1], wiring.flipped(reads.client_2), of_prefetch)
        wiring.connect(m, reads.port, wiring.flipped(port))


def memory_members(config: EngineConfig, host_id_bits: int = 0) -> dict[str, wiring.Member]:
    """The AXI4 ports of an engine; those of device memory are arrays if there are several."""
    dev = (config.dev_data_bits, config.dev_address_bits)
    user_bits = UserLayout(config, "dev").size
    host_read, host_write = host_ports(config, host_id_bits)
    return {
        "dev_read": port_members(ReadPort(*dev, dev_id_bits(config), user_bits), config.units),
        "dev_write": port_members(WritePort(*dev, config.moved_bits, user_bits=user_bits), config.units),
        "host_read": Out(host_read),
        "host_write": Out(host_write),
    }


class EngineCore(wiring.Component):
    """An offload and a prefetch channel. Of each port, one channel reads and the other one writes.

    ``clocking``: Of the channels.
    ``offload``, ``prefetch``: The logic that drives each channel.
    ``dev_window``, ``host_window``: The addresses of each port that the channels may touch.
    ``watchdog_cycles``: The time after which a port counts as silent; 0 turns the watchdogs off.
    ``dev_read``, ``dev_write``, ``host_read``, ``host_write``: The AXI4 ports; those of device memory are arrays if
        there are several.
    """

    def __init__(self, config: EngineConfig, clocking: Clocking = PLAIN_CLOCK) -> None:
        self.config = config
        self.clocking = clocking
        super().__init__(
            {
                "offload": In(ChannelPorts(config)),
                "prefetch": In(ChannelPorts(config)),
                **optional(config.windows, dev_window=In(Window), host_window=In(Window)),
                **optional(config.times, watchdog_cycles=In(32)),
                **memory_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.config.times:
            m.submodules.timebase = timebase = Timebase()
            m.d.comb += timebase.watchdog_cycles.eq(self.watchdog_cycles)
        offload, prefetch = (Channel(self.config, each, self.clocking) for each in (True, False))
        for name, channel in (("offload", offload), ("prefetch", prefetch)):
            m.submodules[name] = clocked_channel(m, name, channel, channel, self.clocking)
        # Without registers all sideband signals are constants.
        none = [Signal(ChannelUsers(self.config), name="no_users")]
        of_host = data_user(self.config, "host", none)
        connect_device(m, self.config, self, offload, prefetch, (none, none))
        connect_with_user(m, offload.sink, self.host_write, of_host)
        connect_with_user(m, prefetch.source, self.host_read, of_host)
        if self.config.windows:
            m.submodules.windows = windows = DrivenWindows()
            m.d.comb += [windows.dev_window.eq(self.dev_window), windows.host_window.eq(self.host_window)]
            wiring.connect(m, offload.windows, windows.offload)
            wiring.connect(m, prefetch.windows, windows.prefetch)
        control = ChannelControl(self.config).members
        for channel, ports in ((offload, self.offload), (prefetch, self.prefetch)):
            if self.config.times:
                m.d.comb += [channel.now.eq(timebase.now), channel.watchdog_tick.eq(timebase.tick)]
            m.d.comb += ports.status.eq(channel.status)
            connect_members(m, control, wiring.flipped(ports), channel)
            wiring.connect(m, wiring.flipped(ports.requests), channel.requests)
            # A request has both its halves.
            m.d.comb += channel.extended.eq(channel.wants_extension)
            m.d.comb += [
                ports.completion.valid.eq(channel.done.valid),
                ports.completion.payload.eq(channel.done.payload.completion),
                channel.done.ready.eq(ports.completion.ready),
            ]
        return m
