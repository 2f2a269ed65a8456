"""What goes from a compressor's windows to its packer, beat by beat, and what is counted of each beat."""

from amaranth.hdl import Mux, Value
from amaranth.lib import data

from cdma.hdl.spec.codec import CodecConfig
from cdma.hdl.spec.stream_format import StreamFormat

__all__ = ["Arrival", "Step", "counts_stored", "last_header_part", "words_of_last_beat"]


def counts_stored(format: StreamFormat) -> bool:
    """Whether what is stored of the words of a packet is counted apart from its literals, being something else."""
    return format.parts > 1 or format.align_words > 1


def last_header_part(config: CodecConfig) -> int:
    """Stream words of the last part of a header; each part before it fills a beat."""
    return config.format.header_words - (config.header_beats - 1) * config.units


class Step(data.StructLayout):
    """One beat of a window, ready to be packed. Its words are stream words.

    ``words``
        Holds the literals, or parts of words, that are stored, each in its lane of the output beats.
    ``header``
        Header of the window; valid with the first beat of a window only.
    ``first``
        Begins a window.
    ``last``
        Ends a packet.
    ``start``
        Number of words in the output beat that this step continues: 0 at the start of a packet, then 1 to ``units``.
    ``total``
        Number of words of ``start`` and of this step, padding included. Of a header longer than a beat only the last part
        counts.
    ``padding``
        Number of words of padding at the end of this step, in formats with padded windows.
    ``more``
        Says that a word of the packet is known to follow this step. Only a compressor with less than two queued beats
        needs it.
    """

    def __init__(self, config: CodecConfig) -> None:
        fmt, units = config.format, config.units
        super().__init__(
            {
                "words": data.ArrayLayout(fmt.stream_bits, units),
                "header": data.ArrayLayout(fmt.stream_bits, fmt.header_words),
                "first": 1,
                "last": 1,
                "start": range(units + 1),
                "total": range(3 * units + 1),
                **({"padding": range(fmt.align_words)} if fmt.align_words > 1 else {}),
                **({} if config.work_conserving else {"more": 1}),
            }
        )


def words_of_last_beat(total: Value, units: int, over_one: Value, over_two: Value) -> Value:
    """The number of a step's ``total`` words that are in the last output beat with any.

    ``over_one`` and ``over_two`` say whether words go beyond the first output beat and the second.
    """
    return Mux(over_two, total - 2 * units, Mux(over_one, total - units, total))


class Arrival(data.StructLayout):
    """What is counted of a beat.

    ``words``, ``literals``
        Number of words, and of literals among them.
    ``stored``
        Number of stream words that are stored of them, or pad their window, if they are counted apart.
    ``last``
        Ends the packet.
    ``malformed``
        Says that the beat is :func:`~cdma.hdl.blocks.beats.malformed`.
    """

    def __init__(self, config: CodecConfig) -> None:
        lanes = config.lanes
        super().__init__(
            {
                "words": range(lanes + 1),
                "literals": range(lanes + 1),
                **(
                    {"stored": range(config.units + config.format.align_words)}
                    if counts_stored(config.format)
                    else {}
                ),
                "last": 1,
                "malformed": 1,
            }
        )
