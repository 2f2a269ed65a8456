"""The state of a ring of completions in host memory. Writes completions into rings in host memory."""

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.ports import WritePort
from cdma.hdl.blocks.memories import coding_of
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import ElasticBuffer, slice_after
from cdma.hdl.spec.engine import EngineConfig
from cdma.hdl.spec.records import COMPLETION, RECORD_BYTES, Status

from .indexes import IndexSignature
from .messages import WORD_BITS, queue_bits


class CompletionRing(wiring.Component):
    """The state of one ring of completions. It begins anew while ``enable`` is low and nothing is ``in_flight``.

    ``enable``: Enables the ring.
    ``index``, ``settles``: Whether software has left a slot free, and that the ring may not restart: see
        :class:`.RingIndexes`.
    ``may_begin``: High while a completion may be sent. Low from the cycle after ``commit`` until the next slot is known to
        be free, and a cycle longer than ``enable``. Low, too, while an abort that is over is ``settling``.
    ``commit``: Pulse: a completion is sent.
    ``answer``: Pulse: the response to the oldest one. They come in order.
    ``in_flight``: High while a completion is in flight.
    ``aborting``, ``settling``: ``settling`` is high from a cycle after ``aborting`` rises, until the responses of all
        completions that are in flight in the cycle after it falls have come.
    """

    def __init__(self, config: EngineConfig) -> None:
        self.most = config.ring_completions
        super().__init__(
            {
                "enable": In(1),
                "index": Out(IndexSignature(config)),
                "settles": In(1),
                "may_begin": Out(1),
                "commit": In(1),
                "answer": In(1),
                "in_flight": Out(1),
                "aborting": In(1),
                "settling": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        credit = self._count(m)
        closing = Signal()
        # After an abort no more than those that are in flight delay its end.
        awaits = self.settling & ~self.aborting
        m.d.sync += self.may_begin.eq(
            self.enable & ~closing & self.index.more & credit & ~self.commit & ~awaits
        )
        # A ring that was disabled, however shortly, begins anew, but not before all responses have come.
        restarts = (~self.enable | closing) & ~self.in_flight & ~self.commit
        m.d.comb += self.index.restarts.eq(restarts)
        with m.If(restarts & ~self.settles):
            m.d.sync += closing.eq(0)
        with m.Elif(~self.enable):
            m.d.sync += closing.eq(1)
        return m

    def _count(self, m: Module) -> Signal:
        """Counts the completions in flight; gives whether a further one may be."""
        count = Signal(range(self.most + 1))
        next_count = Signal.like(count)
        credit = Signal()
        m.d.comb += [
            next_count.eq(count + self.commit - self.answer),
            credit.eq(count != self.most),
            self.index.behind.eq(count),
            self.index.moved.eq(self.answer),
        ]
        m.d.sync += [
            count.eq(next_count),
            self.in_flight.eq(next_count != 0),
            self.settling.eq((self.aborting | self.settling) & (next_count != 0)),
        ]
        return credit


#: Completions of all rings that wait to be taken by the bus.
_WAITING = 4


class _Records(NamedTuple):
    """The records: how many are written, and how many of their beats are read, both counted to twice what the memory
    holds; and the port that reads them."""

    filled: Signal
    sent: Signal
    read: wiring.PureInterface


class CompletionWriter(wiring.Component):
    """Writes completions to memory, each as one burst.

    ``room``: High while a completion can be begun, and also one that is begun before the ``commit`` of the one before
        it is counted. It stays high until ``commit``.
    ``word_valid``, ``word``, ``data``: Write a word of the completion.
    ``commit``: Sends the completion of ``queue`` to ``address``.
    ``sending``: The queue whose completion ``port.w`` offers.
    ``port``: The AXI4 port, whose data must be taken after their address, as :class:`.WriteArbiter` does. The
        :class:`.CompletionRing` takes its responses.
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
                "queue": In(queue_bits(config)),
                "address": In(config.host_address_bits),
                "sending": Out(queue_bits(config)),
                "port": Out(
                    WritePort(self.data_bits, config.host_address_bits, config.moved_bits, queue_bits(config))
                ),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        aw = self.port.aw
        where = data.StructLayout({"queue": queue_bits(self.config), "address": len(self.address)})
        # A record whose address waits is not sent, so no more addresses wait than records.
        addresses = Fifo(where, _WAITING, reserved=True, ahead=True)
        coding = coding_of(platform)
        # Whose completion goes where must not be lost: it concerns all pairs.
        several = self.config.channels > 1
        m.submodules.addresses = coding.in_flip_flops(addresses) if several else coding.corrected(addresses)
        asking = addresses.output
        if self.config.pipelined:
            asking = slice_after(m, "asking", asking)
        m.d.comb += [
            addresses.input.valid.eq(self.commit),
            addresses.input.payload.queue.eq(self.queue),
            addresses.input.payload.address.eq(self.address),
            aw.valid.eq(asking.valid),
            asking.ready.eq(aw.ready),
            aw.payload.id.eq(asking.payload.queue),
            aw.payload.address.eq(asking.payload.address),
            aw.payload.len.eq(self.parts - 1),
            aw.payload.size.eq(exact_log2(self.part_bits // 8)),
        ]

        beat = data.StructLayout(
            {"data": self.part_bits, "last": 1, "queue": queue_bits(self.config), "upper": 1}
        )
        read = stream.Signature(beat).create(path=("read",))
        records = self._store(m, read)
        if coding.coded:
            self._tell(m, read, coding.watch(m.submodules.records))
        self._count(m, records, read)
        self._note(m, records, read)
        # The wires from the bus to all bits of the read register are slow in an FPGA.
        if self.config.pipelined:
            m.submodules.leaving = leaving = ElasticBuffer(beat)
            wiring.connect(m, read, leaving.input)
            read = leaving.output
        self._send(m, read)
        return m

    def _store(self, m: Module, given: stream.Interface) -> _Records:
        """The records: written a word at a time, read a beat at a time."""
        m.submodules.records = records = Memory(
            shape=self.part_bits,
            depth=_WAITING * self.parts,
            init=[],
        )
        write, read = records.write_port(granularity=WORD_BITS), records.read_port(domain="sync")
        lanes = self.part_bits // WORD_BITS
        lane_bits, part_bits = (lanes - 1).bit_length(), (self.parts - 1).bit_length()
        # One bit more than a place needs: full and empty differ in it alone.
        filled = Signal(range(2 * _WAITING))
        sent = Signal(range(2 * _WAITING * self.parts))
        place = len(filled) - 1
        more = Signal()
        # Known a cycle ahead: what reads is far from what is counted.
        following = Signal.like(sent, init=1)
        with m.If(read.en):
            m.d.sync += following.eq(following + 1)
        m.d.sync += more.eq(Mux(read.en, following[part_bits:] != filled, sent[part_bits:] != filled))
        m.d.comb += [
            write.addr.eq(Cat(self.word[lane_bits:], filled[:place])),
            write.data.eq(self.data.replicate(lanes)),
            write.en.eq(Mux(self.word_valid, C(1, lanes) << self.word[:lane_bits], 0)),
            read.addr.eq(sent[:-1]),
            read.en.eq(more & (~given.valid | given.ready)),
            given.payload.data.eq(read.data),
        ]
        return _Records(filled, sent, read)

    def _tell(self, m: Module, given: stream.Interface, lost: Signal) -> None:
        """Says of a record that a word of it is lost: its status is in its last beat."""
        before = Signal(name="lost_before")
        with m.If(given.valid & given.ready):
            m.d.sync += before.eq((before | lost) & ~given.payload.last)
        with m.If(given.payload.last & (before | lost)):
            m.d.comb += given.payload.data[self._status].eq(Status.MEMORY)

    @property
    def _status(self) -> slice:
        """The bits of the status in the last beat of a record."""
        [field] = [field for field in COMPLETION if field.name == "status"]
        first = 8 * field.byte % self.part_bits
        return slice(first, first + field.bits)

    def _count(self, m: Module, records: _Records, given: stream.Interface) -> None:
        """Counts records and beats. A beat that waits in the read register has left ``sent``, so the records that are
        not sent yet are counted apart."""
        w = self.port.w
        filled, sent, read = records
        part_bits = (self.parts - 1).bit_length()
        unsent = Signal(range(_WAITING + 1))
        last = Signal()
        with m.If(self.commit):
            m.d.sync += filled.eq(filled + 1)
        with m.If(read.en):
            m.d.sync += [sent.eq(sent + 1), given.valid.eq(1)]
            m.d.sync += last.eq(sent[:part_bits] == self.parts - 1)
        with m.Elif(given.ready):
            m.d.sync += given.valid.eq(0)
        done = w.valid & w.ready & w.payload.last
        m.d.comb += given.payload.last.eq(last)
        # The commit of the cycle before does not count yet in ``room``.
        m.d.sync += [unsent.eq(unsent + self.commit - done), self.room.eq(unsent < _WAITING - 1)]

    def _note(self, m: Module, records: _Records, given: stream.Interface) -> None:
        """For each record: its queue, and the half of a beat that it takes."""
        filled, sent, read = records
        place, part_bits = len(filled) - 1, (self.parts - 1).bit_length()
        beside = data.StructLayout({"queue": queue_bits(self.config), "upper": 1})
        m.submodules.beside = notes = Memory(shape=beside, depth=_WAITING, init=[])
        note, noted = notes.write_port(), notes.read_port(domain="sync")
        m.d.comb += [
            note.addr.eq(filled[:place]),
            note.data.queue.eq(self.queue),
            note.data.upper.eq(self.address[exact_log2(RECORD_BYTES)]),
            note.en.eq(self.commit),
            noted.addr.eq(sent[part_bits:-1]),
            noted.en.eq(read.en),
            given.payload.queue.eq(noted.data.queue),
            given.payload.upper.eq(noted.data.upper),
        ]

    def _send(self, m: Module, beats: stream.Interface) -> None:
        """Data and strobes of a beat. Where a beat holds two records, one half of it is written."""
        w, beat = self.port.w, beats.payload
        strobes = C((1 << self.part_bits // self.config.moved_bits) - 1)
        m.d.comb += [
            w.valid.eq(beats.valid),
            beats.ready.eq(w.ready),
            w.payload.last.eq(beat.last),
            self.sending.eq(beat.queue),
        ]
        if self.data_bits == self.part_bits:
            m.d.comb += [w.payload.data.eq(beat.data), w.payload.keep.eq(strobes)]
        else:
            m.d.comb += [
                w.payload.data.eq(Cat(beat.data, beat.data)),
                w.payload.keep.eq(Mux(beat.upper, strobes << len(strobes), strobes)),
            ]
