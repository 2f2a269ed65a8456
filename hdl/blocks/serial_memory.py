"""A memory of wide words, of which a part is checked per cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Fragment, Module, Mux, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from .memories import Elaborated, MemoryCoding, WordCheck, checks_of, coding_of

#: A word is corrected so often. A bit that is wrong again after that is broken.
_TRIES = 3


class SerialMemory(Component):
    """Words of several ``parts``, each written by itself. One write port, one clocked, non-transparent read port.

    Where memories have a code, each part has its own checks, and a word that ``stays`` in the register of the read port is
    checked a part per cycle, by one checker. A corrected part is written back, and the word is read and checked anew.

    ``at``, ``data``, ``enable``: The write port: each bit of ``enable`` writes a part.
    ``of``: The word that is read while ``stays`` is low.
    ``stays``: The word read in the cycle before is used, and nobody writes to it any more. It must be low for a cycle
        before ``of`` changes.
    ``word``, ``checked``: The word; and whether it is checked. Without a code it always is.
    ``lost``: With ``checked``: the word is lost.
    """

    def __init__(self, part_bits: int, parts: int, depth: int) -> None:
        self.part_bits, self.parts, self.depth = part_bits, parts, depth
        bits = max(1, (depth - 1).bit_length())
        super().__init__(
            {
                "at": In(bits),
                "data": In(part_bits * parts),
                "enable": In(parts),
                "of": In(bits),
                "stays": In(1),
                "word": Out(part_bits * parts),
                "checked": Out(1),
                "lost": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        coding = coding_of(platform)
        if isinstance(coding, MemoryCoding) and coding.checks(len(self.word) * self.depth):
            self._build_coded(m, coding)
            return m
        m.submodules.words = memory = Memory(shape=len(self.word), depth=self.depth, init=[])
        write, read = memory.write_port(granularity=self.part_bits), memory.read_port()
        m.d.comb += [
            write.addr.eq(self.at),
            write.data.eq(self.data),
            write.en.eq(self.enable),
            read.addr.eq(self.of),
            read.en.eq(~self.stays),
            self.word.eq(read.data),
            self.checked.eq(1),
        ]
        return m

    def _build_coded(self, m: Module, coding: MemoryCoding) -> None:
        m.submodules.check = check = WordCheck(self.part_bits, "secded")
        step = len(check.coded)
        attrs = {"checks": self.parts * (step - self.part_bits)}
        memory = Memory(shape=step * self.parts, depth=self.depth, init=[], attrs=attrs)
        write, read = memory.write_port(granularity=step), memory.read_port()
        m.submodules.coded = Elaborated(Fragment.get(memory, None))
        place = Signal(range(self.parts))
        #: A corrected part is to be written back; and then the word is read again.
        writes_back = Signal()
        again = Signal()
        right = Signal(self.part_bits, reset_less=True)
        tries = Signal(range(_TRIES + 1))
        looks = Signal()
        corrected = Signal()
        loses = Signal()
        #: Pulses, for those who count: a part is written back, and the first part of a word was lost.
        was_corrected = Signal()
        was_lost = Signal()
        free = ~(self.enable.any() | coding.filling)
        for part in range(self.parts):
            word = Mux(was_corrected, right, self.data.word_select(part, self.part_bits))
            word = Mux(coding.filling, 0, word)
            m.d.comb += [
                write.data.word_select(part, step).eq(Cat(word, checks_of(word, "secded"))),
                write.en[part].eq(self.enable[part] | coding.filling | (was_corrected & (place == part))),
                self.word.word_select(part, self.part_bits).eq(read.data.word_select(part, step)),
            ]
        m.d.comb += [
            write.addr.eq(Mux(coding.filling, coding.place, Mux(was_corrected, self.of, self.at))),
            read.addr.eq(self.of),
            read.en.eq(~self.stays | again),
            check.coded.eq(read.data.word_select(place, step)),
            looks.eq(self.stays & ~(self.checked | writes_back | again)),
            corrected.eq(looks & check.corrected & (tries != _TRIES)),
            loses.eq(looks & (check.lost | (check.corrected & (tries == _TRIES)))),
            was_corrected.eq(writes_back & free),
        ]
        coding.add(self, was_corrected, was_lost)
        m.d.sync += [again.eq(was_corrected), was_lost.eq(loses & ~self.lost)]
        with m.If(~self.stays):
            m.d.sync += [place.eq(0), self.checked.eq(0), tries.eq(0), writes_back.eq(0), self.lost.eq(0)]
        with m.Elif(corrected):
            m.d.sync += [writes_back.eq(1), tries.eq(tries + 1), right.eq(check.word)]
        with m.Elif(was_corrected):
            m.d.sync += [writes_back.eq(0), place.eq(0)]
        with m.Elif(looks):
            m.d.sync += [
                self.lost.eq(self.lost | loses),
                place.eq(place + 1),
                self.checked.eq(place == self.parts - 1),
            ]
