"""Amaranth RTL of the engine, and the parameters that it shares with the software.

Names are imported on first use, so that ``from cdma.hdl import Format`` does not load Amaranth.
"""

from cdma.hdl.spec.lazy import names_of

_HOME = {
    "CdmaError": ".spec.errors",
    "ParameterError": ".spec.errors",
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

__all__ = list(_HOME)

__getattr__ = names_of(__name__, _HOME)
