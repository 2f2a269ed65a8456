"""Where the words of a step belong in the beats that it touches."""

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.gates import rotate_up, thermometer
from cdma.hdl.spec.codec import CodecConfig

from .steps import Step, words_of_last_beat

__all__ = ["Placed", "Placement"]


class Placed(data.StructLayout):
    """A step, or a part of its header, with what there is to know about each lane.

    ``words``, ``header``
        Literals and words of the header, each in the lane where it belongs; one header word stands for all lanes if the
        header has no more.
    ``old``, ``in_header``
        The lanes of the first beat whose words are there already; the lanes of the first beat and, above them, the next,
        which are old or the header's. All others are literals'.
    ``over_one``, ``over_two``, ``remaining``
        Whether words go beyond the first beat, and the second; how many are in the last beat that any go to.
    ``last``
        The packet ends here.
    """

    def __init__(self, config: CodecConfig) -> None:
        fmt, lanes = config.format, config.lanes
        header_part = min(fmt.header_words, lanes)
        super().__init__(
            {
                "words": data.ArrayLayout(fmt.word_bits, lanes),
                "header": data.ArrayLayout(fmt.word_bits, lanes if header_part > 1 else 1),
                "old": lanes,
                "in_header": lanes + header_part,
                "over_one": 1,
                "over_two": 1,
                "remaining": range(lanes + 1),
                "last": 1,
            }
        )


class Placement(wiring.Component):
    """Combinational, but for headers longer than a beat: their parts but the last are passed on before the step, a cycle
    each.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        super().__init__(
            {"step": In(stream.Signature(Step(config))), "placed": Out(stream.Signature(Placed(config)))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        fmt, lanes = self.config.format, self.config.lanes
        header_part = min(fmt.header_words, lanes)
        header_parts = fmt.header_words // header_part
        step, placed = self.step.payload, self.placed.payload

        part = Signal(range(header_parts))
        start: Value = step.start
        alone: Value = Signal(name="header_alone")
        parts = [step.header[word] for word in range(header_part)]
        if header_parts > 1:
            m.d.comb += alone.eq(step.first & (part != header_parts - 1))
            # The parts before this one have filled the output beat, if nothing else had.
            start = Mux(step.first & (part != 0) & (step.start == 0), lanes, step.start)
            by_part = data.ArrayLayout(data.ArrayLayout(fmt.word_bits, header_part), header_parts)
            parts = [data.View(by_part, Value.cast(step.header))[part][word] for word in range(header_part)]
            with m.If(self.placed.valid & self.placed.ready):
                m.d.sync += part.eq(Mux(alone, part + 1, 0))
        if header_part > 1:
            parts = rotate_up(parts * (lanes // header_part), start[: exact_log2(lanes)])
        total = Signal.like(step.total)
        m.d.comb += [
            self.placed.valid.eq(self.step.valid),
            self.step.ready.eq(self.placed.ready & ~alone),
            total.eq(Mux(alone, start + lanes, step.total)),
            placed.words.eq(step.words),
            *(placed.header[lane].eq(word) for lane, word in enumerate(parts)),
            placed.old.eq(thermometer(start, lanes)),
            placed.in_header.eq(Mux(step.first, thermometer(start + header_part, lanes + header_part), 0)),
            placed.over_one.eq(total > lanes),
            placed.over_two.eq(total > 2 * lanes),
            placed.remaining.eq(words_of_last_beat(total, lanes, placed.over_one, placed.over_two)),
            placed.last.eq(step.last & ~alone),
        ]
        return m
