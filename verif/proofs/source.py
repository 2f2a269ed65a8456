"""That the Verilog of the designs is their Amaranth source: the claims."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from cdma.hdl.codec.generate import codec_shell, codec_verilog
from cdma.hdl.engine.engine import engine_shell
from cdma.hdl.lossy.generate import stage_design
from cdma.hdl.lossy.shell import StageShell
from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.codecs import BLOCKS
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.format import Format
from cdma.hdl.spec.stage import STAGES, StageConfig
from cdma.hdl.verilog.shell import Shell

from .equivalence import Equivalence, Whole, printed

__all__ = ["PROOFS", "codec_source", "module_source", "stage_source"]

_WHOLE = "every output bit of the Verilog file is that of Amaranth's RTLIL, in every cycle of every run"


def codec_source(block: str, config: CodecConfig, named: str, *, quick: bool = True) -> Equivalence:
    """The file of a codec against Amaranth's own RTLIL of it; ``named`` is the configuration in words."""
    return Equivalence(
        name=f"{block}_verilog",
        config=named,
        claim=_WHOLE,
        method="scorr",
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
        sides=lambda: Whole(StageShell(block, config), stage_design(block, config).text, f"cdma_{block}"),
    )


def module_source(block: str, shell: Callable[[], Shell], named: str) -> Equivalence:
    """Each module of the Verilog of a block against the netlist that it was printed from."""
    return Equivalence(
        name=f"{block}_modules",
        config=named,
        claim="each module of the Verilog is the logic of the netlist that it was printed from, in any state",
        method="equiv",
        sides=lambda: printed(shell()),
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
    *(
        module_source(block, partial(codec_shell, block, _PIPELINED), "4 lanes of 8 bits, pipelined")
        for block in BLOCKS
    ),
    module_source("engine", lambda: engine_shell(_ENGINE), "2 lanes of 8 bits, small buffers"),
]
