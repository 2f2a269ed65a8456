"""The printed Verilog: it is its Amaranth source, and keeps the rules of AXI-Stream and AXI4-Lite at its ports.

The rules are those of ``verif/properties/``, bound as any project would bind them. A codec is the file that a user gets
without initial values: registers begin with anything, the first cycle is one of reset, and later ones may be, at any
time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from amaranth.hdl import C, ClockDomain, ClockSignal, Cover, Instance, Module, Signal, Value

from cdma.hdl.codec.generate import (
    CodecShell,
    Compressor,
    Decompressor,
    codec_ports,
    codec_shell,
    codec_verilog,
)
from cdma.hdl.codec.lossy import Dequantiser, Quantiser, StageShell, stage_design
from cdma.hdl.codec.plain.compressor import PlainCompressor
from cdma.hdl.codec.plain.decompressor import PlainDecompressor
from cdma.hdl.engine.control.register_file import RegisterFile
from cdma.hdl.engine.engine import Engine
from cdma.hdl.spec.codec import BLOCKS, CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.registers.description import Access, Block, Field, Register, RegisterMap
from cdma.hdl.spec.stage import STAGES, StageConfig

from .bench import Bench, free, started
from .equivalence import Equivalence, Whole, printed
from .proof import OWN, Claim, Config, Proof, any_design, codec_in, plain_codec, shell_of


def _by_module(config: Config) -> bool:
    """Codecs that are pipelined are compared module by module, and others whole."""
    codec = codec_in(config)
    return codec is not None and codec.pipelined


_WHOLE = "every output bit of the Verilog file is that of Amaranth's RTLIL, in every cycle of every run"


def codec_source(block: str, config: CodecConfig, named: str, *, quick: bool = True) -> Equivalence:
    """The file of a codec against Amaranth's own RTLIL of it; ``named`` is the configuration in words."""
    return Equivalence(
        name=f"{block}_verilog",
        config=named,
        claim=_WHOLE,
        method="scorr",
        blocks=(CodecShell, PlainCompressor if block == "compressor" else PlainDecompressor),
        sides=lambda: Whole(codec_shell(block, config), codec_verilog(block, config), f"cdma_{block}"),
        quick=quick,
    )


def stage_source(block: str, config: StageConfig, named: str) -> Equivalence:
    """The file of a quantiser or a dequantiser against Amaranth's own RTLIL of it."""
    return Equivalence(
        name=f"{block}_verilog",
        config=named,
        claim=_WHOLE,
        method="scorr",
        blocks=(StageShell, Quantiser if block == STAGES[0] else Dequantiser),
        sides=lambda: Whole(StageShell(block, config), stage_design(block, config).text, f"cdma_{block}"),
    )


def module_source(block: str, config: CodecConfig | EngineConfig, named: str) -> Equivalence:
    """Each module of the Verilog of a codec or an engine against the netlist that it was printed from."""
    whole = {"compressor": (CodecShell, Compressor), "decompressor": (CodecShell, Decompressor)}
    return Equivalence(
        name=f"{block}_modules",
        config=named,
        claim="each module of the Verilog is the logic of the netlist that it was printed from, in any state",
        method="equiv",
        blocks=whole.get(block, (Engine,)),
        built_so=any_design if isinstance(config, EngineConfig) else _by_module,
        sides=lambda: printed(shell_of(block, config)),
        quick=False,
    )


_SMALL = CodecConfig(Format(8, 8), lanes=2)
_VALUES = CodecConfig(Format(8, 16, 2, (0, 7)), lanes=4, runtime_values=True)
_PIPELINED = replace(_VALUES, pipelined=True)
_ENGINE = EngineConfig(
    Format(8, 8, 1),
    lanes=2,
    dev_data_bits=64,
    host_data_bits=64,
    dev_address_bits=32,
    host_address_bits=32,
    burst_beats=4,
    latency=4,
    descriptors=2,
    ring_entries=2,
    alignment="word",
)


#: Cycles from the reset for which the ports of a codec of any size are looked at, and within which a packet gets through.
_DEPTH, _COVER = 8, 30

STREAM_RULES, LITE_RULES = "axi_stream.sv", "axi_lite_subordinate.sv"


def _reset(m: Module, name: str) -> Signal:
    """A reset, low in the first cycle and at any time."""
    released = free(m, f"{name}_free")
    resetn = Signal(name=name)
    m.d.comb += resetn.eq(released & started(m))
    return resetn


