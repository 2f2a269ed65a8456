"""An engine whose device ports are those of a DRAM controller: LiteDRAM's, with its model of a PHY and of a DRAM. Or whose
host port is as fast as one: the bench's memory has the data, and each handshake waits for the controller's, too.

The controller refreshes, opens rows and turns between reads and writes as the data sheet of the part asks. Its port takes
at most a beat per cycle, so that a full port has the peak rate of the DRAM.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from typing import Any

from cdma.base.cache import content_key, kept_text
from cdma.base.errors import CdmaError, ParameterError, install_command
from cdma.hdl.spec.options import NO_CLOCKS
from cdma.verif.simulator.build import build_with_main
from cdma.verif.simulator.simulate import measure

from .design import EngineDesign

_PACKAGES = ("litedram", "litex", "migen")
#: So few rows that the simulation has room for them, and that the bench's memory fits; what a row costs stays.
_ROWS = 2048


@dataclass(frozen=True)
class Dram:
    """A part of LiteDRAM's list with a data bus of 16 bits, and the clock of its controller, which has four of the DRAM's
    cycles in one of its own."""

    part: str
    megahertz: int

    #: Of the port: two edges of four cycles of 16 bits.
    port_bits = 128


DRAMS = {"ddr3": Dram("MT41K256M16", 100), "ddr4": Dram("MT40A1G8", 200)}


def check_dram(name: str, design: EngineDesign, port: str = "dev") -> None:
    """Refuses an engine that has no place on the controller, and a machine without LiteDRAM."""
    config, bits = design.config, DRAMS[name].port_bits
    if config.data_bits(port) != bits:
        raise ParameterError(f"{port}-data-bits is {config.data_bits(port)}; the port of {name} has {bits}")
    if config.clocks != NO_CLOCKS:
        raise ParameterError(f"clocks are given; with {name} everything has the controller's clock")
    if missing := [package for package in _PACKAGES if find_spec(package) is None]:
        raise CdmaError(f"{name} needs the Python packages {', '.join(missing)}: {install_command('dram')}")


def measure_on_dram(
    name: str,
    design: EngineDesign,
    wanted: Sequence[dict[str, Any]],
    report: Callable[[int], None] | None = None,
    port: str = "dev",
) -> list[dict[str, Any]]:
    """Rows as of :func:`.measure_engine` of an engine with the DRAM at a ``port``, "dev" or "host". Cycles are those from
    the doorbells to the last completion.

    ``of_dram``: What all directions of the case move, of the peak rate of the DRAM.
    ``of_run``: Of a direction by itself: its rate, of that which the controller gives to one run of bursts as long as the
        engine's.
    """
    alone = share_alone(name, design.config.burst(port))
    rows = measure(
        DramDesign(design.config, design.init, memory=name, port=port),
        "cdma.verif.engine.dram_bench",
        f"measure_{port}",
        report=report,
        cases=list(wanted),
    )
    for row in rows:
        moves = "read" if (row["direction"] == "offload") == (port == "dev") else "write"
        row["memory" if port == "dev" else "host"] = name
        row["of_run"] = None if row["concurrent"] else round(row["of_dram"] / alone[moves], 4)
    return rows


#: Bytes of the run with nothing else at the port.
_RUN = 1 << 20


@cache
def share_alone(name: str, beats: int) -> dict[str, float]:
    """The share of the port that one run of bursts of ``beats`` gets, by ``read`` and ``write``."""
    main = (files("cdma.verif.engine") / "dram_alone.cpp").read_text()
    program = build_with_main(controller(name), _module(name), main)
    of_beats = _RUN * 8 // DRAMS[name].port_bits
    done = subprocess.run(
        [program, str(beats), str(of_beats // beats)], capture_output=True, text=True, check=True
    )
    return {moves: of_beats / cycles for moves, cycles in json.loads(done.stdout).items()}


@dataclass(frozen=True)
class DramDesign(EngineDesign):
    """An engine with a controller at each device port, whose other ports are those of the top module; or with one that
    paces the host port of the top module."""

    memory: str = "ddr3"
    port: str = "dev"

    @property
    def top(self) -> str:
        return f"cdma_{self.block}_on_dram"

    @property
    def _engine(self) -> EngineDesign:
        return EngineDesign(self.config, self.init)

    @property
    def _prefixes(self) -> tuple[str, ...]:
        """How the names of a controller's own ports begin."""
        ports = self.config.dev_ports if self.port == "dev" else ()
        return tuple(f"m_axi_{port}_" for port in ports)

    @property
    def port_names(self) -> tuple[str, ...]:
        return tuple(name for name in super().port_names if not name.startswith(self._prefixes))

    def verilog(self) -> str:
        return self._engine.verilog()

    def watched(self, verilog: str) -> str:
        return "\n".join([self._engine.watched(verilog), controller(self.memory), *self._around()])

    def _around(self) -> Iterator[str]:
        outer = [port for port in self.ports if port.name in self.port_names]
        inner = [port for port in self.ports if port.name not in self.port_names]
        yield f"module {self.top} ("
        yield ",\n".join(f"  {port.direction} wire {port.range}{port.name}" for port in outer)
        yield ");"
        yield from (f"  wire {port.range}{port.name};" for port in inner)
        nets = {port.name: port.name for port in self.ports}
        if self.port == "host":
            yield from map(_paced, _WAYS)
            nets |= {f"{_HOST}{way}{pin}": f"dut_{way}{pin}" for way in _WAYS for pin in _HANDSHAKE}
        joined = ", ".join(f".{name}({net})" for name, net in nets.items())
        yield f"  {self._engine.top} dut ({joined});"
        for prefix in self._prefixes or (_HOST,):
            joined = ", ".join(f".{pin}({net})" for pin, net in self._pins(prefix, nets))
            yield f"  {_module(self.memory)} {prefix}dram (.sys_clk(aclk), .sys_rst(!aresetn), {joined});"
        yield "endmodule\n"

    def _pins(self, prefix: str, names: Container[str]) -> Iterator[tuple[str, str]]:
        """The pins of a controller that are connected, and to what; one that paces a port gives only the handshakes."""
        paces = self.port == "host"
        for pin, way, name in _PINS:
            net = f"{prefix}{way}{name}"
            if paces and name in _HANDSHAKE:
                yield pin, f"dram_{way}{name}"
            elif net in names and not (paces and (way in _ANSWERS or name == "id")):
                yield pin, net


