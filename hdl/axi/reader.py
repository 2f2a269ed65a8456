"""Turns read commands into legal AXI4 bursts, and the data that come back into packets of words."""

from typing import NamedTuple

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import rotate_up, turn_by
from cdma.hdl.blocks.elaboration import Pace, sized
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import Beat

from .ports import PortShape, Response, address_checks
from .realign import ReadBeat, ReadStore


class _Pulses(NamedTuple):
    """What both ends of the reader tell each other.

    ``ask``: A burst is begun.
    ``taken``: Its address is taken.
    ``received``: Its last beat has come.
    ``freed``: Its last beat has left the buffer, in the cycle before.
    """

    ask: Signal
    taken: Signal
    received: Signal
    freed: Signal


class AxiReader(wiring.Component):
    """Each command becomes one packet at ``output`` and one ``outcome``.

    Bursts have at most ``shape.burst`` beats and never cross a multiple of that length, so they never cross 4 KiB.
    The buffer is handed out in parts of one burst, however short the burst is. A burst is requested only when it has a
    part, so the read port never waits for what comes after it, and only when fewer than ``shape.outstanding`` are in
    flight. Where ``shape.realign`` is set, whole beats are read all the same.

    A response that is not OKAY does not end a command: all of its data, right or wrong, still come.

    ``command``: The bytes that are read: whole words. It is taken with the address of its last burst, or, of ``rows``,
        when that burst is begun.
    ``flush``: While high, no burst is begun, and data that come are dropped. Once ``idle`` is high as well, nothing is
        in flight, and the reader may be reset.
    ``idle``: High while no burst is in flight; with ``shape.pipelined``, from a cycle later on.
    ``progress``: For a watchdog: high when there is a transfer on the port.
    ``mark``: For a watchdog: notes the address that the next beat of data will be from.
    """

    def __init__(self, shape: PortShape) -> None:
        self.shape = shape
        super().__init__(
            {
                "command": In(stream.Signature(shape.command)),
                "output": Out(stream.Signature(Beat(shape.word_bits, shape.lanes))),
                "outcome": Out(shape.outcome),
                "port": Out(shape.read_port),
                "flush": In(1),
                "idle": Out(1),
                "progress": Out(1),
                "mark": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        shape = self.shape
        words_bits = max(1, (shape.lanes - 1).bit_length())
        parts = shape.buffer // shape.burst
        in_flight = min(parts, shape.outstanding)
        # What the receiving side must know of a burst: where it begins, of which only the number in the block counts up,
        # whether the packet ends with it, the words of its last beat less one, and how words are moved.
        place_bits = shape.blocks.place_bits
        upper_bits = shape.address_bits - shape.blocks.beat_log2 - place_bits
        opened_shape = data.StructLayout(
            {
                "upper": upper_bits,
                "checks": shape.address_checks,
                "place": place_bits,
                "final": 1,
                "words": words_bits,
                "turn": shape.turn,
            }
        )
        # A burst is at its end when the first data can come, in the cycle after the address: no arbiter holds them back.
        m.submodules.opened = opened = Fifo(
            opened_shape,
            1 << (in_flight - 1).bit_length(),
            reserved=True,
            late_ready=True,
            checked=shape.checked_bits(upper_bits),
        )
        store: Fifo | ReadStore
        if shape.shifts:
            store = ReadStore(shape)
            # For the other end of the buffer: how the words of each packet are moved.
            m.submodules.turns = turns = Fifo(exact_log2(shape.lanes), parts, reserved=True)
            wiring.connect(m, turns.output, store.turns)
        else:
            turns = None
            store = Fifo(
                ReadBeat(shape),
                shape.buffer,
                reserved=True,
                pipelined=shape.pipelined,
                late_valid=True,
                of_data=not shape.of_addresses,
            )
        m.submodules.store = store
        pulses = _Pulses(*(Signal(name=name) for name in _Pulses._fields))
        self._request(m, pulses, opened, turns)
        receive = self._receive(m, pulses, opened, store)
        self._deliver(m, pulses, store)
        m.d.comb += self.progress.eq(pulses.taken | receive)
        if shape.pipelined:
            # From a register, which knows of a burst at once: it goes far.
            m.d.sync += self.idle.eq(opened.empty & ~opened.input.valid)
        else:
            m.d.comb += self.idle.eq(opened.empty)
        return m

    def _request(self, m: Module, pulses: _Pulses, opened: Fifo, turns: Fifo | None) -> None:
        """Requests the bursts of a command, one every fourth cycle.

        The cycle before a request tells whether it is the last one, and whether there is credit. The upper bits of the
        address are the command's, without a register of their own: it stays until its last address is taken. Rows are
        short, so for them the address has a register, and a burst is requested every second cycle.
        """
        blocks, ar, burst = self.shape.blocks, self.port.ar, opened.input.payload
        dense = self.shape.rows and not self.shape.pipelined
        ask, taken, _, _ = pulses
        first, last = self.command.payload.first, self.command.payload.last
        inside = Signal()
        known = Signal()
        block = Signal(blocks.block_bits, reset_less=True)
        following = Signal(blocks.block_bits + 1)
        wrapped = Signal()
        start = Signal(blocks.place_bits, reset_less=True)
        #: The burst that was begun was not the command's last, and its address needs the block no longer.
        goes_on = Signal()
        final = Signal()
        #: The burst that was begun needs the command no longer.
        leaves = ask if dense else taken
        m.d.comb += [
            ask.eq(known & self._credit(m, pulses) & ~self.flush & (~ar.valid if dense else 1)),
            taken.eq(ar.valid & ar.ready),
            self.command.ready.eq(leaves & final),
            following.eq(block + 1),
            ar.payload.size.eq(blocks.beat_log2),
            opened.input.valid.eq(ask),
            Cat(burst.place, burst.upper).eq(blocks.beat(first, last, wrapped, block, start)),
            burst.final.eq(final & ~self.command.payload.more if self.shape.rows else final),
            burst.words.eq(Mux(final, last[self.shape.word_log2 :], self.shape.lanes - 1)),
        ]
        if self.shape.checked:
            upper = blocks.address(Cat(C(0, blocks.place_bits), burst.upper))
            m.d.comb += burst.checks.eq(address_checks(upper, self.shape.checked))
        asks = {
            "address": blocks.address(Cat(burst.place, burst.upper)),
            "user": self.command.payload.user,
        }
        for name, value in asks.items():
            shown = Signal(len(value), name=f"ar_{name}", reset_less=True) if dense else value
            if dense:
                with m.If(ask):
                    m.d.sync += shown.eq(value)
            m.d.comb += ar.payload[name].eq(shown)
        m.d.sync += ar.valid.eq(ask | (ar.valid & ~ar.ready))
        with m.If(~inside & self.command.valid):
            m.d.sync += [
                inside.eq(1),
                block.eq(blocks.block(first)),
                wrapped.eq(0),
                start.eq(blocks.place(first)),
            ]
            if dense:
                m.d.sync += [known.eq(1), final.eq(blocks.block(first) == blocks.block(last))]
        with m.Elif(leaves):
            m.d.sync += inside.eq(~final)
        # Without a register the address needs its block until it is taken, and the bus should not reach what counts blocks.
        domain = m.d.comb if dense else m.d.sync
        domain += goes_on.eq(leaves & ~final)
        with m.If(goes_on):
            m.d.sync += [block.eq(following), wrapped.eq(wrapped | following[-1]), start.eq(0)]
        # Between requests, and before the first: whether the burst is the last one of the command.
        with m.If(ask):
            # The difference is never below 0, so its sign is left out.
            length = Mux(final, blocks.place(last), self.shape.burst - 1) - start
            m.d.sync += [known.eq(0), ar.payload.len.eq(length[: blocks.place_bits])]
        with m.Elif(inside if dense else inside & ~ar.valid & ~goes_on):
            m.d.sync += [known.eq(1), final.eq(block == blocks.block(last))]
        if turns is not None:
            self._turn(m, ask, opened.input.payload, turns.input)

    def _turn(self, m: Module, ask: Value, burst: data.View, turns: stream.Interface) -> None:
        """How the words of the burst that is begun are moved: as those of its packet, of which only the first command begins
        amid a beat."""
        fresh = Signal(init=1)
        turn = Signal(turns.payload.shape())
        lane = self.shape.blocks.lane(self.command.payload.first, self.shape.word_bits)
        kept = Signal.like(turn, reset_less=True)
        with m.If(ask):
            m.d.sync += [fresh.eq(burst.final), kept.eq(turn)]
        m.d.comb += [
            turn.eq(Mux(fresh, -lane, kept)),
            burst.turn.eq(turn_by(turn)),
            turns.valid.eq(ask & fresh),
            turns.payload.eq(turn),
        ]

    def _credit(self, m: Module, pulses: _Pulses) -> Signal:
        """High while a burst may be requested: from a register, which knows of a request two cycles later, or three."""
        shape = self.shape
        parts = shape.buffer // shape.burst
        free = Signal(range(parts + 1), init=parts)
        credit = Signal(init=1)
        able = free != 0
        # An address takes four cycles, so there is time for a register.
        asked = Pace(m, shape).late(pulses.ask, "asked", reset=True)
        m.d.sync += free.eq(free - asked + pulses.freed)
        if shape.outstanding < parts:
            in_flight = Signal(range(shape.outstanding + 1))
            m.d.sync += in_flight.eq(in_flight + asked - pulses.received)
            able &= in_flight != shape.outstanding
        m.d.sync += credit.eq(able)
        return credit

    def _receive(self, m: Module, pulses: _Pulses, opened: Fifo, store: Fifo | ReadStore) -> Signal:
        """Stores the beats that come: of the burst at the front of ``opened``."""
        shape, blocks, r = self.shape, self.shape.blocks, self.port.r
        front = opened.output.payload
        place = Signal(blocks.place_bits)
        fault = Signal(Response)
        receive = Signal()
        first_fault = Signal()
        outcome = self.outcome
        at = (front.place + place)[: len(place)]
        beat: Value = r.payload.data
        if shape.clears:
            # A wire, because every lane of a rotation would repeat the expression.
            beat = Signal(shape.data_bits, name="cleared")
            m.d.comb += beat.eq(self._cleared(r.payload, front.words))
        words: Value = front.words
        if shape.shifts:
            words = words + front.turn.ones
            lanes = [beat[low : low + shape.word_bits] for low in range(0, shape.data_bits, shape.word_bits)]
            beat = Cat(rotate_up(lanes, front.turn))
        m.d.comb += [
            r.ready.eq(opened.output.valid),
            receive.eq(r.valid & r.ready),
            pulses.received.eq(receive & r.payload.last),
            opened.output.ready.eq(pulses.received),
            first_fault.eq(receive & (fault == Response.OKAY) & r.payload.resp.as_value()[1]),
            outcome.address.eq(blocks.address(Cat(at, front.upper))),
            outcome.note.eq(first_fault | self.mark),
            outcome.done.eq(pulses.received & front.final),
            outcome.resp.eq(Mux(first_fault, r.payload.resp, fault)),
        ]
        if shape.checked:
            m.d.comb += outcome.checks.eq(front.checks ^ address_checks(blocks.address(at), shape.checked))
        # On an FPGA a beat goes through a register on its way to block RAM.
        pace = Pace(m, shape)
        stored = pace.early(store.input.payload, "stored")
        pace.d += [
            store.input.valid.eq(receive & ~self.flush),
            stored.data.eq(beat),
            stored.end.part.eq(r.payload.last),
            stored.end.last.eq(r.payload.last & front.final),
            stored.end.words.eq(Mux(r.payload.last, words, shape.lanes - 1)),
            *sized(stored.end.joins.eq(~words[-1])),
        ]
        with m.If(receive):
            m.d.sync += place.eq(Mux(r.payload.last, 0, place + 1))
            with m.If(outcome.done):
                m.d.sync += fault.eq(Response.OKAY)
            with m.Elif(first_fault):
                m.d.sync += fault.eq(r.payload.resp)
        return receive

    def _cleared(self, beat: data.View, words: Value) -> Value:
        """The data of a beat, with zeros behind as many ``words``, less one, if it is the last of its burst."""
        kept = Cat((words >= lane) | ~beat.last for lane in range(self.shape.lanes))
        return beat.data & Cat(lane.replicate(self.shape.word_bits) for lane in kept)

    def _deliver(self, m: Module, pulses: _Pulses, store: Fifo | ReadStore) -> None:
        """Gives what is stored to the output."""
        output, source = self.output, store.output
        if isinstance(store, ReadStore):
            m.d.sync += pulses.freed.eq(store.freed)
            wiring.connect(m, source, wiring.flipped(output))
            return
        end = source.payload.end
        m.d.sync += pulses.freed.eq(source.valid & source.ready & end.part)
        m.d.comb += [
            output.valid.eq(source.valid),
            source.ready.eq(output.ready),
            output.payload.data.eq(source.payload.data),
            output.payload.last.eq(end.last),
            output.payload.keep.eq(Cat(end.words >= lane for lane in range(self.shape.lanes))),
        ]
