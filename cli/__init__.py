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

#: The names by the modules that they come from.
_HOMES = {
    "._version": "__version__",
    ".base.errors": "CdmaError ParameterError",
    ".door": "analyse compress decompress fit",
    ".hdl.spec.codec": "CodecConfig",
    ".hdl.spec.format": "Format",
    ".sim": "Completion Descriptor Driver",
    ".sim.codec.model": "Analysis CorruptStream",
    ".sim.codec.software": "backend",
}

__all__ = [
    "Analysis", "CdmaError", "CodecConfig", "Completion", "CorruptStream", "Descriptor", "Driver", "Format",
    "ParameterError", "__version__", "analyse", "backend", "compress", "decompress", "fit",
]  # fmt: skip


def __getattr__(name: str) -> object:
    from cdma.base.lazy import names_of

    return names_of(__name__, _HOMES)(name)
