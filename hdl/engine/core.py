"""Both channels, driven by streams: the engine without registers and rings."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.axi.ports import ReadPort, WritePort, connect_ports, port_members
from cdma.hdl.axi.watchdog import Timebase
from cdma.hdl.blocks.clock_gate import ClockGates
from cdma.hdl.engine.channel.channel import Channel
from cdma.hdl.engine.channel.descriptor import Completion, Request
from cdma.hdl.engine.channel.gated_channel import gated_channel
from cdma.hdl.engine.channel.interfaces import ChannelControl, ChannelStatus
from cdma.hdl.engine.control.interfaces import Window
from cdma.hdl.engine.control.windows import DrivenWindows
from cdma.hdl.spec.engine import EngineConfig

__all__ = ["ChannelPorts", "EngineCore", "host_ports", "memory_members"]


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


def memory_members(config: EngineConfig, host_id_bits: int = 0) -> dict[str, wiring.Member]:
    """The AXI4 ports of an engine; those of device memory are arrays if there are several."""
    dev = (config.dev_data_bits, config.dev_address_bits)
    owner_bits = config.records.tag_bits
    host_read, host_write = host_ports(config, host_id_bits, owner_bits)
    return {
        "dev_read": port_members(ReadPort(*dev, owner_bits=owner_bits), config.units),
        "dev_write": port_members(WritePort(*dev, config.moved_bits, owner_bits=owner_bits), config.units),
        "host_read": Out(host_read),
        "host_write": Out(host_write),
    }


def host_ports(config: EngineConfig, id_bits: int, owner_bits: int) -> tuple[ReadPort, WritePort]:
    """Both halves of the host port."""
    host = (config.host_data_bits, config.host_address_bits)
    return ReadPort(*host, id_bits, owner_bits), WritePort(*host, config.moved_bits, id_bits, owner_bits)


class EngineCore(wiring.Component):
    """An offload and a prefetch channel. Of each port, one channel reads and the other one writes.

    ``gates``
        Where they are given, those of the channels stop their clocks.
    ``offload``, ``prefetch``
        The logic that drives each channel.
    ``dev_window``, ``host_window``
        The addresses of each port that the channels may touch.
    ``watchdog_cycles``
        The time after which a port counts as silent; 0 turns the watchdogs off.
    ``dev_read``, ``dev_write``, ``host_read``, ``host_write``
        The AXI4 ports; those of device memory are arrays if there are several.
    """

    def __init__(self, config: EngineConfig, gates: ClockGates | None = None) -> None:
        self.config = config
        self.gates = gates
        super().__init__(
            {
                "offload": In(ChannelPorts(config)),
                "prefetch": In(ChannelPorts(config)),
                **({"dev_window": In(Window), "host_window": In(Window)} if config.windows else {}),
                **({"watchdog_cycles": In(32)} if config.times else {}),
                **memory_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.config.times:
            m.submodules.timebase = timebase = Timebase()
            m.d.comb += timebase.watchdog_cycles.eq(self.watchdog_cycles)
        offload, prefetch = (
            Channel(self.config, compressing, gates=self.gates) for compressing in (True, False)
        )
        for name, channel in (("offload", offload), ("prefetch", prefetch)):
            m.submodules[name] = (
                channel if self.gates is None else gated_channel(m, name, channel, channel, self.gates)
            )
        connect_ports(m, offload.source, self.dev_read)
        wiring.connect(m, offload.sink, wiring.flipped(self.host_write))
        wiring.connect(m, prefetch.source, wiring.flipped(self.host_read))
        connect_ports(m, prefetch.sink, self.dev_write)
        if self.config.windows:
            m.submodules.windows = windows = DrivenWindows()
            m.d.comb += [windows.dev_window.eq(self.dev_window), windows.host_window.eq(self.host_window)]
            wiring.connect(m, offload.windows, windows.offload)
            wiring.connect(m, prefetch.windows, windows.prefetch)
        control = ChannelControl(self.config)
        for channel, ports in ((offload, self.offload), (prefetch, self.prefetch)):
            if self.config.times:
                m.d.comb += [channel.now.eq(timebase.now), channel.watchdog_tick.eq(timebase.tick)]
            m.d.comb += ports.status.eq(channel.status)
            control.connect(m, ports, channel)
            wiring.connect(m, wiring.flipped(ports.requests), channel.requests)
            wiring.connect(m, channel.completion, wiring.flipped(ports.completion))
        return m
