"""A memory of wide words, of which a part is checked per cycle."""

from __future__ import annotations

from amaranth.hdl import Cat, Fragment, Module, Mux, Signal
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Component, In, Out

from .arithmetic import one_of
from .memories import Elaborated, MemoryCoding, checks_of, coding_of, columns, wrong_bits

#: A word is corrected so often. A bit that is wrong again after that is broken.
_TRIES = 3


class SerialMemory(Component):
    """Words of several ``parts``, each written by itself. One write port, one clocked, non-transparent read port.

    Where memories have a code, each part has its own checks, and a word that ``stays`` in the register of the read port is
    checked a part per cycle, by one checker, and a cycle more. A corrected part is written back, and the word is read and
    checked anew.

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
        bits, parts = self.part_bits, self.parts
        step = len(columns(bits, coding.code))
        memory = Memory(
            shape=step * parts, depth=self.depth, init=[], attrs={"checks": parts * (step - bits)}
        )
        write, read = memory.write_port(granularity=step), memory.read_port()
        m.submodules.coded = Elaborated(Fragment.get(memory, None))
        #: The part that is looked at, a bit for each, and one more once all are; its syndrome is judged in the next cycle,
        #: while the following one is looked at.
        place = Signal(parts + 1, init=1)
        part = Signal(step)
        looks = Signal()
        judges = Signal()
        syndrome = Signal(step - bits, reset_less=True)
        wrong = Signal()
        #: The wrong part is corrected, and written back; and then the word is read again.
        mends = Signal()
        right = Signal(bits)
        writes_back = Signal()
        again = Signal()
        tries = Signal(range(_TRIES + 1))
        loses = Signal()
        #: Pulses, for those who count: a part is written back, and the first part of a word was lost.
        was_corrected = Signal()
        was_lost = Signal()
        flips, corrects = wrong_bits(syndrome, bits, coding.code)
        # What is corrected is zero after a reset, and with parity for ever.
        mended, mends_or_fills = Cat(right, checks_of(right, coding.code)), was_corrected | coding.filling
        for each in range(parts):
            # Parts of the same data share their checks.
            word = self.data.word_select(each, bits)
            coded = Cat(word, checks_of(word, coding.code))
            m.d.comb += [
                write.data.word_select(each, step).eq(Mux(mends_or_fills, mended, coded)),
                write.en[each].eq(self.enable[each] | coding.filling | (was_corrected & place[each])),
                self.word.word_select(each, bits).eq(read.data.word_select(each, step)),
            ]
        m.d.comb += [
            write.addr.eq(Mux(coding.filling, coding.place, Mux(was_corrected, self.of, self.at))),
            read.addr.eq(self.of),
            read.en.eq(~self.stays | again),
            part.eq(one_of(*((place[each], read.data.word_select(each, step)) for each in range(parts)))),
            looks.eq(~(wrong | mends | writes_back | again | place[-1])),
            wrong.eq(judges & syndrome.any()),
            loses.eq(mends & (~corrects | (tries == _TRIES))),
            was_corrected.eq(writes_back & ~(self.enable.any() | coding.filling)),
        ]
        coding.add(self, was_corrected, was_lost)
        m.d.sync += [judges.eq(self.stays & looks), again.eq(was_corrected), was_lost.eq(loses & ~self.lost)]
        with m.If(looks):
            m.d.sync += syndrome.eq(checks_of(part[:bits], coding.code) ^ part[bits:])
        with m.If(~self.stays):
            waiting = (self.checked, self.lost, mends, writes_back, tries)
            m.d.sync += [place.eq(1), *(each.eq(0) for each in waiting)]
        with m.Elif(wrong):
            m.d.sync += [mends.eq(1), place.eq(place >> 1)]
        with m.Elif(mends):
            m.d.sync += mends.eq(0)
            with m.If(loses):
                m.d.sync += [self.lost.eq(1), place.eq(place << 1)]
            with m.Else():
                m.d.sync += [right.eq(part[:bits] ^ flips), writes_back.eq(1), tries.eq(tries + 1)]
        with m.Elif(was_corrected):
            m.d.sync += [writes_back.eq(0), place.eq(1)]
        with m.Else():
            m.d.sync += [place.eq(Mux(looks, place << 1, place)), self.checked.eq(place[-1])]
