"""The beats that a pipelined decompressor has at hand, in memories."""

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.beats import Beat, malformed
from cdma.hdl.blocks.counter import WideCounter
from cdma.hdl.blocks.credit import Credit
from cdma.hdl.blocks.gates import popcount
from cdma.hdl.blocks.memory_queue import MemoryQueue
from cdma.hdl.spec.codec import CodecConfig

__all__ = ["Intake", "PacketEnd", "Position", "rows_of"]

#: Packets whose end is known, and which are not finished.
_ENDS = 8
#: Rows beside those of a window: so many beats arrive on the way of a beat from the input to its end in the output.
_WAY = 20
#: Cycles from a beat's arrival until its packet's end is known, if it is the last.
_KNOWN = 3


def rows_of(config: CodecConfig) -> int:
    """How many beats the memories hold: a window's, wherever it begins, and those that come meanwhile."""
    header_beats = -(-config.format.header_words // config.lanes)
    return 1 << (config.beats + header_beats + 1 + _WAY - 1).bit_length()


class Position(data.StructLayout):
    """A word of the input: its lane, and the number of its beat modulo twice the rows."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__({"lane": exact_log2(config.lanes), "beat": range(2 * rows_of(config))})


class PacketEnd(data.StructLayout):
    """Where a packet ends, and the next begins; the words of all its beats, and whether one is malformed."""

    def __init__(self, config: CodecConfig) -> None:
        super().__init__(
            {"place": Position(config), "next": range(2 * rows_of(config)), "words": 32, "malformed": 1}
        )


class Intake(wiring.Component):
    """Stores beats as they come, each in a row, until they are ``free``.

    ``reach``, ``ended``
        How far the words go that can be read of the oldest packet, and whether that is its end.
    ``end``, ``pop``
        Its end, if that is known, and goes on to the next packet. In the cycle after that nothing is known of it, and
        ``reach`` is the end of the packet before.
    ``free``
        The oldest beat that is still needed.
    ``read``, ``place``, ``above``, ``words``
        Two readers; each can ``read`` ``lanes`` words from a place on, ``above`` being the number of the next beat, and
        finds them in the next cycle, in the lanes where they arrived, until it reads again.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt, lanes = config.format, config.lanes
        self.rows = rows_of(config)
        super().__init__(
            {
                "input": In(stream.Signature(Beat(fmt.word_bits, lanes))),
                "reach": Out(Position(config)),
                "ended": Out(1),
                "end": Out(PacketEnd(config)),
                "pop": In(1),
                "free": In(range(2 * self.rows)),
                "read": In(1).array(2),
                "place": In(Position(config)).array(2),
                "above": In(range(2 * self.rows)).array(2),
                "words": Out(data.ArrayLayout(fmt.word_bits, lanes)).array(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        config, rows = self.config, self.rows
        fmt, lanes = config.format, config.lanes
        beat = self.input.payload
        accept = Signal()
        write_index = Signal(range(2 * rows))
        room = Signal(init=1)
        m.submodules.ends = ends = MemoryQueue(PacketEnd(config), _ENDS)
        m.submodules.end_room = end_room = Credit(_ENDS)
        m.d.comb += [
            self.input.ready.eq(room & end_room.there),
            accept.eq(self.input.valid & self.input.ready),
            end_room.taken.eq(accept & beat.last),
            end_room.given.eq(self.pop),
        ]
        # A beat comes in while this is found, and another before it is known.
        m.d.sync += [
            write_index.eq(write_index + accept),
            room.eq((write_index - self.free)[: len(write_index)] < rows - 2),
        ]

        for lane in range(lanes):
            m.submodules[f"lane_{lane}"] = memory = Memory(shape=fmt.word_bits, depth=rows, init=[])
            write = memory.write_port()
            m.d.comb += [
                write.addr.eq(write_index),
                write.data.eq(beat.data[lane]),
                write.en.eq(accept),
            ]
            for reader in range(2):
                read = memory.read_port(domain="comb")
                # An address of its own for each lane, lest one register drive all memories.
                address = Signal(range(rows), name=f"address_{reader}_{lane}")
                place = self.place[reader]
                with m.If(self.read[reader]):
                    m.d.sync += address.eq(Mux(place.lane > lane, self.above[reader], place.beat))
                m.d.comb += [read.addr.eq(address), self.words[reader][lane].eq(read.data)]

        # What is counted is counted a cycle later. A beat has arrived when its packet's end would be known.
        late_words = Signal(range(lanes + 1))
        late_last = Signal()
        late_bad = Signal()
        late = [Signal(name=f"late_{cycle}") for cycle in range(_KNOWN)]
        arrived = Signal.like(write_index)
        bad = Signal()
        counted = Signal()
        m.submodules.counter = counter = WideCounter(lanes, lookahead=True)
        m.d.sync += [
            Cat(late).eq(Cat(accept, late)),
            late_words.eq(Mux(accept, popcount(beat.keep, 4), 0)),
            late_last.eq(accept & beat.last),
            late_bad.eq(accept & malformed(beat)),
            counted.eq(late_last),
            bad.eq((bad & ~counted) | late_bad),
            arrived.eq(arrived + late[-1]),
        ]
        newest = Signal.like(write_index)
        m.d.sync += newest.eq(newest + late[0])
        end = ends.input.payload
        m.d.comb += [
            counter.clear.eq(counted),
            counter.amount.eq(late_words),
            ends.input.valid.eq(late_last),
            Value.cast(end.place).eq((newest << exact_log2(lanes)) + late_words),
            end.next.eq(newest + 1),
            end.words.eq(Mux(counted, 0, counter.value) + late_words),
            end.malformed.eq((bad & ~counted) | late_bad),
            ends.output.ready.eq(self.pop),
            self.end.eq(ends.output.payload),
        ]
        with m.If(self.pop):
            m.d.sync += self.ended.eq(0)
        with m.Else():
            m.d.sync += [
                self.ended.eq(ends.output.valid),
                self.reach.eq(
                    Mux(ends.output.valid, Value.cast(self.end.place), arrived << exact_log2(lanes))
                ),
            ]
        return m
