"""Queues in memory, their credit, and the end of a link between two clocks."""

from collections.abc import Sequence

from amaranth.hdl import Cat, Module, Mux, ShapeLike, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from .arithmetic import WideCounter
from .clocks import Synchroniser
from .memories import BLOCK_RAM, PlainMemories, coding_of


class Credit(wiring.Component):
    """Counts the credits of a writer, one for each free entry of its queue; ``entries`` at first.

    ``spent``: Number of credits spent in this cycle, at most ``most``, and none unless ``available`` is high.
    ``returned``: Returns one credit.
    ``available``: ``most`` credits may be spent. It comes from a register that does not yet include the last two
        cycles, and is low while fewer than ``3 * most`` credits are known to be left.

    ``ahead`` is the number of cycles from ``available`` until the writer spends the credits.
    """

    def __init__(self, entries: int, most: int = 1, *, ahead: int = 0) -> None:
        #: Credits that may be spent before it is known.
        self.unknown = (3 + ahead) * most
        assert entries > self.unknown, (entries, most, ahead)
        self.entries = entries
        self.most = most
        super().__init__({"spent": In(range(most + 1)), "returned": In(1), "available": Out(1, init=1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        spent = Signal.like(self.spent)
        returned = Signal()
        free = Signal(range(self.entries + 1), init=self.entries)
        m.d.sync += [
            spent.eq(self.spent),
            returned.eq(self.returned),
            free.eq(free - spent + returned),
            self.available.eq(free >= self.unknown),
        ]
        return m


class RingMemory:
    """The memory of a queue, added to its module ``m``.

    ``depth``: Number of entries, a power of two.
    ``banks``: With 2, entries alternate between two memories of half the depth, each with an output of its own.
    ``block_ram``: The memory is an FPGA's block RAM.
    ``of_data``: No address, length or order depends on the words, of a structure that begins with ``data``. If ``coding``
        has a code, what follows the data of a lost entry is read as zeros, so that none of its words is written.
    ``checked``: So many bits of an entry, its first ones, have so many check bits among them already.
    ``written``: Pulse: an entry is written.
    ``reads``: Pulse, one bit for each bank: reads an entry; the queue advances to the next one.
    ``write_index``, ``read_index``: Registers of the next entry to write and to read, which the queue advances. They
        have one bit more than an address: a full memory and an empty one differ in that bit alone.
    """

    def __init__(
        self,
        m: Module,
        shape: ShapeLike,
        depth: int,
        *,
        banks: int = 1,
        block_ram: bool = False,
        of_data: bool = False,
        checked: tuple[int, int] = (0, 0),
        coding: PlainMemories,
    ) -> None:
        assert depth.bit_count() == 1, depth
        self._memories = [
            Memory(shape=shape, depth=depth // banks, init=[], attrs=BLOCK_RAM if block_ram else {})
            for _ in range(banks)
        ]
        for bank, memory in enumerate(self._memories):
            m.submodules["memory" if banks == 1 else f"memory_{bank}"] = memory
            coding.is_queue(memory, checked)
        self._guard = coding.guarded if of_data and coding.coded else None
        self.written = Signal()
        self.reads = Signal(banks)
        self.write_index = Signal(range(2 * depth))
        self.read_index = Signal(range(2 * depth))

    def connect(
        self,
        m: Module,
        source: stream.Interface,
        sinks: Sequence[stream.Interface],
        more: Value,
        loads: Value | None = None,
    ) -> None:
        """Writes the transfers of ``source``, and, while there is ``more``, reads ahead for the ``sinks``, one for each
        bank.

        The register of a read port is the payload of its sink. It loads when an entry is read, or, with less logic, while
        ``loads``: also in vain, while the sink is not valid.
        """
        m.d.comb += self.written.eq(source.valid & source.ready)
        low = len(sinks) - 1
        for bank, (memory, sink) in enumerate(zip(self._memories, sinks, strict=True)):
            write, read = memory.write_port(), memory.read_port(domain="sync")
            writes, able = (index[0] == bank if low else 1 for index in (self.write_index, self.read_index))
            m.d.comb += [
                write.addr.eq(self.write_index[low:][: len(write.addr)]),
                write.data.eq(source.payload),
                write.en.eq(self.written & writes),
                read.addr.eq(self.read_index[low:][: len(read.addr)]),
                self.reads[bank].eq(more & able & (~sink.valid | sink.ready)),
                read.en.eq(self.reads[bank] if loads is None else loads),
                sink.payload.eq(read.data),
            ]
            if self._guard is not None:
                rest = Value.cast(sink.payload)[len(sink.payload.data) :]
                m.d.comb += rest.eq(self._guard(memory, Value.cast(read.data)[-len(rest) :]))


class Fifo(wiring.Component):
    """A FIFO of ``depth`` entries, a power of two, and one more in the register of the read port.

    Throughput: one transfer per cycle in and out. Latency: two cycles through an empty FIFO. ``ready`` of the input and
    ``valid`` of the output come from flip-flops, the payload from the register of the read port.

    ``reserved``: The writer counts its entries, and never has more than ``depth`` inside: ``ready`` is constantly high.
    ``pipelined``: The memory is block RAM of an FPGA, which is slow. An output register follows its read port: one more
        entry, and one more cycle of latency. Such a FIFO is ``ahead`` as well.
    ``ahead``: The indices are compared a cycle ahead, for a further cycle of latency. A transfer per cycle needs a
        depth of four.
    ``late_valid``, ``late_ready``: ``valid`` of the input, or ``ready`` of the output, may arrive late in the cycle:
        its index is a :class:`.WideCounter`, with a few flip-flops more.
    ``of_data``, ``checked``: Those of a :class:`RingMemory`.
    ``banks``: With 2, entries alternate between two memories of half the depth, and ``output`` is an array with a
        stream of each: two successive entries are there at once. The order is the consumer's to keep.
    ``empty``: High while there is no entry, neither in the memory nor in the registers after it.
    ``level``: Number of entries in the memory.
    """

    def __init__(
        self,
        shape: ShapeLike,
        depth: int,
        *,
        reserved: bool = False,
        pipelined: bool = False,
        ahead: bool = False,
        late_valid: bool = False,
        late_ready: bool = False,
        of_data: bool = False,
        checked: tuple[int, int] = (0, 0),
        banks: int = 1,
    ) -> None:
        self.shape = shape
        self.depth = depth
        self.banks = banks
        self.reserved = reserved
        self.pipelined = pipelined
        self.ahead = ahead or pipelined
        self.late_valid = late_valid
        self.late_ready = late_ready
        self.of_data = of_data
        self.checked = checked
        output = Out(stream.Signature(shape))
        super().__init__(
            {
                "input": In(stream.Signature(shape, always_ready=reserved)),
                "output": output if banks == 1 else output.array(banks),
                "empty": Out(1),
                "level": Out(range(depth + 1)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ring = RingMemory(
            m,
            self.shape,
            self.depth,
            banks=self.banks,
            block_ram=self.pipelined,
            of_data=self.of_data,
            checked=self.checked,
            coding=coding_of(platform),
        )
        outputs = [self.output] if self.banks == 1 else list(self.output)
        reads = [self._leave(m, output, number) for number, output in enumerate(outputs)]
        more = Signal()
        if not self.reserved:
            m.d.comb += self.input.ready.eq(ring.write_index != ring.read_index ^ self.depth)
        some = ring.write_index != ring.read_index
        if self.ahead:
            self._look_ahead(m, ring, more)
        else:
            m.d.comb += more.eq(some)
        ring.connect(m, self.input, reads, more)
        m.d.comb += [
            self.level.eq(ring.write_index - ring.read_index),
            self.empty.eq(~some & ~Cat(each.valid for each in (*reads, *outputs)).any()),
        ]
        self._count(m, "written", ring.write_index, ring.written, late=self.late_valid)
        self._count(m, "removed", ring.read_index, ring.reads.any(), late=self.late_ready)
        for read, loads in zip(reads, ring.reads, strict=True):
            with m.If(loads):
                m.d.sync += read.valid.eq(1)
            with m.Elif(read.ready):
                m.d.sync += read.valid.eq(0)
        return m

    def _look_ahead(self, m: Module, ring: RingMemory, more: Signal) -> None:
        """Compares the indices a cycle ahead, so that the path of ``ready`` to the memory is short."""
        next_index = Signal.like(ring.read_index, init=1)
        with m.If(ring.reads.any()):
            m.d.sync += next_index.eq(next_index + 1)
        m.d.sync += more.eq(
            Mux(ring.reads.any(), ring.write_index != next_index, ring.write_index != ring.read_index)
        )

    def _count(self, m: Module, name: str, index: Signal, enable: Value, *, late: bool) -> None:
        """Counts an index up in each cycle in which ``enable`` is high; a short index has no long carry."""
        if late and len(index) > 4:
            m.submodules[name] = counter = WideCounter(1, len(index), pipelined=True)
            m.d.comb += [counter.amount.eq(enable), index.eq(counter.value)]
        else:
            with m.If(enable):
                m.d.sync += index.eq(index + 1)

    def _leave(self, m: Module, output: stream.Interface, number: int) -> stream.Interface:
        """The stream out of a memory: the ``output``, or the stream into its output register."""
        if not self.pipelined:
            return output
        name = f"_{number}" if number else ""
        read = stream.Signature(self.shape).create(path=(f"read{name}",))
        # Without a reset, so that it can be the output register of a block RAM.
        leaving = Signal(self.shape, name=f"leaving{name}", reset_less=True)
        m.d.comb += [read.ready.eq(~output.valid | output.ready), output.payload.eq(leaving)]
        with m.If(read.ready):
            m.d.sync += [output.valid.eq(read.valid), leaving.eq(read.payload)]
        return read


class MemoryQueue(wiring.Component):
    """A queue of ``depth`` entries, a power of two, whose writer counts them, for example with a :class:`Credit`.

    Throughput: one transfer per cycle in and out. Latency: three cycles.

    A :class:`Fifo` is a cycle faster, but compares its indices between ``ready`` of the output and the memory. This queue
    compares them a cycle ahead, so that the path of ``ready`` is short, as an FPGA's clock needs it.
    """

    def __init__(self, shape: ShapeLike, depth: int) -> None:
        self.shape = shape
        self.depth = depth
        super().__init__(
            {"input": In(stream.Signature(shape, always_ready=True)), "output": Out(stream.Signature(shape))}
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        coding = coding_of(platform)
        ring = RingMemory(m, self.shape, self.depth, coding=coding)
        next_index = Signal(range(2 * self.depth), init=1)
        more = Signal()
        #: A copy of ``valid`` of the output, for all bits of an entry, which on an FPGA are far from the indices. It depends
        #: on itself, so that synthesis does not merge the two.
        loaded = Signal()
        # Words with a code are not read in vain: one that was never written may be a lost one.
        loads = None if coding.coded else ~loaded | self.output.ready
        ring.connect(m, self.input, [self.output], more, loads)
        m.d.sync += [
            ring.write_index.eq(ring.write_index + ring.written),
            more.eq(Mux(ring.reads, ring.write_index != next_index, ring.write_index != ring.read_index)),
            self.output.valid.eq(ring.reads | (self.output.valid & ~self.output.ready)),
            loaded.eq(ring.reads | (loaded & ~self.output.ready)),
        ]
        with m.If(ring.reads):
            m.d.sync += [ring.read_index.eq(next_index), next_index.eq(next_index + 1)]
        return m


class LinkEnd(wiring.Component):
    """One end of a crossing of :class:`.AsyncFifo`; the other domain has the other end.

    A reset closes the end until a handshake of four phases is complete, which ends after the reset, and in which the other
    end closes too and finishes its open transactions. Each end clears its indices while the other one does not read them.
    No reset, however short, interrupts a handshake; from any start values both ends arrive at one.

    ``down``, ``heard``: This end requests the handshake; it acknowledges that of the other end.
    ``other_down``, ``other_heard``: The same of the other end.
    ``settled``: No transaction is open that the other end has seen.
    ``open``: Transfers may pass. Transactions that are open when this falls must be finished without the other side.
    ``clear``: Clears the indices of this side.
    """

    down: Out(1)
    heard: Out(1)
    other_down: In(1)
    other_heard: In(1)
    settled: In(1)
    open: Out(1)
    clear: Out(1)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.other_down_seen = down_seen = Synchroniser()
        m.submodules.other_heard_seen = heard_seen = Synchroniser()
        other_down, other_heard = down_seen.output, heard_seen.output
        down, heard, cleared = (
            Signal(name=f"{name}_level", reset_less=True) for name in ("down", "heard", "cleared")
        )
        #: There was a reset, and no handshake since.
        restart = Signal(init=1)
        in_reset = Signal(init=1)
        hears = Signal()
        m.d.comb += [
            down_seen.input.eq(self.other_down),
            heard_seen.input.eq(self.other_heard),
            self.down.eq(down),
            self.heard.eq(heard),
            self.open.eq(~(restart | down | heard | other_down | other_heard)),
            hears.eq(other_down & (heard | self.settled)),
            self.clear.eq(heard | hears | other_heard),
        ]
        m.d.sync += [heard.eq(hears), in_reset.eq(0)]
        with m.If(~down):
            m.d.sync += down.eq(restart & ~other_heard)
        with m.Elif(other_heard & ~in_reset):
            # The indices are 0 a cycle before the other end can see the end of the handshake.
            m.d.sync += [cleared.eq(~cleared), down.eq(~cleared), restart.eq(~cleared)]
        return m


def join_ends(m: Module, one: LinkEnd, other: LinkEnd) -> None:
    """Connects both ends of a link."""
    for end, peer in ((one, other), (other, one)):
        m.d.comb += [end.other_down.eq(peer.down), end.other_heard.eq(peer.heard)]
