"""The bundle between a pair and the dispatch of one direction, and the pair's IDs at the host port."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.engine.channel.descriptor import Completion, Request
from cdma.hdl.engine.channel.interfaces import WindowPort
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import RecordOptions

__all__ = ["Done", "PairClient", "list_ids", "message_ids", "ring_ids"]


def ring_ids(number: int) -> tuple[int, int]:
    """The IDs of a pair's rings, of offload and of prefetch; 0 is data."""
    return 2 * number + 1, 2 * number + 2


def list_ids(pairs: int) -> tuple[int, int]:
    """The IDs of lists of pages of all pairs: they follow those of the rings."""
    return ring_ids(pairs)


def message_ids(number: int, pairs: int, *, pages: bool = False) -> tuple[int, int]:
    """The IDs of a pair's messages: they follow those of all rings, and of lists of pages. With one pair they are the same
    without lists."""
    return ring_ids(number + max(2, pairs + pages))


class Done(data.StructLayout):
    """A completion with what belongs to it: whether it counts towards the interrupt, its raw words, and whether they went
    through the codec."""

    def __init__(self, options: RecordOptions) -> None:
        super().__init__({"completion": Completion(options), "interrupt": 1, "words": 32, "coded": 1})


class PairClient(wiring.Signature):
    """One direction of a pair as the data path sees it, seen from the pair.

    ``requests``, ``may_start``
        The next descriptor, and whether the pair lets it start. It stays once ``checking`` is high.
    ``checking``
        The request is checked.
    ``started``
        Pulse: it is taken. Each that is taken has a completion.
    ``done``
        The completions, in order. A pair has room for those of all descriptors that it lets start.
    ``drops``
        The pair ends what it has started: that is to be completed as ``ABORTED``. While high, it lets nothing start.
    ``windows``
        The pair's own, for the check.
    ``page_windows``
        Its own again, for the pages of its descriptors.
    ``values``
        Its table of frequent values.
    ``owner_value``, ``owner_mask``
        In an engine with owners: whose descriptors it carries out, as :class:`.ChannelControl` has them.
    """

    def __init__(self, config: EngineConfig) -> None:
        table = data.ArrayLayout(config.format.entry_bits, config.codec.table_size)
        super().__init__(
            {
                "requests": Out(stream.Signature(Request(config.records))),
                "may_start": Out(1),
                "checking": In(1),
                "started": In(1),
                "done": In(stream.Signature(Done(config.records), always_ready=True)),
                "drops": Out(1),
                "windows": In(WindowPort()),
                "values": Out(table),
                **({"page_windows": In(WindowPort())} if config.pages else {}),
                **({"owner_value": Out(32), "owner_mask": Out(32)} if config.records.owner_bits else {}),
            }
        )
