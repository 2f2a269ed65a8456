"""The ports of an engine, with AXI names: ``aclk``, ``aresetn``, ``m_axi_dev_*``, ``m_axi_host_*``, ``s_axil_*``."""

from amaranth.hdl import (
    Shape,
)

from cdma.hdl.engine.channel.interfaces import CHANNELS, ChannelControl, ChannelStatus
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import OWNER_PORTS, reset_of
from cdma.hdl.spec.records import RECORD_BYTES
from cdma.hdl.verilog.shell import SCAN_ENABLE, Port, axis_ports, clocked, handshaken

from .core import dev_id_bits
from .managed import HostIds

#: Bits of an ID at a port where all transactions have the same.
_ID_BITS = 1

#: Width and value of what every address says: INCR bursts, no lock.
CONSTANTS = {"burst": (2, 0b01), "lock": (1, 0)}


#: The payload of each channel of AXI4-Lite, in the order of the ports.
LITE_FIELDS = {
    "aw": ("addr", "prot"),
    "w": ("data", "strb"),
    "b": ("resp",),
    "ar": ("addr", "prot"),
    "r": ("data", "resp"),
}
#: Its requests, and what answers them.
LITE_REQUESTS = {"aw": "b", "w": "b", "ar": "r"}


def _axi_ports(
    name: str, data_bits: int, address_bits: int, id_bits: int, config: EngineConfig
) -> tuple[Port, ...]:
    """The ports of an AXI4 manager."""
    address = {"id": id_bits, "addr": address_bits, "len": 8, "size": 3}
    address |= {field: bits for field, (bits, _) in (CONSTANTS | config.sideband.values("dev")).items()}
    address |= {OWNER_PORTS[field]: bits for field, (_, bits) in config.records.owner_fields.items()}
    return (
        *handshaken(f"{name}_aw", "output", address),
        *handshaken(f"{name}_w", "output", {"data": data_bits, "strb": data_bits // 8, "last": 1}),
        *handshaken(f"{name}_b", "input", {"id": id_bits, "resp": 2}),
        *handshaken(f"{name}_ar", "output", address),
        *handshaken(f"{name}_r", "input", {"id": id_bits, "data": data_bits, "resp": 2, "last": 1}),
    )


def _lite_ports(name: str, address_bits: int) -> tuple[Port, ...]:
    """The ports of an AXI4-Lite subordinate with 32 bits of data."""
    bits = {"addr": address_bits, "prot": 3, "data": 32, "strb": 4, "resp": 2}
    return tuple(
        port
        for channel, fields in LITE_FIELDS.items()
        for port in handshaken(
            f"{name}_{channel}",
            "output" if channel in ("b", "r") else "input",
            {field: bits[field] for field in fields},
        )
    )


def _control_ports(config: EngineConfig) -> tuple[Port, ...]:
    """What controls an engine with registers: the bus of the registers, the interrupt and with coded memories the alert."""
    return (
        Port("irq", "output", config.channels),
        *(Port("alert", "output", config.channels),) * config.coded_memories,
        *_lite_ports("s_axil", config.register_address_bits),
    )


def _quiescence_ports(config: EngineConfig) -> tuple[Port, ...]:
    """The Q-channel."""
    outputs = (Port(name, "output") for name in ("qacceptn", "qdeny", "qactive"))
    return (Port("qreqn", "input"), *outputs) * config.quiescence


def controls(config: EngineConfig) -> dict[str, int]:
    """The inputs that control a channel, and their bits: a codec without a table has no values."""
    members = ChannelControl(config).members.items()
    return {name: bits for name, member in members if (bits := Shape.cast(member.shape).width)}


def _bare_ports(config: EngineConfig) -> tuple[Port, ...]:
    """What controls an engine without registers."""
    # A descriptor and, in an engine with shapes, its extension.
    entries = 1 + (config.dimensions > 0)
    ports = [
        *(Port("watchdog_cycles", "input", 32),) * config.times,
        *(
            Port(f"{port}_window_{edge}", "input", 64)
            for port in ("dev", "host")
            for edge in ("base", "limit") * config.windows
        ),
    ]
    for channel in CHANNELS:
        ports += [
            *axis_ports(f"s_{channel}_descriptor", "input", data=8 * RECORD_BYTES * entries),
            *axis_ports(f"m_{channel}_completion", "output", data=8 * RECORD_BYTES),
            *(Port(f"{channel}_{name}", "input", bits) for name, bits in controls(config).items()),
            *(Port(f"{channel}_{name}", "output") for name in ChannelStatus.members),
        ]
    return tuple(ports)


def engine_ports(config: EngineConfig) -> tuple[Port, ...]:
    """The ports of the engine that ``config`` describes."""
    clocks = config.domains
    if config.registers:
        id_bits, control, control_clock = HostIds.of(config).bits, _control_ports(config), clocks.registers
    else:
        id_bits, control, control_clock = _ID_BITS, _bare_ports(config), clocks.core
    used = dict.fromkeys((clocks.core, clocks.host, control_clock))
    return (
        *(Port(name, "input", clock=clock) for clock in used for name in (clock, reset_of(clock))),
        *clocked((SCAN_ENABLE,) * config.clock_gates, clocks.core),
        *clocked(_quiescence_ports(config), clocks.core),
        *clocked(control, control_clock),
        *(
            port
            for name in config.dev_ports
            for port in clocked(
                _axi_ports(
                    f"m_axi_{name}",
                    config.dev_data_bits,
                    config.dev_address_bits,
                    max(_ID_BITS, dev_id_bits(config)),
                    config,
                ),
                clocks.core,
            )
        ),
        *clocked(
            _axi_ports("m_axi_host", config.host_data_bits, config.host_address_bits, id_bits, config),
            clocks.host,
        ),
    )
