"""Bursts: cut at their limits, addresses before data, and ended early."""

from __future__ import annotations

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.elaboration import optional
from cdma.hdl.blocks.queues import Fifo

from .ports import Command, PortShape, ReadPort, WriteData, WritePort


class CutBurst(data.StructLayout):
    """A burst: the number of its first beat in memory, its beats less one, and whether the packet has no other after it.
    Where commands may end within a beat, also the words that then fit in its last one, and where they may begin within one
    the ``lane`` of its first word. ``user`` is the command's."""

    def __init__(self, shape: PortShape) -> None:
        super().__init__(
            {
                "beat": shape.address_bits - shape.blocks.beat_log2,
                "len": range(shape.burst),
                "end": 1,
                **optional(shape.limited, words=range(shape.lanes + 1)),
                **optional(shape.realign, lane=exact_log2(shape.lanes)),
                "user": shape.user_bits,
            }
        )


class Cutter(wiring.Component):
    """Gives a burst per cycle, and none in the cycle in which a command comes.

    Where the shape is ``in_place`` any command may have a part of its first and of its last beat.

    ``command``: Whole beats but for the first one of a packet; ``more`` says that the packet goes on with the next
        command.
    ``skip``: The packet has ended: while high, the next burst of each command counts as its last one.
    """

    def __init__(self, shape: PortShape) -> None:
        self.shape = shape
        super().__init__(
            {
                "command": In(stream.Signature(Command(shape.address_bits, "more", user=shape.user_bits))),
                "output": Out(stream.Signature(CutBurst(shape))),
                "skip": In(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        blocks = self.shape.blocks
        command, burst = self.command.payload, self.output.payload
        inside = Signal()
        block = Signal(blocks.block_bits, reset_less=True)
        following = Signal(blocks.block_bits + 1)
        wrapped = Signal()
        start = Signal(blocks.place_bits, reset_less=True)
        final = Signal()
        at_last = Signal()
        length = Signal(blocks.place_bits)
        m.d.comb += [
            at_last.eq(block == blocks.block(command.last)),
            final.eq(at_last | self.skip),
            following.eq(block + 1),
            self.output.valid.eq(inside),
            burst.beat.eq(blocks.beat(command.first, command.last, wrapped, block, start)),
            burst.len.eq(length),
            burst.end.eq(final & ~command.more),
            burst.user.eq(command.user),
            self.command.ready.eq(inside & self.output.ready & final),
            length.eq(self.shape.burst - 1 - start),
        ]
        if self.shape.realign:
            first = Signal()
            with m.If(self.output.ready | ~inside):
                m.d.sync += first.eq(~inside)
            m.d.comb += burst.lane.eq(Mux(first, blocks.lane(command.first, self.shape.word_bits), 0))
        if self.shape.limited:
            word_log2 = self.shape.word_log2
            whole = command.last[:word_log2].all()
            m.d.comb += burst.words.eq(command.last[word_log2 : blocks.beat_log2] + whole)
        with m.If(at_last):
            m.d.comb += length.eq(blocks.place(command.last) - start)
        with m.If(~inside & self.command.valid):
            m.d.sync += [
                inside.eq(1),
                block.eq(blocks.block(command.first)),
                wrapped.eq(0),
                start.eq(blocks.place(command.first)),
            ]
        with m.Elif(self.output.valid & self.output.ready):
            m.d.sync += [
                inside.eq(~final),
                block.eq(following),
                wrapped.eq(wrapped | following[-1]),
                start.eq(0),
            ]
        return m


class AddressFirst(wiring.Component):
    """Passes the data of a burst on once the bus has taken the address of that burst.

    ``taken``: Is high in each cycle in which the bus takes an address.
    ``most``: Bounds the addresses that the bus has taken before the last data of their bursts pass.

    No latency, and no path from ``taken`` to the streams: data pass from the cycle after it on.
    """

    def __init__(self, shape: WriteData, most: int) -> None:
        self.most = most
        super().__init__(
            {
                "taken": In(1),
                "input": In(stream.Signature(shape)),
                "output": Out(stream.Signature(shape)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        bursts = Signal(range(self.most + 1))
        may_pass = Signal()
        ends = Signal()
        m.d.comb += [
            may_pass.eq(bursts.any()),
            self.output.payload.eq(self.input.payload),
            self.output.valid.eq(self.input.valid & may_pass),
            self.input.ready.eq(self.output.ready & may_pass),
            ends.eq(self.output.valid & self.output.ready & self.output.payload.last),
        ]
        with m.If(self.taken & ~ends):
            m.d.sync += bursts.eq(bursts + 1)
        with m.Elif(ends & ~self.taken):
            m.d.sync += bursts.eq(bursts - 1)
        return m


#: Addresses of writes that are ahead of their data at most.
_AHEAD = 4


class Finishing(wiring.Component):
    """Finishes on the bus what is open when the engine is lost: data without strobes follow addresses that the bus has seen,
    and answers are dropped. Data follow their addresses.

    ``read``, ``write``: The engine's domain.
    ``bus_read``, ``bus_write``: The bus.
    ``open``: Low while the engine is lost.
    ``settled``: Nothing is open on the bus.
    ``most``: Bounds the transactions of a kind that are open at once.
    """

    def __init__(self, read: ReadPort, write: WritePort, most: int) -> None:
        self.most = most
        super().__init__(
            {
                "read": In(read),
                "write": In(write),
                "bus_read": Out(read),
                "bus_write": Out(write),
                "open": In(1),
                "settled": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.lengths = lengths = Fifo(8, _AHEAD)
        aw, r, b = self.bus_write.aw, self.bus_read.r, self.bus_write.b
        asked, asking = self._ask(m, "read", self.read.ar, self.bus_read.ar, True)
        begun, beginning = self._ask(m, "write", self.write.aw, aw, lengths.input.ready)
        m.d.comb += [lengths.input.valid.eq(begun), lengths.input.payload.eq(aw.payload.len)]
        self._send(m, lengths.output)
        for bus, near in ((r, self.read.r), (b, self.write.b)):
            m.d.comb += [
                near.payload.eq(bus.payload),
                near.valid.eq(bus.valid & self.open),
                bus.ready.eq(near.ready | ~self.open),
            ]
        due = []
        for name, begins, ends in (
            ("read", asked, r.valid & r.ready & r.payload.last),
            ("write", begun, b.valid & b.ready),
        ):
            due.append(count := Signal(range(self.most + 1), name=f"{name}s"))
            m.d.sync += count.eq(count + begins - ends)
        m.d.comb += self.settled.eq(~(asking | beginning | due[0].any() | due[1].any()))
        return m

    def _ask(
        self, m: Module, name: str, near: stream.Interface, bus: stream.Interface, able: Value | bool
    ) -> tuple[Value, Signal]:
        """Passes addresses on while ``able``; whether one is taken, and whether one waits."""
        held = Signal(name=f"{name}_held")
        passes = (self.open | held) & able
        m.d.comb += [
            bus.payload.eq(near.payload),
            bus.valid.eq(near.valid & passes),
            near.ready.eq(bus.ready & passes),
        ]
        m.d.sync += held.eq(bus.valid & ~bus.ready)
        return bus.valid & bus.ready, held

    def _send(self, m: Module, length: stream.Interface) -> None:
        """Sends the data of a burst of so many beats less one."""
        near, bus = self.write.w, self.bus_write.w
        held = Signal(name="data_held")
        passes = Signal(name="data_passes")
        sent = Signal(8)
        m.d.comb += [
            passes.eq(self.open | held),
            bus.valid.eq(length.valid & (near.valid | ~passes)),
            bus.payload.data.eq(Mux(passes, near.payload.data, 0)),
            bus.payload.keep.eq(Mux(passes, near.payload.keep, 0)),
            bus.payload.last.eq(sent == length.payload),
            near.ready.eq(length.valid & bus.ready & passes),
            length.ready.eq(bus.valid & bus.ready & bus.payload.last),
        ]
        m.d.sync += held.eq(passes & bus.valid & ~bus.ready)
        with m.If(bus.valid & bus.ready):
            m.d.sync += sent.eq(Mux(bus.payload.last, 0, sent + 1))
