"""The intake of a pipelined decompressor: its input beats, in memories."""

from itertools import product

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.arithmetic import WideCounter
from cdma.hdl.blocks.memories import LOOK_UP_TABLES
from cdma.hdl.blocks.queues import Credit, MemoryQueue
from cdma.hdl.blocks.registers import Beat, count_kept, malformed
from cdma.hdl.spec.codec import CodecConfig

from .header_check import most_stored

#: Packets whose end is known, and which are not finished.
_ENDS = 8
#: Rows besides those of a window: the beats that arrive while a beat passes from the input to the output.
_WAY = 20
#: Rows besides those of a window and the next header: the beats that arrive while that header passes to its reader.
_HEADER_WAY = 10
#: Cycles from the arrival of a packet's last beat until the end of the packet is known.
_KNOWN = 3


def rows_of(config: CodecConfig) -> int:
    """The number of beats in the memories: those of a window, wherever it begins, and those that arrive meanwhile."""
    return 1 << (config.beats + config.header_beats + 1 + _WAY - 1).bit_length()


def header_rows_of(config: CodecConfig) -> int:
    """The number of those beats in the memories of headers.

    A header is passed when it has been read. The next one is read when all of the window between them has arrived.
    """
    fmt, units = config.format, config.units
    between = (units - 1 + most_stored(config) + fmt.header_words - 1) // units
    return 1 << (between + _HEADER_WAY - 1).bit_length()


class Position(data.StructLayout):
    """The position of a word in the input.

    ``lane``: Lane of the word.
    ``beat``: Number of its beat, modulo twice the rows of the memories.
    """

    def __init__(self, config: CodecConfig) -> None:
        super().__init__({"lane": exact_log2(config.units), "beat": range(2 * rows_of(config))})


class PacketEnd(data.StructLayout):
    """The end of a packet.

    ``place``: Position after the last word; for a packet that ends with a malformed beat, one in it or just after it.
    ``next``: Number of the first beat of the next packet.
    ``words``: Number of words in all beats, if none is malformed.
    ``malformed``: A beat was malformed.
    """

    def __init__(self, config: CodecConfig) -> None:
        super().__init__(
            {"place": Position(config), "next": range(2 * rows_of(config)), "words": 32, "malformed": 1}
        )


