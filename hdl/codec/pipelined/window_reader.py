"""The reader of headers of a pipelined decompressor, ahead of the beats that are decompressed."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import one_of, thermometer
from cdma.hdl.blocks.elaboration import Pace, copies, flags
from cdma.hdl.codec.parts.interface import Error, first_error
from cdma.hdl.spec.codec import CodecConfig

from .header_check import HeaderCheck, WordsLeft, most_stored
from .intake import PacketEnd, Position, rows_of


class Window(data.StructLayout):
    """One window.

    ``codes``: The header.
    ``counts``: Number of stored words of each beat: of literals, or of parts of words.
    ``place``: Position of the first of them.
    ``more``: The beats with another beat after them, as a thermometer.
    ``words``: Number of words in the last beat, less one.
    ``last``: Ends the packet.
    ``bad``, ``any_bad``, ``error``: The invalid beats; one is invalid; their error.
    ``short``, ``available``: Words of the window, or its padding, are missing; number of words that have arrived.
    """

    def __init__(self, config: CodecConfig) -> None:
        fmt = config.format
        super().__init__(
            {
                "codes": fmt.window * fmt.code_bits,
                "counts": data.ArrayLayout(range(config.units + 1), config.beats),
                "place": Position(config),
                "more": config.beats - 1,
                "words": range(config.lanes),
                "last": 1,
                "bad": config.beats,
                "any_bad": 1,
                "error": Error,
                "short": 1,
                "available": range(most_stored(config) + 1),
            }
        )


class PacketInfo(data.StructLayout):
    """Counts of the input of a packet when all of it has arrived.

    ``words``: Number of words accepted.
    ``malformed``: A beat was malformed.
    ``trailing``: Words of the input follow the packet's last one.
    """

    def __init__(self) -> None:
        super().__init__({"words": 32, "malformed": 1, "trailing": 1})


class _Loop:
    """The loop from one header to the next: its state, and the signals between its steps.

    Exactly one of the states is high. They are flip-flops and not an ``m.FSM``, because decoding a state would lengthen the
    paths of this loop.
    """

    def __init__(self, config: CodecConfig, part_size: int, parts: int) -> None:
        #: A header, or its next part, is awaited.
        self.heading = Signal(init=1)
        #: The literals of each beat are counted.
        self.counting = Signal()
        #: The counts are added.
        self.adding = Signal()
        #: The position of the next header is found, and the header is read.
        self.locating = Signal()
        #: The header goes into a register after the memories, after this window or after this packet; without that register
        #: these are ``locating`` and ``leaves``.
        self.fetching = Signal()
        self.turning = Signal()
        #: The window waits until it has arrived and the one before has left.
        self.waiting = Signal()
        #: The one before has left.
        self.may = Signal()
        #: After the last window, the end of the packet is awaited.
        self.finishing = Signal()

        # Events that change the state.
        #: The header, or a part of it, is captured; it is whole with that.
        self.captures = Signal()
        self.whole = Signal()
        #: The window leaves: as the last of its packet, or with another one after it.
        self.stops = Signal()
        self.continues = Signal()
        #: The next header, or its first part, has arrived, and so the window has; it is captured with that.
        self.next_arrived = Signal()
        self.next_captured = Signal()
        #: The packet is done.
        self.leaves = Signal()

        # Positions, which are compared by the sign of their difference.
        width = Position(config).size
        #: Beginning and end of the next header, or of its next part; the lane of its beginning, one bit each.
        self.head = Signal(width)
        self.head_lane = Signal(config.units, init=1)
        self.header_end = Signal(width, init=part_size)
        #: The first literal of this window.
        self.place = Signal(width)
        #: Words from that on that have arrived. They reach the end of the window; they end with it exactly.
        self.available = Signal(width, reset_less=True)
        self.complete = Signal()
        self.exact = Signal()
        #: The end of the packet is known, in the same cycle as ``complete``.
        self.ended = Signal()

        self.header = Signal(data.ArrayLayout(part_size * config.format.stream_bits, parts))
        #: The header will not arrive, because the packet ends before.
        self.missing = Signal()
        #: The window is invalid: a code is invalid, or its header is missing, or no word is left for it.
        self.cannot = Signal()
        #: The window is not the last one and valid, except perhaps for its padding. Known while it waits.
        self.precedes = Signal()
        #: The end of the packet has been accepted.
        self.over = Signal()

        #: The words that are read; whether they come from a register.
        self.words = Signal(data.ArrayLayout(config.format.stream_bits, config.units), reset_less=True)
        self.registered = config.window_cycles > 4

    def advance(self, m: Module, held: Value) -> None:
        """Finds the next state; ``held`` is high while the window before does not leave."""
        pace = Pace(m, self.registered)
        pace.d += [self.fetching.eq(self.locating), self.turning.eq(self.leaves)]
        still_waiting = self.fetching | (self.waiting & ~self.stops & ~self.continues)
        m.d.sync += [
            self.heading.eq(
                self.turning
                | (self.captures & ~self.whole)
                | (self.continues & ~self.next_captured)
                | (self.heading & ~self.captures)
            ),
            self.counting.eq(self.captures & self.whole),
            self.adding.eq(self.counting),
            self.locating.eq(self.adding),
            self.waiting.eq(still_waiting),
            self.may.eq(still_waiting & ~held),
            self.finishing.eq(self.stops | (self.finishing & ~self.leaves)),
        ]


class WindowReader(wiring.Component):
    """Reads the headers of packets. Each window leaves when all of it has arrived.

    Throughput: a window every :attr:`~cdma.hdl.spec.codec.CodecConfig.window_cycles`.

    ``length``: Number of words of each packet.
    ``one_entry``: Only entry 0 of the table is valid.
    ``reach``, ``ended``, ``end``, ``pop``, ``read``, ``place``, ``above``, ``words``, ``passes``, ``past``: For the
        ports of the same names of an :class:`Intake`.
    ``window``: The windows, in order. No window of a packet follows one that cannot be delivered whole.
    ``info``: One per packet, when its end is known. The rest of a packet that fails is discarded first.
    ``idle``: The words of all windows that have left have been read, as discarding needs.
    ``discard``, ``free``: Discards the beats before ``free``.

    The reader waits for a header, counts its literals, adds the counts, finds the position of the next header, and waits
    until the window has arrived. If the next header has arrived by then, it is read in the same cycle. After the last
    window the reader waits for the end of the packet. If a window has a fifth cycle, the words that are read come from a
    register, because memories of more rows, which few lanes need, are slow.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt = config.format
        self.parts = config.header_reads
        self.header_part = fmt.header_words // self.parts
        self.padded = fmt.align_words > 1
        beat = range(2 * rows_of(config))
        super().__init__(
            {
                "length": In(stream.Signature(32)),
                "one_entry": In(1),
                "reach": In(Position(config)),
                "ended": In(1),
                "end": In(PacketEnd(config)),
                **flags(Out, "pop", "read"),
                "place": Out(Position(config)),
                "above": Out(beat),
                "words": In(data.ArrayLayout(fmt.stream_bits, config.units)),
                "passes": Out(1),
                "past": Out(beat),
                "window": Out(stream.Signature(Window(config))),
                "info": Out(stream.Signature(PacketInfo())),
                "idle": In(1),
                "discard": Out(1),
                "free": Out(beat),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        loop = _Loop(self.config, self.header_part, self.parts)
        m.submodules.left = left = WordsLeft(self.config)
        m.submodules.check = check = HeaderCheck(self.config)
        wiring.connect(m, wiring.flipped(self.length), left.length)
        pace = Pace(m, loop.registered)
        pace.d += loop.words.eq(self.words)
        arrived = self._measure(m, loop, check)
        self._capture(m, loop, arrived)
        self._deliver(m, loop, left, check, arrived)
        self._finish(m, loop)
        self._seek(m, loop, check)
        loop.advance(m, self.window.valid & ~self.window.ready)
        m.d.sync += loop.over.eq(self.pop | (loop.over & ~loop.leaves))
        return m

    def _measure(self, m: Module, loop: _Loop, check: HeaderCheck) -> Signal:
        """Measures the arrival of the window; returns whether the header has arrived."""
        reach, sign = Value.cast(self.reach), len(loop.place) - 1
        arrived = Signal(name="header_arrived")
        m.d.comb += arrived.eq(~(reach - loop.header_end)[sign])
        # The end of the packet comes after as many cycles as the subtraction and the comparison of the words available.
        was_ended = Signal()
        m.d.sync += [
            loop.available.eq(reach - loop.place),
            was_ended.eq(self.ended),
            loop.complete.eq(~(loop.available - check.total)[sign]),
            loop.exact.eq(loop.available == check.total),
            loop.next_arrived.eq(~(loop.available - self.header_part - check.total)[sign]),
            loop.ended.eq(was_ended),
        ]
        return arrived

    def _capture(self, m: Module, loop: _Loop, arrived: Value) -> None:
        """Captures a header, part by part. One that has not arrived is missing when the end of the packet is known."""
        units = self.config.units
        #: Number of the next part.
        part = Signal(range(self.parts))
        found = [
            one_of(*((loop.head_lane[(lane - word) % units], loop.words[lane]) for lane in range(units)))
            for word in range(self.header_part)
        ]
        m.d.comb += loop.whole.eq((part == self.parts - 1) | (loop.heading & ~arrived))
        # Independent of the signals that come last. A part that has not arrived is loaded in vain, and loaded again later.
        with m.If(loop.heading | loop.next_captured):
            for i in range(self.parts):
                with m.If(part == i):
                    m.d.sync += loop.header[i].eq(Cat(found))
            m.d.sync += loop.missing.eq(loop.heading & ~arrived)
        # A missing header is read from rows that were perhaps never written.
        with m.If(loop.counting & loop.missing):
            m.d.sync += loop.header.eq(0)
        with m.If(loop.captures):
            m.d.sync += part.eq(Mux(loop.whole, 0, part + 1))

    def _deliver(self, m: Module, loop: _Loop, left: WordsLeft, check: HeaderCheck, arrived: Value) -> None:
        """Delivers the window when all of it has arrived, or when the end of its packet is known."""
        window = self.window.payload
        bad: Value = check.bad | left.nothing | loop.missing
        of_codes: Value = Value.cast(Error.CODE)
        bad_padding: Value = C(0)
        if self.padded:
            bad_padding = self._check_padding(m, loop, check)
            last = ~Cat(left.more, 0) & Cat(1, left.more)
            bad |= Mux(bad_padding, last, 0)
            of_codes = Mux(check.any_bad, Error.CODE, Error.PADDING)
        cannot = check.any_bad | left.nothing | loop.missing
        # This is the same from the cycle before the window waits until it leaves.
        m.d.sync += loop.precedes.eq(~(left.final | cannot))
        m.d.comb += [
            check.codes.eq(loop.header),
            *copies(check, loop, "missing", "adding"),
            *copies(check, left, "exists", "more"),
            check.lane.eq(loop.place[: exact_log2(self.config.units)]),
            check.one_entry.eq(self.one_entry),
            loop.cannot.eq(cannot | bad_padding),
            loop.stops.eq(loop.may & Mux(loop.complete, ~loop.precedes | bad_padding, loop.ended)),
            loop.continues.eq(loop.may & loop.complete & loop.precedes & ~bad_padding),
            loop.next_captured.eq(loop.may & loop.next_arrived & loop.precedes & ~bad_padding),
            loop.captures.eq((loop.heading & left.known & (arrived | self.ended)) | loop.next_captured),
            left.next.eq(loop.continues),
            left.done.eq(loop.stops),
        ]
        with m.If(loop.may):
            m.d.sync += [
                window.codes.eq(loop.header),
                window.counts.eq(check.counts),
                window.place.eq(loop.place),
                *copies(window, left, "more", "words"),
                window.last.eq(left.final),
                window.bad.eq(bad),
                window.any_bad.eq(loop.cannot),
                window.error.eq(
                    first_error(
                        (left.nothing, Error.TRAILING), (loop.missing, Error.TRUNCATED), otherwise=of_codes
                    )
                ),
                window.short.eq(~loop.complete),
                window.available.eq(loop.available),
            ]
        m.d.sync += self.window.valid.eq(
            loop.stops | loop.continues | (self.window.valid & ~self.window.ready)
        )

    def _check_padding(self, m: Module, loop: _Loop, check: HeaderCheck) -> Signal:
        """Whether the padding of a complete window is not zero. It is read with the header after it, in one beat: both begin
        and end at a multiple of its greatest length plus one."""
        align = self.config.format.align_words
        groups = data.ArrayLayout(
            data.ArrayLayout(self.config.format.stream_bits, align), self.config.units // align
        )
        number = ((loop.head >> exact_log2(align)) - 1)[: exact_log2(groups.length)]
        group = data.View(groups, Value.cast(loop.words))[number]
        wrong = Signal(name="wrong_padding")
        padded = reversed(list(thermometer(check.padding, align)))
        m.d.comb += wrong.eq(
            loop.complete & Cat(of_window & group[word].any() for word, of_window in enumerate(padded)).any()
        )
        return wrong

    def _finish(self, m: Module, loop: _Loop) -> None:
        """Waits for the end of a packet whose last window has left, and discards the rest.

        A packet of the right length ends with its last window. If the end is not known by then, the packet is too long.
        """
        #: Nothing has to be discarded.
        clean = Signal()
        packet = Signal(PacketEnd(self.config), reset_less=True)
        m.d.comb += [
            # With the end known, a window that does not continue stops, whether it is complete or not.
            self.pop.eq(
                (loop.may & loop.ended & ~loop.continues) | (self.ended & loop.finishing & ~loop.over)
            ),
            self.info.valid.eq(loop.finishing & loop.over & (clean | self.idle)),
            *copies(self.info.payload, packet, "words", "malformed"),
            self.info.payload.trailing.eq(~clean),
            loop.leaves.eq(self.info.valid & self.info.ready),
            self.discard.eq(loop.finishing & ~clean & self.idle & (loop.over | ~self.ended)),
            self.free.eq(Mux(loop.over, packet.next, self.reach.beat)),
        ]
        with m.If(~loop.over):
            m.d.sync += packet.eq(self.end)
        with m.If(loop.waiting):
            m.d.sync += clean.eq(loop.ended & loop.exact & ~loop.cannot)

    def _seek(self, m: Module, loop: _Loop, check: HeaderCheck) -> None:
        """Reads the next header, or its next part: after this window, or at the beginning of the next packet."""
        units, part_size = self.config.units, self.header_part
        width, levels = len(loop.place), exact_log2(units)
        reads = loop.locating | loop.finishing | (loop.captures if self.parts > 1 else 0)
        next_head, next_above, next_end = (
            Signal(width, name=f"next_{name}") for name in ("head", "above", "end")
        )
        # The positions are counted from the first lane of a beat, and the step from that: so no carry comes from the lanes.
        # The position in the next beat and the end of the header are counted as well, to save an adder in the path. If
        # windows are padded, reading begins with the padding before a header.
        before = self.config.format.align_words if self.padded else 0
        positions = [
            (next_head, Signal(width, name="place_beat"), 0),
            (next_above, Signal(width, name="place_above", init=units - before), units - before),
            (next_end, Signal(width, name="place_behind", init=part_size), part_size),
        ]
        reading = next_head
        if self.padded:
            reading = Signal(width, name="next_reading")
            positions.append(
                (reading, Signal(width, name="place_before", init=(1 << width) - before), -before)
            )
        with m.If(self.pop):
            m.d.sync += loop.place.eq(self.end.next << levels)
        with m.Elif(loop.heading | loop.next_captured):
            m.d.sync += loop.place.eq(loop.header_end)
        for target, start, more in positions:
            with m.If(self.pop):
                m.d.sync += start.eq((self.end.next << levels) + more)
            with m.Elif(loop.heading | loop.next_captured):
                m.d.sync += start.eq((loop.header_end >> levels << levels) + more)
            found = start + check.step
            if self.parts > 1:
                found = Mux(loop.captures, loop.header_end + more, found)
            m.d.comb += target.eq(found)
        m.d.comb += [self.read.eq(reads), self.place.eq(reading), self.above.eq(next_above >> levels)]
        # A whole header is not read again. A missing one would end after its packet. Discarded beats, and the end of a
        # packet, are passed a cycle later.
        skips = Signal()
        skipped = Signal.like(self.past, reset_less=True)
        m.d.sync += [skips.eq(self.pop | self.discard), skipped.eq(Mux(self.pop, self.end.next, self.free))]
        m.d.comb += [
            self.passes.eq(skips | (loop.counting & ~loop.missing)),
            self.past.eq(Mux(skips, skipped, loop.place >> levels)),
        ]
        with m.If(reads):
            m.d.sync += [
                loop.head.eq(next_head),
                loop.head_lane.eq(Cat(next_head[:levels] == lane for lane in range(units))),
                loop.header_end.eq(next_end),
            ]
