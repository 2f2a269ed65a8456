"""What goes from a compressor's windows to its packer, beat by beat, and what is counted of each beat."""

from amaranth.lib import data

from cdma.hdl.spec.codec import CodecConfig

__all__ = ["Arrival", "Step"]


class Step(data.StructLayout):
    """One beat of a window, ready to be packed.

    ``words``
        The literals, in the lanes of the output beats that they belong to.
    ``header``
        The window's header; has a meaning on the first beat of a window only.
    ``first``, ``last``
        First beat of a window, last beat of a packet.
    ``start``
        Words in the output beat that this step continues, 0 (only at a packet's start) to ``lanes``.
    ``total``
        ``start`` and the words which this step adds, of the header those that go with the beat.
    """

    def __init__(self, config: CodecConfig) -> None:
        fmt, lanes = config.format, config.lanes
        super().__init__(
            {
                "words": data.ArrayLayout(fmt.word_bits, lanes),
                "header": data.ArrayLayout(fmt.word_bits, fmt.header_words),
                "first": 1,
                "last": 1,
                "start": range(lanes + 1),
                "total": range(3 * lanes + 1),
            }
        )


class Arrival(data.StructLayout):
    """What is counted of a beat: its words and literals, whether it ends the packet, whether it was malformed."""

    def __init__(self, lanes: int) -> None:
        super().__init__({"words": range(lanes + 1), "literals": range(lanes + 1), "last": 1, "malformed": 1})
