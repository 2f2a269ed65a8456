"""What travels on the streams between blocks: beats of words, and one report per packet."""

from amaranth.lib import data, enum

__all__ = ["Beat", "Error", "Report"]


class Beat(data.StructLayout):
    """One beat: ``lanes`` words, which of them are there, and whether the packet ends here.

    Words are packed from lane 0. ``keep`` has one bit per word; only the last beat of a packet may be partial.
    """

    def __init__(self, word_bits: int, lanes: int) -> None:
        super().__init__({"data": data.ArrayLayout(word_bits, lanes), "keep": lanes, "last": 1})
        self.word_bits = word_bits
        self.lanes = lanes


class Error(enum.Enum, shape=8):
    """What went wrong with a packet; the first error found counts."""

    NONE = 0
    #: The stream ended before the packet had all its words.
    TRUNCATED = 1
    #: Words were left over after the packet had all its words.
    TRAILING = 2
    #: A code past the table, or a code other than 0 past the end of a partial window.
    CODE = 3
    #: A beat that is empty, has a hole, cuts a word, or is partial without being the last.
    BEAT = 4


class Report(data.Struct):
    """One per packet, in packet order."""

    words_in: 32
    words_out: 32
    literals: 32
    error: Error
