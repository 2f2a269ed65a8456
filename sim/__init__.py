"""The golden model: what the format is and what the hardware must do, in numpy.

Names are imported on first use; nothing here imports Amaranth.
"""

from typing import TYPE_CHECKING

from cdma.base.lazy import names_of

if TYPE_CHECKING:  # for editors and type checkers
    from cdma.sim.codec.model import (
        Analysis,
        CorruptStream,
        PacketReport,
        PacketResult,
        analyse,
        compress,
        compress_words,
        decode_packet,
        decompress,
        decompress_words,
        encode_packet,
    )
    from cdma.sim.codec.words import word_dtype
    from cdma.sim.engine.driver.driver import Driver
    from cdma.sim.engine.driver.rings import RingMemory
    from cdma.sim.engine.memory import Completion, Descriptor, Memory
    from cdma.sim.engine.model import EngineModel

#: The names by the modules that they come from.
_HOMES = {
    ".codec.model": "Analysis CorruptStream PacketReport PacketResult analyse compress compress_words "
    "decode_packet decompress decompress_words encode_packet",
    ".codec.words": "word_dtype",
    ".engine.driver.driver": "Driver",
    ".engine.driver.rings": "RingMemory",
    ".engine.memory": "Completion Descriptor Memory",
    ".engine.model": "EngineModel",
}

__all__ = [
    "Analysis", "Completion", "CorruptStream", "Descriptor", "Driver", "EngineModel", "Memory",
    "PacketReport", "PacketResult", "RingMemory", "analyse", "compress", "compress_words", "decode_packet",
    "decompress", "decompress_words", "encode_packet", "word_dtype",
]  # fmt: skip

__getattr__ = names_of(__name__, _HOMES)
