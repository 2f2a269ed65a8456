"""One port for several users, and several extents for one user."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from cdma.hdl.blocks.arithmetic import WideCounter, popcount, turn_by
from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import Beat, SkidBuffer

from .bursts import CutBurst, Cutter
from .gather import Burst, StoredBeat
from .ports import SPAN_BITS, Command, PortShape, ReadPort, WritePort, WriteResponse

#: Writes whose data may follow each other without a gap.
_OWNERS = 4

#: Up to so many IDs of a client are compared one by one; of more the ends are, and an adder gives the number.
_FEW = 4


#: The IDs of each client, which follow one another.
Ids = Sequence[Sequence[int]]


def _bits(ids: Sequence[int]) -> int:
    """Bits of a client's own ID."""
    return (len(ids) - 1).bit_length()


def _choose(m: Module, id: Value, ids: Sequence[int], own: Value) -> Value:
    """High if ``id`` is one of the client's ``ids``; drives ``own`` with the client's number for it."""
    if len(ids) > _FEW:
        m.d.comb += own.eq(id - ids[0])
        return (id >= ids[0]) & (id <= ids[-1])
    for number, each in enumerate(ids[1:], 1):
        with m.If(id == each):
            m.d.comb += own.eq(number)
    return Cat(id == each for each in ids).any()


def _grant(m: Module, ids: Ids, asking: list, port: stream.Interface, credit: Value) -> Signal:
    """Passes on the address of one client, and gives a signal that is one bit per client: which it is.

    The choice is in a register and is made a cycle ahead, of the highest client that has an address. Where none has, it
    is the first client, whose next address then passes at once. A client that has just had its turn waits a cycle, so
    an address waits for at most one of each other client.

    ``credit``: High while a transaction can be begun. It must stay high while an address waits.
    """
    granted = Signal(len(asking), init=1)
    following = Signal(len(asking))
    m.d.comb += following.eq(1)
    for number, client in enumerate(asking):
        with m.If(client.valid & ~granted[number]):
            m.d.comb += following.eq(1 << number)
    with m.If(~port.valid | port.ready):
        m.d.sync += granted.eq(following)
    m.d.comb += port.valid.eq((Cat(client.valid for client in asking) & granted).any() & credit)
    for number, client in enumerate(asking):
        m.d.comb += client.ready.eq(granted[number] & port.ready & credit)
        with m.If(granted[number]):
            if len(ids[number]) > _FEW:
                m.d.comb += port.payload.id.eq(client.payload.id + ids[number][0])
                continue
            with m.Switch(client.payload.id):
                for own, id in enumerate(ids[number]):
                    with m.Case(own):
                        m.d.comb += port.payload.id.eq(id)
    for name in ("address", "len", "size", "user"):
        m.d.comb += port.payload[name].eq(_one_of(granted, [client.payload[name] for client in asking]))
    return granted


def _one_of(chosen: Value, values: Sequence[Value]) -> Value:
    """The value whose bit of ``chosen`` is high."""
    return reduce(or_, (Mux(pick, value, 0) for pick, value in zip(chosen, values, strict=True)))


