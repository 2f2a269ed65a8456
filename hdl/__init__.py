"""Amaranth RTL of the engine, and the parameters that it shares with the software.

Names are imported on first use, so that ``from cdma.hdl import Format`` does not load Amaranth.
"""

from typing import TYPE_CHECKING

from cdma.base.lazy import names_of

if TYPE_CHECKING:  # for editors and type checkers
    from cdma.base.errors import CdmaError, ParameterError
    from cdma.hdl.codec.generate import Compressor, Decompressor
    from cdma.hdl.codec.parts.interface import Beat, Error, Report
    from cdma.hdl.engine.core import EngineCore
    from cdma.hdl.engine.engine import Engine
    from cdma.hdl.spec.codec import CodecConfig
    from cdma.hdl.spec.engine import EngineConfig
    from cdma.hdl.spec.format import Format

#: The names by the modules that they come from.
_HOMES = {
    ".codec.generate": "Compressor Decompressor",
    ".codec.parts.interface": "Beat Error Report",
    ".engine.core": "EngineCore",
    ".engine.engine": "Engine",
    ".spec.codec": "CodecConfig",
    ".spec.engine": "EngineConfig",
    ".spec.format": "Format",
    "cdma.base.errors": "CdmaError ParameterError",
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

__getattr__ = names_of(__name__, _HOMES)
