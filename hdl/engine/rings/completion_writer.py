"""Writes completions into rings in host memory."""

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import WritePort
from cdma.hdl.blocks.fifo import Fifo
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import RECORD_BYTES

from .interfaces import WORD_BITS

__all__ = ["CompletionRing", "CompletionWriter"]

#: Completions that wait to be taken by the bus, of all rings; and of one ring, without an answer so far.
_WAITING = 4
_UNDER_WAY = 4


class CompletionWriter(wiring.Component):
    """Each completion is one burst. It comes as words of 32 bits, which ``word_valid`` writes; ``commit`` then
    sends it to ``address``.

    ``room``
        A completion can be begun. It stays so until ``commit``.
    ``sending``
        The channel whose completion ``port.w`` offers.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.config = config
        self.data_bits = config.host_data_bits
        self.part_bits = min(self.data_bits, 8 * RECORD_BYTES)
        self.parts = 8 * RECORD_BYTES // self.part_bits
        super().__init__(
            {
                "room": Out(1),
                "word_valid": In(1),
                "word": In(4),
                "data": In(WORD_BITS),
                "commit": In(1),
                "channel": In(1),
                "address": In(config.host_address_bits),
                "sending": Out(1),
                "port": Out(
                    WritePort(self.data_bits, config.host_address_bits, config.format.word_bits, id_bits=1)
                ),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        aw, w = self.port.aw, self.port.w
        where = data.StructLayout({"channel": 1, "address": len(self.address)})
        m.submodules.addresses = addresses = Fifo(where, _WAITING)
        m.d.comb += [
            addresses.input.valid.eq(self.commit),
            addresses.input.payload.channel.eq(self.channel),
            addresses.input.payload.address.eq(self.address),
            aw.valid.eq(addresses.output.valid),
            addresses.output.ready.eq(aw.ready),
            aw.payload.id.eq(addresses.output.payload.channel),
            aw.payload.address.eq(addresses.output.payload.address),
            aw.payload.len.eq(self.parts - 1),
            aw.payload.size.eq(exact_log2(self.part_bits // 8)),
        ]

        # The records themselves: written a word at a time, read a beat at a time.
        m.submodules.records = records = Memory(shape=self.part_bits, depth=_WAITING * self.parts, init=[])
        write, read = records.write_port(granularity=WORD_BITS), records.read_port(domain="sync")
        lanes = self.part_bits // WORD_BITS
        lane_bits, part_bits = (lanes - 1).bit_length(), (self.parts - 1).bit_length()
        # One bit more than a place needs: full and empty differ in it alone.
        filled = Signal(range(2 * _WAITING))
        sent = Signal(range(2 * _WAITING * self.parts))
        place = len(filled) - 1
        m.d.comb += [
            write.addr.eq(Cat(self.word[lane_bits:], filled[:place])),
            write.data.eq(self.data.replicate(lanes)),
            write.en.eq(Mux(self.word_valid, C(1, lanes) << self.word[:lane_bits], 0)),
            read.addr.eq(sent[:-1]),
            read.en.eq((sent[part_bits:] != filled) & (~w.valid | w.ready)),
        ]
        # Beats of a record that wait in the read register have left `sent`; the bursts are counted apart.
        unsent = Signal(range(_WAITING + 1))
        last = Signal()
        with m.If(self.commit):
            m.d.sync += filled.eq(filled + 1)
        with m.If(read.en):
            m.d.sync += [sent.eq(sent + 1), w.valid.eq(1)]
            m.d.sync += last.eq(sent[:part_bits] == self.parts - 1)
        with m.Elif(w.ready):
            m.d.sync += w.valid.eq(0)
        done = w.valid & w.ready & w.payload.last
        m.d.sync += unsent.eq(unsent + self.commit - done)
        m.d.comb += [
            self.room.eq((unsent != _WAITING) & addresses.input.ready),
            w.payload.last.eq(last),
        ]

        strobes = C((1 << self.part_bits // self.config.format.word_bits) - 1)
        # Beside each record: whose it is and, where a beat holds two records, which half this one takes.
        beside = data.StructLayout({"channel": 1, "upper": 1})
        m.submodules.beside = notes = Memory(shape=beside, depth=_WAITING, init=[])
        note, noted = notes.write_port(), notes.read_port(domain="sync")
        m.d.comb += [
            note.addr.eq(filled[:place]),
            note.data.channel.eq(self.channel),
            note.data.upper.eq(self.address[exact_log2(RECORD_BYTES)]),
            note.en.eq(self.commit),
            noted.addr.eq(sent[part_bits:-1]),
            noted.en.eq(read.en),
            self.sending.eq(noted.data.channel),
        ]
        if self.data_bits == self.part_bits:
            m.d.comb += [w.payload.data.eq(read.data), w.payload.keep.eq(strobes)]
        else:
            m.d.comb += [
                w.payload.data.eq(Cat(read.data, read.data)),
                w.payload.keep.eq(Mux(noted.data.upper, strobes << len(strobes), strobes)),
            ]
        return m


class CompletionRing(wiring.Component):
    """The state of one ring of completions: while ``enable`` is high, at most ``2**ring_log2`` of them are ahead
    of ``tail``.

    ``head``, ``index``
        Completions whose write response has come, and the index of the next one. Both are 0 while ``enable`` is
        low and nothing is ``under_way``.
    ``may_begin``, ``phase``
        Software has left the next slot; what the phase bit of its completion is.
    ``commit``, ``tag``, ``interrupt``
        The completion at ``index``, of this tag, is on its way.
    ``answer``, ``counts``, ``answered_tag``
        Write responses, in order, and what ``interrupt`` and ``tag`` were with the completion that the next one
        belongs to.
    """

    def __init__(self, config: EngineConfig) -> None:
        index = config.index_bits
        super().__init__(
            {
                "enable": In(1),
                "ring_log2": In(4),
                "tail": In(index),
                "head": Out(index),
                "index": Out(index),
                "may_begin": Out(1),
                "phase": Out(1),
                "commit": In(1),
                "tag": In(32),
                "interrupt": In(1),
                "answer": In(1),
                "counts": Out(1),
                "answered_tag": Out(32),
                "expects": Out(1),
                "under_way": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.pending = pending = Fifo(data.StructLayout({"tag": 32, "interrupt": 1}), _UNDER_WAY)
        closing = Signal()
        ahead = Signal.like(self.head)
        m.d.comb += [
            self.under_way.eq(self.index != self.head),
            ahead.eq(self.index - self.tail),
            self.may_begin.eq(
                self.enable & ~closing & ((ahead >> self.ring_log2) == 0) & pending.input.ready
            ),
            self.phase.eq(~self.index.bit_select(self.ring_log2, 1)),
            pending.input.valid.eq(self.commit),
            pending.input.payload.tag.eq(self.tag),
            pending.input.payload.interrupt.eq(self.interrupt),
            pending.output.ready.eq(self.answer),
            self.expects.eq(pending.output.valid),
            self.counts.eq(pending.output.payload.interrupt),
            self.answered_tag.eq(pending.output.payload.tag),
        ]
        m.d.sync += [self.index.eq(self.index + self.commit), self.head.eq(self.head + self.answer)]
        # A ring that was disabled, however shortly, begins anew, but not before the old one's answers are
        # there.
        with m.If((~self.enable | closing) & ~self.under_way & ~self.commit):
            m.d.sync += [self.head.eq(0), self.index.eq(0), closing.eq(0)]
        with m.Elif(~self.enable):
            m.d.sync += closing.eq(1)
        return m
