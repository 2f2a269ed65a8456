"""Goes from header to header, ahead of the beats that are decompressed."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.codec.parts.streams import Error
from cdma.hdl.spec.codec import CodecConfig

from .header_check import HeaderCheck
from .intake import PacketEnd, Place, rows_of
from .words_left import WordsLeft

__all__ = ["PacketInfo", "Window", "WindowReader"]


class Window(data.StructLayout):
    """One window.

    ``codes``, ``counts``
        The header, and the number of literals of each beat.
    ``place``
        Of the first literal.
    ``more``, ``words``
        The beats that have another one behind, as a thermometer; the words of the last beat, less one.
    ``last``
        It is the packet's last.
    ``bad``, ``error``
        The beats that cannot be, and what is wrong with them.
    ``short``, ``available``
        Literals are missing, and how many there are.
    """

    def __init__(self, config: CodecConfig) -> None:
        fmt = config.format
        super().__init__(
            {
                "codes": fmt.window * fmt.code_bits,
                "counts": data.ArrayLayout(range(config.lanes + 1), config.beats),
                "place": Place(config),
                "more": config.beats - 1,
                "words": range(config.lanes),
                "last": 1,
                "bad": config.beats,
                "error": Error,
                "short": 1,
                "available": range(fmt.window + 1),
            }
        )


class PacketInfo(data.StructLayout):
    """What is known of a packet's input when all of it is in: its words, and what is wrong with it as a whole."""

    def __init__(self) -> None:
        super().__init__({"words": 32, "malformed": 1, "trailing": 1})


