"""Every block that a user gets, as Verilog and as ports, by its name and its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.stage import StageConfig

from .languages import SYSTEM_VERILOG, VERILOG

if TYPE_CHECKING:
    from cdma.hdl.verilog.emit import Verilog
    from cdma.hdl.verilog.ports import Port

__all__ = ["Config", "block_design", "block_ports"]

#: What a block is generated from; the block of an engine is ``engine``.
Config = CodecConfig | StageConfig | EngineConfig


def block_design(
    block: str, config: Config, *, language: str = VERILOG, source_lines: bool = False, **wishes: Any
) -> Verilog:
    """The Verilog of a block for a design in ``language``.

    It has the name, the prefix, the initial values and the memories of ``wishes``, and with ``source_lines`` the places of
    the generator.
    """
    from cdma.hdl.verilog.dialect import SYSTEM_VERILOG as TYPED
    from cdma.hdl.verilog.dialect import VERILOG_2005
    from cdma.hdl.verilog.style import Style

    style = Style(TYPED if language == SYSTEM_VERILOG else VERILOG_2005, source_lines)
    if isinstance(config, EngineConfig):
        from cdma.hdl.engine.generate import engine_design

        return engine_design(config, style=style, **wishes)
    if isinstance(config, StageConfig):
        from cdma.hdl.lossy.generate import stage_design

        return stage_design(block, config, style=style, **wishes)
    from cdma.hdl.codec.generate import codec_design

    return codec_design(block, config, style=style, **wishes)


def block_ports(block: str, config: Config) -> tuple[Port, ...]:
    """The ports of the module that :func:`block_design` prints."""
    if isinstance(config, EngineConfig):
        from cdma.hdl.engine.engine import engine_ports

        return engine_ports(config)
    if isinstance(config, StageConfig):
        from cdma.hdl.lossy.shell import stage_ports

        return stage_ports(block, config)
    from cdma.hdl.codec.shell import codec_ports

    return codec_ports(config, length=block == "decompressor")