class ReadArbiter(wiring.Component):
    """Gives the reading half of a port to its clients. Those with higher numbers go first, but for the address after
    their own: they are the rings, whose bursts are few and short.

    A client must be able to take the data of all its bursts at any time, because the port is always ready.
    """

    def __init__(self, ids: Ids, data_bits: int, address_bits: int, id_bits: int, user_bits: int = 0) -> None:
        self.ids = ids
        super().__init__(
            {
                **{
                    f"client_{n}": In(ReadPort(data_bits, address_bits, _bits(own), user_bits))
                    for n, own in enumerate(ids)
                },
                "port": Out(ReadPort(data_bits, address_bits, id_bits, user_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        clients = [getattr(self, f"client_{n}") for n in range(len(self.ids))]
        _grant(m, self.ids, [client.ar for client in clients], self.port.ar, C(1))
        r = self.port.r
        m.d.comb += r.ready.eq(1)
        for number, client in enumerate(clients):
            m.d.comb += [
                client.r.payload.data.eq(r.payload.data),
                client.r.payload.resp.eq(r.payload.resp),
                client.r.payload.last.eq(r.payload.last),
                client.r.valid.eq(r.valid & _choose(m, r.payload.id, self.ids[number], client.r.payload.id)),
            ]
        return m


class WriteArbiter(wiring.Component):
    """Gives the writing half of a port to its clients. Those with higher numbers go first, but for the address after
    their own. Data follow the addresses, in their order.

    A client must offer the data of a burst as soon as its address is taken, without waiting for anything else.

    ``pipelined``: The selection of the data has flip-flops of its own beside those of the handshake, because an FPGA's
        wires are slow.
    """

    def __init__(
        self,
        ids: Ids,
        data_bits: int,
        address_bits: int,
        word_bits: int,
        id_bits: int,
        user_bits: int = 0,
        *,
        pipelined: bool = False,
    ) -> None:
        self.ids = ids
        self.pipelined = pipelined
        self.id_bits = id_bits
        super().__init__(
            {
                **{
                    f"client_{n}": In(WritePort(data_bits, address_bits, word_bits, _bits(own), user_bits))
                    for n, own in enumerate(ids)
                },
                "port": Out(WritePort(data_bits, address_bits, word_bits, id_bits, user_bits)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        clients = [getattr(self, f"client_{n}") for n in range(len(self.ids))]
        aw, w = self.port.aw, self.port.w

        # `owners` has a client from the cycle on in which the bus has taken its address.
        count = len(clients)
        if self.pipelined:
            # Whether there is room comes from a register, which does not know of two addresses yet. It stays while one
            # waits.
            m.submodules.owners = owners = Fifo(2 * count, 2 * _OWNERS, reserved=True, ahead=True)
            credit = Signal()
            with m.If(~aw.valid | aw.ready):
                m.d.sync += credit.eq(owners.level < _OWNERS)
        else:
            m.submodules.owners = owners = Fifo(count, _OWNERS)
            credit = owners.input.ready
        granted = _grant(m, self.ids, [client.aw for client in clients], aw, credit)
        owns = picks = owners.output.payload
        if self.pipelined:
            # Inverted, so that synthesis finds no two that are equal.
            owns, picks = owns[:count], ~owns[count:]
        m.d.comb += [
            owners.input.valid.eq(aw.valid & aw.ready),
            owners.input.payload.eq(Cat(granted, ~granted)),
            owners.output.ready.eq(w.valid & w.ready & w.payload.last),
            w.valid.eq(owners.output.valid & (Cat(client.w.valid for client in clients) & owns).any()),
        ]
        for own, client in zip(owns, clients, strict=True):
            m.d.comb += client.w.ready.eq(owners.output.valid & own & w.ready)
        for name in ("data", "keep", "last"):
            m.d.comb += w.payload[name].eq(_one_of(picks, [client.w.payload[name] for client in clients]))

        m.submodules.responses = responses = SkidBuffer(WriteResponse(self.id_bits))
        wiring.connect(m, wiring.flipped(self.port.b), responses.input)
        for number, client in enumerate(clients):
            here = Signal(name=f"answers_{number}")
            m.d.comb += [
                client.b.payload.resp.eq(responses.output.payload.resp),
                here.eq(_choose(m, responses.output.payload.id, self.ids[number], client.b.payload.id)),
                client.b.valid.eq(responses.output.valid & here),
            ]
            with m.If(here):
                m.d.comb += responses.output.ready.eq(client.b.ready)
        return m


#: Bursts that are cut ahead.
CUT = 4


class Scatter(wiring.Component):
    """In the place of a :class:`.Gather`: takes one packet from ``input`` for the commands of a packet, which are those with
    ``more`` and the one after them, gives its words to ``store`` and its bursts to ``bursts``.

    All commands have room for their packets. A packet may end early, and then what is left of its commands is passed over.
    Throughput: a beat per cycle, from packet to packet and from run to run.

    ``admit``, ``flush``: Those of :class:`.Gather`.
    ``ended``, ``end``: A pulse and the bytes of the packet, three cycles after the burst that is its ``end``.
    """

    def __init__(self, shape: PortShape) -> None:
        self.shape = shape
        super().__init__(
            {
                "command": In(stream.Signature(Command(shape.address_bits, "more", user=shape.user_bits))),
                "input": In(stream.Signature(Beat(shape.word_bits, shape.lanes))),
                "store": Out(stream.Signature(StoredBeat(shape), always_ready=True)),
                "bursts": Out(stream.Signature(Burst(shape), always_ready=True)),
                "admit": In(1),
                "flush": In(1),
                "ended": Out(1),
                "end": Out(SPAN_BITS),
                **optional(shape.limited, skip=Out(1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shape = self.shape
        m.submodules.cutter = cutter = Cutter(shape)
        m.submodules.cut = cut = Fifo(CutBurst(shape), CUT)
        wiring.connect(m, wiring.flipped(self.command), cutter.command)
        beat, burst, room = self.input.payload, self.bursts.payload, cut.output.payload
        admits = Signal()
        drops = Signal()
        #: The packet has ended, and its bursts have not; or these have, and it has not.
        skips = Signal()
        tail = Signal()
        accept = Signal()
        keeps = Signal()
        full = Signal()
        finishes = Signal()
        #: The beat at the input does not fit: what of its burst is here goes first.
        cuts = Signal()
        #: The beat at the input has a word.
        present: Value = beat.keep.any() if shape.realign else beat.keep[0]
        #: The burst in hand is given.
        gives: Value = full | cuts if shape.limited else full
        count = Signal(range(shape.burst))
        accepts = admits & ~skips & ~cuts if shape.limited else admits & ~skips
        m.d.sync += [admits.eq(self.admit), drops.eq(self.flush)]
        # No burst comes to those that are passed over, or there would be as many as the command has room for.
        holds = Signal()
        m.d.comb += [
            holds.eq(skips & ~cut.empty),
            cut.input.valid.eq(cutter.output.valid & ~holds),
            cut.input.payload.eq(cutter.output.payload),
            cutter.output.ready.eq(cut.input.ready & ~holds),
            self.input.ready.eq((accepts & (tail | cut.output.valid)) | drops),
            accept.eq(self.input.valid & self.input.ready & ~drops),
            keeps.eq(accept & present & ~tail),
            full.eq(keeps & (count == room.len)),
            finishes.eq(accept & beat.last),
            self.store.valid.eq(keeps),
            self.store.payload.data.eq(beat.data),
            self.store.payload.keep.eq(beat.keep),
            self.bursts.valid.eq(full | finishes),
            burst.beat.eq(room.beat),
            burst.len.eq(count - ~keeps),
            burst.none.eq(~keeps & (count == 0)),
            burst.end.eq(finishes),
            cut.output.ready.eq(gives | skips | (finishes & ~tail)),
            cutter.skip.eq(skips & cut.empty),
            burst.user.eq(room.user),
        ]
        if shape.shifts:
            #: All bursts of a packet move its words as the first one, which begins amid a beat.
            begins = Signal(init=1)
            lane, first_lane = Signal.like(room.lane), Signal.like(room.lane, reset_less=True)
            m.d.comb += [lane.eq(Mux(begins, room.lane, first_lane)), burst.turn.eq(turn_by(lane))]
            with m.If(gives | finishes):
                m.d.sync += [begins.eq(finishes), first_lane.eq(lane)]
        if shape.limited:
            fills = admits & ~skips & ~drops & ~tail & cut.output.valid & self.input.valid
            beyond = Cat(beat.keep[lane] & (room.words <= lane) for lane in range(shape.lanes)).any()
            m.d.comb += [
                self.skip.eq(cutter.skip),
                self.bursts.valid.eq(full | finishes | (cuts & (count != 0))),
                cuts.eq(fills & room.end & (count == room.len) & beyond),
            ]
            #: Where the first beat after the last burst would go; one of the packet does not fit.
            after = Signal.like(room.beat, reset_less=True)
            lost = Signal()
            with m.If(gives):
                m.d.sync += after.eq(room.beat + count + full)
            if shape.realign:
                #: Its first word, where it is the packet's first beat.
                after_lane = Signal.like(room.lane, reset_less=True)
                with m.If(gives):
                    m.d.sync += after_lane.eq(Mux(cuts & (count == 0), room.lane, 0))
                m.d.comb += burst.lane.eq(Mux(tail, after_lane, room.lane))
            with m.If(tail):
                m.d.comb += [burst.beat.eq(after), burst.overflow.eq(lost | present)]
                with m.If(accept):
                    m.d.sync += lost.eq((lost | present) & ~beat.last)
        elif shape.realign:
            m.d.comb += burst.lane.eq(room.lane)
        with m.If(gives | finishes):
            m.d.sync += count.eq(0)
        with m.Elif(keeps):
            m.d.sync += count.eq(count + 1)
        with m.If(finishes):
            m.d.sync += [skips.eq(~tail & ~room.end), tail.eq(0)]
        with m.Elif(gives):
            m.d.sync += tail.eq(room.end)
        with m.Elif(skips & cut.output.valid):
            m.d.sync += skips.eq(~room.end)
        self._sum(m, keeps, finishes)
        return m

    def _sum(self, m: Module, keeps: Value, finishes: Value) -> None:
        """Counts the words of the packet, any of whose beats may lack some at either end."""
        word_log2 = self.shape.word_log2
        kept = Signal(self.shape.lanes)
        number = Signal(range(self.shape.lanes + 1))
        passed = Signal(3)
        m.submodules.words = words = WideCounter(self.shape.lanes, SPAN_BITS - word_log2)
        m.d.sync += [
            kept.eq(Mux(keeps, self.input.payload.keep, 0)),
            number.eq(popcount(kept)),
            passed.eq(Cat(finishes, passed)),
        ]
        m.d.comb += [
            words.amount.eq(number),
            words.clear.eq(self.ended),
            self.ended.eq(passed[-1]),
            self.end.eq(words.value << word_log2),
        ]
