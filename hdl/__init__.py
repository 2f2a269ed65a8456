"""Amaranth RTL of the engine, and the parameters that it shares with the software.

Names are imported on first use, so that ``from cdma.hdl import Format`` does not load Amaranth.
"""

from typing import TYPE_CHECKING

from cdma.base.lazy import names_of

if TYPE_CHECKING:  # for editors and type checkers
    from cdma.base.errors import CdmaError, ParameterError
    from cdma.hdl.blocks.beats import Beat
    from cdma.hdl.codec.compressor import Compressor
    from cdma.hdl.codec.decompressor import Decompressor
    from cdma.hdl.codec.parts.streams import Error, Report
    from cdma.hdl.engine.core import EngineCore
    from cdma.hdl.engine.engine import Engine
    from cdma.hdl.spec.codec import CodecConfig
    from cdma.hdl.spec.engine import EngineConfig
    from cdma.hdl.spec.format import Format

_HOME = {
    "CdmaError": "cdma.base.errors",
    "ParameterError": "cdma.base.errors",
    "CodecConfig": ".spec.codec",
    "EngineConfig": ".spec.engine",
    "Format": ".spec.format",
    "Beat": ".blocks.beats",
    "Report": ".codec.parts.streams",
    "Error": ".codec.parts.streams",
    "Compressor": ".codec.compressor",
    "Decompressor": ".codec.decompressor",
    "Engine": ".engine.engine",
    "EngineCore": ".engine.core",
}

__all__ = [
    "Beat",
    "CdmaError",
    "CodecConfig",
    "Compressor",
    "Decompressor",
    "Engine",
    "EngineConfig",
    "EngineCore",
    "Error",
    "Format",
    "ParameterError",
    "Report",
]

__getattr__ = names_of(__name__, _HOME)
