"""What a decompressor's planner says of a beat."""

from amaranth.lib import data
from amaranth.utils import exact_log2

from cdma.hdl.codec.parts.streams import Error
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["Plan"]


class Plan(data.StructLayout):
    """One beat to deliver.

    ``codes``
        Codes of its words.
    ``swap``, ``straight``
        Settings of the exchanges that spread what is stored of them, for each level.
    ``literals``
        Number of literals.
    ``words``
        Number of words, less one.
    ``padding``
        Number of words of padding after what is stored, in formats with padded windows.
    ``last``
        Ends the packet.
    ``error``
        Says why the beat cannot be delivered.
    """

    def __init__(self, config: CodecConfig) -> None:
        lanes, units = config.lanes, config.units
        settings = data.ArrayLayout(units // 2, exact_log2(units))
        super().__init__(
            {
                "codes": lanes * config.format.code_bits,
                "swap": settings,
                "straight": settings,
                "literals": range(lanes + 1),
                "words": range(lanes),
                **({"padding": range(config.format.align_words)} if config.format.align_words > 1 else {}),
                "last": 1,
                "error": Error,
            }
        )
