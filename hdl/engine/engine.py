"""The engine as a module with AXI names: ``aclk``, ``aresetn``, ``m_axi_dev_*``, ``m_axi_host_*``,
``s_axil_*``.
"""

from amaranth.hdl import Cat, Module, Shape
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from cdma.hdl.axi.ports import ReadPort, WritePort
from cdma.hdl.engine.channel.descriptor import Completion, Descriptor
from cdma.hdl.engine.channel.interfaces import CHANNELS, ChannelControl, ChannelStatus
from cdma.hdl.engine.control.registers import RegisterBlock
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.registers.map import register_map
from cdma.hdl.verilog.ports import CLOCK_AND_RESET, Port, axis_ports, handshaken
from cdma.hdl.verilog.shell import Shell

from .core import EngineCore
from .managed import HOST_ID_BITS, ManagedEngine

__all__ = ["BareEngine", "Engine", "engine_ports", "engine_shell"]

_DEV_ID_BITS = 1

#: INCR bursts of normal, non-cacheable, bufferable memory; unprivileged, secure data; no lock, no priority.
_CONSTANTS = {"burst": (2, 0b01), "lock": (1, 0), "cache": (4, 0b0011), "prot": (3, 0), "qos": (4, 0)}


def _axi_ports(name: str, data_bits: int, address_bits: int, id_bits: int) -> tuple[Port, ...]:
    """The ports of an AXI4 manager."""
    address = {"id": id_bits, "addr": address_bits, "len": 8, "size": 3}
    address |= {field: bits for field, (bits, _) in _CONSTANTS.items()}
    return (
        *handshaken(f"{name}_aw", "output", address),
        *handshaken(f"{name}_w", "output", {"data": data_bits, "strb": data_bits // 8, "last": 1}),
        *handshaken(f"{name}_b", "input", {"id": id_bits, "resp": 2}),
        *handshaken(f"{name}_ar", "output", address),
        *handshaken(f"{name}_r", "input", {"id": id_bits, "data": data_bits, "resp": 2, "last": 1}),
    )


def _lite_ports(name: str, address_bits: int) -> tuple[Port, ...]:
    """The ports of an AXI4-Lite subordinate with 32 bits of data."""
    address = {"addr": address_bits, "prot": 3}
    return (
        *handshaken(f"{name}_aw", "input", address),
        *handshaken(f"{name}_w", "input", {"data": 32, "strb": 4}),
        *handshaken(f"{name}_b", "output", {"resp": 2}),
        *handshaken(f"{name}_ar", "input", address),
        *handshaken(f"{name}_r", "output", {"data": 32, "resp": 2}),
    )


def _control_ports(config: EngineConfig) -> tuple[Port, ...]:
    """What controls an engine with registers: the bus of the registers, and the interrupt."""
    return (Port("irq", "output"), *_lite_ports("s_axil", register_map(config).address_bits))


def _controls(config: EngineConfig) -> dict[str, int]:
    """The inputs that control a channel, and their bits: a codec without a table has no values."""
    members = ChannelControl(config).members.items()
    return {name: bits for name, member in members if (bits := Shape.cast(member.shape).width)}


def _bare_ports(config: EngineConfig) -> tuple[Port, ...]:
    """What controls an engine without registers."""
    ports = [
        Port("watchdog_cycles", "input", 32),
        *(
            Port(f"{port}_window_{edge}", "input", 64)
            for port in ("dev", "host")
            for edge in ("base", "limit")
        ),
    ]
    for channel in CHANNELS:
        ports += [
            *axis_ports(f"s_{channel}_descriptor", "input", data=Descriptor.size),
            *axis_ports(f"m_{channel}_completion", "output", data=Completion.size),
            *(Port(f"{channel}_{name}", "input", bits) for name, bits in _controls(config).items()),
            *(Port(f"{channel}_{name}", "output") for name in ChannelStatus.members),
        ]
    return tuple(ports)


def engine_ports(config: EngineConfig) -> tuple[Port, ...]:
    """The ports of the engine that ``config`` describes."""
    host_id_bits = HOST_ID_BITS if config.registers else _DEV_ID_BITS
    return (
        *CLOCK_AND_RESET,
        *(_control_ports(config) if config.registers else _bare_ports(config)),
        *_axi_ports("m_axi_dev", config.dev_data_bits, config.dev_address_bits, _DEV_ID_BITS),
        *_axi_ports("m_axi_host", config.host_data_bits, config.host_address_bits, host_id_bits),
    )


class _AxiShell(Shell):
    """What both shells share: the two AXI4 ports."""

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        super().__init__(engine_ports(config))

    def _connect_axi(self, m: Module, name: str, read: ReadPort, write: WritePort) -> None:
        for channel, port in (("aw", write), ("ar", read)):
            source = getattr(port, channel)
            m.d.comb += [
                self.port(f"{name}_{channel}id").eq(source.payload.id),
                self.port(f"{name}_{channel}addr").eq(source.payload.address),
                self.port(f"{name}_{channel}len").eq(source.payload.len),
                self.port(f"{name}_{channel}size").eq(source.payload.size),
                self.port(f"{name}_{channel}valid").eq(source.valid & self.aresetn),
                source.ready.eq(self.port(f"{name}_{channel}ready")),
            ]
            for field, (_, value) in _CONSTANTS.items():
                m.d.comb += self.port(f"{name}_{channel}{field}").eq(value)
        word_bytes = self.config.format.word_bits // 8
        m.d.comb += [
            self.port(f"{name}_wdata").eq(write.w.payload.data),
            self.port(f"{name}_wstrb").eq(Cat(word.replicate(word_bytes) for word in write.w.payload.keep)),
            self.port(f"{name}_wlast").eq(write.w.payload.last),
            self.port(f"{name}_wvalid").eq(write.w.valid & self.aresetn),
            write.w.ready.eq(self.port(f"{name}_wready")),
        ]
        for channel, fields in (("b", ("id", "resp")), ("r", ("id", "data", "resp", "last"))):
            sink = getattr(write if channel == "b" else read, channel)
            for field in fields:
                m.d.comb += sink.payload[field].eq(self.port(f"{name}_{channel}{field}"))
            m.d.comb += [
                sink.valid.eq(self.port(f"{name}_{channel}valid") & self.aresetn),
                self.port(f"{name}_{channel}ready").eq(sink.ready & self.aresetn),
            ]


class Engine(_AxiShell):
    """The engine with registers, rings and ``irq``."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m)
        m.submodules.registers = registers = RegisterBlock(self.config)
        m.submodules.engine = engine = ManagedEngine(self.config)
        wiring.connect(m, registers.control, engine.control)
        self._connect_axi(m, "m_axi_dev", engine.dev_read, engine.dev_write)
        self._connect_axi(m, "m_axi_host", engine.host_read, engine.host_write)
        m.d.comb += self.irq.eq(registers.irq & self.aresetn)
        bus = registers.bus
        for name in bus.signature.members:
            port, inner = self.port(f"s_axil_{name}"), getattr(bus, name)
            gate = self.aresetn if name.endswith(("valid", "ready")) else 1
            if bus.signature.members[name].flow == Out:
                # The register block's bus is a subordinate's: what its manager drives is an input here.
                m.d.comb += port.eq(inner & gate if name.endswith(("valid", "ready")) else inner)
            else:
                m.d.comb += inner.eq(port & gate if name.endswith(("valid", "ready")) else port)
        return m


class BareEngine(_AxiShell):
    """The engine without registers: logic gives it descriptors and takes completions, 64 bytes each."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.add_domain(m)
        m.submodules.core = core = EngineCore(self.config)
        self._connect_axi(m, "m_axi_dev", core.dev_read, core.dev_write)
        self._connect_axi(m, "m_axi_host", core.host_read, core.host_write)
        m.d.comb += core.watchdog_cycles.eq(self.port("watchdog_cycles"))
        for window in ("dev_window", "host_window"):
            for edge in ("base", "limit"):
                m.d.comb += getattr(core, window)[edge].eq(self.port(f"{window}_{edge}"))
        for name in CHANNELS:
            channel = getattr(core, name)
            self.accept(m, f"s_{name}_descriptor", channel.requests)
            self.offer(m, f"m_{name}_completion", channel.completion)
            m.d.comb += [
                channel.requests.payload.descriptor.eq(self.port(f"s_{name}_descriptor_tdata")),
                self.port(f"m_{name}_completion_tdata").eq(channel.completion.payload),
            ]
            for signal in _controls(self.config):
                m.d.comb += getattr(channel, signal).eq(self.port(f"{name}_{signal}"))
            for signal in ChannelStatus.members:
                m.d.comb += self.port(f"{name}_{signal}").eq(channel.status[signal])
        return m


def engine_shell(config: EngineConfig) -> Shell:
    """The engine that ``config`` describes: with registers or bare."""
    return Engine(config) if config.registers else BareEngine(config)
