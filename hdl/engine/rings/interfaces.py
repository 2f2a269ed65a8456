"""The bundle between a channel and its rings, and the words in which records are copied."""

from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.channel.descriptor import Completion, Request
from cdma.hdl.spec.records import RECORD_BYTES, RecordOptions

__all__ = ["RECORD_WORDS", "WORD_BITS", "RingClient"]

#: Records are copied between registers and rings in words of this many bits, one per cycle.
WORD_BITS = 32
RECORD_WORDS = 8 * RECORD_BYTES // WORD_BITS


class RingClient(wiring.Signature):
    """A channel as its rings see it."""

    def __init__(self, options: RecordOptions) -> None:
        super().__init__(
            {
                "requests": Out(stream.Signature(Request(options))),
                "checking": In(1),  # the channel checks the request: it must stay
                "completion": In(stream.Signature(Completion(options))),
                "interrupt": In(1),  # the completion counts towards the interrupt
                "aborting": In(1),  # the channel drops what has started
                "settling": Out(1),  # completions from before the end of that are not in memory yet
                "halt": Out(1),  # pulse: halts the channel as an error does
                "extra_error": Out(1),  # pulse: an error without a completion
            }
        )
