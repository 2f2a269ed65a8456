"""The engine as a LiteX core, and how it is put on the bus of a SoC.

    from cdma.hdl import EngineConfig
    from cdma.litex import add_cdma

    config = EngineConfig(dev_address_bits=32, host_address_bits=32)
    add_cdma(soc, config, origin=0xB000_0000, folder="build")

The engine's Verilog becomes a source of the platform; nothing of the engine is written in Migen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from litex.gen import LiteXModule
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import axi, wishbone
from litex.soc.interconnect.csr_eventmanager import EventManager, EventSourceLevel
from migen import ClockSignal, Instance, ResetSignal

from cdma.base.errors import ParameterError
from cdma.hdl.engine.generate import engine_verilog
from cdma.hdl.engine.pins import engine_ports
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.options import NO_CLOCKS
from cdma.hdl.verilog.emit import module_prefix

_CHANNELS = ("aw", "w", "b", "ar", "r")


class CDMA(LiteXModule):
    """An engine with registers, on LiteX's interfaces, in the clock domain ``sys``.

    ``registers``: AXI4-Lite, 32 bits. The engine looks at the low address bits alone, so it may stand at any multiple
        of ``register_bytes``.
    ``managers``: The AXI4 ports by name: ``"host"``, and ``"dev"`` or with several units ``"dev0"``, ``"dev1"``, ….
    ``ev``: The interrupt as the event ``engine``: a level, which lasts until software clears the engine's own status.
    """

    def __init__(
        self, platform: Any, config: EngineConfig, folder: Path | str, name: str = "cdma_engine"
    ) -> None:
        if not config.registers:
            raise ParameterError("registers is False; a LiteX core needs the register block")
        if config.clocks != NO_CLOCKS:
            raise ParameterError(
                f"clocks is {config.clocks!r}; it must be {NO_CLOCKS!r}, because a LiteX core is in one clock domain, sys"
            )
        if config.channels > 1:
            raise ParameterError(
                f"channels is {config.channels}; a LiteX core has one interrupt, and needs 1"
            )
        module_prefix(name, None)
        path = Path(folder).resolve() / f"{name}.v"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(engine_verilog(config, name=name), encoding="utf-8")
        platform.add_source(str(path))

        self.register_bytes = 1 << config.register_address_bits
        ports = {port.name: port for port in engine_ports(config)}
        self.registers = axi.AXILiteInterface(data_width=32, address_width=32, name="cdma_registers")
        self.managers = {
            port: axi.AXIInterface(
                data_width=config.host_data_bits if port == "host" else config.dev_data_bits,
                address_width=config.host_address_bits if port == "host" else config.dev_address_bits,
                id_width=ports[f"m_axi_{port}_awid"].width,
                name=f"cdma_{port}",
            )
            for port in (*config.dev_ports, "host")
        }
        self.ev = EventManager()
        self.ev.engine = EventSourceLevel(description="The engine's interrupt line.")
        self.ev.finalize()

        values = {
            "aclk": ClockSignal("sys"),
            "aresetn": ~ResetSignal("sys"),
            "irq": self.ev.engine.trigger,
            "qreqn": 1,
            "scan_enable": 0,
        }
        interfaces = {
            "s_axil": self.registers,
            **{f"m_axi_{port}": interface for port, interface in self.managers.items()},
        }
        for prefix, interface in interfaces.items():
            for channel in _CHANNELS:
                start = f"{prefix}_{channel}"
                for port_name, port in ports.items():
                    field = port_name.removeprefix(start)
                    if field != port_name and hasattr(getattr(interface, channel), field):
                        values[port_name] = getattr(getattr(interface, channel), field)[: port.width]
        self.specials += Instance(
            name,
            **{
                f"{'i' if port.direction == 'input' else 'o'}_{port_name}": values.get(port_name, 0)
                for port_name, port in ports.items()
                if port.direction == "input" or port_name in values
            },
        )


def add_cdma(
    soc: Any,
    config: EngineConfig,
    origin: int,
    folder: Path | str,
    name: str = "cdma",
    module: str = "cdma_engine",
) -> CDMA:
    """Puts an engine into a SoC as its submodule ``name``: registers at ``origin``, a bus master per port, an interrupt.

    The masters see the same addresses as the CPU. Rings and tensors must lie in memory that the CPU does not cache, or
    software flushes the cache. On a Wishbone a port has one burst at a time in flight, beat by beat, and errors of the bus
    do not reach the engine: LiteX's bridge answers OKAY.
    """
    width = soc.bus.address_width
    for port in ("dev", "host"):
        bits = getattr(config, f"{port}_address_bits")
        if bits != width:
            raise ParameterError(f"{port}_address_bits is {bits}; it must be {width}, as the SoC's bus has")
    core = CDMA(soc.platform, config, folder, module)
    if origin % core.register_bytes:
        raise ParameterError(f"origin is {origin:#x}; it must be a multiple of {core.register_bytes:#x}")
    soc.add_module(name=name, module=core)
    soc.bus.add_slave(name, core.registers, SoCRegion(origin=origin, size=core.register_bytes, cached=False))
    for port, interface in core.managers.items():
        master: Any = interface
        if soc.bus.standard == "wishbone":
            # Bursts become beats before they become narrow: LiteX's converter of AXI widths does not keep an ID while
            # its beat waits.
            master = wishbone.Interface(interface.data_width, address_width=width, addressing="word")
            soc.add_module(name=f"{name}_{port}_bridge", module=axi.AXI2Wishbone(interface, master))
        soc.bus.add_master(f"{name}_{port}", master)
    if soc.irq.enabled:
        soc.irq.add(name, use_loc_if_exists=True)
    return core