class Intake(wiring.Component):
    """Stores each beat in a row until it is ``free``; and once more, for the reader of headers, until that is past it. The
    second memories have fewer rows, because headers are read early, and are faster to read on an FPGA.

    ``input``: Beats of all packets.
    ``reach``: Position after the last readable word of the oldest packet.
    ``ended``: ``reach`` is the end of this packet, and ``end`` is valid.
    ``end``: The end of this packet.
    ``pop``: Proceeds to the next packet. In the next cycle ``ended`` is low, and ``reach`` is still the end of the
        packet before.
    ``free``: Number of the oldest beat that is still needed.
    ``passes``, ``past``: The reader of headers proceeds: number of the oldest beat that it will read from now on.

    Two readers, of headers and of all words, each read a beat's number of consecutive stream words.

    ``read``: Reads in this cycle.
    ``place``: Position of the first word to read.
    ``above``: Number of the next beat after it.
    ``words``: The words in the next cycle, and until the reader reads again. They are in the lanes in which they
        arrived.
    """

    def __init__(self, config: CodecConfig) -> None:
        self.config = config
        fmt, units = config.format, config.units
        self.rows = rows_of(config)
        self.header_rows = header_rows_of(config)
        super().__init__(
            {
                "input": In(stream.Signature(Beat(fmt.stream_bits, units))),
                "reach": Out(Position(config)),
                "ended": Out(1),
                "end": Out(PacketEnd(config)),
                "pop": In(1),
                "free": In(range(2 * self.rows)),
                "passes": In(1),
                "past": In(range(2 * self.rows)),
                "read": In(1).array(2),
                "place": In(Position(config)).array(2),
                "above": In(range(2 * self.rows)).array(2),
                "words": Out(data.ArrayLayout(fmt.stream_bits, units)).array(2),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        rows = self.rows
        accept = Signal()
        write_index = Signal(range(2 * rows))
        rooms = [
            self._room(m, "header", write_index, self.header_rows, self.past, self.passes),
            self._room(m, "lane", write_index, rows, self.free, C(1)),
        ]
        m.submodules.ends = ends = MemoryQueue(PacketEnd(self.config), _ENDS)
        m.submodules.end_room = credit = Credit(_ENDS, ahead=1)
        # From a flip-flop, because the producer, which reads beats out of block RAM, is far.
        ready = Signal(init=1)
        m.d.sync += ready.eq(Cat(rooms).all() & credit.available)
        m.d.comb += [
            self.input.ready.eq(ready),
            accept.eq(self.input.valid & self.input.ready),
            credit.spent.eq(accept & self.input.payload.last),
            credit.returned.eq(self.pop),
        ]
        m.d.sync += write_index.eq(write_index + accept)
        self._store(m, write_index)
        arrived = self._find_end(m, accept, ends)
        m.d.comb += [ends.output.ready.eq(self.pop), self.end.eq(ends.output.payload)]
        with m.If(self.pop):
            m.d.sync += self.ended.eq(0)
        with m.Else():
            position = Mux(
                ends.output.valid, Value.cast(self.end.place), arrived << exact_log2(self.config.units)
            )
            m.d.sync += [self.ended.eq(ends.output.valid), self.reach.eq(position)]
        return m

    def _room(
        self, m: Module, name: str, write_index: Signal, rows: int, needed: Signal, moves: Value
    ) -> Value:
        """Whether memories of so many rows have room for a beat in the next cycle, one cycle after ``needed`` moves."""
        # One beat may arrive during the comparison, and another before its result leaves a register: so there is room while
        # two rows are free.
        limit = Signal.like(write_index, name=f"{name}_limit", init=rows - 1)
        left = Signal.like(write_index, name=f"{name}_left")
        m.d.comb += left.eq(write_index - limit)
        with m.If(moves):
            m.d.sync += limit.eq(needed + rows - 1)
        return left[-1]

    def _store(self, m: Module, write_index: Signal) -> None:
        """Adds a memory for each lane and reader. While there is room, the payload at the input is written to the next row,
        valid or not, so that only ready enables all memories."""
        shape = self.config.format.stream_bits
        readers = (("header", self.header_rows), ("lane", self.rows))
        for lane, (reader, (name, rows)) in product(range(self.config.units), enumerate(readers)):
            m.submodules[f"{name}_{lane}"] = memory = Memory(
                shape=shape, depth=rows, init=[], attrs=LOOK_UP_TABLES
            )
            write, read = memory.write_port(), memory.read_port(domain="comb")
            # Each lane has its own address register, because a single one would drive all memories.
            address = Signal(range(rows), name=f"{name}_address_{lane}")
            place = self.place[reader]
            with m.If(self.read[reader]):
                m.d.sync += address.eq(Mux(place.lane > lane, self.above[reader], place.beat))
            m.d.comb += [
                write.addr.eq(write_index),
                write.data.eq(self.input.payload.data[lane]),
                write.en.eq(self.input.ready),
                read.addr.eq(address),
                self.words[reader][lane].eq(read.data),
            ]

    def _find_end(self, m: Module, accept: Value, ends: MemoryQueue) -> Signal:
        """Counts the words of packets, and queues the end of each; returns the number of beats that have arrived.

        The words of a beat are counted a cycle after its arrival. It has arrived when the end of its packet would be known.
        """
        units, beat, end = self.config.units, self.input.payload, ends.input.payload
        late_words = Signal(range(units + 1))
        late_last = Signal()
        late_bad = Signal()
        late = [Signal(name=f"late_{cycle}") for cycle in range(_KNOWN)]
        arrived = Signal(range(2 * self.rows))
        bad = Signal()
        #: The packet has ended in the cycle before.
        counted = Signal()
        m.submodules.counter = counter = WideCounter(units, pipelined=True)
        m.d.sync += [
            Cat(late).eq(Cat(accept, late)),
            # The number of a malformed beat may be wrong, but is not beyond its lanes.
            late_words.eq(Mux(beat.keep[-1], units, count_kept(beat.keep[:-1]))),
            late_last.eq(accept & beat.last),
            late_bad.eq(accept & malformed(beat)),
            counted.eq(late_last),
            bad.eq((bad & ~counted) | late_bad),
            arrived.eq(arrived + late[-1]),
        ]
        #: Number of the beat that is counted.
        newest = Signal.like(arrived)
        m.d.sync += newest.eq(newest + late[0])
        m.d.comb += [
            counter.clear.eq(counted),
            counter.amount.eq(Mux(late[0], late_words, 0)),
            ends.input.valid.eq(late_last),
            Value.cast(end.place).eq((newest << exact_log2(units)) + late_words),
            end.next.eq(newest + 1),
            end.words.eq(Mux(counted, 0, counter.value) + late_words),
            end.malformed.eq((bad & ~counted) | late_bad),
        ]
        return arrived
