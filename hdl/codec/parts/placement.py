"""The positions of a step's words in the output beats that it touches."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2, exact_log2

from cdma.hdl.blocks.gates import rotate_up, thermometer
from cdma.hdl.spec.codec import CodecConfig

from .steps import Step, last_header_part, words_of_last_beat

__all__ = ["Placed", "Placement", "stored_word"]


class Placed(data.StructLayout):
    """A step, or a part of its header, and what each lane of the output beats takes from it.

    ``words``
        Holds what is stored, each in its lane of the output beats.
    ``header``
        Holds the words of the header, each in its lane. A header of one word has one field for all lanes.
    ``old``
        Says which lanes of the first beat, a stream word each, have their words already.
    ``in_header``
        Says which lanes of the first beat and, above them, of the second are old or take a word of the header. All other
        lanes take what is stored.
    ``over_one``, ``over_two``
        Say that words go beyond the first beat, and beyond the second.
    ``remaining``
        Number of words in the last beat that has any.
    ``filled``
        Says which lanes of that beat are not padding, in formats with padded windows.
    ``last``
        Ends the packet.
    ``more``
        Says that another word of the packet is known to follow, if the step says so too.
    """

    def __init__(self, config: CodecConfig) -> None:
        fmt, units = config.format, config.units
        header_part = min(fmt.header_words, units)
        super().__init__(
            {
                "words": data.ArrayLayout(fmt.stream_bits, units),
                "header": data.ArrayLayout(fmt.stream_bits, units if header_part > 1 else 1),
                "old": units,
                "in_header": units + header_part,
                "over_one": 1,
                "over_two": 1,
                "remaining": range(units + 1),
                **({"filled": units} if fmt.align_words > 1 else {}),
                "last": 1,
                **({} if config.work_conserving else {"more": 1}),
            }
        )


def stored_word(placed: Value, lane: int, goes_on: Value, config: CodecConfig) -> Value:
    """The stored word of a lane of an output beat; 0 where that beat, the last of its step, has padding.

    ``goes_on`` says that words of the step go beyond this beat.
    """
    if config.format.align_words == 1:
        return placed.words[lane]
    return Mux(goes_on | placed.filled[lane], placed.words[lane], 0)


class Placement(wiring.Component):
    """Finds the positions of words in the output beats.

    ``step``
        Steps of windows. A header longer than a beat is placed part by part, a cycle each; its last part goes with the
        step.
    ``placed``
        The step, or a part of its header, with the lanes for its words.

    Latency: none; the outputs follow the inputs within the cycle.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(
            {"step": In(stream.Signature(Step(config))), "placed": Out(stream.Signature(Placed(config)))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, units = self.config.format, self.config.units
        header_part = min(fmt.header_words, units)
        header_parts, last_part = self.config.header_beats, last_header_part(self.config)
        step, placed = self.step.payload, self.placed.payload

        part = Signal(range(header_parts))
        start: Value = step.start
        alone: Value = Signal(name="header_alone")
        parts = [step.header[word] for word in range(header_part)]
        if header_parts > 1:
            m.d.comb += alone.eq(step.first & (part != header_parts - 1))
            # The parts before this one have filled the output beat, if it was empty.
            start = Mux(step.first & (part != 0) & (step.start == 0), units, step.start)
            by_part = data.ArrayLayout(data.ArrayLayout(fmt.stream_bits, header_part), header_parts)
            header = Value.cast(step.header)
            if last_part < header_part:
                header = Cat(header, Const(0, by_part.size - len(header)))
            parts = [data.View(by_part, header)[part][word] for word in range(header_part)]
            with m.If(self.placed.valid & self.placed.ready):
                m.d.sync += part.eq(Mux(alone, part + 1, 0))
        if header_part > 1:
            # The rotation takes a power of two; what fills the header up to that is in no lane of the header.
            rotated = 1 << ceil_log2(header_part)
            parts += [Const(0, fmt.stream_bits)] * (rotated - header_part)
            parts = rotate_up(parts * (units // rotated), start[: exact_log2(units)])
        in_header: Value = Cat(Const(-1, last_part), thermometer(start, units))
        if last_part < header_part:
            in_header = Mux(alone, Cat(Const(-1, header_part), thermometer(start, units)), in_header)
        total = Signal.like(step.total)
        m.d.comb += [
            self.placed.valid.eq(self.step.valid),
            self.step.ready.eq(self.placed.ready & ~alone),
            total.eq(Mux(alone, start + units, step.total)),
            placed.words.eq(step.words),
            *(placed.header[lane].eq(word) for lane, word in enumerate(parts)),
            placed.old.eq(thermometer(start, units)),
            # A header of h words reaches h lanes beyond the old words.
            placed.in_header.eq(Mux(step.first, in_header, 0)),
            placed.over_one.eq(total > units),
            placed.over_two.eq(total > 2 * units),
            placed.remaining.eq(words_of_last_beat(total, units, placed.over_one, placed.over_two)),
            placed.last.eq(step.last & ~alone),
        ]
        if fmt.align_words > 1:
            m.d.comb += placed.filled.eq(thermometer(placed.remaining - step.padding, units))
        if not self.config.work_conserving:
            # The parts of a header before its last keep the beat that they fill, as the positions of words have it.
            m.d.comb += placed.more.eq(step.more & ~alone)
        return m
