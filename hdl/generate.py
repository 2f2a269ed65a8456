"""Every block that a user gets, as Verilog and as ports, by its name and its configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .spec.codec import CodecConfig
from .spec.engine import EngineConfig
from .spec.stage import StageConfig

if TYPE_CHECKING:
    from .verilog.emit import Verilog
    from .verilog.ports import Port

__all__ = ["Config", "block_design", "block_ports"]

#: What a block is generated from; the block of an engine is ``engine``.
Config = CodecConfig | StageConfig | EngineConfig


def block_design(block: str, config: Config, **wishes: Any) -> Verilog:
    """The Verilog of a block, with the name, the prefix, initial values and memories of ``wishes``."""
    if isinstance(config, EngineConfig):
        from .engine.generate import engine_design

        return engine_design(config, **wishes)
    if isinstance(config, StageConfig):
        from .lossy.generate import stage_design

        return stage_design(block, config, **wishes)
    from .codec.generate import codec_design

    return codec_design(block, config, **wishes)


def block_ports(block: str, config: Config) -> tuple[Port, ...]:
    """The ports of the module that :func:`block_design` prints."""
    if isinstance(config, EngineConfig):
        from .engine.engine import engine_ports

        return engine_ports(config)
    if isinstance(config, StageConfig):
        from .lossy.shell import stage_ports

        return stage_ports(block, config)
    from .codec.shell import codec_ports

    return codec_ports(config, length=block == "decompressor")
