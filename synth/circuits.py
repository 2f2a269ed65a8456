"""The blocks that can be measured, as Verilog."""

from __future__ import annotations

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig

from .flow import Circuit

__all__ = ["codec_circuit", "engine_circuit"]


def codec_circuit(block: str, config: CodecConfig) -> Circuit:
    """The compressor or the decompressor of ``config``, without initial values, as for an ASIC."""
    from cdma.hdl.codec.generate import codec_verilog

    top = f"cdma_{block}"
    return Circuit(block, config.settings(), top, codec_verilog(block, config, name=top, init=False))


def engine_circuit(config: EngineConfig) -> Circuit:
    """The whole engine of ``config``, without initial values."""
    from cdma.hdl.engine.generate import engine_verilog

    return Circuit(
        "engine", config.settings(), "cdma_engine", engine_verilog(config, name="cdma_engine", init=False)
    )
