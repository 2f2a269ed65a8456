"""The codes of the window in progress, as a decompressor's planner needs them beat by beat."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.gates import one_of
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["CodesAhead", "WindowCodes"]


def _members(config: CodecConfig, header_part: int) -> dict[str, wiring.Member]:
    """The ports of both."""
    codes = config.format.window * config.format.code_bits
    return {
        "header": In(data.ArrayLayout(config.format.stream_bits, header_part)),
        "header_missing": In(1),
        "first": In(1),
        "take": In(1),
        "drop": In(1),
        "codes": Out(codes),
        "missing": Out(1),
        "rest": Out(codes),
    }


class WindowCodes(wiring.Component):
    """The codes of a window whose header comes, part by part, with its first beat, and what later beats need of them.

    ``header``, ``header_missing``
        The header, or its next part; and whether it will not arrive. They count while ``first`` is high.
    ``first``
        Says that the next beat is the first of its window.
    ``take``
        Takes the codes of a beat, if the header is ``whole``, or else the part of the header.
    ``drop``
        Drops the window.
    ``codes``
        The codes from those of the next beat on. Zeros follow the last ones.
    ``missing``
        Says that the header of the next beat will not arrive.
    ``whole``
        Says that ``codes`` are those of the next beat.
    ``rest``
        What the beats that were taken have left of their window's codes, unless the next beat is the ``first`` of its own.
    """

    def __init__(self, config: CodecConfig, header_part: int) -> None:
        self.config = config
        self.parts = config.format.header_words // header_part
        self.part_bits = header_part * config.format.stream_bits
        super().__init__({**_members(config, header_part), "whole": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        parts, beat_bits = self.parts, self.config.lanes * self.config.format.code_bits
        rest = Signal.like(self.rest, reset_less=True)
        #: Position of the next part in its header.
        part = Signal(range(parts))
        header = Cat(rest[: (parts - 1) * self.part_bits], self.header)
        m.d.comb += [
            self.rest.eq(rest),
            self.missing.eq(self.header_missing),
            self.whole.eq(~self.first | (part == parts - 1) | self.header_missing),
            self.codes.eq(Mux(self.first, header, rest)),
        ]
        with m.If(self.take & self.whole):
            m.d.sync += [part.eq(0), rest.eq(self.codes >> beat_bits)]
        with m.Elif(self.take):
            m.d.sync += part.eq(part + 1)
            for number in range(parts - 1):
                with m.If(part == number):
                    m.d.sync += rest[number * self.part_bits :][: self.part_bits].eq(self.header)
        with m.If(self.drop):
            m.d.sync += part.eq(0)
        return m


class CodesAhead(wiring.Component):
    """The codes of a window whose header is read before its first beat is planned, at the earliest with the last beat of
    the window before it.

    The ports are those of :class:`WindowCodes`, with these differences:

    ``load``
        Reads a header; only while ``frees``.
    ``moves``
        Says that a beat may be taken. It may be high with ``take`` only, if the window is not empty.
    ``ends``
        Says that the next beat is the last of its window.
    ``closes``
        Says that it ends its packet. What is loaded with it is dropped.
    ``holds``
        Says that ``codes`` are those of the next beat.
    ``frees``
        Says that there is room for a header.
    """

    def __init__(self, config: CodecConfig, header_part: int) -> None:
        self.config = config
        flags = {"load": In(1), "moves": In(1), "ends": In(1), "closes": In(1)}
        super().__init__({**_members(config, header_part), **flags, "holds": Out(1), "frees": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        beat_bits = self.config.lanes * self.config.format.code_bits
        codes = Signal.like(self.codes, reset_less=True)
        missing = Signal(reset_less=True)
        holds = Signal()
        stays, shifts = holds & ~self.moves, holds & self.moves & ~self.ends
        m.d.comb += [
            self.codes.eq(codes),
            self.missing.eq(missing),
            self.rest.eq(codes),
            self.holds.eq(holds),
            self.frees.eq(~holds | (self.take & self.ends)),
        ]
        # Where codes may be loaded, they are loaded whether or not there is a header, which is known late.
        loads = ~holds | (self.moves & self.ends)
        m.d.sync += [
            codes.eq(one_of((stays, codes), (shifts, codes >> beat_bits), (loads, Cat(self.header)))),
            missing.eq(Mux(loads, self.header_missing, missing)),
            holds.eq(
                Mux(self.take & (self.ends | self.closes), self.load & ~self.closes, holds | self.load)
                & ~self.drop
            ),
        ]
        return m
