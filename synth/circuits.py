"""The blocks that can be measured, as Verilog."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.stage import StageConfig

__all__ = ["Circuit", "codec_circuit", "engine_circuit", "stage_circuit"]


@dataclass(frozen=True)
class Circuit:
    """What is measured: Verilog without initial values, its top module, and its name and parameters for a report."""

    block: str
    config: dict[str, Any]
    top: str
    verilog: str


def codec_circuit(block: str, config: CodecConfig) -> Circuit:
    """Returns the compressor or the decompressor of ``config``, without initial values, as for an ASIC."""
    from cdma.hdl.codec.generate import codec_verilog

    top = f"cdma_{block}"
    return Circuit(block, config.settings(), top, codec_verilog(block, config, name=top, init=False))


def engine_circuit(config: EngineConfig) -> Circuit:
    """Returns the whole engine of ``config``, without initial values."""
    from cdma.hdl.engine.generate import engine_verilog

    return Circuit(
        "engine", config.settings(), "cdma_engine", engine_verilog(config, name="cdma_engine", init=False)
    )


def stage_circuit(block: str, config: StageConfig) -> Circuit:
    """Returns the quantiser or the dequantiser of ``config``, without initial values."""
    from cdma.hdl.lossy.generate import stage_design

    top = f"cdma_{block}"
    return Circuit(block, config.settings(), top, stage_design(block, config, name=top, init=False).text)
