"""The groups of a compressor with two levels: beats wait until the mask of their group is known."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import ceil_log2

from cdma.hdl.blocks.queues import Fifo
from cdma.hdl.blocks.registers import Beat
from cdma.hdl.codec.parts.codes import table_of
from cdma.hdl.codec.parts.interface import table_members
from cdma.hdl.spec.codec import CodecConfig

#: Beats that come in between the last beat of a group and the first one that leaves.
_BETWEEN = 2


def marks_of(config: CodecConfig) -> tuple[str, ...]:
    """What a beat says of its group: it is the first one; its window is absent."""
    return ("opens", "absent") if config.format.mask_words else ()


def beat_of(config: CodecConfig) -> data.StructLayout:
    """A beat of raw words with its marks."""
    beat = Beat(config.format.word_bits, config.lanes)
    if not config.format.mask_words:
        return beat
    fields = {name: field.shape for name, field in beat}
    return data.StructLayout(fields | dict.fromkeys(marks_of(config), 1))


class GroupStore(wiring.Component):
    """Holds the beats of a group until its last one has come, which completes its mask.

    ``stages``: Beats that are between ``output`` and the consumer of ``mask``; each may be a group of its own.

    ``input``: Raw beats.
    ``output``: The beats with their marks. The first one of a group is offered when its mask is complete.
    ``mask``: The mask of each group whose first beat has left.
    ``values``: Table of frequent values, if the configuration leaves it to run time.

    Throughput: a beat per cycle. Latency: four cycles after the last beat of a group. ``ready`` of the input comes from
    flip-flops.
    """

    def __init__(self, config: CodecConfig, stages: int) -> None:
        self.config = config
        self.stages = stages
        self.group = config.format.group
        self.beat = Beat(config.format.word_bits, config.lanes)
        super().__init__(
            {
                "input": In(stream.Signature(self.beat)),
                "output": Out(stream.Signature(beat_of(config))),
                "mask": Out(stream.Signature(self.group)),
                **table_members(config),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # While a long group leaves, groups of a beat may come, each a packet.
        groups = self.group * self.config.beats
        m.submodules.masks = masks = Fifo(self.group, groups)
        # A mask takes two cycles to the consumer.
        m.submodules.opened = opened = Fifo(self.group, 1 << ceil_log2(self.stages + 2))
        wiring.connect(m, opened.output, wiring.flipped(self.mask))
        full = Signal()
        #: There is room for the masks of beats that have come and of this one.
        room = Signal()
        m.d.sync += room.eq(masks.level < groups - 2)
        m.d.comb += self.input.ready.eq(~full & room)
        self._collect(m, masks.input)
        self._leave(m, self._store(m, full), masks.output, opened.input)
        return m

    def _store(self, m: Module, full: Signal) -> stream.Interface:
        """Keeps the beats in a memory; returns them in order."""
        rows = self.group * self.config.beats + _BETWEEN
        m.submodules.beats = memory = Memory(shape=self.beat, depth=rows, init=[])
        write, read = memory.write_port(), memory.read_port(domain="sync")
        leaving = stream.Signature(self.beat).create(path=("leaving",))
        held = Signal(range(rows + 1))
        reads = Signal()
        m.d.comb += [
            write.en.eq(self.input.valid & self.input.ready),
            write.data.eq(self.input.payload),
            reads.eq(held.any() & (~leaving.valid | leaving.ready)),
            read.en.eq(reads),
            leaving.payload.eq(read.data),
        ]
        for port, moves in ((write, write.en), (read, reads)):
            with m.If(moves):
                m.d.sync += port.addr.eq(Mux(port.addr == rows - 1, 0, port.addr + 1))
        with m.If(reads):
            m.d.sync += leaving.valid.eq(1)
        with m.Elif(leaving.ready):
            m.d.sync += leaving.valid.eq(0)
        with m.If(write.en & ~reads):
            m.d.sync += [held.eq(held + 1), full.eq(held == rows - 1)]
        with m.Elif(reads & ~write.en):
            m.d.sync += [held.eq(held - 1), full.eq(0)]
        return leaving

    def _collect(self, m: Module, masks: stream.Interface) -> None:
        """Finds the mask of the group at the input, a cycle later, and queues it with the group's last beat."""
        beat = self.input.payload
        came, stored, last = (Signal(name=f"{name}_before") for name in ("came", "stored", "last"))
        m.d.sync += [
            came.eq(self.input.valid & self.input.ready),
            stored.eq(self._stored(beat).any()),
            last.eq(beat.last),
        ]
        #: Position of the beat in its window, and of the window in its group.
        place = Signal(range(self.config.beats), name="place_in")
        window = Signal(range(self.group), name="window_in")
        #: The windows before the beat's that are there, and the beat's own, as far as it is known.
        before = Signal(self.group)
        found = Signal()
        present = Signal()
        ends = Signal(name="ends_in")
        mask = Signal(self.group)
        m.d.comb += [
            present.eq(found | stored),
            ends.eq(last | (place == self.config.beats - 1)),
            mask.eq(before | Mux(present, 1 << window, 0)),
            masks.valid.eq(came & (last | (ends & window.all()))),
            masks.payload.eq(mask),
        ]
        with m.If(came):
            m.d.sync += [place.eq(Mux(ends, 0, place + 1)), found.eq(present & ~ends)]
        with m.If(came & ends):
            m.d.sync += [window.eq(Mux(last, 0, window + 1)), before.eq(Mux(masks.valid, 0, mask))]

    def _stored(self, beat: Value) -> Value:
        """The words of a beat whose code is not 0."""
        first = table_of(self, self.config)[0]
        return Cat(beat.keep[lane] & (beat.data[lane] != first) for lane in range(self.config.lanes))

    def _leave(
        self, m: Module, beats: stream.Interface, masks: stream.Interface, opened: stream.Interface
    ) -> None:
        """Offers the beats of groups whose mask is complete, with their marks."""
        beat = beats.payload
        #: The next beat opens a group.
        opens = Signal(init=1)
        place = Signal(range(self.config.beats))
        window = Signal(range(self.group))
        #: The mask from the beat's window on, and that of the windows after it.
        now = Signal(self.group)
        rest = Signal(self.group, reset_less=True)
        ends = Signal()
        leaves = Signal()
        m.d.comb += [
            now.eq(Mux(opens, masks.payload, rest)),
            ends.eq(beat.last | (place == self.config.beats - 1)),
            self.output.valid.eq(beats.valid & (~opens | (masks.valid & opened.ready))),
            *(self.output.payload[name].eq(beat[name]) for name in ("data", "keep", "last")),
            self.output.payload.opens.eq(opens),
            self.output.payload.absent.eq(~now[0]),
            leaves.eq(self.output.valid & self.output.ready),
            beats.ready.eq(leaves),
            masks.ready.eq(leaves & opens),
            opened.valid.eq(leaves & opens),
            opened.payload.eq(masks.payload),
        ]
        with m.If(leaves):
            m.d.sync += [
                place.eq(Mux(ends, 0, place + 1)),
                rest.eq(Mux(ends, now >> 1, now)),
                opens.eq(beat.last | (ends & window.all())),
            ]
        with m.If(leaves & ends):
            m.d.sync += window.eq(Mux(beat.last, 0, window + 1))