class WindowReader(wiring.Component):
    """Reads the headers of packets, each four cycles after the one before it, and hands a window on when all of it is in.

    A token goes round: it waits for a header (``heading``), counts its literals, adds the counts, finds the place of
    the next header (``locating``), waits until the window is in (``waiting``) and reads the next header at once if that is
    in, too. Behind a packet's last window it waits for the packet's end (``finishing``).

    ``length``
        The number of words of each packet.
    ``reach``, ``ended``, ``end``, ``pop``, ``read``, ``place``, ``above``, ``words``
        See :class:`Intake`.
    ``window``
        The windows, in order; behind one that cannot be delivered whole none of its packet's follows.
    ``info``
        One per packet, when its end is known. What is left of a packet that fails is discarded first.
    ``idle``
        All that was handed on has been read; needed to discard a packet.
    ``discard``, ``free``
        The beats before ``free`` are not needed any more.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt, lanes = config.format, config.lanes
        self.header_part = min(fmt.header_words, lanes)
        self.parts = fmt.header_words // self.header_part
        beat = range(2 * rows_of(config))
        super().__init__(
            {
                "length": In(stream.Signature(32)),
                "reach": In(Place(config)),
                "ended": In(1),
                "end": In(PacketEnd(config)),
                "pop": Out(1),
                "read": Out(1),
                "place": Out(Place(config)),
                "above": Out(beat),
                "words": In(data.ArrayLayout(fmt.word_bits, lanes)),
                "window": Out(stream.Signature(Window(config))),
                "info": Out(stream.Signature(PacketInfo())),
                "idle": In(1),
                "discard": Out(1),
                "free": Out(beat),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, part_size, parts = self.config, self.header_part, self.parts
        fmt, lanes = config.format, config.lanes
        levels = exact_log2(lanes)
        heading = Signal(init=1)
        counting = Signal()
        adding = Signal()
        locating = Signal()
        waiting = Signal()
        finishing = Signal()
        m.submodules.left = left = WordsLeft(config)
        m.submodules.check = check = HeaderCheck(config)
        wiring.connect(m, wiring.flipped(self.length), left.length)

        # Places are compared by their difference's sign.
        width = Place(config).size
        reach = Value.cast(self.reach)
        #: Where the next header begins, or its next part, and ends; the first literal of this window.
        head = Signal(width)
        header_end = Signal(width, init=part_size)
        place = Signal(width)
        there = Signal()
        m.d.comb += there.eq(~(reach - header_end)[width - 1])
        # Whether this window is in is found in two steps, and the packet's end comes along.
        available = Signal(width, reset_less=True)
        complete = Signal()
        exact = Signal()
        next_there = Signal()
        ended = Signal()
        was_ended = Signal()
        m.d.sync += [
            available.eq(reach - place),
            was_ended.eq(self.ended),
            complete.eq(~(available - check.total)[width - 1]),
            exact.eq(available == check.total),
            next_there.eq(~(available - part_size - check.total)[width - 1]),
            ended.eq(was_ended),
        ]

        # A header, part by part. One that does not come is given up when the packet's end is known.
        part = Signal(range(parts))
        header = Signal(data.ArrayLayout(part_size * fmt.word_bits, parts))
        missing = Signal()
        captures = Signal()
        whole = Signal()
        stops = Signal()
        continues = Signal()
        found = [
            data.View(self.words.shape(), self.words)[(head[:levels] + word)[:levels] if lanes > 1 else 0]
            for word in range(part_size)
        ]
        m.d.comb += whole.eq((part == parts - 1) | (heading & ~there))
        # In vain, too: then it is read again. So what is known last has little to reach.
        with m.If(heading | (continues & next_there)):
            for i in range(parts):
                with m.If(part == i):
                    m.d.sync += header[i].eq(Cat(Value.cast(word) for word in found))
            m.d.sync += missing.eq(heading & ~there)
        with m.If(captures):
            m.d.sync += part.eq(Mux(whole, 0, part + 1))

        # The window goes out.
        window = self.window.payload
        cannot = Signal()
        m.d.comb += [
            check.codes.eq(header),
            check.exists.eq(left.exists),
            check.more.eq(left.more),
            check.adding.eq(adding),
            cannot.eq(check.any_bad | left.nothing | missing),
            stops.eq(waiting & ~self.window.valid & Mux(complete, left.final | cannot, ended)),
            continues.eq(waiting & ~self.window.valid & complete & ~left.final & ~cannot),
            captures.eq((heading & left.known & (there | self.ended)) | (continues & next_there)),
            left.next.eq(continues),
            left.done.eq(stops),
        ]
        with m.If(waiting & ~self.window.valid):
            m.d.sync += [
                window.codes.eq(header),
                window.counts.eq(check.counts),
                window.place.eq(place),
                window.more.eq(left.more),
                window.words.eq(left.words),
                window.last.eq(left.final),
                window.bad.eq(check.bad | left.nothing | missing),
                window.error.eq(Mux(left.nothing, Error.TRAILING, Mux(missing, Error.TRUNCATED, Error.CODE))),
                window.short.eq(~complete),
                window.available.eq(available),
            ]
        m.d.sync += self.window.valid.eq(stops | continues | (self.window.valid & ~self.window.ready))

        # The end of a packet that is as long as it should be is where its last window ends. If it is not known by then, the
        # packet is too long.
        over = Signal()
        clean = Signal()
        packet = Signal(PacketEnd(config), reset_less=True)
        leaves = Signal()
        m.d.comb += [
            self.pop.eq((ended & stops) | (self.ended & finishing & ~over)),
            self.info.valid.eq(finishing & over & (clean | self.idle)),
            self.info.payload.words.eq(packet.words),
            self.info.payload.malformed.eq(packet.malformed),
            self.info.payload.trailing.eq(~clean),
            leaves.eq(self.info.valid & self.info.ready),
            self.discard.eq(finishing & ~clean & self.idle & (over | ~self.ended)),
            self.free.eq(Mux(over, packet.next, self.reach.beat)),
        ]
        with m.If(~over):
            m.d.sync += packet.eq(self.end)
        with m.If(waiting):
            m.d.sync += clean.eq(ended & exact & ~cannot)

        # The next header is read, or its next part: behind this window, or at the beginning of the next packet.
        reads = locating | finishing | (captures if parts > 1 else 0)
        next_head, next_above, next_end = (
            Signal(width, name=f"next_{name}") for name in ("head", "above", "end")
        )
        for target, start, more in (
            (next_head, place, 0),
            (next_above, Signal(width, name="place_above", init=lanes), lanes),
            (next_end, Signal(width, name="place_behind", init=part_size), part_size),
        ):
            with m.If(self.pop):
                m.d.sync += start.eq((self.end.next << levels) + more)
            with m.Elif(heading | (continues & next_there)):
                m.d.sync += start.eq(header_end + more)
            found_place = start + check.step
            m.d.comb += target.eq(Mux(captures, header_end + more, found_place) if parts > 1 else found_place)
        m.d.comb += [
            self.read.eq(reads),
            self.place.eq(next_head),
            self.above.eq(next_above >> levels),
        ]
        with m.If(reads):
            m.d.sync += [head.eq(next_head), header_end.eq(next_end)]

        m.d.sync += [
            heading.eq(leaves | (captures & ~whole) | (continues & ~next_there) | (heading & ~captures)),
            counting.eq(captures & whole),
            adding.eq(counting),
            locating.eq(adding),
            waiting.eq(locating | (waiting & ~stops & ~continues)),
            finishing.eq(stops | (finishing & ~leaves)),
            over.eq(self.pop | (over & ~leaves)),
        ]
        return m
