"""A SoC of LiteX: VexRiscv with its caches, a shared Wishbone, two memories, a UART, and the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litex.build.generic_platform import Pins, Subsignal
from litex.build.io import CRG
from litex.build.sim.platform import SimPlatform
from litex.soc.integration.export import get_csr_header, get_mem_header, get_soc_header
from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore
from litex.soc.interconnect import wishbone

from cdma.hdl.deliver.litex import add_cdma
from cdma.hdl.spec.engine import EngineConfig

TOP = "soc"

#: Small, and with the address width of the bus.
CONFIG = EngineConfig(
    lanes=2,
    dev_data_bits=64,
    host_data_bits=64,
    dev_address_bits=32,
    host_address_bits=32,
    burst_beats=4,
    outstanding=2,
    latency=16,
    descriptors=2,
    ring_entries=4,
)

_SERIAL = ("valid", "ready", "data")
_ROM_BYTES = 0x8000
_MEMORY_BYTES = 0x8000


@dataclass(frozen=True)
class Sources:
    """The Verilog of the SoC, and the files that it reads when it starts."""

    verilog: str
    memories: dict[str, str]


class _Soc(SoCCore):
    """Above 0x8000_0000 VexRiscv caches nothing: there are the memories that the engine sees, and its registers."""

    def __init__(self, platform: Any, folder: Path) -> None:
        self.crg = CRG(platform.request("sys_clk"), platform.request("sys_rst"))
        SoCCore.__init__(
            self,
            platform,
            clk_freq=100e6,
            cpu_type="vexriscv",
            cpu_variant="standard",
            integrated_rom_size=_ROM_BYTES,
            integrated_rom_init=[0],
            integrated_sram_size=0x1000,
            uart_name="sim",
            with_timer=False,
        )
        for name, origin in (("host_memory", 0x9000_0000), ("device_memory", 0xA000_0000)):
            memory = wishbone.SRAM(_MEMORY_BYTES, name=name)
            self.add_module(name=name, module=memory)
            self.bus.add_slave(name, memory.bus, SoCRegion(origin=origin, size=_MEMORY_BYTES, cached=False))
        add_cdma(self, CONFIG, origin=0xB000_0000, folder=folder)


def soc_sources(folder: Path, firmware: Callable[[Path], bytes]) -> Sources:
    """The SoC with ``firmware`` in its ROM.

    ``firmware`` is given a folder with LiteX's headers ``generated/csr.h``, ``mem.h`` and ``soc.h``, and returns what the
    CPU executes from address 0 on.
    """
    pads = [
        Subsignal(f"{way}_{name}", Pins(8 if name == "data" else 1))
        for way in ("source", "sink")
        for name in _SERIAL
    ]
    platform = SimPlatform("SIM", [("sys_clk", 0, Pins(1)), ("sys_rst", 0, Pins(1)), ("serial", 0, *pads)])
    soc = _Soc(platform, folder)
    soc.finalize()
    generated = folder / "generated"
    generated.mkdir(parents=True, exist_ok=True)
    headers = {
        "csr.h": get_csr_header(
            soc.csr_regions, soc.constants, soc.mem_regions["csr"].origin, with_access_functions=False
        ),
        "mem.h": get_mem_header(soc.mem_regions),
        "soc.h": get_soc_header(soc.constants, with_access_functions=False),
    }
    for name, text in headers.items():
        (generated / name).write_text(text, encoding="utf-8")
    image = firmware(folder)
    words = [int.from_bytes(image[at : at + 4], "little") for at in range(0, len(image), 4)]
    soc.init_rom("rom", words, auto_size=False)
    fragment = soc.get_fragment()
    platform.finalize(fragment)
    output = platform.get_verilog(fragment, name=TOP)
    sources = [Path(source[0]).read_text(encoding="utf-8") for source in platform.sources]
    # Without the lines of comments, one of which has the time: a simulation is kept by its text.
    lines = [line for line in output.main_source.splitlines() if not line.startswith("//")]
    return Sources("\n".join([*lines, *sources]), dict(output.data_files))
