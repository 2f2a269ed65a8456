"""cDMA: a generator of compressing DMA engines, its golden model, its proofs and its costs.

The names here are imported on first use: ``cdma.compress`` needs numpy, but not Amaranth.
"""

# Not that of typing: what is imported here comes before the command can answer an interrupt (start.py).
TYPE_CHECKING = False

if TYPE_CHECKING:
    from cdma._version import __version__
    from cdma.base.errors import CdmaError, ParameterError
    from cdma.door import analyse, compress, decompress, fit
    from cdma.hdl.spec.codec import CodecConfig
    from cdma.hdl.spec.format import Format
    from cdma.sim import Completion, Descriptor, Driver
    from cdma.sim.codec.model import Analysis, CorruptStream
    from cdma.sim.codec.software import backend

_HOME = {
    "Analysis": ".sim.codec.model",
    "CdmaError": ".base.errors",
    "CodecConfig": ".hdl.spec.codec",
    "Completion": ".sim",
    "CorruptStream": ".sim.codec.model",
    "Descriptor": ".sim",
    "Driver": ".sim",
    "Format": ".hdl.spec.format",
    "ParameterError": ".base.errors",
    "__version__": "._version",
    "analyse": ".door",
    "backend": ".sim.codec.software",
    "compress": ".door",
    "decompress": ".door",
    "fit": ".door",
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
    "backend",
    "compress",
    "decompress",
    "fit",
]


def __getattr__(name: str) -> object:
    from cdma.base.lazy import names_of

    return names_of(__name__, _HOME)(name)
