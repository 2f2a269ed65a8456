"""The golden model: what the format is and what the hardware must do, in numpy.

Names are imported on first use; nothing here imports Amaranth.
"""

from cdma.hdl.spec.lazy import names_of

_HOME = {
    "Analysis": ".codec.results",
    "Completion": ".engine.descriptors",
    "CorruptStream": ".codec.results",
    "Descriptor": ".engine.descriptors",
    "Driver": ".driver.driver",
    "EngineModel": ".engine.model",
    "Memory": ".engine.memory",
    "PacketReport": ".codec.results",
    "PacketResult": ".codec.results",
    "RingMemory": ".driver.rings",
    "analyse": ".codec.model",
    "compress": ".codec.model",
    "compress_words": ".codec.model",
    "decode_packet": ".codec.model",
    "decompress": ".codec.model",
    "decompress_words": ".codec.model",
    "encode_packet": ".codec.model",
    "word_dtype": ".codec.words",
}

__all__ = list(_HOME)

__getattr__ = names_of(__name__, _HOME)
