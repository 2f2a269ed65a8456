"""cDMA: a generator of compressing DMA engines, its golden model, its proofs and its costs.

The names here are imported on first use: ``cdma.compress`` needs numpy, but not Amaranth.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from .hdl.errors import CdmaError, ParameterError
    from .hdl.params import CodecConfig, Format
    from .sim.codec import Analysis, CorruptStream, analyse, compress, decompress
    from .sim.descriptors import Completion, Descriptor
    from .sim.driver import Driver

_HOME = {
    "Analysis": "sim.codec",
    "CdmaError": "hdl.errors",
    "CodecConfig": "hdl.params",
    "Completion": "sim.descriptors",
    "CorruptStream": "sim.codec",
    "Descriptor": "sim.descriptors",
    "Driver": "sim.driver",
    "Format": "hdl.params",
    "ParameterError": "hdl.errors",
    "analyse": "sim.codec",
    "compress": "sim.codec",
    "decompress": "sim.codec",
}

__all__ = [
    "Analysis",
    "CdmaError",
    "CodecConfig",
    "Completion",
    "CorruptStream",
    "Descriptor",
    "Driver",
    "Format",
    "ParameterError",
    "__version__",
    "analyse",
    "compress",
    "decompress",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