#: The channels of AXI, and those that come to the engine.
_WAYS, _ANSWERS = ("aw", "w", "b", "ar", "r"), ("b", "r")
_HANDSHAKE = ("valid", "ready")
#: How the names of the host port begin.
_HOST = "m_axi_host_"


def _paced(way: str) -> str:
    """The wires of a channel of the host port, where a transfer passes at engine, memory and controller at once."""
    comes, takes = _HANDSHAKE if way in _ANSWERS else _HANDSHAKE[::-1]
    dut, memory, dram = (f"{prefix}{way}" for prefix in ("dut_", _HOST, "dram_"))
    return (
        f"  wire {dut}valid, {dut}ready, {dram}valid, {dram}ready;"
        f" assign {dut}{comes} = {memory}{comes} & {dram}{comes},"
        f" {memory}{takes} = {dut}{takes} & {dram}{comes}, {dram}{takes} = {dut}{takes} & {memory}{comes};"
    )


#: The pins of LiteDRAM's port, and the channels and signals of AXI.
_PINS = [
    *(
        (f"{way}_{kind}_{name}", way, name)
        for way in ("aw", "ar")
        for kind, name in (("param", "id"), *(("payload", each) for each in ("addr", "len", "size", "burst")))
    ),
    *((f"w_payload_{name}", "w", name) for name in ("data", "strb")),
    *(("w_last", "w", "last"), ("b_param_id", "b", "id"), ("b_payload_resp", "b", "resp")),
    *(
        ("r_param_id", "r", "id"),
        ("r_payload_data", "r", "data"),
        ("r_payload_resp", "r", "resp"),
        ("r_last", "r", "last"),
    ),
    *((f"{way}_{name}", way, name) for way in _WAYS for name in _HANDSHAKE),
]


def _module(name: str) -> str:
    return f"dram_{name}"


def controller(name: str) -> str:
    """The Verilog of a controller with an AXI port, the PHY and the DRAM."""
    key = content_key("dram", name, repr(DRAMS[name]), str(_ROWS), *map(version, _PACKAGES))
    return kept_text("verilog", key, ".v", lambda: _generated(name))


def _generated(name: str) -> str:
    from litedram import modules
    from litedram.core.controller import ControllerSettings, LiteDRAMController
    from litedram.core.crossbar import LiteDRAMCrossbar
    from litedram.frontend.axi import LiteDRAMAXI2Native, LiteDRAMAXIPort
    from litedram.phy.model import SDRAMPHYModel, get_sdram_phy_settings
    from litex.build.sim.platform import SimPlatform
    from litex.gen.fhdl.verilog import convert
    from migen import ClockDomain, Module

    dram, hertz = DRAMS[name], 1e6 * DRAMS[name].megahertz
    part = getattr(modules, dram.part)
    small = type(dram.part, (part,), {"nrows": _ROWS})(hertz, "1:4")
    top = Module()
    top.clock_domains.sys = ClockDomain("sys")
    top.submodules.phy = phy = SDRAMPHYModel(
        small, get_sdram_phy_settings(small.memtype, 16, hertz), clk_freq=hertz
    )
    top.submodules.controller = made = LiteDRAMController(
        phy.settings,
        small.geom_settings,
        small.timing_settings,
        hertz,
        ControllerSettings(cmd_buffer_depth=16),
    )
    top.comb += made.dfi.connect(phy.dfi)
    top.submodules.crossbar = crossbar = LiteDRAMCrossbar(made.interface)
    native = crossbar.get_port()
    address_bits = native.address_width + (native.data_width // 8).bit_length() - 1
    axi = LiteDRAMAXIPort(native.data_width, address_bits, id_width=1)
    top.submodules.axi = LiteDRAMAXI2Native(axi, native)
    pins = {pin for way in ("aw", "w", "b", "ar", "r") for pin in getattr(axi, way).flatten()}
    platform = SimPlatform("sim", [])
    return str(convert(top, pins | {top.sys.clk, top.sys.rst}, name=_module(name), platform=platform))
