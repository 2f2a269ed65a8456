"""What goes from a compressor's windows to its packer, beat by beat, and what is counted of each beat."""

from amaranth.hdl import Mux, Value
from amaranth.lib import data

from cdma.hdl.spec.codec import CodecConfig

__all__ = ["Arrival", "Step", "words_of_last_beat"]


class Step(data.StructLayout):
    """One beat of a window, ready to be packed.

    ``words``
        Holds the literals, each in its lane of the output beats.
    ``header``
        Header of the window; valid with the first beat of a window only.
    ``first``
        Begins a window.
    ``last``
        Ends a packet.
    ``start``
        Number of words in the output beat that this step continues: 0 at the start of a packet, then 1 to ``lanes``.
    ``total``
        Number of words of ``start`` and of this step. Of a header longer than a beat only the last part counts.
    ``more``
        Says that a word of the packet is known to follow this step. Only a compressor with less than two queued beats
        needs it.
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
                **({} if config.work_conserving else {"more": 1}),
            }
        )


def words_of_last_beat(total: Value, lanes: int, over_one: Value, over_two: Value) -> Value:
    """The number of a step's ``total`` words that are in the last output beat with any.

    ``over_one`` and ``over_two`` say whether words go beyond the first output beat and the second.
    """
    return Mux(over_two, total - 2 * lanes, Mux(over_one, total - lanes, total))


class Arrival(data.StructLayout):
    """What is counted of a beat.

    ``words``, ``literals``
        Number of words, and of literals among them.
    ``last``
        Ends the packet.
    ``malformed``
        Says that the beat is :func:`~cdma.hdl.blocks.beats.malformed`.
    """

    def __init__(self, lanes: int) -> None:
        super().__init__({"words": range(lanes + 1), "literals": range(lanes + 1), "last": 1, "malformed": 1})
