"""That the Verilog of the designs is their Amaranth source: the claims."""

from __future__ import annotations

from dataclasses import replace

from cdma.hdl.codec.generate import CodecShell, Compressor, Decompressor, codec_shell, codec_verilog
from cdma.hdl.codec.plain.compressor import PlainCompressor
from cdma.hdl.codec.plain.decompressor import PlainDecompressor
from cdma.hdl.engine.engine import Engine, engine_shell
from cdma.hdl.lossy.dequantiser import Dequantiser
from cdma.hdl.lossy.generate import StageShell, stage_design
from cdma.hdl.lossy.quantiser import Quantiser
from cdma.hdl.spec.codec import BLOCKS, CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.hdl.verilog.shell import Shell

from .design import Config, any_design, codec_in
from .equivalence import Equivalence, Whole, printed
from .proof import OWN

__all__ = ["PROOFS", "codec_source", "module_source", "own_proofs", "shell_of", "stage_source"]


def shell_of(block: str, config: Config) -> Shell:
    """The module that a design is printed from."""
    if isinstance(config, EngineConfig):
        return engine_shell(config)
    if isinstance(config, StageConfig):
        return StageShell(block, config)
    return codec_shell(block, config)


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

PROOFS = [
    *(codec_source(block, _SMALL, "2 lanes of 8 bits, window 8") for block in BLOCKS),
    *(codec_source(block, _VALUES, "4 lanes of 8 bits, run-time table", quick=False) for block in BLOCKS),
    *(codec_source(block, CodecConfig(), "the default", quick=False) for block in BLOCKS),
    *(stage_source(block, StageConfig(), "the default") for block in STAGES),
    *(module_source(block, _PIPELINED, "4 lanes of 8 bits, pipelined") for block in BLOCKS),
    module_source("engine", _ENGINE, "2 lanes of 8 bits, small buffers"),
    module_source("engine", EngineConfig(), "the default"),
]


def own_proofs(block: str, config: Config) -> list[Equivalence]:
    """The Verilog of a design against its source."""
    if isinstance(config, StageConfig):
        return [stage_source(block, config, OWN)]
    if isinstance(config, CodecConfig) and not config.pipelined:
        return [codec_source(block, config, OWN)]
    return [module_source(block, config, OWN)]
