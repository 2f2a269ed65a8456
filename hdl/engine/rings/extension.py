"""Joins a descriptor that is ``shaped`` with the entry after it, its extension."""

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import data

from cdma.hdl.engine.channel.descriptor import Descriptor
from cdma.hdl.spec.records import RecordOptions

from .interfaces import RECORD_WORDS, WORD_BITS

__all__ = ["Extension"]


class Extension:
    """The descriptor that is kept while its extension is read, as signals of one module: a fetcher's.

    Each entry that is read is looked at for a cycle, ``looks``, before it is shown.

    ``second``
        A descriptor is kept, and the entry that is read next is its extension.
    ``kept``
        The descriptor. It changes with no entry that is an extension.
    ``paired``
        The entry after the oldest one has arrived, too.
    ``shows``
        The request is whole: it is shown from the next cycle on.
    ``drops``
        The descriptor that is kept is forgotten: its ring is disabled, or a pushed one goes first.
    ``again``
        The extension leaves, in the cycle after its descriptor.
    """

    def __init__(self, options: RecordOptions) -> None:
        self.layout = Descriptor(options)
        self.looks = Signal(name="looks")
        self.second = Signal(name="has_descriptor")
        self.kept = Signal(self.layout, name="kept_descriptor", reset_less=True)
        self.paired = Signal(name="pair_arrived")
        self.shows = Signal(name="shows_request")
        self.drops = Signal(name="drops_descriptor")
        self.again = Signal(name="extension_leaves")

    def read(self, m: Module, record: Value, sound: Value, comes: Value, stays: Value) -> None:
        """Looks at what is read.

        ``record``, ``sound``
            What has been read, and whether it was fetched without an error.
        ``comes``
            It is there in the next cycle.
        ``stays``
            What is read was pushed, or is of a ring that is in use.
        """
        shaped = Signal(name="is_shaped")
        m.d.comb += [
            shaped.eq(data.View(self.layout, record).shaped & sound),
            self.shows.eq(self.looks & stays & (self.second | ~shaped)),
        ]
        m.d.sync += self.looks.eq(comes & stays)
        with m.If(self.looks & ~self.second):
            m.d.sync += [self.kept.eq(record), self.second.eq(stays & shaped)]
        with m.Elif(self.drops):
            m.d.sync += self.second.eq(0)

    def push(self, m: Module, extends: Signal, pushed: Signal, word: Value, value: Value) -> None:
        """Has the words of an extension follow those of a descriptor that is shaped. The statements are for a cycle in which
        a word comes.
        """
        place, bit = divmod(self.layout["shaped"].offset, WORD_BITS)
        follows = Signal(name="extension_follows")
        with m.If((word == place) & ~extends):
            m.d.sync += follows.eq(value[bit])
        with m.If(word == RECORD_WORDS - 1):
            m.d.sync += [extends.eq(follows & ~extends), pushed.eq(~follows | extends)]