@dataclass(eq=False)
class CodecPorts(Bench):
    """A printed codec that gets anything: cut words, holes, streams that are no code, resets at any time."""

    block: str
    config: CodecConfig

    def describe(self, m: Module) -> None:
        ports = {
            port.name: Signal(port.width, name=port.name)
            for port in codec_ports(self.config, length=self.block == "decompressor")
        }
        kinds = {
            port.name: port.direction
            for port in codec_ports(self.config, length=self.block == "decompressor")
        }
        resetn = _reset(m, "resetn")
        m.d.comb += [ports["aclk"].eq(ClockSignal()), ports["aresetn"].eq(resetn)]
        for name, signal in ports.items():
            if kinds[name] == "input" and name not in ("aclk", "aresetn"):
                free(m, name, signal)
        m.submodules.dut = Instance(
            f"cdma_{self.block}",
            **{f"{'i' if kinds[name] == 'input' else 'o'}_{name}": signal for name, signal in ports.items()},
        )
        for stream in ("s_axis", "s_length", "m_axis", "m_report"):
            if f"{stream}_tvalid" in ports:
                _bind_stream(m, stream, ports, resetn, assumed=stream[0] == "s")
        leaves = ports["m_axis_tvalid"] & ports["m_axis_tready"]
        again = Signal()
        m.d.sync += again.eq(again | (leaves & ~resetn) | (started(m) & ~resetn))
        m.d.comb += [
            Cover(leaves & ports["m_axis_tlast"]),
            Cover(ports["m_report_tvalid"] & ports["m_report_tready"]),
            Cover(leaves & again),
        ]


def _bind_stream(m: Module, name: str, ports: dict[str, Signal], resetn: Value, *, assumed: bool) -> None:
    """Holds the source of a stream to the rules; an input's is trusted with the handshake, and with nothing else."""
    keep = ports.get(f"{name}_tkeep", C(1, 1))
    m.submodules[f"{name}_rules"] = Instance(
        "axi_stream",
        p_DATA_BITS=len(ports[f"{name}_tdata"]),
        p_LANES=len(keep),
        p_PACKED=int(not assumed),
        p_MAY_BE_EMPTY=1,
        p_SOURCE_ASSUMED=int(assumed),
        i_clk=ClockSignal(),
        i_resetn=resetn,
        i_tdata=ports[f"{name}_tdata"],
        i_tkeep=keep,
        i_tlast=ports.get(f"{name}_tlast", C(1, 1)),
        i_tvalid=ports[f"{name}_tvalid"],
        i_tready=ports[f"{name}_tready"],
    )


class LitePort(Bench):
    """A register file under any legal manager, with soft resets at any time."""

    def __init__(self, file: RegisterFile, answered_within: int) -> None:
        # The block asks for its reset, which a run begins after.
        self.domain = ClockDomain("sync")
        self.file = file
        self.answered_within = answered_within

    def describe(self, m: Module) -> None:
        m.d.comb += self.domain.rst.eq(0)
        m.submodules.dut = dut = self.file
        free(m, "soft_reset", dut.soft_reset)
        connected: dict[str, Any] = {}
        for name in dut.bus.signature.members:
            value = Value.cast(getattr(dut.bus, name))
            if _of_manager(name):
                free(m, name, value)
            connected[f"i_{name}"] = value
        m.submodules.rules = Instance(
            "axi_lite_subordinate",
            p_ADDRESS_BITS=len(dut.bus.awaddr),
            p_ANSWERED_WITHIN=self.answered_within,
            i_clk=ClockSignal(),
            i_resetn=C(1, 1),
            **connected,
        )
        m.d.comb += [
            Cover(dut.bus.bvalid & dut.bus.bready & Value.cast(dut.bus.bresp).any()),
            Cover(dut.bus.rvalid & dut.bus.rready & (dut.bus.rdata == 5)),
        ]


def _of_manager(name: str) -> bool:
    if name.endswith("valid"):
        return name[:-5] in ("aw", "w", "ar")
    if name.endswith("ready"):
        return name[:-5] in ("b", "r")
    return name not in ("bresp", "rdata", "rresp")


