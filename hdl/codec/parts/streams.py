"""What travels on the streams between blocks: beats of words, and one report per packet."""

from amaranth.lib import data, enum

__all__ = ["Error", "Report"]


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
