"""Refuses a descriptor before its first transaction, or hands it to the stages that carry it out."""

from amaranth.hdl import C, Cat, Module, Mux, Signal, Value
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from cdma.hdl.blocks.gates import one_of
from cdma.hdl.spec.records import DESCRIPTOR, LENGTH_BITS, MAX_BYTES, Mode, Status
from cdma.hdl.spec.registers.description import REGISTER_BYTES

from .descriptor import Request, StatusShape
from .interfaces import WindowPort
from .slots import ADDRESS_BYTES, SlotPort

__all__ = ["Checker"]


class Checker(wiring.Component):
    """Takes a request at a time, checks it, and pushes it into the next slot: within 20 cycles if there is nothing
    to object to, within 28 otherwise. The request must stay at the input until it is taken.

    Addresses are calculated and compared a byte per cycle, with one adder. The first objection counts, in this
    order: a fault of the fetch, reserved fields, zero length, wrong length, capacity, alignment of the source, of
    the destination, window of the source, of the destination.

    ``compressing``
        The engine's direction: whether a codec's mode reads ``length`` bytes (or ``compressed_length``).
    ``realign``
        Source and destination are aligned to a word, not to a beat.
    ``run``
        While low, no request is begun; one that was begun is finished.
    ``flush``
        While high, a request that was begun is forgotten, and stays at the input.
    """

    def __init__(
        self,
        *,
        compressing: bool,
        word_bits: int,
        read_data_bits: int,
        read_address_bits: int,
        write_data_bits: int,
        write_address_bits: int,
        realign: bool = False,
    ) -> None:
        self.compressing = compressing
        self.word_log2 = exact_log2(word_bits // 8)
        self.source_bits = self.word_log2 if realign else exact_log2(read_data_bits // 8)
        self.destination_bits = self.word_log2 if realign else exact_log2(write_data_bits // 8)
        self.read_address_bits = read_address_bits
        self.write_address_bits = write_address_bits
        super().__init__(
            {
                "requests": In(stream.Signature(Request)),
                "slot": Out(SlotPort()),
                "windows": Out(WindowPort()),
                "run": In(1),
                "flush": In(1),
                "busy": Out(1),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        slot = self.slot
        destination = Signal()
        source = Signal()
        objection = Signal()
        place = Signal(ADDRESS_BYTES, init=1)
        status = Signal(StatusShape)
        # An objection to capacity, source, destination, or one that came with the request is told with an address.
        about = {
            name: Signal(name=f"about_{name}") for name in ("capacity", "source", "destination", "fault")
        }
        short = Signal()
        outside_source = Signal()
        outside_destination = Signal()
        self._scan(
            m, place, destination, source, objection, about, short, outside_source, outside_destination
        )
        self._judge(m, status, about, short, outside_source, outside_destination)

        with m.FSM() as fsm:

            def step(following: str, when: Value | int = 1) -> None:
                with m.If(self.flush):
                    m.next = "wait"
                with m.Elif(when):
                    m.next = following

            m.d.comb += self.busy.eq(~fsm.ongoing("wait"))
            with m.State("wait"), m.If(self.requests.valid & self.run & ~self.flush & slot.ready):
                m.d.comb += slot.begin.eq(1)
                m.next = "destination"
            with m.State("destination"):
                m.d.comb += destination.eq(1)
                step("source", place[-1])
            with m.State("source"):
                m.d.comb += source.eq(1)
                step("settle", place[-1])
            with m.State("settle"):
                step("judge")
            with m.State("judge"):
                step("give")
                with m.If(~self.flush & (status != Status.OK)):
                    m.next = "objection"
            with m.State("objection"):
                m.d.comb += objection.eq(1)
                step("give", place[-1])
            with m.State("give"):
                m.d.comb += slot.push.eq(~self.flush)
                m.next = "wait"
        with m.If(self.flush):
            m.d.sync += place.eq(1)
        with m.Elif(destination | source | objection):
            m.d.sync += place.eq(place.rotate_left(1))

        request, descriptor = self.requests.payload, self.requests.payload.descriptor
        raw = descriptor.mode == Mode.RAW
        words = descriptor.length >> self.word_log2
        m.d.comb += [
            self.requests.ready.eq(slot.push),
            slot.place.eq(place),
            slot.source.eq(source),
            slot.destination.eq(destination),
            slot.objection.eq(objection),
            slot.fields.tag.eq(Mux(request.fault == Status.OK, descriptor.tag, 0)),
            slot.fields.interrupt.eq(descriptor.interrupt),
            slot.fields.raw.eq(raw),
            slot.fields.words.eq(words),
            slot.fields.status.eq(status),
            slot.route.raw.eq(raw),
            slot.route.zeros.eq(descriptor.mode == Mode.ZVC),
            slot.route.words.eq(words),
        ]
        return m

    def _scan(
        self,
        m: Module,
        place: Signal,
        destination: Signal,
        source: Signal,
        objection: Signal,
        about: dict[str, Signal],
        short: Signal,
        outside_source: Signal,
        outside_destination: Signal,
    ) -> None:
        """One byte of the numbers at a time. What is known of the source is known a cycle after its last byte."""
        request, descriptor, slot = self.requests.payload, self.requests.payload.descriptor, self.slot
        first_place, last_place = place[0], place[-1]

        def byte(value: Value, place: Value = place) -> Value:
            """The one at ``place``."""
            count = -(-len(value) // 8)
            return one_of(*((place[index], value[8 * index : 8 * index + 8]) for index in range(count)))

        length = byte(descriptor.length[:LENGTH_BITS])
        compressed = byte(descriptor.compressed_length[:LENGTH_BITS])
        capacity = byte(descriptor.capacity[:LENGTH_BITS])
        # More than a packet can ever fill is as good as all.
        most = byte(descriptor.capacity[LENGTH_BITS:].any().replicate(LENGTH_BITS))
        compressed_counts = 0 if self.compressing else descriptor.mode != Mode.RAW

        first = Signal(8)
        last = Signal(8)
        count = Signal(8)
        base = Signal(8)
        carry = Signal()
        decrement = Signal()
        below = Signal()
        above = Signal()
        beyond = Signal()
        less = Signal()
        m.d.comb += [
            first.eq(
                one_of(
                    (
                        destination | (objection & (about["destination"] | about["capacity"])),
                        byte(descriptor.destination),
                    ),
                    (source | (objection & about["source"]), byte(descriptor.source)),
                    (objection & about["fault"], byte(request.address)),
                )
            ),
            count.eq(
                one_of(
                    (destination, capacity | most),
                    (objection & about["capacity"], capacity),
                    (source, Mux(compressed_counts, compressed, length)),
                )
            ),
        ]
        # The last byte's address is one less than the sum, which is what the capacity's objection is about.
        borrow = Mux(first_place, ~objection, decrement)
        addend = Signal(9)
        total = Signal(9)
        m.d.comb += [
            addend.eq(count - borrow),
            total.eq(first + addend[:8] + (carry & ~first_place)),
            last.eq(total[:8]),
            slot.first.eq(first),
            slot.last.eq(last),
            slot.count.eq(count),
        ]

        under = Signal(9)
        lower = Signal(9)
        m.d.comb += [
            under.eq(first - base - (below & ~first_place)),
            lower.eq(capacity - length - (less & ~first_place)),
        ]
        m.d.sync += [
            carry.eq(total[-1]),
            decrement.eq(addend[-1]),
            below.eq(under[-1]),
            less.eq(lower[-1]),
        ]
        with m.If(destination & last_place):
            m.d.sync += short.eq(lower[-1] & ~descriptor.capacity[LENGTH_BITS:].any())

        # The sum is looked at a cycle later.
        late_place = place.rotate_right(1)
        late_source = Signal()
        late_destination = Signal()
        late_last = Signal(8)
        limit = Signal(8)
        over = Signal(9)
        unreachable = Signal()
        m.d.sync += [late_source.eq(source), late_destination.eq(destination), late_last.eq(last)]
        for late, bits in (
            (late_source, self.read_address_bits),
            (late_destination, self.write_address_bits),
        ):
            reachable = byte(C((1 << bits) - 1, 8 * ADDRESS_BYTES), late_place)
            with m.If(late):
                m.d.comb += unreachable.eq((beyond & ~late_place[0]) | (late_last & ~reachable).any())
        m.d.comb += over.eq(limit - late_last - (above & ~late_place[0]))

        # The windows are asked for a cycle ahead: while nothing is checked, for what comes first.
        windows = self.windows
        halves = [
            Cat(*pair).any() for pair in zip(place[:REGISTER_BYTES], place[REGISTER_BYTES:], strict=True)
        ]
        late_halves = [*halves[1:], *halves[:1]]
        m.d.comb += [
            windows.at.high.eq(place[REGISTER_BYTES - 1 : -1].any()),
            windows.at.write.eq(~(source | (destination & last_place))),
            base.eq(one_of(*((half, windows.base.word_select(n, 8)) for n, half in enumerate(halves)))),
            limit.eq(
                one_of(*((half, windows.limit.word_select(n, 8)) for n, half in enumerate(late_halves)))
            ),
        ]
        m.d.sync += [above.eq(over[-1]), beyond.eq(unreachable)]
        with m.If(late_place[-1]):
            outside = below | over[-1] | unreachable | carry
            with m.If(late_destination):
                m.d.sync += outside_destination.eq(outside)
            with m.If(late_source):
                m.d.sync += outside_source.eq(outside)

    def _judge(
        self,
        m: Module,
        status: Signal,
        about: dict[str, Signal],
        short: Signal,
        outside_source: Signal,
        outside_destination: Signal,
    ) -> None:
        """The first objection, and which address it is about."""
        request, descriptor = self.requests.payload, self.requests.payload.descriptor
        length, compressed = descriptor.length, descriptor.compressed_length
        raw = descriptor.mode == Mode.RAW
        reserved = Cat(descriptor[field.name] for field in DESCRIPTOR if field.reserved).any()
        needs_compressed = C(0) if self.compressing else ~raw
        # The codec counts words with 32 bits, so 2**32 words of one byte are one too many.
        most = MAX_BYTES if self.word_log2 else MAX_BYTES - 1
        length_wrong = length[: self.word_log2].any() | (length > most)
        compressed_wrong = compressed[: self.word_log2].any() | compressed[LENGTH_BITS:].any()
        # What an offload through the codec will take is not known before.
        known = raw if self.compressing else C(1)

        with m.If(request.fault != Status.OK):
            m.d.comb += [status.eq(request.fault), about["fault"].eq(1)]
        with m.Elif(reserved | (descriptor.mode > max(Mode))):
            m.d.comb += status.eq(Status.RESERVED)
        with m.Elif((length == 0) | (needs_compressed & (compressed == 0))):
            m.d.comb += status.eq(Status.ZERO_LENGTH)
        with m.Elif(length_wrong | Mux(needs_compressed, compressed_wrong, compressed != 0)):
            m.d.comb += status.eq(Status.LENGTH)
        with m.Elif((known & short) | (descriptor.capacity == 0)):
            m.d.comb += [status.eq(Status.CAPACITY), about["capacity"].eq(1)]
        with m.Elif(descriptor.source[: self.source_bits].any()):
            m.d.comb += [status.eq(Status.ALIGNMENT), about["source"].eq(1)]
        with m.Elif(descriptor.destination[: self.destination_bits].any()):
            m.d.comb += [status.eq(Status.ALIGNMENT), about["destination"].eq(1)]
        with m.Elif(outside_source):
            m.d.comb += [status.eq(Status.WINDOW), about["source"].eq(1)]
        with m.Elif(outside_destination):
            m.d.comb += [status.eq(Status.WINDOW), about["destination"].eq(1)]
