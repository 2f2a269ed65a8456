"""What is reported of each packet, and the errors that a report may have."""

from amaranth.hdl import Mux, Value
from amaranth.lib import data, enum

__all__ = ["Error", "Report", "first_error"]


class Error(enum.Enum, shape=8):
    """What is wrong with a packet. Only the first error found in it is reported."""

    NONE = 0
    #: The stream ended before the packet had all its words.
    TRUNCATED = 1
    #: Words were left over after the packet had all its words.
    TRAILING = 2
    #: A code past the table, or a code other than 0 past the end of a partial window.
    CODE = 3
    #: A beat that is empty, has a hole, cuts a word, or is partial without being the last.
    BEAT = 4
    #: Padding of a window that is not zero.
    PADDING = 5


def first_error(*found: tuple[Value, Value | Error], otherwise: Value | Error = Error.NONE) -> Value:
    """The error of the first condition that holds, or ``otherwise``."""
    error = Value.cast(otherwise)
    for condition, candidate in reversed(found):
        error = Mux(condition, candidate, error)
    return error


class Report(data.Struct):
    """What is reported of a packet; reports come in the order of the packets.

    ``words_in``, ``words_out``
        Number of words accepted, and of words delivered; of the compressed stream these are stream words.
    ``literals``
        Number of literals among the raw words.
    ``error``
        The first error found.
    """

    words_in: 32
    words_out: 32
    literals: 32
    error: Error
