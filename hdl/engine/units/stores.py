"""Stores between units and ports: pieces, extents and beats."""

from __future__ import annotations

from dataclasses import dataclass, replace

from amaranth.hdl import Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.axi.gather import EARLY
from cdma.hdl.axi.ports import Command, PortShape
from cdma.hdl.blocks.arithmetic import thermometer
from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import Beat
from cdma.hdl.engine.path.switches import Route
from cdma.hdl.engine.shapes.segments import WalkPort
from cdma.hdl.engine.shapes.walker import ShapeFeed
from cdma.hdl.spec.engine import EngineConfig

from .stripes import Stripe


@dataclass(frozen=True)
class UnitPlan:
    """What the blocks of a channel with several units must know.

    ``config``: The engine.
    ``dev``, ``host``: The ports, as this channel uses them.
    ``base``: The device port as it reads bases, if it does.
    """

    config: EngineConfig
    dev: PortShape
    host: PortShape
    base: PortShape | None = None

    @property
    def units(self) -> int:
        """Number of units."""
        return self.config.units

    @property
    def stripe(self) -> Stripe:
        """What a unit gets of a descriptor."""
        return Stripe(
            self.dev.address_bits,
            self.units,
            self.stripe_words,
            self.dev.user_bits,
            self.config.tail_bits,
            shaped=self.shaped,
            base_bits=self.number_bits * self.config.delta,
        )

    @property
    def shaped(self) -> bool:
        """Whether descriptors may have shapes."""
        return self.config.dimensions > 0

    @property
    def word_log2(self) -> int:
        """Bits of an address below the raw word."""
        return exact_log2(self.config.format.word_bits // 8)

    @property
    def stripe_words(self) -> int:
        """Raw words of a stripe."""
        return self.config.stripe_bytes * 8 // self.config.format.word_bits

    @property
    def place_bits(self) -> int:
        """Bits of an address below the stripe."""
        return exact_log2(self.config.stripe_bytes)

    @property
    def number_bits(self) -> int:
        """Bits of the number of a stripe."""
        return self.dev.address_bits - self.place_bits

    def unit_port(self, port: PortShape) -> PortShape:
        """A device port as a unit uses it: no command leaves its stripe.

        A bit above the stripe and above the longest burst is counted too, so that the end of a stripe is not taken for its
        beginning, and there is more than one block.
        """
        block_bits = exact_log2(port.burst * port.data_bits // 8)
        return replace(port, span_bits=max(self.place_bits, block_bits) + 1, contained=True, rows=False)

    @property
    def in_flight(self) -> int:
        """The most stripes that a unit has in flight, a power of two: as many as its buffers hold, and four more."""
        config = self.config
        beats = self.dev.buffer + config.piece_beats
        stripes = beats * self.dev.data_bits // 8 // config.stripe_bytes + 4
        return 1 << (stripes - 1).bit_length()

    @property
    def total_in_flight(self) -> int:
        """Room for the stripes that all units have in flight, a power of two."""
        return 1 << (self.units * self.in_flight - 1).bit_length()


class PieceBuffer(wiring.Component):
    """A :class:`.Fifo` of ``depth`` beats whose ``ready`` comes from a register, so that what the codec does with it has
    the whole cycle. The register knows of a beat two cycles later, and is low while fewer than two entries are known to
    be free.

    Throughput: a beat per cycle in and out. Latency: two cycles.
    """

    def __init__(self, beat: Beat, depth: int) -> None:
        self.beat = beat
        self.depth = depth
        super().__init__({"input": In(stream.Signature(beat)), "output": Out(stream.Signature(beat))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.beats = beats = Fifo(self.beat, self.depth, reserved=True)
        m.d.sync += self.input.ready.eq(beats.level <= self.depth - 2)
        m.d.comb += [
            beats.input.payload.eq(self.input.payload),
            beats.input.valid.eq(self.input.valid & self.input.ready),
        ]
        wiring.connect(m, beats.output, wiring.flipped(self.output))
        return m


def early_stripes(plan: UnitPlan) -> bool:
    """Whether a whole stripe meets the conditions of :class:`.Gather` for an early packet: alignment and room."""
    return plan.dev.burst >= EARLY and plan.config.stripe_bytes * 8 >= EARLY * plan.dev.data_bits


class Ahead(wiring.Component):
    """Tracks whether a whole stripe is queued behind the current stripe.

    ``given``, ``whole``: A stripe enters the queue of the writer's commands; it is whole. The queue holds up to
        ``depth`` stripes, and has the latency of a :class:`.Fifo`.
    ``busy``: There is a current command.
    ``taken``: Pulse: the current command is taken.
    ``ahead``: The input of that name of the :class:`.Gather`. Low in the first cycle of a command. High later if a
        whole stripe follows: two cycles after the command of that stripe has left the queue, or its predecessor is
        taken.
    """

    def __init__(self, depth: int) -> None:
        self.depth = depth
        super().__init__({"given": In(1), "whole": In(1), "busy": In(1), "taken": In(1), "ahead": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.stripes = stripes = Fifo(1, self.depth, reserved=True)
        #: The stripe in hand has left the queue, and the next one is at its output.
        passed = Signal()
        m.d.comb += [
            stripes.input.valid.eq(self.given),
            stripes.input.payload.eq(self.whole),
            stripes.output.ready.eq(self.busy & ~passed),
            self.ahead.eq(passed & stripes.output.valid & stripes.output.payload),
        ]
        m.d.sync += passed.eq(self.busy & ~self.taken)
        return m


class Extents(wiring.Component):
    """Makes of the command and the route of each descriptor with a shape one of each for every row and every padding, in the
    order of the stream. Others pass on as they are.

    ``shapes``: Those of the :class:`.ShapeFeed`.
    ``input``, ``whole_route``: Those of descriptors.
    ``command``, ``route``: Those of extents: of one that is padding, the address is 0. Valid, and to be taken,
        together.
    """

    def __init__(self, plan: UnitPlan, *, reads: bool) -> None:
        self.plan = plan
        self.reads = reads
        route = Route(plan.config.tail_bits)
        bits, user = plan.dev.address_bits, plan.dev.user_bits
        super().__init__(
            {
                "shapes": In(WalkPort(plan.config.dimensions)),
                "input": In(stream.Signature(Command(bits, "shaped", user=user))),
                "whole_route": In(stream.Signature(route)),
                "command": Out(stream.Signature(Command(bits, "more", "padding", user=user))),
                "route": Out(stream.Signature(route)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        dev = self.plan.dev
        # Its beats are words: no piece of a stripe is joined to another one.
        m.submodules.feed = feed = ShapeFeed(
            self.plan.config.dimensions,
            dev.address_bits,
            self.plan.word_log2,
            dev.outstanding,
            dev.user_bits,
            joins=False,
            reads=self.reads,
        )
        wiring.connect(m, wiring.flipped(self.shapes), feed.shapes)
        wiring.connect(m, wiring.flipped(self.input), feed.input)
        segment, row, whole_route = feed.segments.payload, feed.command, self.whole_route
        padding = segment.padding
        there = Signal()
        takes = Signal()
        m.d.comb += [
            there.eq(feed.segments.valid & whole_route.valid & (padding | row.valid)),
            self.command.valid.eq(there),
            self.route.valid.eq(there),
            self.command.payload.first.eq(Mux(padding, 0, row.payload.first)),
            self.command.payload.last.eq(row.payload.last),
            self.command.payload.more.eq(~segment.last),
            self.command.payload.padding.eq(padding),
            self.command.payload.user.eq(row.payload.user),
            self.route.payload.eq(whole_route.payload),
            takes.eq(there & self.command.ready),
            feed.segments.ready.eq(takes),
            row.ready.eq(takes & ~padding),
            whole_route.ready.eq(takes & segment.last),
        ]
        with m.If(~segment.whole):
            m.d.comb += self.route.payload.words.eq(segment.beats + 1)
        return m


class BeatStore(wiring.Component):
    """A queue of beats that is read across the border of two: the *held* beat and the *next* one.

    There is a memory for each lane, with an address of its own. So a beat that is made of two costs no register for one of
    them, and no multiplexer for words.

    ``input``: Words of beats, of which ``depth - 1`` can be inside besides the held one. ``depth`` is a power of two.
        ``ready`` comes from a register, which does not know yet whether the held beat leaves in the cycle before.
    ``full``: Complement of ``ready``, from a register of its own: the other one writes the memories of all lanes, and
        what else depends on it would wait for those wires.
    ``read``: Reads all lanes in this cycle.
    ``below``: Lanes that are read from the next beat, the others from the held one.
    ``take``: The next beat becomes the held one; what is read in this cycle does not depend on it.
    ``words``: What was read, in the next cycle, and until ``read`` is high again.
    """

    def __init__(self, bits: int, lanes: int, depth: int) -> None:
        assert depth.bit_count() == 1, depth
        self.bits = bits
        self.lanes = lanes
        self.depth = depth
        words = data.ArrayLayout(bits, lanes)
        super().__init__(
            {
                "input": In(stream.Signature(words)),
                "full": Out(1, init=1),
                "read": In(1),
                "below": In(lanes),
                "take": In(1),
                "words": Out(words),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # One bit more than an address: a full memory and an empty one differ in that bit alone.
        write = Signal(range(2 * self.depth))
        following = Signal.like(write)
        held = Signal.like(write, init=-1)
        writes = Signal()
        m.d.comb += writes.eq(self.input.valid & self.input.ready)
        after_write = Signal.like(write, init=1)
        room = Signal()
        limit = held ^ self.depth
        m.d.comb += room.eq(Mux(writes, after_write != limit, write != limit))
        m.d.sync += [self.input.ready.eq(room), self.full.eq(~room)]
        with m.If(writes):
            m.d.sync += [write.eq(after_write), after_write.eq(after_write + 1)]
        with m.If(self.take):
            m.d.sync += [held.eq(following), following.eq(following + 1)]
        for lane in range(self.lanes):
            m.submodules[f"lane_{lane}"] = memory = Memory(shape=self.bits, depth=self.depth, init=[])
            write_port, read_port = memory.write_port(), memory.read_port(domain="sync")
            m.d.comb += [
                write_port.addr.eq(write[: len(write_port.addr)]),
                write_port.data.eq(self.input.payload[lane]),
                # What is here without being valid is written over. So this register alone drives the memories of all lanes.
                write_port.en.eq(self.input.ready),
                read_port.addr.eq(Mux(self.below[lane], following, held)[: len(read_port.addr)]),
                read_port.en.eq(self.read),
                self.words[lane].eq(read_port.data),
            ]
        return m


class BeatFill(wiring.Component):
    """A queue of beats that is written across the border of two: the one that is *filled* and the *next* one.

    There is a memory for each lane, with an address of its own for writing. So words that wait until their beat is full
    take no register, and what is full takes none on its way out.

    ``words``: A word for each lane.
    ``write``: Writes all lanes in this cycle; not unless ``ready`` is high.
    ``below``: Lanes that are written to the next beat, the others to the one that is filled. A lane may be written
        again until its beat is done.
    ``done``, ``end``: With ``write``: the beat that is filled is complete, and the next one becomes the one that is
        filled; how many words it has, and whether it ends its packet.
    ``ready``: There is room for both beats. It comes from a register, which does not know yet what was done in the
        cycle before.
    ``output``: The beats that are done. Throughput: one per cycle. Latency: two cycles, as of a :class:`.Fifo`.
        ``valid`` and the words come from registers.
    """

    #: Beats in the memory. After a pause of the output there are enough of them until ``ready`` has made room for more.
    DEPTH = 8

    def __init__(self, word_bits: int, lanes: int) -> None:
        self.beat = Beat(word_bits, lanes)
        self.end_shape = data.StructLayout({"count": range(lanes + 1), "last": 1})
        super().__init__(
            {
                "words": In(self.beat["data"].shape),
                "write": In(1),
                "below": In(lanes),
                "done": In(1),
                "end": In(self.end_shape),
                "ready": Out(1),
                "output": Out(stream.Signature(self.beat)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        out = self.output
        # One bit more than an address: a full memory and an empty one differ in that bit alone.
        filled = Signal(range(2 * self.DEPTH))
        following = Signal.like(filled, init=1)
        read = Signal.like(filled)
        reads = Signal()
        level = Signal.like(filled)
        m.d.comb += [
            level.eq(filled - read),
            reads.eq((filled != read) & (~out.valid | out.ready)),
        ]
        # One beat more may be done by now, and two are written.
        m.d.sync += self.ready.eq(level <= self.DEPTH - 3)
        with m.If(self.write & self.done):
            m.d.sync += [filled.eq(following), following.eq(following + 1)]
        with m.If(reads):
            m.d.sync += [read.eq(read + 1), out.valid.eq(1)]
        with m.Elif(out.ready):
            m.d.sync += out.valid.eq(0)

        lanes = [Mux(self.below[lane], following, filled) for lane in range(self.beat.lanes)]
        for lane, place in enumerate(lanes):
            self._memory(m, f"lane_{lane}", place, self.words[lane], read, reads, out.payload.data[lane])
        end = Signal(self.end_shape)
        self._memory(m, "ends", filled, Value.cast(self.end), read, reads, Value.cast(end))
        m.d.comb += [
            out.payload.keep.eq(thermometer(end.count, self.beat.lanes)),
            out.payload.last.eq(end.last),
        ]
        return m

    def _memory(
        self, m: Module, name: str, place: Value, source: Value, read: Value, reads: Value, sink: Value
    ) -> None:
        """Adds a memory that is written in each cycle in which lanes are."""
        m.submodules[name] = memory = Memory(shape=len(source), depth=self.DEPTH, init=[])
        write_port, read_port = memory.write_port(), memory.read_port(domain="sync")
        m.d.comb += [
            write_port.addr.eq(place[: len(write_port.addr)]),
            write_port.data.eq(source),
            write_port.en.eq(self.write),
            read_port.addr.eq(read[: len(read_port.addr)]),
            read_port.en.eq(reads),
            sink.eq(read_port.data),
        ]