def codec_ports_proof(
    block: str,
    config: CodecConfig,
    named: str,
    *,
    depth: int = 0,
    cover: int = 20,
    quick: bool = True,
    verilog: Callable[[], str] | None = None,
) -> Proof:
    """The rules at the ports of a codec, for ``depth`` cycles, or for runs of any length.

    ``verilog`` makes other Verilog than the generator's, without initial values.
    """
    return Proof(
        name=f"{block}_ports",
        config=named,
        claim="AXI-Stream at the ports of the Verilog file, whatever comes in, from any start values, resets at any time",
        blocks=(CodecShell, PlainCompressor if block == "compressor" else PlainDecompressor),
        built_so=plain_codec,
        bench=lambda: CodecPorts(block, config),
        method="bmc" if depth else "pdr",
        depth=depth,
        cover=cover,
        rules=(STREAM_RULES,),
        verilog=verilog or (lambda: codec_verilog(block, config, init=False)),
        quick=quick,
    )


def short_ports_proof(
    block: str, config: CodecConfig, named: str, verilog: Callable[[], str] | None = None
) -> Proof:
    """The rules at the ports of a codec of any size, for a few cycles."""
    return codec_ports_proof(block, config, named, depth=_DEPTH, cover=_COVER, verilog=verilog)


#: Registers of every kind: constant, stored, acting, sticky, driven by hardware, in memory; and an address without one.
_MAP = RegisterMap(
    "proof",
    "What a proof needs.",
    (
        Block(
            "all",
            "Every kind.",
            (
                Register("ident", 0x0, "Constant.", (Field("magic", 0, 8, Access.CONSTANT, "Fixed.", 5),)),
                Register(
                    "mixed",
                    0x4,
                    "Several kinds.",
                    (
                        Field("mode", 0, 2, Access.RW, "Stored."),
                        Field("go", 2, 1, Access.PULSE, "Acts."),
                        Field("events", 4, 2, Access.W1C, "Sticky."),
                        Field("state", 8, 2, Access.RO, "Driven."),
                    ),
                ),
                Register("kept", 0x8, "Stored.", (Field("low", 0, 4, Access.RW, "Kept.", in_memory=True),)),
                Register("high", 0x10, "Driven.", (Field("bits", 28, 4, Access.RO, "Driven."),)),
                Register("low", 0x14, "Driven.", (Field("bits", 0, 4, Access.RO, "Driven."),)),
            ),
            (("all", 0x0),),
        ),
    ),
    address_bits=5,
)


def _lite(config: str, *, fast: bool, quick: bool) -> Proof:
    return Proof(
        name="registers_port",
        config=config,
        claim="AXI4-Lite of the register file under any legal manager; a taken access is answered within 4 cycles",
        blocks=(RegisterFile,),
        built_so=lambda config: isinstance(config, EngineConfig) and config.pipelined == fast,
        bench=lambda: LitePort(RegisterFile(_MAP, pipelined=fast), 4),
        rules=(LITE_RULES,),
        quick=quick,
    )


def own_proofs(block: str, config: Config) -> Sequence[Claim]:
    """The Verilog against its source, and for a codec the rules at its ports."""
    if isinstance(config, StageConfig):
        return [stage_source(block, config, OWN)]
    if isinstance(config, EngineConfig):
        return [module_source(block, config, OWN)]
    source = module_source if config.pipelined else codec_source
    return [short_ports_proof(block, config, OWN), source(block, config, OWN)]


PROOFS = [
    *(codec_source(block, _SMALL, "2 lanes of 8 bits, window 8") for block in BLOCKS),
    *(codec_source(block, _VALUES, "4 lanes of 8 bits, run-time table", quick=False) for block in BLOCKS),
    *(codec_source(block, CodecConfig(), "the default", quick=False) for block in BLOCKS),
    *(stage_source(block, StageConfig(), "the default") for block in STAGES),
    *(module_source(block, _PIPELINED, "4 lanes of 8 bits, pipelined") for block in BLOCKS),
    module_source("engine", _ENGINE, "2 lanes of 8 bits, small buffers"),
    module_source("engine", EngineConfig(), "the default"),
    codec_ports_proof("compressor", _SMALL, "2 lanes of 8 bits, window 8", depth=12, quick=False),
    codec_ports_proof("decompressor", _SMALL, "2 lanes of 8 bits, window 8", quick=False),
    _lite("5 registers", fast=False, quick=True),
    _lite("5 registers, fast", fast=True, quick=False),
]
