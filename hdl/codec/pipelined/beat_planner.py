"""Takes windows apart into beats."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.codec.parts.streams import Error, first_error
from cdma.hdl.spec.codec import CodecConfig

from .intake import Position
from .window_reader import Window

__all__ = ["BeatPlanner", "PlannedBeat"]


class PlannedBeat(data.StructLayout):
    """One beat to deliver.

    ``codes``
        Codes of its words.
    ``place``
        Position of the first word that is stored of it.
    ``literals``
        Number of literals, where nothing else is stored.
    ``words``
        Number of words, less one.
    ``last``
        Ends the packet.
    ``error``
        Says why the beat cannot be delivered. Then an empty beat ends the packet instead.
    """

    def __init__(self, config: CodecConfig) -> None:
        super().__init__(
            {
                "codes": config.lanes * config.format.code_bits,
                "place": Position(config),
                **({"literals": range(config.lanes + 1)} if config.format.parts == 1 else {}),
                "words": range(config.lanes),
                "last": 1,
                "error": Error,
            }
        )


class BeatPlanner(wiring.Component):
    """Takes windows apart into beats.

    ``window``
        The windows.
    ``go``
        Allows a beat to be planned in this cycle.
    ``busy``
        Says that beats are left of a window.
    ``plans``
        Says that a beat is planned in this cycle.
    ``planned``, ``there``
        The planned beat, in the next cycle, and whether it is valid.

    Throughput: a beat per cycle, or one every second cycle in a window that lacks literals. After a beat that cannot be
    delivered the rest of its window is dropped.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(
            {
                "window": In(stream.Signature(Window(config))),
                "go": In(1),
                "busy": Out(1),
                "plans": Out(1),
                "planned": Out(PlannedBeat(config)),
                "there": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config = self.config
        lanes = config.lanes
        beat_codes = lanes * config.format.code_bits
        #: What is left of a window.
        left = Signal(Window(config), reset_less=True)
        #: The next beat is the last one that is left of its window, or none is left.
        ends = Signal()
        moves = Signal()
        final = Signal()
        fails = Signal()
        # In a window that lacks literals, a cycle before each beat finds out whether the beat lacks some.
        missing = Signal()
        settled = Signal()
        count = left.counts[0]
        # Padding is missing for the last beat of its window.
        lacks = missing | ~left.more[0] if config.format.align_words > 1 else missing
        planned = self.planned
        m.d.comb += [
            self.plans.eq(self.busy & self.go & (settled | ~left.short)),
            final.eq(left.last & ~left.more[0]),
            fails.eq(left.bad[0] | (left.short & lacks)),
            ends.eq(~self.busy | ~left.more[0] | fails),
            # What is left of a window is many bits: what enables them, and what selects, each takes little logic.
            moves.eq(~self.busy | self.plans),
            self.window.ready.eq(moves & ends),
        ]
        m.d.sync += [settled.eq(~moves), missing.eq(count > left.available)]
        with m.If(moves):
            with m.If(ends):
                m.d.sync += [left.eq(self.window.payload), self.busy.eq(self.window.valid)]
            with m.Else():
                # What rotates in after the last beat is never looked at.
                for field, step in (
                    (left.codes, beat_codes),
                    (left.counts, len(Value.cast(count))),
                    (left.bad, 1),
                ):
                    bits = Value.cast(field)
                    m.d.sync += bits.eq(bits.rotate_right(step))
                m.d.sync += [
                    left.more.eq(left.more >> 1),
                    left.place.eq(Value.cast(left.place) + count),
                    left.available.eq(left.available - count),
                ]
        m.d.sync += [
            self.there.eq(self.plans),
            planned.codes.eq(left.codes),
            planned.place.eq(left.place),
            *([planned.literals.eq(count)] if config.format.parts == 1 else []),
            planned.words.eq(Mux(final, left.words, lanes - 1)),
            planned.last.eq(final | fails),
            # An invalid code counts before missing literals, also where these are of an earlier beat.
            planned.error.eq(first_error((fails & left.any_bad, left.error), (fails, Error.TRUNCATED))),
        ]
        return m
