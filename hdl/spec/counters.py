"""The counters of a channel, in the order of their registers. Plain data, without Amaranth."""

__all__ = ["COUNTERS"]

#: The name and the meaning of each. They count modulo 2**64.
COUNTERS = (
    ("cycles", "Clock cycles with at least one descriptor in flight."),
    ("bytes_read", "Bytes read from sources, summed over completions."),
    ("bytes_written", "Bytes written to destinations, summed over completions."),
    ("literals", "Words stored as literals, summed over completions."),
    (
        "raw_words",
        "Raw words that were compressed or decompressed: literals / raw_words is the density.",
    ),
    ("descriptors", "Descriptors completed, whether well or not."),
    ("errors", "Descriptors that ended with an error, and completions that could not be written."),
    ("read_beats", "Beats of data taken from the read port."),
    ("write_beats", "Beats of data given to the write port."),
    (
        "stall_source",
        "Cycles with a descriptor in flight in which the codec could have taken a beat but none had been read.",
    ),
    (
        "stall_codec",
        "Cycles in which a beat was there but the codec, its output not blocked, did not take it.",
    ),
    ("stall_sink", "Cycles in which the codec had a beat but the write side did not take it."),
)
